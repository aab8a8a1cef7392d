//! Commands of all stages with numbers that nobody chose: no rule is modelled, but each command is done or refused, and
//! a refused one leaves memory as it was.

use crate::reference::random::Random;
use crate::reference::switch::Switching;
use crate::{commands, wild_vector};
use furiosa_visa_std::chip::{Check, CheckOptions, FreshMemory, SimOptions, System};
use furiosa_visa_std::command::{
    AccumulationKind, Cast, Collect, Command, CommitNarrowing, ContextKind, Contraction, CopyCall, Dma,
    Duplicates, Emission, Fetch, FillId, Footprint, HostBuffer, HostTransfer, IndexedCall, IndexedDma,
    Inspection, Interleave, MaskConfig, Memory, Memset, Operation, Part, Place, Region, Sink, Step,
    StreamShape, Switch, SwitchVariant, Table, TensorUnit, TimeGate, Transfer, TransferLoop, Transpose,
    TrfAddress, TrfRegion, UnitCopy,
};
use furiosa_visa_std::mapping::{Guard, GuardDigit, GuardSum};
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::sequencer::{Config, Entry};
use std::panic::Location;

/// A number that was meant to be this one.
pub(crate) fn odd(random: &mut Random, meant: usize) -> usize {
    match random.below(12) {
        0 => 0,
        1 => meant.wrapping_add(1),
        2 => meant.wrapping_sub(1),
        3 => meant.wrapping_mul(2),
        4 => random.below(70),
        5 => usize::MAX >> random.below(20),
        6 => 1 << random.between(44, 63),
        _ => meant,
    }
}

fn address(random: &mut Random) -> u64 {
    match random.below(24) {
        0 => odd(random, 512 << 10) as u64,
        1 => (512 << 10) - random.below(64) as u64,
        2 => u64::MAX - random.below(64) as u64,
        3 => random.below(600) as u64,
        _ => 64 * random.below(10) as u64,
    }
}

fn part(random: &mut Random) -> TrfAddress {
    random.pick(&[TrfAddress::FirstHalf, TrfAddress::SecondHalf, TrfAddress::Full])
}

pub(crate) fn region(random: &mut Random, memory: Memory, element: ElementType, elements: usize) -> Region {
    let footprint = Footprint {
        element,
        chips: 1,
        clusters: if memory == Memory::Hbm { 1 } else { 2 },
        slices: if memory == Memory::Hbm { 1 } else { 256 },
        elements,
        guard: Guard::always(4),
    };
    Region::whole(memory, address(random), FillId(random.below(6) as u64), footprint)
}

/// A part of a tensor, or what says that it is one.
fn odd_part(random: &mut Random, region: &mut Region) {
    let offset = odd(random, 600) as u64;
    let units = [0; 3].map(|_| if random.chance(80) { 0 } else { odd(random, 300) });
    let elements = random.chance(70).then(|| odd(random, region.footprint.elements));
    region.part = Part { offset, units, elements };
    if random.chance(60) {
        region.address = region.address.saturating_add(offset);
    }
}

fn config(loops: &[(usize, isize)], packet: usize) -> Config {
    let mut config = Config::new(packet);
    loops.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
    config
}

pub(crate) fn transfer(loops: &[(usize, Step, Step)]) -> Transfer {
    let mut transfer = Transfer { guard: Guard::always(loops.len()), ..Transfer::new() };
    for &(size, source, destination) in loops {
        transfer.loops.push(TransferLoop { size, source, destination });
    }
    transfer
}

pub(crate) const fn inside(elements: usize) -> Step {
    Step { units: 0, elements }
}

/// Stored types and what fetch makes of them.
const STREAMS: [(ElementType, ElementType); 12] = [
    (ElementType::I4, ElementType::I4),
    (ElementType::I4, ElementType::I5),
    (ElementType::I8, ElementType::I8),
    (ElementType::I8, ElementType::I9),
    (ElementType::I8, ElementType::I32),
    (ElementType::I16, ElementType::I32),
    (ElementType::Bf16, ElementType::Bf16),
    (ElementType::Bf16, ElementType::F32),
    (ElementType::F8e4m3, ElementType::F8e4m3),
    (ElementType::F8e5m2, ElementType::F32),
    (ElementType::F32, ElementType::F32),
    (ElementType::I32, ElementType::I32),
];

