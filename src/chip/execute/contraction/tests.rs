//! All paths of this machine against the one that goes cell by cell.

use super::*;
use crate::chip::PaddingRule;
use crate::command::{FillId, TrfAddress, TrfRegion};
use crate::mapping::{GuardDigit, GuardSum};
use crate::sequencer::walk::tests::config;
use crate::spec::TRF_BYTES;
use ElementType::{Bf16, F8e4m3, F8e5m2, F32, I4, I8, I32};
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use std::collections::HashSet;

/// `base-th digit of the variable < limit`, in a guard of five variables.
fn below(variable: usize, limit: usize) -> Guard {
    let mut guard = Guard::always(5);
    guard.digits.push(GuardDigit { variable, base: 1, extent: usize::MAX, weight: 1 });
    guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit });
    guard
}

/// A loop over steps.
#[derive(Clone, Copy, Debug)]
struct Loop {
    size: usize,
    /// Whether its iterations use weights of their own.
    weights: bool,
    /// Whether its iterations have results of their own.
    kept: bool,
}

fn random_contraction(random: &mut SmallRng) -> Contraction {
    let element = *[I4, I8, F8e4m3, F8e5m2, Bf16].choose(random).expect("some types");
    let output = if matches!(element, I4 | I8) { I32 } else { F32 };
    let bits = element.bits();
    let collect_flits = random.random_range(1..3);
    let cells = collect_flits * 256 / bits;
    let depths = (512 / bits).trailing_zeros() as usize;
    let depth = random.random_range(cells.div_ceil(32).trailing_zeros() as usize..=depths);
    let columns = random.random_range(1..=cells.div_ceil(1 << depth));
    let period = 1usize << random.random_range(usize::from(bits == 4)..=cells.trailing_zeros() as usize);
    let mut loops: Vec<Loop> = (0..random.random_range(0..3))
        .map(|_| Loop { size: random.random_range(1..4), weights: random.random(), kept: random.random() })
        .collect();
    let strands = random.random_range(1..40);
    loops.push(Loop { size: strands, weights: false, kept: random.random_bool(0.8) });
    loops.shuffle(random);
    let tile = random.random_range(1..4);
    loops.push(Loop { size: tile, weights: true, kept: random.random() });
    // Digits from the innermost loop on.
    let (mut elements, mut slots) = (period, 1);
    let (mut reads, mut places) = (Vec::new(), Vec::new());
    for level in loops.iter().rev() {
        let digit = |total: &mut usize, used: bool| {
            let stride = if used { *total } else { 0 };
            *total *= if used { level.size } else { 1 };
            stride as isize
        };
        let read = digit(&mut elements, level.weights) * bits as isize / 8;
        reads.insert(0, (level.size, read));
        places.insert(0, (level.size, digit(&mut slots, level.kept)));
    }
    let steps = loops.iter().map(|level| level.size).product();
    let rows: usize = *[1, 2, 4, 8].choose(random).expect("some rows");
    let guard = match random.random_range(0..6) {
        0 => below(3, rows.div_ceil(2)),
        1 => below(4, elements - elements / 3),
        _ => Guard::always(5),
    };
    let flits = steps / tile * collect_flits;
    let stream_guard = match random.random_range(0..6) {
        0 => below(3, random.random_range(1..=flits)),
        1 => below(4, 256 / bits - 3),
        2 => below(2, 1),
        _ => Guard::always(5),
    };
    let step_guard = match random.random_range(0..6) {
        0 => Guard { variables: 2, ..below(0, random.random_range(1..=steps)) },
        _ => Guard::always(2),
    };
    let address = *[TrfAddress::FirstHalf, TrfAddress::Full].choose(random).expect("some halves");
    Contraction {
        trf: TrfRegion { address, fill: FillId(1), element, rows, row_elements: elements, guard },
        stream_guard,
        step_guard,
        collect_flits,
        tile,
        trf_config: config(&reads, period),
        steps,
        depth,
        columns,
        slots: config(&places, 1),
        slot_count: slots,
        kind: *[AccumulationKind::Interleaved, AccumulationKind::Sequential]
            .choose(random)
            .expect("some kinds"),
        output,
    }
}

/// Packed codes: ordinary numbers, or any, or zeros of either sign and extremes.
fn codes(random: &mut SmallRng, element: ElementType, bytes: usize) -> Vec<u8> {
    match (random.random_range(0..4), element) {
        (0, _) => (0..bytes).map(|_| random.random()).collect(),
        (1, _) => (0..bytes).map(|_| *[0, 0x80, 0x88, 0x7f, 0xff].choose(random).expect("codes")).collect(),
        (_, Bf16) => (0..bytes / 2)
            .flat_map(|_| ((random.random_range(-4.0f32..4.0).to_bits() >> 16) as u16).to_le_bytes())
            .collect(),
        // Exponents of the small floats that neither vanish nor overflow; any integers.
        _ => (0..bytes).map(|_| random.random::<u8>() & 0xbf).collect(),
    }
}

