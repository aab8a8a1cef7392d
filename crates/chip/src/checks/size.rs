//! Passes whose values take more memory than the simulator keeps.

use super::bounds::Call;
use furiosa_visa_rules::command::{Fault, FaultKind, Sink, TensorUnit};
use furiosa_visa_rules::spec::{CLUSTERS, FLIT_BYTES, SLICES};
use furiosa_visa_rules::text::Text;

/// Bytes of the host's memory that a pass may take.
const MOST_BYTES: u128 = 4 << 30;

/// Bytes that are kept per step of a contraction: its read, its slot, its packet, and its place in two orders.
const BYTES_PER_STEP: u128 = 64;

/// Bytes that are kept per flit of a stream: its address, and a mark per lane that is live.
const BYTES_PER_FLIT: u128 = 16;

/// Bytes that are kept per lane at the end of a pass: the element, and a mark that it was written.
const BYTES_PER_LANE: u128 = 8;

/// The bytes that the values of a pass take.
fn needed(unit: &TensorUnit) -> u128 {
    let (collected, end) = (unit.shapes().collected.time, unit.shapes().ended);
    let steps = unit.contraction.as_ref().map_or(0, |contraction| contraction.steps);
    let moved = match &unit.sink {
        Sink::Vrf { transfer, .. } => {
            let sizes = transfer.loops.iter().map(|transfer_loop| transfer_loop.size as u128);
            sizes.fold(1, u128::saturating_mul)
        }
        Sink::Commit { .. } | Sink::Trf { .. } => 0,
    };
    let lanes = (end.time as u128).saturating_mul(end.lanes as u128).saturating_add(moved);
    // Switched elements are kept for all slices at once, each with a mark that it was written.
    let flits = unit.collect.map_or(1, |collect| collect.flits) as u128;
    let switched = unit.switch.as_ref().map_or(0, |_| {
        let slices = (unit.chips() * CLUSTERS * SLICES) as u128;
        (unit.fetch.time as u128).saturating_mul(flits).saturating_mul(slices)
    });
    let lanes_per_flit = (FLIT_BYTES * 8 / unit.fetch.output.bits()) as u128;
    let bytes_per_flit = lanes_per_flit * (unit.fetch.output.container_bits() as u128 + 8) / 8;
    // Places of the elements of operands and of sums, and the elements in the Vector Engine.
    let vector = unit.vector.as_ref().map_or(0, |vector| vector.kept(unit.shapes().contracted));
    let terms = [
        (vector, BYTES_PER_LANE),
        (steps as u128, BYTES_PER_STEP),
        (collected as u128, BYTES_PER_FLIT),
        (lanes, BYTES_PER_LANE),
        (switched, bytes_per_flit),
    ];
    terms.into_iter().fold(0, |sum: u128, (count, bytes)| sum.saturating_add(count.saturating_mul(bytes)))
}