/// A transpose of a stream: type, time steps, lanes. An odd number of steps has no rows of 4 bits.
fn transpose(random: &mut Random, (element, steps, _): (ElementType, usize, usize)) -> Option<Transpose> {
    let fits = |rows: &usize| {
        let bits = rows * element.bits();
        bits.is_multiple_of(8) && bits <= 64 && steps.is_multiple_of(*rows)
    };
    let rows: Vec<usize> = [1, 2, 4, 8, 16].into_iter().filter(fits).collect();
    let in_rows = if rows.is_empty() { return None } else { random.pick(&rows) };
    let taken = if element.bits() == 4 { 16 } else { 8 };
    let fits = |packets: &usize| (steps / in_rows).is_multiple_of(*packets) && packets * taken <= 32;
    let packets = random.pick(&[1, 2, 4].into_iter().filter(fits).collect::<Vec<_>>());
    let (out_rows, iterations) = (packets * random.between(1, taken), steps / in_rows / packets);
    Some(Transpose { element, in_rows, in_cols: packets * taken, out_rows, iterations })
}

/// A switch of packets of 256 slices that means something.
fn switch(random: &mut Random, time: usize) -> Switch {
    let (slice1, slice0) = (random.pick(&[1, 2, 4]), random.pick(&[1, 2, 8]));
    let time0 = if time.is_multiple_of(2) { 2 } else { 1 };
    let config = match random.below(5) {
        0 => Switching::Broadcast1 { slice1, slice0 },
        1 => Switching::Transpose { slice1, slice0 },
        2 => Switching::TransposedBroadcast1 { slice1, slice0 },
        3 if time.is_multiple_of(slice1) => Switching::InterTranspose { slice1, slice0, time0: 1 },
        _ => Switching::Broadcast01 { slice1, slice0, time0 },
    };
    let mut switch = commands::switch(config, time);
    // The same routes, with a bitmap.
    if matches!(config, Switching::Broadcast1 { .. }) && random.chance(50) {
        switch.variant = SwitchVariant::CustomBroadcast;
    }
    switch
}

fn odd_switch(random: &mut Random, switch: &mut Switch) {
    let (loops, digits, offsets) = (
        switch.time_digits.as_mut_slice(),
        switch.snoop.digits.as_mut_slice(),
        switch.snoop.offsets.as_mut_slice(),
    );
    match random.below(8) {
        0 => switch.ring_size = odd(random, switch.ring_size),
        1 => switch.in_time = odd(random, switch.in_time),
        2 if !loops.is_empty() => {
            let own = &mut loops[random.below(loops.len())];
            let number = [&mut own.size, &mut own.slices, &mut own.time].into_iter().nth(random.below(3));
            let number = number.expect("one of three");
            *number = odd(random, *number);
        }
        3 if !digits.is_empty() => {
            let own = &mut digits[random.below(digits.len())];
            let number = [&mut own.base, &mut own.count, &mut own.weight].into_iter().nth(random.below(3));
            let number = number.expect("one of three");
            *number = odd(random, *number);
        }
        4 if !offsets.is_empty() => {
            let own = &mut offsets[random.below(offsets.len())];
            let number = if random.chance(50) { &mut own.size } else { &mut own.step };
            *number = odd(random, *number);
        }
        5 => {
            let own = switch.gate.unwrap_or(TimeGate { period: 1, size: 2, slices: 1 });
            switch.gate = random.chance(70).then(|| TimeGate {
                period: odd(random, own.period),
                size: odd(random, own.size),
                slices: odd(random, own.slices),
            });
        }
        6 => {
            switch.emission = match random.below(2) {
                0 => Emission::SliceInTime,
                _ => Emission::Nested { slice0: odd(random, 2), time0: odd(random, 2) },
            };
        }
        _ => switch.variant = random.pick(&SwitchVariant::ALL),
    }
}

