//! The form of a command: what it takes to have a meaning at all. Commands that follow from types have it; those that
//! are built by hand need not. There is no switch for these rules: without them no other rule could be asked.

use super::check::{Fault, FaultKind};
use super::execute::moves::Moves;
use super::execute::sources;
use super::rules::Call;
use super::spec::{BEAT_LANES, FLIT_BYTES, TRF_BYTES};
use crate::command::{
    AccumulationKind, Contraction, Dma, Guard, HostTransfer, Inspection, Memory, Operation, Region,
    RegisterFile, Sink, Start, TensorUnit, Transfer, TrfRegion,
};
use crate::scalar::ElementType;
use crate::sequencer::Config;
use core::panic::Location;

/// Positions, strides, sizes and addresses must stay below it, so that no sum of products leaves 64 bits.
const MOST: u64 = 1 << 44;

/// Elements of a tensor in a slice, with padding far beyond its memory, and slots of an accumulator.
const MOST_IN_SLICE: u64 = 1 << 24;

/// Refuses a command without a meaning.
pub(super) fn operation(operation: &Operation, location: &'static Location<'static>) -> Result<(), Fault> {
    match operation {
        Operation::Dma(dma) => transferred(dma, Form { operation: "DMA", location }),
        Operation::TensorUnit(unit) => pass(unit, location),
    }
}

/// Refuses a transfer with the host without a meaning.
pub(super) fn host(host: &HostTransfer, upload: bool, call: Call) -> Result<(), Fault> {
    let form = Form { operation: call.operation, location: call.location };
    form.region(&host.region)?;
    form.stored(host.region.footprint.element)?;
    form.transfer(&host.transfer)?;
    form.host_array(&host.transfer, host.host_elements, upload)
}

/// Refuses a look at a register file without a meaning.
pub(super) fn inspection(inspection: &Inspection, call: Call) -> Result<(), Fault> {
    let form = Form { operation: call.operation, location: call.location };
    match &inspection.source {
        RegisterFile::Trf(region) => {
            form.trf(region)?;
            form.stored(region.element)?;
        }
        RegisterFile::Vrf(region) => {
            form.region(region)?;
            form.stored(region.footprint.element)?;
        }
    }
    form.transfer(&inspection.transfer)?;
    form.host_array(&inspection.transfer, inspection.host_elements, false)
}

fn transferred(dma: &Dma, form: Form) -> Result<(), Fault> {
    form.region(&dma.source)?;
    form.region(&dma.destination)?;
    form.stored(dma.source.footprint.element)?;
    let (from, to) = (dma.source.footprint.element, dma.destination.footprint.element);
    form.same(from, to, "is to be moved to a tensor of")?;
    form.transfer(&dma.transfer)
}

fn pass(unit: &TensorUnit, location: &'static Location<'static>) -> Result<(), Fault> {
    let form = |operation| Form { operation, location };
    let fetch = form("fetch");
    for source in sources(&unit.fetch) {
        fetch.region(source)?;
    }
    let (time, packet) = (unit.fetch.time, unit.fetch.packet);
    let positions = fetch.config(&unit.fetch.config)?;
    fetch.access_size(unit.fetch.fetch_size)?;
    if packet == 0 || time.checked_mul(packet) != Some(positions) {
        let message =
            format!("the sequencer visits {positions} positions for {time} packets of {packet} elements");
        return Err(fetch.refused(message, "let the loops visit every element of every packet"));
    }
    let lanes = FLIT_BYTES * 8 / unit.fetch.output.bits();
    let flits = unit.collect.map_or(1, |collect| collect.flits);
    let held = flits.checked_mul(lanes).filter(|&held| (held as u64) < MOST);
    if flits == 0 || held.is_none_or(|held| held < packet) {
        let message = format!("{flits} flits of {lanes} elements are to hold packets of {packet}");
        return Err(form("collect").refused(message, "collect as many flits as a packet needs"));
    }
    let mut stream = (unit.fetch.output, time * flits, unit.collect.map_or(packet, |_| lanes));
    if time as u64 * flits as u64 >= MOST {
        let message = format!("{time} packets of {flits} flits are a stream without an end");
        return Err(form("collect").refused(message, "use fewer time steps"));
    }
    if let Some(own) = &unit.contraction {
        let call = form("contraction");
        stream = (own.output, contracted(own, stream.1, call)?, BEAT_LANES);
    }
    if let Some(cast) = &unit.cast {
        let call = form("cast");
        call.same(stream.0, cast.input, "is to be cast as a stream of")?;
        if cast.output.bits() > cast.input.bits() {
            let message = format!(
                "a flit of {} is to become {}, which takes more than a flit",
                cast.input, cast.output
            );
            let help = "widen in fetch: cast narrows";
            return Err(Fault::new(FaultKind::Unsupported, "cast", location, message, help));
        }
        stream = (cast.output, stream.1, FLIT_BYTES * 8 / cast.output.bits());
    }
    ended(&unit.sink, stream, location)
}