/// A slice's data: register file, packets and where they start.
struct Data {
    trf: Block,
    bytes: Vec<u8>,
    starts: Vec<u32>,
}

fn random_data(random: &mut SmallRng, command: &Contraction) -> Data {
    let element = command.trf.element;
    let mut trf = Block::new(TRF_BYTES);
    trf.write(0, &codes(random, element, TRF_BYTES));
    let size = command.collect_flits * FLIT_BYTES;
    let packets = command.steps / command.tile;
    let bytes = codes(random, element, packets * size + 64);
    let mut starts: Vec<u32> = (0..packets).map(|packet| (packet * size + 8) as u32).collect();
    if random.random() {
        starts.shuffle(random);
    }
    Data { trf, bytes, starts }
}

/// Padding adds nothing, whatever it is.
const IGNORED: PaddingOptions =
    PaddingOptions { packet: usize::MAX, flits: 1, rule: PaddingRule::ZeroWins, computed: false };

/// The results of a slice. `blocks`: in so many flits at a time, or all at once where that is possible.
fn results(
    plan: &ContractionPlan,
    data: &Data,
    at: Coordinates,
    blocks: Option<usize>,
    buffers: &mut ContractionBuffers,
) -> Vec<u8> {
    let command = &plan.command;
    let size = command.collect_flits * FLIT_BYTES;
    plan.load(&data.trf, at, buffers);
    plan.start(buffers);
    let flits = data.starts.len() * command.collect_flits;
    match blocks {
        None if plan.whole_packets(flits) == Some(size) && plan.is_whole(at, buffers) => {
            plan.run_whole(&data.bytes, &data.starts, buffers);
        }
        _ => {
            let block = blocks.unwrap_or(flits) / command.collect_flits;
            for (number, starts) in data.starts.chunks(block).enumerate() {
                let mut stream = Row::new(command.trf.element);
                for &start in starts {
                    let bytes = &data.bytes[start as usize..][..size];
                    stream.push(bytes, size * 8 / command.trf.element.bits(), None);
                }
                plan.run(&stream, number * block * command.collect_flits, at, buffers);
            }
        }
    }
    let mut output = Row::new(command.output);
    plan.finish(buffers, &mut output);
    output.bytes().to_vec()
}

#[test]
fn all_paths_give_the_same_bits() {
    let mut random = SmallRng::seed_from_u64(5);
    let paths: Vec<Path> = Path::available().collect();
    // Cases with floats, integers, all steps at once, and none of them.
    let (mut floats, mut integers, mut whole, mut general) = (0, 0, 0, 0);
    let mut buffers: Vec<ContractionBuffers> = paths.iter().map(|_| ContractionBuffers::default()).collect();
    for case in 0..600 {
        let command = random_contraction(&mut random);
        let data = random_data(&mut random, &command);
        let at = Coordinates { chip: 0, cluster: 0, slice: random.random_range(0..2) };
        let exact = ContractionPlan::with_kernels(&command, None, IGNORED);
        let expected = results(&exact, &data, at, None, &mut ContractionBuffers::default());
        for (&path, buffers) in paths.iter().zip(&mut buffers) {
            let plan = ContractionPlan::new(&command, path, IGNORED);
            match plan.kernel {
                Kernel::General => general += 1,
                Kernel::Float(_) => floats += 1,
                Kernel::Integer(..) => integers += 1,
            }
            for blocks in [None, Some(2 * random.random_range(1..8))] {
                let found = results(&plan, &data, at, blocks, buffers);
                whole += usize::from(
                    blocks.is_none() && plan.is_whole(at, buffers) && plan.stream_live.is_always(),
                );
                let differs =
                    found.chunks(4).zip(expected.chunks(4)).position(|(found, expected)| found != expected);
                assert!(
                    differs.is_none() && found.len() == expected.len(),
                    "case {case}, {path:?}, {blocks:?}, {at:?}: result {differs:?} is {:x?} instead of {:x?}: {command:?}, {:?}",
                    differs.map(|at| &found[4 * at..4 * at + 4]),
                    differs.map(|at| &expected[4 * at..4 * at + 4]),
                    plan.kernel,
                );
            }
        }
    }
    assert!(floats > 300 && integers > 300 && general > 0, "{floats} {integers} {general}");
    assert!(whole > 50, "all steps at once are tested: {whole}");
}