/// A pass that means something.
fn pass(random: &mut Random) -> TensorUnit {
    let (stored, streamed) = random.pick(&STREAMS);
    let lanes = 256 / streamed.bits();
    let (time, flits) = (random.pick(&[1, 2, 4]), random.between(1, 2));
    let packet = lanes * flits;
    let source = region(random, Memory::Dm, stored, time * packet);
    let loops = config(&[(time, packet as isize), (packet, 1)], packet);
    let mut fetch = Fetch::new(source, loops, time, packet, streamed);
    if random.chance(10) {
        fetch.zero_points = Some([random.below(300) as i32 - 150, 3]);
    }
    if random.chance(10) {
        let codes = (0..odd(random, 1 << stored.bits().min(8)).min(300)).map(|code| code as u32).collect();
        let output = random.pick(&ElementType::ALL);
        fetch.table = Some(Table { input: stored, output, codes });
    }
    if random.chance(15) {
        let mut own = region(random, Memory::Dm, stored, time * packet);
        own.footprint.slices = random.between(1, 256);
        fetch.interleave = Some(Interleave { source: own, period: odd(random, 1) });
    }
    if random.chance(15) {
        let mut counts = furiosa_visa_std::list::List::new(0);
        (0..random.pick(&[1, 1, time])).for_each(|_| counts.push(odd(random, 5)));
        fetch.mask = Some(MaskConfig {
            last_dim: odd(random, 0),
            left_pad: odd(random, 3),
            last_dim_rightmost_valid_count: counts,
            rightmost_valid_count_dim: random.chance(40).then(|| odd(random, 0)),
            pad_value: [random.bits() as u32; 2],
        });
    }
    let switch = random.chance(25).then(|| switch(random, time));
    let time = switch.as_ref().map_or(time, Switch::out_time);
    let mut stream = (streamed, time * flits, lanes);
    let contraction = random.chance(35).then(|| {
        let collect_flits = if (time * flits).is_multiple_of(2) { random.between(1, 2) } else { 1 };
        let cells = lanes * collect_flits;
        let tile = random.between(1, 3);
        let packets = time * flits / collect_flits;
        let steps = packets * tile;
        let depth = random.between(0, cells.trailing_zeros() as usize);
        let rows = random.pick(&[1, 2, 4, 8]);
        let row_elements = steps * cells;
        let trf = TrfRegion {
            address: part(random),
            fill: FillId(random.below(6) as u64),
            element: streamed,
            rows,
            row_elements,
            guard: Guard::always(5),
        };
        let integer =
            matches!(streamed, ElementType::I4 | ElementType::I5 | ElementType::I8 | ElementType::I9);
        let columns = random.pick(&[cells >> depth, 1.max(cells >> depth >> 1)]);
        let kind = random.pick(&[AccumulationKind::Interleaved, AccumulationKind::Sequential]);
        let output = if integer { ElementType::I32 } else { ElementType::F32 };
        let summed = random.chance(50);
        let beats = if kind == AccumulationKind::Interleaved { columns } else { rows * columns.div_ceil(8) };
        let slot_count = if summed { tile } else { steps };
        stream = (output, slot_count * beats, 8);
        let slots = if summed { config(&[(packets, 0), (tile, 1)], 1) } else { config(&[(steps, 1)], 1) };
        Contraction {
            trf,
            stream_guard: Guard::always(5),
            collect_flits,
            tile,
            trf_config: config(&[(steps, (cells * streamed.bits() / 8) as isize)], cells),
            steps,
            step_guard: Guard::always(2),
            depth,
            columns,
            slots,
            slot_count,
            kind,
            output,
        }
    });
    let vector = (stream.2 == 8 && random.chance(60)).then(|| {
        let (element, time, lanes) = stream;
        let (vector, behind) = wild_vector::program(random, StreamShape { element, time, lanes });
        stream = (behind.element, behind.time, behind.lanes);
        vector
    });
    let cast = random.chance(20).then(|| {
        let output = random.pick(&[ElementType::I8, ElementType::Bf16, ElementType::F8e4m3, stream.0]);
        let cast = Cast { input: stream.0, output };
        stream = (output, stream.1, 256 / output.bits());
        cast
    });
    let transpose = if random.chance(25) { transpose(random, stream) } else { None };
    if let Some(own) = &transpose {
        stream.1 = own.iterations * own.out_rows;
    }
    let (element, total, lanes) = stream;
    // What a transpose leaves fills the lanes of its rows.
    let rows = transpose.map_or(lanes, |own| own.in_rows);
    let window = random.pick(&[lanes, rows, rows, lanes / 2]).max(1);
    let sink = match random.below(4) {
        0 => {
            let address = part(random);
            let (rows, fill) = (random.pick(&[1, 2, 4, 8]), FillId(random.below(6) as u64));
            let row_elements = (total * lanes).div_ceil(rows);
            let guard = Guard::always(5);
            Sink::Trf {
                destination: TrfRegion { address, fill, element, rows, row_elements, guard },
                guard: Guard::always(5),
            }
        }
        1 => Sink::Vrf {
            destination: region(random, Memory::Vrf, element, total * lanes),
            transfer: transfer(&[(total * lanes, inside(1), inside(1))]),
            guard: Guard::always(5),
        },
        _ => Sink::Commit {
            destination: region(random, Memory::Dm, element, total * window),
            config: config(&[(total, window as isize), (window, 1)], window),
            commit_size: 8,
            guard: Guard::always(5),
        },
    };
    let (sub_context, collect) = (random.chance(30), Some(Collect { flits }));
    TensorUnit {
        sub_context,
        switch,
        collect,
        contraction,
        vector,
        cast,
        transpose,
        ..TensorUnit::new(fetch, sink)
    }
}