/// The time steps that the end of a stream gets. The command has a meaning.
pub(super) fn time_steps(unit: &TensorUnit) -> usize {
    match &unit.contraction {
        Some(own) => own.slot_count.saturating_mul(beats(own)),
        None => unit.fetch.time * unit.collect.map_or(1, |collect| collect.flits),
    }
}

/// Time steps per slot of the accumulator.
fn beats(own: &Contraction) -> usize {
    match own.kind {
        AccumulationKind::Interleaved => own.columns,
        AccumulationKind::Sequential => own.trf.rows.saturating_mul(own.columns.div_ceil(BEAT_LANES)),
    }
}

/// The time steps that leave the accumulator.
fn contracted(own: &Contraction, flits: usize, form: Form) -> Result<usize, Fault> {
    form.trf(&own.trf)?;
    form.guard(&own.stream_guard, 5)?;
    form.guard(&own.step_guard, 2)?;
    let reads = form.config(&own.trf_config)?;
    let slots = form.config(&own.slots)?;
    let refused = |message: String| Err(form.refused(message, "let the stages follow from the mappings"));
    let Contraction { collect_flits, tile, steps, depth, columns, slot_count, .. } = own;
    if !(1..=2).contains(collect_flits) || *tile == 0 || *columns == 0 {
        return refused(format!(
            "packets of {collect_flits} flits are used {tile} times for {columns} columns"
        ));
    }
    let used = (flits / collect_flits).checked_mul(*tile);
    if !flits.is_multiple_of(*collect_flits) || used != Some(*steps) || *steps as u64 >= MOST {
        return refused(format!(
            "{flits} flits in packets of {collect_flits}, each used {tile} times, are not {steps} steps"
        ));
    }
    let products = 2 * FLIT_BYTES * 8 / own.trf.element.bits();
    if *depth > products.ilog2() as usize || *columns > products >> depth {
        return refused(format!(
            "{products} products summed in {depth} levels do not give {columns} columns"
        ));
    }
    let last = own.slots.entries.iter().map(|entry| (entry.size as i64 - 1) * entry.stride as i64);
    let inside = own.slots.first() >= 0
        && last.filter(|reach| *reach > 0).sum::<i64>() + (own.slots.base as i64) < *slot_count as i64;
    if slots != *steps || *slot_count as u64 >= MOST_IN_SLICE || !inside {
        return refused(format!(
            "{steps} steps go to {slots} places in {slot_count} slots of the accumulator"
        ));
    }
    let read_elements = own.trf_config.packet_size;
    let reach = own.trf_config.entries.iter().map(|entry| (entry.size as i64 - 1) * entry.stride as i64);
    let last = reach.filter(|reach| *reach > 0).sum::<i64>() + own.trf_config.base as i64;
    // Steps of padding read on behind the tensor, but no further than there are registers.
    if last as u64 >= 2 * TRF_BYTES as u64 || read_elements > products {
        return refused(format!(
            "{read_elements} elements from byte {last} of a row are read, which has fewer"
        ));
    }
    let reads_whole = read_elements > 0 && reads.is_multiple_of(*steps) && own.trf_config.first() >= 0;
    if *steps > 0 && !reads_whole {
        return refused(format!(
            "{steps} steps read {reads} times {read_elements} elements of the register file"
        ));
    }
    Ok(slot_count.saturating_mul(beats(own)))
}