/// Refuses a pass whose values cannot be kept. Its time can be computed all the same.
pub(crate) fn check(unit: &TensorUnit, call: Call) -> Result<(), Fault> {
    let needed = needed(unit);
    if needed <= MOST_BYTES {
        return Ok(());
    }
    let what = match &unit.contraction {
        Some(contraction) if contraction.steps > 0 => Text::new().count(contraction.steps, "step"),
        _ => Text::new().count(unit.shapes().collected.time, "flit"),
    };
    let message = format!(
        "the simulator would need {} GiB for the values of {what}, but keeps {} GiB at most",
        needed.div_ceil(1 << 30),
        MOST_BYTES >> 30
    );
    let help =
        "split the pass, or compute its time alone: `ChipOptions { compute: Compute::ShapesOnly, .. }`";
    Err(call.fault(FaultKind::TooLarge, message, help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::panic::Location;
    use furiosa_visa_rules::command::{
        AccumulationKind, Contraction, Fetch, FillId, Footprint, Memory, Region, Step, Transfer,
        TransferLoop, TrfAddress, TrfRegion,
    };
    use furiosa_visa_rules::mapping::Guard;
    use furiosa_visa_rules::scalar::ElementType;
    use furiosa_visa_rules::sequencer::Config;

    fn region(memory: Memory) -> Region {
        let guard = Guard::always(4);
        let footprint =
            Footprint { element: ElementType::I8, chips: 1, clusters: 1, slices: 1, elements: 64, guard };
        Region::whole(memory, 0, FillId(1), footprint)
    }

    fn trf() -> TrfRegion {
        let guard = Guard::always(5);
        let (address, fill) = (TrfAddress::Full, FillId(2));
        TrfRegion { address, fill, element: ElementType::I8, rows: 1, row_elements: 64, guard }
    }

    /// `time` packets of `lanes` lanes, without collect.
    fn copy(time: usize, lanes: usize, sink: Sink) -> TensorUnit {
        let fetch = Fetch::new(region(Memory::Dm), Config::new(lanes), time, lanes, ElementType::I8);
        TensorUnit { collect: None, ..TensorUnit::new(fetch, sink) }
    }

    fn commit() -> Sink {
        let (config, guard) = (Config::new(8), Guard::always(5));
        Sink::Commit { destination: region(Memory::Dm), config, commit_size: 8, guard }
    }

    fn to_vrf(moved: usize) -> Sink {
        let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
        let step = Step { units: 0, elements: 1 };
        transfer.loops.push(TransferLoop { size: moved, source: step, destination: step });
        Sink::Vrf { destination: region(Memory::Vrf), transfer, guard: Guard::always(5) }
    }

    /// A contraction of `steps` steps, of one packet and one result of eight lanes.
    fn contraction(steps: usize) -> TensorUnit {
        let config = Config::new(32);
        let contraction = Contraction {
            trf: trf(),
            stream_guard: Guard::always(5),
            collect_flits: 1,
            tile: steps,
            trf_config: config,
            steps,
            step_guard: Guard::always(2),
            depth: 5,
            columns: 1,
            slots: config,
            slot_count: 1,
            kind: AccumulationKind::Interleaved,
            output: ElementType::I32,
        };
        TensorUnit { contraction: Some(contraction), ..copy(12, 32, commit()) }
    }

    /// The last pass that is kept takes exactly the limit; `more` is the next one.
    #[track_caller]
    fn limit(last: &TensorUnit, more: &TensorUnit, what: &str) {
        let call = Call { operation: "commit", location: Location::caller() };
        assert_eq!(needed(last), MOST_BYTES);
        assert_eq!(check(last, call), Ok(()));
        let fault = check(more, call).expect_err("one more is too much");
        assert_eq!(fault.kind, FaultKind::TooLarge);
        let text = fault.to_string();
        let parts = format!("would need 5 GiB for the values of {what}, but keeps 4 GiB at most");
        assert!(text.contains(&parts) && text.contains("Compute::ShapesOnly"), "{text}");
    }

    #[test]
    fn four_gibibytes_are_kept_and_no_byte_more() {
        // A flit of 30 lanes takes 16 + 30 * 8 = 256 bytes.
        let flits = (4usize << 30) / 256;
        limit(&copy(flits, 30, commit()), &copy(flits + 1, 30, commit()), "16777217 flits");
        let load = || Sink::Trf { destination: trf(), guard: Guard::always(5) };
        limit(&copy(flits, 30, load()), &copy(flits + 1, 30, load()), "16777217 flits");
        // Twelve flits and one result of eight lanes take 12 * 16 + 8 * 8 = 256 bytes.
        let steps = ((4usize << 30) - 256) / 64;
        limit(&contraction(steps), &contraction(steps + 1), "67108861 steps");
        // One flit of 30 lanes takes 256 bytes beside the elements of the VRF.
        let moved = ((4usize << 30) - 256) / 8;
        limit(&copy(1, 30, to_vrf(moved)), &copy(1, 30, to_vrf(moved + 1)), "1 flit");
    }

    #[test]
    fn numbers_that_no_machine_counts_are_refused() {
        let call = Call { operation: "commit", location: Location::caller() };
        let mut huge = copy(1, 30, to_vrf(usize::MAX));
        (huge.fetch.time, huge.fetch.packet) = (usize::MAX, usize::MAX);
        assert!(check(&huge, call).is_err() && check(&contraction(usize::MAX), call).is_err());
    }
}