pub(crate) fn odd_guard(random: &mut Random, guard: &mut Guard) {
    match random.below(4) {
        0 => guard.variables = odd(random, guard.variables),
        _ => {
            let (first, len) = (guard.digits.len(), random.between(1, 2));
            for _ in 0..len {
                let variable =
                    if random.chance(90) { random.below(guard.variables.max(1)) } else { odd(random, 4) };
                let (base, extent) = (odd(random, 1), odd(random, 8));
                guard.digits.push(GuardDigit { variable, base, extent, weight: odd(random, 1) });
            }
            let (first, len) = (odd_rarely(random, first), odd_rarely(random, len));
            guard.sums.push(GuardSum { first, len, start: odd_rarely(random, 0), limit: odd(random, 5) });
        }
    }
}

fn odd_rarely(random: &mut Random, meant: usize) -> usize {
    if random.chance(10) { odd(random, meant) } else { meant }
}

pub(crate) fn odd_region(random: &mut Random, region: &mut Region) {
    if random.chance(25) {
        return odd_part(random, region);
    }
    let footprint = &mut region.footprint;
    match random.below(8) {
        0 => footprint.chips = odd(random, 1),
        1 => footprint.clusters = odd(random, 2),
        2 => footprint.slices = odd(random, 256),
        3 => footprint.elements = odd(random, footprint.elements),
        4 => footprint.element = random.pick(&ElementType::ALL),
        5 => odd_guard(random, &mut footprint.guard),
        6 => region.memory = random.pick(&[Memory::Hbm, Memory::Dm, Memory::Vrf]),
        _ => region.address = odd(random, 512 << 10) as u64,
    }
}

fn odd_trf(random: &mut Random, region: &mut TrfRegion) {
    match random.below(4) {
        0 => region.rows = odd(random, region.rows),
        1 => region.row_elements = odd(random, region.row_elements),
        2 => region.element = random.pick(&ElementType::ALL),
        _ => odd_guard(random, &mut region.guard),
    }
}

fn odd_config(random: &mut Random, config: &mut Config) {
    let stride = |random: &mut Random, meant: isize| match random.below(4) {
        0 => -meant,
        1 => odd(random, 8) as isize,
        2 => -(random.below(64) as isize),
        _ => random.below(64) as isize,
    };
    let at = random.below(config.entries.len().max(1));
    match random.below(5) {
        0 => config.base = stride(random, 4),
        1 => config.packet_size = odd(random, config.packet_size),
        2 => config.entries.insert(0, Entry { size: odd(random, 1), stride: odd(random, 1) as isize }),
        _ if config.entries.is_empty() => {}
        3 => {
            let mut entry = config.entries.at(at);
            entry.size = odd(random, entry.size);
            config.entries.set(at, entry);
        }
        _ => {
            let mut entry = config.entries.at(at);
            entry.stride = stride(random, entry.stride);
            config.entries.set(at, entry);
        }
    }
}