/// Refuses the end of a stream of this type, of so many packets of so many elements.
fn ended(
    sink: &Sink,
    (element, time, lanes): (ElementType, usize, usize),
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    let form = |operation| Form { operation, location };
    match sink {
        Sink::Commit { destination, config, guard, commit_size } => {
            let form = form("commit");
            form.access_size(*commit_size)?;
            form.region(destination)?;
            form.guard(guard, 5)?;
            // What no memory holds is refused as such later.
            if element.is_stored() {
                form.same(element, destination.footprint.element, "is to be committed to a tensor of")?;
            }
            let (positions, window) = (form.config(config)?, config.packet_size);
            if time.checked_mul(window) != Some(positions) || window > lanes {
                let message = format!(
                    "the sequencer visits {positions} positions for {window} of {lanes} lanes in {time} time steps"
                );
                return Err(form.refused(message, "let the loops visit every lane that is committed"));
            }
            Ok(())
        }
        Sink::Trf { destination, guard } => {
            let form = form("to_trf");
            form.trf(destination)?;
            form.guard(guard, 5)?;
            form.same(element, destination.element, "is to be loaded as a tensor of")
        }
        Sink::Vrf { destination, transfer, guard } => {
            let form = form("to_vrf");
            form.region(destination)?;
            form.guard(guard, 5)?;
            form.same(element, destination.footprint.element, "is to be loaded as a tensor of")?;
            form.transfer(transfer)?;
            let crosses = |start: Start| start.units != 0;
            let steps = transfer.loops.iter().any(|own| own.source.units > 0 || own.destination.units > 0);
            if steps || crosses(transfer.source_start) || crosses(transfer.destination_start) {
                let message = "the loops go from one slice to another".to_string();
                return Err(form.refused(message, "keep all loops inside a slice"));
            }
            Ok(())
        }
    }
}

/// The operation that is looked at.
#[derive(Clone, Copy, Debug)]
struct Form {
    operation: &'static str,
    location: &'static Location<'static>,
}

impl Form {
    fn refused(self, message: String, help: &'static str) -> Fault {
        Fault::new(FaultKind::Refused, self.operation, self.location, message, help)
    }

    fn same(self, from: ElementType, to: ElementType, what: &str) -> Result<(), Fault> {
        if from == to {
            return Ok(());
        }
        let message = format!("a tensor of {from} {what} {to}");
        Err(self.refused(message, "use one type, and convert in fetch or cast"))
    }

    /// A tensor of a size that 64 bits count, and a guard over its positions.
    fn region(self, region: &Region) -> Result<(), Fault> {
        let footprint = &region.footprint;
        let most = if region.memory == Memory::Hbm { MOST } else { MOST_IN_SLICE };
        let small = |size: usize| (size as u64) < most;
        let units = [footprint.chips, footprint.clusters, footprint.slices];
        if units.iter().any(|&units| units >= 1 << 16) || !small(footprint.elements) {
            let [chips, clusters, slices] = units;
            let message = format!(
                "a tensor of {chips} chips, {clusters} clusters, {slices} slices and {} elements has no size",
                footprint.elements
            );
            return Err(self.refused(message, "use smaller mappings"));
        }
        if region.address >= MOST {
            let (memory, address) = (region.memory, region.address);
            let message = format!("the tensor at {memory} address {address} lies in no memory");
            let help = "use a lower address";
            return Err(Fault::new(FaultKind::OutOfBounds, self.operation, self.location, message, help));
        }
        self.guard(&footprint.guard, 4)
    }

    /// A type that a memory holds.
    fn stored(self, element: ElementType) -> Result<(), Fault> {
        if element.is_stored() {
            return Ok(());
        }
        let message = format!("a tensor of {element} is to be moved, but no memory holds this type");
        let help = "store i4 or i8, and let fetch widen them";
        Err(Fault::new(FaultKind::Unsupported, self.operation, self.location, message, help))
    }

    fn trf(self, region: &TrfRegion) -> Result<(), Fault> {
        if region.row_elements as u64 >= 1 << 32 || region.rows >= 1 << 16 {
            let message =
                format!("a tensor of {} rows of {} elements has no size", region.rows, region.row_elements);
            return Err(self.refused(message, "use smaller mappings"));
        }
        self.guard(&region.guard, 5)
    }

