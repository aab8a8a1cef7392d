//! Rules that a command must keep before it is executed: memories, sizes and types.

use core::panic::Location;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{
    CheckOptions, Contraction, Fault, FaultKind, Memory, Place, Region, Sink, TensorUnit, TrfRegion, Vector,
};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::{CLUSTERS, ChipKind, DM_BYTES, HBM_BYTES, SLICES, TRF_BANK_ROWS, VRF_BYTES};
use furiosa_visa_rules::text::Text;

/// The place of a check: the operation and the call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) operation: &'static str,
    pub(crate) location: &'static Location<'static>,
}

impl Call {
    pub(crate) fn fault(self, kind: FaultKind, message: String, help: &'static str) -> Fault {
        Fault::new(kind, self.operation, self.location, message, help)
    }
}

/// Refuses a tensor with live elements outside of its memory, or on chips that the system does not have.
pub(crate) fn in_bounds(region: &Region, chips: usize, call: Call) -> Result<(), Fault> {
    let footprint = &region.footprint;
    let place = Place::Region(*region);
    let before = region.part.units[0];
    let lives = |chip: usize| chip >= before && footprint.guard.may_hold(&[chip - before]);
    if let Some(chip) = (chips..footprint.chips).find(|&chip| lives(chip)) {
        let present = Text::new().count(chips, "chip");
        let message = format!("the tensor needs chip {chip}, but the system has {present}");
        let help = "build the context with more chips, or use a chip mapping that fits the system";
        return Err(call.fault(FaultKind::OutOfBounds, message, help));
    }
    if footprint.clusters > CLUSTERS || footprint.slices > SLICES {
        let message = format!(
            "the tensor spans {} of {}, but a chip has {CLUSTERS} clusters of {SLICES} slices",
            Text::new().count(footprint.clusters, "cluster"),
            Text::new().count(footprint.slices, "slice")
        );
        return Err(call.fault(FaultKind::OutOfBounds, message, "use smaller cluster and slice mappings"));
    }
    let (capacity, unit) = match region.memory {
        Memory::Hbm => (HBM_BYTES, "chip"),
        Memory::Dm => (DM_BYTES as u64, "slice"),
        Memory::Vrf => (VRF_BYTES as u64, "slice"),
    };
    let bytes = footprint.bytes() as u64;
    let end = region.base().checked_add(bytes);
    if end.is_some_and(|end| end <= capacity) {
        return Ok(());
    }
    let fault = |at: Coordinates, bytes_outside: core::ops::Range<u64>| {
        let message = format!(
            "the tensor at {} address {} has {bytes} bytes per {unit}, but {} has {capacity} bytes per {unit}",
            region.memory,
            region.base(),
            region.memory
        );
        let help = "use a lower address, or split the tensor over more units";
        Err(place.blame(call.fault(FaultKind::OutOfBounds, message, help), at, bytes_outside))
    };
    let origin = Coordinates { chip: 0, cluster: 0, slice: 0 };
    let Some(end) = end else {
        return fault(origin, region.base()..u64::MAX);
    };
    // Padding may stick out: the last tiles of a tensor keep its full size.
    let outside = capacity.max(region.base())..end;
    let units = if place.differs_by_unit() { footprint.chips * CLUSTERS * SLICES } else { 1 };
    for at in (0..units).map(Coordinates::of_slice) {
        if at.chip < footprint.chips && at.cluster < footprint.clusters && at.slice < footprint.slices {
            let mut first: Option<core::ops::Range<u64>> = None;
            place.live_bytes(at, &outside, |bytes| match &mut first {
                Some(range) if range.end == bytes.start => range.end = bytes.end,
                Some(_) => {}
                None => first = Some(bytes),
            });
            if let Some(bytes) = first {
                return fault(at, bytes);
            }
        }
    }
    Ok(())
}

/// Refuses a commit whose padding leaves the memory: padding is written as elements are.
fn committed_in_bounds(written: &Place, chips: usize, call: Call) -> Result<(), Fault> {
    let Place::Region(region) = written else { return Ok(()) };
    in_bounds(region, chips, call).map_err(|mut fault| {
        fault.message.push_str(". A commit writes whole packets in all time steps: their padding, too");
        fault
    })
}