pub(crate) fn odd_transfer(random: &mut Random, transfer: &mut Transfer) {
    let at = random.below(transfer.loops.len().max(1));
    match random.below(6) {
        0 => odd_guard(random, &mut transfer.guard),
        1 => transfer.source_start.elements = random.below(40) as isize - 20,
        2 => transfer.destination_start.elements = odd(random, 3) as isize,
        3 => transfer.destination_start.units = random.below(3) as isize - 1,
        _ if transfer.loops.is_empty() => {}
        _ => {
            let mut own = transfer.loops.at(at);
            match random.below(5) {
                0 => own.size = odd(random, own.size),
                1 => own.source.elements = odd(random, own.source.elements),
                2 => own.source.units = odd(random, own.source.units),
                3 => own.destination.elements = odd(random, own.destination.elements),
                _ => own.destination.units = odd(random, own.destination.units),
            }
            transfer.loops.set(at, own);
        }
    }
}

fn odd_pass(random: &mut Random, unit: &mut TensorUnit) {
    if let Some(own) = unit.vector.as_mut().filter(|_| random.chance(40)) {
        return wild_vector::odd_program(random, own);
    }
    if random.chance(10) {
        unit.narrowing = Some(CommitNarrowing { relu: random.chance(50) });
        return;
    }
    match random.below(10) {
        0 => odd_region(random, &mut unit.fetch.source),
        1 => odd_config(random, &mut unit.fetch.config),
        2 => match random.below(4) {
            0 => unit.fetch.time = odd(random, unit.fetch.time),
            1 => unit.fetch.packet = odd(random, unit.fetch.packet),
            2 => unit.fetch.output = random.pick(&ElementType::ALL),
            _ => unit.fetch.fetch_size = odd(random, unit.fetch.fetch_size),
        },
        3 => unit.collect = random.chance(70).then(|| Collect { flits: odd(random, 1) }),
        4 => {
            let cast = Cast { input: unit.fetch.output, output: random.pick(&ElementType::ALL) };
            unit.cast = Some(cast);
        }
        5 | 6 => match (&mut unit.contraction, &mut unit.sink) {
            (Some(own), _) if random.chance(70) => match random.below(12) {
                0 => odd_trf(random, &mut own.trf),
                1 => odd_guard(random, &mut own.stream_guard),
                2 => odd_guard(random, &mut own.step_guard),
                3 => own.collect_flits = odd(random, own.collect_flits),
                4 => own.tile = odd(random, own.tile),
                5 => odd_config(random, &mut own.trf_config),
                6 => own.steps = odd(random, own.steps),
                7 => own.depth = odd(random, own.depth),
                8 => own.columns = odd(random, own.columns),
                9 => odd_config(random, &mut own.slots),
                10 => own.slot_count = odd(random, own.slot_count),
                _ => own.output = random.pick(&ElementType::ALL),
            },
            (_, Sink::Commit { destination, config, guard, commit_size }) => match random.below(4) {
                0 => odd_region(random, destination),
                1 => odd_config(random, config),
                2 => odd_guard(random, guard),
                _ => *commit_size = odd(random, 8),
            },
            (_, Sink::Trf { destination, guard }) => match random.below(2) {
                0 => odd_trf(random, destination),
                _ => odd_guard(random, guard),
            },
            (_, Sink::Vrf { destination, transfer, guard }) => match random.below(3) {
                0 => odd_region(random, destination),
                1 => odd_transfer(random, transfer),
                _ => odd_guard(random, guard),
            },
        },
        7 => {
            if let Some(own) = &mut unit.fetch.interleave {
                odd_region(random, &mut own.source);
            }
            if let Some(own) = &mut unit.switch {
                odd_switch(random, own);
            }
        }
        8 => {
            let meant = Transpose {
                element: unit.fetch.output,
                in_rows: 1,
                in_cols: 8,
                out_rows: 8,
                iterations: unit.fetch.time,
            };
            let own = unit.transpose.get_or_insert(meant);
            match random.below(5) {
                0 => own.element = random.pick(&ElementType::ALL),
                1 => own.in_rows = odd(random, own.in_rows),
                2 => own.in_cols = odd(random, own.in_cols),
                3 => own.out_rows = odd(random, own.out_rows),
                _ => own.iterations = odd(random, own.iterations),
            }
        }
        _ => {}
    }
}