    /// The bytes of one access.
    fn access_size(self, bytes: usize) -> Result<(), Fault> {
        if (1..=2 * FLIT_BYTES).contains(&bytes) {
            return Ok(());
        }
        let message = format!("each access is to be of {bytes} bytes");
        Err(self.refused(message, "access 1 to 32 bytes at once"))
    }

    /// Sums of digits, each of a variable or of a sum before it.
    fn guard(self, guard: &Guard, variables: usize) -> Result<(), Fault> {
        let refused = |message: String| Err(self.refused(message, "use the guard that the mappings give"));
        if guard.variables != variables {
            let given = guard.variables;
            return refused(format!("a guard over {given} variables is asked about {variables}"));
        }
        for (k, sum) in guard.sums.iter().enumerate() {
            let digits =
                sum.first.checked_add(sum.len).and_then(|end| guard.digits.as_slice().get(sum.first..end));
            let Some(digits) = digits else {
                return refused(format!("sum {k} of a guard has digits that are not there"));
            };
            let mut most = 0u64;
            for digit in digits {
                // A digit that never starts again goes as far as its variable.
                let extent = match digit.extent {
                    usize::MAX => MOST_IN_SLICE / digit.base.max(1) as u64 + 1,
                    extent => extent as u64,
                };
                let reach = extent.checked_mul(digit.weight as u64);
                most = reach.map_or(MOST, |reach| most.saturating_add(reach));
                if digit.variable >= variables + k || digit.base == 0 || digit.extent == 0 || most >= MOST {
                    return refused(format!("sum {k} of a guard has a digit without a meaning: {digit:?}"));
                }
            }
        }
        Ok(())
    }

    /// The number of positions.
    fn config(self, config: &Config) -> Result<usize, Fault> {
        let (mut positions, mut reach) = (1u64, config.base.unsigned_abs() as u64);
        for entry in config.entries.iter() {
            positions = positions.saturating_mul(entry.size as u64);
            let own = (entry.size as u64).saturating_mul(entry.stride.unsigned_abs() as u64);
            reach = reach.saturating_add(own);
        }
        if positions == 0 || positions >= MOST || reach >= MOST || config.packet_size == 0 {
            let message = format!("the sequencer {config} has loops without a meaning");
            return Err(
                self.refused(message, "use loops of 1 to 65536 iterations with strides inside the memory")
            );
        }
        Ok(positions as usize)
    }

    /// Loops whose live iterations are at places that can be.
    fn transfer(self, transfer: &Transfer) -> Result<(), Fault> {
        let refused = |message: String| Err(self.refused(message, "use the loops that the mappings give"));
        self.guard(&transfer.guard, transfer.loops.len())?;
        let (mut positions, mut reach) = (1u64, 0u64);
        for own in transfer.loops.iter() {
            positions = positions.saturating_mul(own.size as u64);
            for step in [own.source, own.destination] {
                let steps = (step.units as u64).saturating_add(step.elements as u64);
                reach = reach.saturating_add((own.size as u64).saturating_mul(steps));
            }
        }
        let starts = [transfer.source_start, transfer.destination_start];
        for start in starts {
            let own =
                (start.units.unsigned_abs() as u64).saturating_add(start.elements.unsigned_abs() as u64);
            reach = reach.saturating_add(own);
        }
        if positions >= MOST || reach >= MOST {
            return refused(format!("loops over {positions} indices reach {reach} units and elements"));
        }
        if starts.iter().any(|start| start.units < 0 || start.elements < 0) {
            let mut before = false;
            Moves::new(transfer).for_each_strip(8, |strip| {
                for end in [strip.source, strip.destination] {
                    before |= end.unit as u64 >= MOST || end.position as u64 >= MOST;
                }
            });
            if before {
                return refused("the loops move an element from or to a place before the tensor".to_string());
            }
        }
        Ok(())
    }