/// Refuses a tensor in a memory that the operation does not reach.
pub(crate) fn in_memory(region: &Region, reached: &[Memory], call: Call) -> Result<(), Fault> {
    if reached.contains(&region.memory) {
        return Ok(());
    }
    let names: Vec<String> = reached.iter().map(Memory::to_string).collect();
    let message = format!(
        "the tensor at address {} lies in {}, but this operation reaches {} only",
        region.address,
        region.memory,
        names.join(" and ")
    );
    Err(call.fault(FaultKind::Unsupported, message, "give it a tensor in a memory that it reaches"))
}

/// Refuses a register file tensor with an invalid number of rows. With `bounds`, also refuses one that does not fit its
/// region.
pub(crate) fn fits(region: &TrfRegion, bounds: bool, call: Call) -> Result<(), Fault> {
    let (rows, row_bytes) = (region.rows, region.row_bytes());
    if !furiosa_visa_rules::spec::TRF_ROWS.contains(&rows) {
        let message =
            format!("the tensor has {rows} rows, but a register file tensor has 1, 2, 4 or {TRF_BANK_ROWS}");
        return Err(call.fault(FaultKind::Capacity, message, "split or pad the row mapping"));
    }
    let capacity = region.address.capacity();
    if bounds && rows * row_bytes > capacity {
        let message = format!(
            "{rows} rows of {row_bytes} bytes are {} bytes, but {} holds {capacity}",
            rows * row_bytes,
            region.address
        );
        let help = "load a smaller tile, use TrfAddress::Full, or load in several steps";
        return Err(call.fault(FaultKind::Capacity, message, help));
    }
    Ok(())
}

/// Refuses a pass whose tensors do not fit or whose types have no arithmetic.
pub(crate) fn tensor_unit(
    unit: &TensorUnit,
    kind: ChipKind,
    chips: usize,
    checks: &CheckOptions,
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    let call = |operation| Call { operation, location };
    let bounds = checks.bounds;
    let convertible = |operation, from: ElementType, to| {
        if from.cast_outputs().contains(&to) {
            return Ok(());
        }
        let message = format!("elements of type {from} are to become {to}, which has no conversion");
        Err(call(operation).fault(
            FaultKind::Unsupported,
            message,
            "choose another type or cast in two steps",
        ))
    };
    for source in unit.fetch.sources() {
        in_memory(source, &[Memory::Dm], call("fetch"))?;
    }
    super::fetch::check(unit, kind, checks, call("fetch"))?;
    if let Some(cast) = &unit.cast {
        convertible("cast", cast.input, cast.output)?;
    }
    if let Some(contraction) = &unit.contraction {
        let element = contraction.trf.element;
        let streamed = unit.fetch.output;
        if !Contraction::supports(element, contraction.output) || !Contraction::meets(streamed, element) {
            let message = format!(
                "the stream of {} and the register file of {element} are to be summed as {}",
                streamed, contraction.output
            );
            let help =
                "use the same type on both sides: i4, i5, i8 and i9 are summed as i32, f8 and bf16 as f32";
            return Err(call("contraction").fault(FaultKind::Unsupported, message, help));
        }
        fits(&contraction.trf, bounds, call("contraction"))?;
    }
    if bounds {
        for source in unit.fetch.sources() {
            in_bounds(source, chips, call("fetch"))?;
        }
    }
    for operand in unit.vector.iter().flat_map(Vector::operands).filter(|_| bounds) {
        in_bounds(&operand.source, chips, call("vector"))?;
    }
    match &unit.sink {
        Sink::Commit { destination, .. } => {
            let last = unit.shapes().ended.element;
            if !last.is_stored() {
                let message = format!("elements of type {last} are to be written, which no memory holds");
                let help = "end the stream in the register file, or fetch as i32";
                return Err(call("commit").fault(FaultKind::Unsupported, message, help));
            }
            in_memory(destination, &[Memory::Dm], call("commit"))?;
            if bounds {
                in_bounds(destination, chips, call("commit"))?;
                committed_in_bounds(&unit.sink.place(), chips, call("commit"))?;
            }
            Ok(())
        }
        Sink::Trf { destination, .. } => fits(destination, bounds, call("to_trf")),
        Sink::Vrf { destination, .. } => {
            in_memory(destination, &[Memory::Vrf], call("to_vrf"))?;
            let element = destination.footprint.element;
            if !matches!(element, ElementType::I32 | ElementType::F32) {
                let message =
                    format!("elements of type {element} are to go to the VRF, which holds 32-bit types");
                let help = "let fetch widen integers to i32 and floats to f32";
                return Err(call("to_vrf").fault(FaultKind::Unsupported, message, help));
            }
            if bounds { in_bounds(destination, chips, call("to_vrf")) } else { Ok(()) }
        }
    }
}