/// A copy between clusters or chips that means something.
fn copy(random: &mut Random) -> UnitCopy {
    let element = random.pick(&ElementType::ALL);
    let call = random.pick(&CopyCall::ALL);
    let memory = if call == CopyCall::HbmChipShuffle { Memory::Hbm } else { Memory::Dm };
    let context =
        random.pick(&ContextKind::ALL.map(|own| if call.is_of(own) { own } else { context_of(call) }));
    let [mut source, mut destination] = [(); 2].map(|()| region(random, memory, element, 64));
    let chips = random.pick(&[1, 1, 2]);
    (source.footprint.chips, destination.footprint.chips) = (chips, chips);
    let (units, step) = match (memory, call) {
        (Memory::Hbm, _) => (chips, 1),
        (_, CopyCall::DmChipShuffle | CopyCall::ChipSliceCopy) => (chips, 512),
        _ => (2, 256),
    };
    let moves = (0..units).map(|unit| {
        let slices = if memory == Memory::Hbm { 1 } else { 4 };
        let slice = Step { units: 1, elements: 0 };
        let mut own = transfer(&[(slices, slice, slice), (64, inside(1), inside(1))]);
        let from = if call.is_parallel() { unit } else { random.below(units) };
        own.source_start.units = (from * step) as isize;
        own.destination_start.units = (unit * step) as isize;
        own
    });
    let moves = moves.collect();
    UnitCopy { call, context, source, destination, moves }
}

/// A context that gives a call.
fn context_of(call: CopyCall) -> ContextKind {
    if call.is_parallel() { ContextKind::Sub } else { ContextKind::TensorDma }
}

fn odd_copy(random: &mut Random, copy: &mut UnitCopy) {
    match random.below(8) {
        0 => odd_region(random, &mut copy.source),
        1 => odd_region(random, &mut copy.destination),
        2 => copy.context = random.pick(&ContextKind::ALL),
        3 => copy.call = random.pick(&CopyCall::ALL),
        4 => {
            let own = copy.moves[0];
            copy.moves.resize(odd(random, copy.moves.len()).clamp(1, 10), own);
        }
        at => {
            let count = copy.moves.len();
            let own = &mut copy.moves[at % count];
            match random.below(3) {
                0 => own.source_start.units = odd(random, 256) as isize,
                1 => own.destination_start.elements = odd(random, 0) as isize,
                _ => odd_transfer(random, own),
            }
        }
    }
}

/// A memset that means something.
fn memset(random: &mut Random) -> Memset {
    let element = random.pick(&ElementType::ALL);
    let destination = region(random, Memory::Dm, element, 64);
    let slice = Step { units: 1, elements: 0 };
    let moves = transfer(&[(256, slice, slice), (8, inside(8), inside(8)), (5, inside(1), inside(1))]);
    Memset { destination, immediate: Memset::immediate(random.bits() as u32, element.bits()), moves }
}

fn odd_memset(random: &mut Random, own: &mut Memset) {
    match random.below(4) {
        0 => odd_region(random, &mut own.destination),
        1 => own.immediate = odd(random, own.immediate as usize) as u32,
        2 => own.destination.footprint.element = random.pick(&ElementType::ALL),
        _ => {
            odd_transfer(random, &mut own.moves);
            if random.chance(70) {
                // Nothing is read: one side follows the other.
                own.moves.source_start = own.moves.destination_start;
                own.moves.loops.as_mut_slice().iter_mut().for_each(|step| step.source = step.destination);
            }
        }
    }
}

/// A gather or a scatter of eight rows that means something; what its index says may not.
fn indexed(random: &mut Random) -> IndexedDma {
    let element = random.pick(&ElementType::ALL);
    let call = random.pick(&IndexedCall::ALL);
    let [mut table, mut side] = [Memory::Hbm, Memory::Dm].map(|memory| region(random, memory, element, 128));
    let memory = random.pick(&[Memory::Hbm, Memory::Dm]);
    let mut index = region(random, memory, ElementType::I32, 8);
    let chips = random.pick(&[1, 1, 2]);
    for own in [&mut table, &mut side, &mut index] {
        own.footprint.chips = chips;
    }
    let (source, destination) = if call.gathers() { (table, side) } else { (side, table) };
    IndexedDma {
        call,
        source,
        destination,
        index,
        rows: transfer(&[(8, inside(1), inside(16))]),
        payload: transfer(&[(16, inside(1), inside(1))]),
        count: 8,
        stride: 16,
        scale: random.pick(&[1, 1, 16]),
        duplicates: random.pick(&[Duplicates::Equal, Duplicates::LastWins]),
        // Nothing of it is believed.
        list: random.chance(20).then(|| vec![odd(random, 3)].into()),
    }
}