    /// A flat array in unit 0, which holds every position of its side.
    fn host_array(self, transfer: &Transfer, elements: usize, upload: bool) -> Result<(), Fault> {
        let (mut last, mut units, mut empty) = (0, false, false);
        for own in transfer.loops.iter() {
            let step = if upload { own.source } else { own.destination };
            last += own.size.saturating_sub(1) * step.elements;
            units |= step.units > 0 && own.size > 1;
            empty |= own.size == 0;
        }
        let start = if upload { transfer.source_start } else { transfer.destination_start };
        let mut outside = start.units != 0 || units;
        if !empty && !outside && last.saturating_add_signed(start.elements) >= elements {
            // Which positions are live decides.
            Moves::new(transfer).for_each_strip(8, |strip| {
                let end = if upload { strip.source } else { strip.destination };
                outside |= end.position + (strip.count - 1) * end.stride + strip.run > elements;
            });
        }
        if outside || elements as u64 >= MOST {
            let message = format!("the loops leave the array of {elements} elements of the host");
            return Err(self.refused(message, "let the loops end with the array"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::{System, SystemOptions};
    use crate::command::{
        Collect, Command, Fetch, FillId, Footprint, GuardDigit, GuardSum, Step, TransferLoop,
    };
    use crate::sequencer::Entry;
    use ElementType::{F32, I4, I5, I8, I32};

    fn region(memory: Memory, element: ElementType, elements: usize) -> Region {
        let (clusters, slices) = if memory == Memory::Hbm { (1, 1) } else { (2, 256) };
        let guard = Guard::always(4);
        let footprint = Footprint { element, chips: 1, clusters, slices, elements, guard };
        Region { memory, address: 0, fill: FillId::ANY, footprint }
    }

    fn config(loops: &[(usize, isize)], packet: usize) -> Config {
        let mut config = Config::new(packet);
        loops.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
        config
    }

    fn dma() -> Dma {
        let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
        let step = Step { units: 0, elements: 1 };
        transfer.loops.push(TransferLoop { size: 64, source: step, destination: step });
        let (source, destination) = (region(Memory::Hbm, I8, 64), region(Memory::Dm, I8, 64));
        Dma { source, destination, transfer, pcie: false }
    }

    /// Two packets of a flit.
    fn copy() -> TensorUnit {
        let fetch = Fetch::new(region(Memory::Dm, I8, 64), config(&[(2, 32), (32, 1)], 32), 2, 32, I8);
        let sink = Sink::Commit {
            destination: region(Memory::Dm, I8, 64),
            config: config(&[(2, 32), (32, 1)], 32),
            commit_size: 8,
            guard: Guard::always(5),
        };
        let collect = Some(Collect { flits: 1 });
        TensorUnit { sub_context: false, fetch, collect, contraction: None, cast: None, sink }
    }

    /// What becomes of a command in a fresh system, whatever is checked.
    #[track_caller]
    fn outcome(operation: Operation) -> Result<(), (FaultKind, String)> {
        let command = Command { operation, location: Location::caller() };
        let [all, none] = [crate::chip::CheckOptions::ALL, crate::chip::CheckOptions::NONE].map(|checks| {
            let mut system = System::new(SystemOptions { checks, ..SystemOptions::default() });
            system.execute(&command).map_err(|fault| (fault.kind, fault.to_string()))
        });
        assert_eq!(all, none, "no switch is asked");
        all
    }

    #[track_caller]
    fn refused(operation: Operation, kind: FaultKind, part: &str) {
        let (found, text) = outcome(operation).expect_err("it is refused");
        assert!(found == kind && text.contains(part) && text.contains("\nhelp: "), "{text}");
    }

    #[track_caller]
    fn refused_dma(part: &str, change: impl FnOnce(&mut Dma)) {
        let mut dma = dma();
        change(&mut dma);
        refused(Operation::Dma(Box::new(dma)), FaultKind::Refused, part);
    }

    #[track_caller]
    fn refused_copy(part: &str, change: impl FnOnce(&mut TensorUnit)) {
        let mut unit = copy();
        change(&mut unit);
        refused(Operation::TensorUnit(Box::new(unit)), FaultKind::Refused, part);
    }

    #[test]
    fn transfers() {
        assert_eq!(outcome(Operation::Dma(Box::new(dma()))), Ok(()));
        refused_dma("DMA: refused: a tensor of i8 is to be moved to a tensor of f32", |dma| {
            dma.destination.footprint.element = F32;
        });
        refused_dma("a guard over 2 variables is asked about 1", |dma| dma.transfer.guard.variables = 2);
        refused_dma("loops over 64 indices reach", |dma| {
            let mut own = dma.transfer.loops.at(0);
            own.source.elements = usize::MAX;
            dma.transfer.loops.set(0, own);
        });
        refused_dma("before the tensor", |dma| dma.transfer.source_start.elements = -1);
        refused_dma("16777216 elements has no size", |dma| {
            dma.destination.footprint.elements = MOST_IN_SLICE as usize;
        });
        let mut dead = dma();
        // Its first element is padding: nothing is before the tensor.
        dead.transfer.source_start.elements = -1;
        dead.transfer.guard.digits.push(GuardDigit { variable: 0, base: 1, extent: 64, weight: 1 });
        dead.transfer.guard.sums.push(GuardSum { first: 0, len: 1, start: 1, limit: 63 });
        assert_eq!(outcome(Operation::Dma(Box::new(dead.clone()))), Ok(()));
        dead.transfer.guard.sums.push(GuardSum { first: 1, len: 1, start: 0, limit: 1 });
        let part = "sum 1 of a guard has digits that are not there";
        refused(Operation::Dma(Box::new(dead)), FaultKind::Refused, part);
        let mut narrow = dma();
        (narrow.source.footprint.element, narrow.destination.footprint.element) = (I5, I5);
        let part = "a tensor of i5 is to be moved, but no memory holds this type";
        refused(Operation::Dma(Box::new(narrow)), FaultKind::Unsupported, part);
        let mut far = dma();
        far.source.address = u64::MAX;
        let part = "the tensor at HBM address 18446744073709551615 lies in no memory";
        refused(Operation::Dma(Box::new(far)), FaultKind::OutOfBounds, part);
    }

    #[test]
    fn passes() {
        let mut system = System::new(SystemOptions::default());
        let operation = Operation::TensorUnit(Box::new(copy()));
        assert_eq!(system.execute(&Command { operation, location: Location::caller() }), Ok(()));
        refused_copy("64 positions for 3 packets of 32", |unit| unit.fetch.time = 3);
        refused_copy("64 positions for 2 packets of 0", |unit| unit.fetch.packet = 0);
        refused_copy("has loops without a meaning", |unit| {
            unit.fetch.config.entries.set(0, Entry { size: 0, stride: 1 });
        });
        refused_copy("0 flits of 32 elements are to hold packets of 32", |unit| {
            unit.collect = Some(Collect { flits: 0 });
        });
        refused_copy("1 flits of 32 elements are to hold packets of 64", |unit| {
            (unit.fetch.time, unit.fetch.packet, unit.collect) = (1, 64, None);
        });
        refused_copy("each access is to be of 0 bytes", |unit| unit.fetch.fetch_size = 0);
        refused_copy("a tensor of i8 is to be committed to a tensor of i4", |unit| {
            if let Sink::Commit { destination, .. } = &mut unit.sink {
                destination.footprint.element = I4;
            }
        });
        refused_copy("64 positions for 64 of 32 lanes in 2 time steps", |unit| {
            if let Sink::Commit { config, .. } = &mut unit.sink {
                config.packet_size = 64;
            }
        });
        refused_copy("a tensor of i8 is to be cast as a stream of i32", |unit| {
            unit.cast = Some(crate::command::Cast { input: I32, output: I8 });
        });
        let mut wide = copy();
        wide.cast = Some(crate::command::Cast { input: I8, output: I32 });
        let part = "cast: unsupported: a flit of i8 is to become i32, which takes more than a flit";
        refused(Operation::TensorUnit(Box::new(wide)), FaultKind::Unsupported, part);
    }

    #[test]
    fn arrays_of_the_host() {
        let Dma { source: region, transfer, .. } = dma();
        let here = Location::caller();
        let mut system = System::new(SystemOptions::default());
        let mut read =
            |host_elements| system.download(&HostTransfer { region, transfer, host_elements }, here);
        assert!(read(64).is_ok());
        let fault = read(63).expect_err("one is missing");
        assert_eq!(fault.kind, FaultKind::Refused);
        assert!(fault.message.contains("the loops leave the array of 63 elements of the host"), "{fault}");
    }
}