/// Without padding, so that all steps are sorted into chains: on every path every element, packet and column, and chains
/// alone and side by side.
#[test]
fn chains_of_every_shape_give_the_same_bits() {
    let paths: Vec<Path> = Path::available().collect();
    let mut random = SmallRng::seed_from_u64(6);
    let mut shapes: Vec<HashSet<_>> = paths.iter().map(|_| HashSet::new()).collect();
    let (mut buffers, mut exact_buffers) = (ContractionBuffers::default(), ContractionBuffers::default());
    for case in 0..1000 {
        let mut command = random_contraction(&mut random);
        (command.stream_guard, command.step_guard) = (Guard::always(5), Guard::always(2));
        command.trf.guard = Guard::always(5);
        let data = random_data(&mut random, &command);
        let at = Coordinates { chip: 0, cluster: 0, slice: 0 };
        let exact = ContractionPlan::with_kernels(&command, None, IGNORED);
        let expected = results(&exact, &data, at, None, &mut exact_buffers);
        for (&path, shapes) in paths.iter().zip(&mut shapes) {
            let plan = ContractionPlan::new(&command, path, IGNORED);
            let found = results(&plan, &data, at, None, &mut buffers);
            assert_eq!(found, expected, "case {case}, {path:?}: {command:?}");
            let (Kernel::Integer(shape, _) | Kernel::Float(shape)) = plan.kernel else { continue };
            let Some(chains) = &plan.chains else { continue };
            let is_short = shape.period * shape.element.bits() / 8 < shape.packet_bytes();
            for group in &chains.groups {
                let shape = (shape.element, shape.packet_bytes(), shape.part * shape.element.bits() / 8);
                // One alone, some with and some without a rest.
                let count = if group.count < 5 { group.count } else { 5 + group.count % 2 };
                shapes.insert((shape, is_short, count));
            }
        }
    }
    for (path, shapes) in paths.iter().zip(&shapes) {
        for (element, bytes) in [I4, I8, F8e4m3, F8e5m2, Bf16].into_iter().flat_map(|e| [(e, 32), (e, 64)]) {
            // From two bytes on. A packet has at most 32 columns.
            for column in
                [2, 4, 8, 16, 32, 64].into_iter().filter(|&column| (bytes / 32..=bytes).contains(&column))
            {
                let shape = (element, bytes, column);
                let is_tested = shapes.iter().any(|&(own, _, count)| own == shape && count > 1);
                assert!(is_tested, "{path:?} is not tested: {element}, {bytes} bytes, columns of {column}");
            }
            let all = shapes.iter().filter(|((e, b, _), ..)| (*e, *b) == (element, bytes));
            let short: HashSet<_> = all.clone().map(|&(_, is_short, _)| is_short).collect();
            let counts: HashSet<_> = all.map(|&(_, _, count)| count).collect();
            assert!(
                short.len() == 2 && counts.contains(&1) && counts.len() > 4,
                "{path:?}, {element}, {bytes} bytes: {short:?}, {counts:?}"
            );
        }
    }
}

#[test]
fn sums_of_nan_have_one_code() {
    // Infinity times zero, NaN times anything, and their sums.
    let command = Contraction {
        trf: TrfRegion {
            address: TrfAddress::Full,
            fill: FillId(1),
            element: Bf16,
            rows: 8,
            row_elements: 32,
            guard: Guard::always(5),
        },
        stream_guard: Guard::always(5),
        step_guard: Guard::always(2),
        collect_flits: 2,
        tile: 1,
        trf_config: config(&[(20, 0)], 32),
        steps: 20,
        depth: 5,
        columns: 1,
        slots: config(&[(20, 1)], 1),
        slot_count: 20,
        kind: AccumulationKind::Interleaved,
        output: F32,
    };
    let special = [0x7f80u16, 0xff80, 0x0000, 0x8000, 0x7fc1, 0xffc3, 0x7f81, 0x3f80];
    let codes = |len: usize, step: usize| -> Vec<u8> {
        (0..len).flat_map(|k| special[(k * step + k / 8) % 8].to_le_bytes()).collect()
    };
    let mut trf = Block::new(TRF_BYTES);
    trf.write(0, &codes(TRF_BYTES / 2, 3));
    let starts = (0..20).map(|packet| packet * 64).collect();
    let data = Data { trf, bytes: codes(20 * 32, 5), starts };
    for path in Path::available() {
        let plan = ContractionPlan::new(&command, path, IGNORED);
        let at = Coordinates { chip: 0, cluster: 0, slice: 0 };
        let found = results(&plan, &data, at, None, &mut ContractionBuffers::default());
        let nan = f32::NAN.to_le_bytes();
        assert!(found.as_chunks().0.iter().all(|code| *code == nan), "{path:?}: {found:x?}");
    }
}