fn odd_indexed(random: &mut Random, own: &mut IndexedDma) {
    match random.below(10) {
        0 => odd_region(random, &mut own.source),
        1 => odd_region(random, &mut own.destination),
        2 => odd_region(random, &mut own.index),
        3 => own.count = odd(random, own.count),
        4 => own.stride = odd(random, own.stride),
        5 => own.scale = odd(random, own.scale),
        6 => own.call = random.pick(&IndexedCall::ALL),
        7 => own.payload.source_start.elements = odd(random, 0) as isize,
        8 => odd_transfer(random, &mut own.rows),
        _ => odd_transfer(random, &mut own.payload),
    }
}

/// A fresh system. Any check may be off.
fn system(random: &mut Random) -> System {
    let mut checks = CheckOptions::ALL;
    if random.chance(60) {
        for &check in Check::ALL {
            checks = checks.with(check, random.chance(50));
        }
    }
    let fresh_memory = random.pick(&[FreshMemory::Poison, FreshMemory::Zero, FreshMemory::Random]);
    let chips = random.pick(&[None, Some(1), Some(2)]);
    let seed = random.seed;
    System::new(SimOptions { chips, checks, fresh_memory, seed, ..SimOptions::default() })
}

/// Writes numbers where the tensors lie.
fn prepare(system: &mut System, random: &mut Random) -> Result<(), String> {
    let here = Location::caller();
    let text = |fault: furiosa_visa_std::chip::Fault| fault.to_string();
    let mut hbm = region(random, Memory::Hbm, ElementType::I8, 2048);
    (hbm.address, hbm.fill) = (1 << 20, FillId(7));
    let host = HostTransfer {
        region: hbm,
        transfer: transfer(&[(2048, inside(1), inside(1))]),
        host_elements: 2048,
    };
    let bytes = (0..2048).map(|_| random.bits() as u8).collect();
    system.upload(&host, &HostBuffer { bytes, initialised: None }, here).map_err(text)?;
    let mut dm = region(random, Memory::Dm, ElementType::I8, 2048);
    (dm.address, dm.fill) = (0, FillId(8));
    let spread = transfer(&[(4, inside(0), Step { units: 1, elements: 0 }), (2048, inside(1), inside(1))]);
    let operation =
        Operation::Dma(Box::new(Dma { source: hbm, destination: dm, transfer: spread, pcie: false }));
    system.execute(&Command { operation, location: here }).map_err(text)
}

/// The first bytes of the data memory of slice 0, past all checks of the handle.
fn look(system: &mut System) -> Result<HostBuffer, String> {
    let here = Location::caller();
    let footprint = Footprint {
        element: ElementType::I8,
        chips: 1,
        clusters: 2,
        slices: 256,
        elements: 1024,
        guard: Guard::always(4),
    };
    let source = Region::whole(Memory::Dm, 0, FillId::ANY, footprint);
    let staging = Footprint { clusters: 1, slices: 1, ..footprint };
    let staging = Region::whole(Memory::Hbm, 1 << 30, FillId::ANY, staging);
    let all = transfer(&[(1024, inside(1), inside(1))]);
    system.enter_kernel(furiosa_visa_std::clock::KernelCall::default());
    let operation =
        Operation::Dma(Box::new(Dma { source, destination: staging, transfer: all, pcie: false }));
    // Refused where other contexts are at work: then there is nothing to see.
    if let Err(fault) = system.execute(&Command { operation, location: here }) {
        return Err(fault.to_string());
    }
    let host = HostTransfer { region: staging, transfer: all, host_elements: 1024 };
    system.download(&host, here).map_err(|fault| fault.to_string())
}

/// Notes a command; prints it where a single sequence is repeated, since it may panic.
fn note(log: &mut String, command: &impl core::fmt::Debug) {
    *log = format!("{command:?}");
    if std::env::var("VISA_CASES").is_ok_and(|count| count == "1") {
        eprintln!("{log}");
    }
}

/// One sequence. How many commands were done.
pub fn run(random: &mut Random) -> Result<usize, String> {
    let mut system = system(random);
    prepare(&mut system, random)?;
    let here = Location::caller();
    let mut done = 0;
    for _ in 0..random.between(2, 6) {
        let oddities = random.pick(&[0, 1, 1, 2, 3]);
        let mut log = String::new();
        let before = if random.chance(25) { look(&mut system).ok() } else { None };
        let outcome = match random.below(13) {
            0..6 => {
                let mut unit = pass(random);
                (0..oddities).for_each(|_| odd_pass(random, &mut unit));
                note(&mut log, &unit);
                system.execute(&Command { operation: Operation::TensorUnit(Box::new(unit)), location: here })
            }
            6..8 => {
                let element = random.pick(&ElementType::ALL);
                let memories = [Memory::Hbm, Memory::Dm];
                let (from, to) = (random.pick(&memories), random.pick(&memories));
                let mut dma = Dma {
                    source: region(random, from, element, 64),
                    destination: region(random, to, element, 64),
                    transfer: transfer(&[(4, inside(16), inside(16)), (16, inside(1), inside(1))]),
                    pcie: random.chance(15),
                };
                for _ in 0..oddities {
                    match random.below(4) {
                        0 => odd_region(random, &mut dma.source),
                        1 => odd_region(random, &mut dma.destination),
                        _ => odd_transfer(random, &mut dma.transfer),
                    }
                }
                note(&mut log, &dma);
                system.execute(&Command { operation: Operation::Dma(Box::new(dma)), location: here })
            }
            8 => {
                let mut copy = copy(random);
                (0..oddities).for_each(|_| odd_copy(random, &mut copy));
                note(&mut log, &copy);
                system.execute(&Command { operation: Operation::UnitCopy(Box::new(copy)), location: here })
            }
            9 => {
                let mut own = indexed(random);
                (0..oddities).for_each(|_| odd_indexed(random, &mut own));
                note(&mut log, &own);
                system.execute(&Command { operation: Operation::Indexed(Box::new(own)), location: here })
            }
            12 => {
                let mut own = memset(random);
                (0..oddities).for_each(|_| odd_memset(random, &mut own));
                note(&mut log, &own);
                system.execute(&Command { operation: Operation::Memset(Box::new(own)), location: here })
            }
            10 => {
                let element = random.pick(&ElementType::ALL);
                let mut host = HostTransfer {
                    region: region(random, Memory::Hbm, element, 64),
                    transfer: transfer(&[(4, inside(16), inside(16)), (16, inside(1), inside(1))]),
                    host_elements: 64,
                };
                for _ in 0..oddities {
                    match random.below(2) {
                        0 => odd_region(random, &mut host.region),
                        _ => odd_transfer(random, &mut host.transfer),
                    }
                }
                note(&mut log, &host);
                if random.chance(50) {
                    system.download(&host, here).map(drop)
                } else {
                    let buffer = HostBuffer { bytes: vec![7; 256], initialised: None };
                    system.upload(&host, &buffer, here)
                }
            }
            _ => {
                let element = random.pick(&ElementType::ALL);
                let mut moved = transfer(&[(4, inside(16), inside(16)), (16, inside(1), inside(1))]);
                let source = if random.chance(50) {
                    let mut own = region(random, Memory::Vrf, element, 64);
                    (0..oddities).for_each(|_| odd_region(random, &mut own));
                    Place::Region(own)
                } else {
                    let (address, fill) = (part(random), FillId(random.below(6) as u64));
                    let guard = Guard::always(5);
                    let mut own = TrfRegion { address, fill, element, rows: 8, row_elements: 64, guard };
                    (0..oddities).for_each(|_| odd_trf(random, &mut own));
                    Place::Trf(own)
                };
                (0..oddities).for_each(|_| odd_transfer(random, &mut moved));
                let inspection = Inspection { source, transfer: moved, host_elements: 64 };
                note(&mut log, &inspection);
                system.inspect(&inspection, here).map(drop)
            }
        };
        match outcome {
            Ok(()) => done += 1,
            Err(fault) => {
                let text = fault.to_string();
                if !text.starts_with("fault: ") || !text.contains("\nhelp: ") {
                    return Err(format!("{log}\n{text}"));
                }
                if let Some(before) = before
                    && let Ok(after) = look(&mut system)
                    && after != before
                {
                    return Err(format!("{log}\nrefused, but memory has changed:\n{text}"));
                }
            }
        }
    }
    // The clock has to make something of whatever was accepted.
    if system.report().to_string().is_empty() { Err("no report".to_string()) } else { Ok(done) }
}
