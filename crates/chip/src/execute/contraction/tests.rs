//! Tests of all paths of this machine against sums cell by cell.

use super::*;
use crate::PaddingRule;
use ElementType::{Bf16, F8e4m3, F8e5m2, F32, I4, I8, I32};
use furiosa_visa_rules::command::{FillId, TrfAddress, TrfRegion};
use furiosa_visa_rules::mapping::{GuardDigit, GuardSum};
use furiosa_visa_rules::spec::TRF_BYTES;
use furiosa_visa_rules::testing::config;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use std::collections::HashSet;

/// Guard of five variables: `variable < limit`.
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
    /// True if its iterations use different weights.
    weights: bool,
    /// True if its iterations have different results.
    kept: bool,
}

/// Element, flits per packet and depth of the tree.
type Form = (ElementType, usize, usize);

/// Every form of at most 32 columns.
fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    for (element, flits) in [I4, I8, F8e4m3, F8e5m2, Bf16].into_iter().flat_map(|e| [(e, 1), (e, 2)]) {
        let cells = flits * 256 / element.bits();
        let depths = (512 / element.bits()).trailing_zeros() as usize;
        let depths = cells.div_ceil(32).trailing_zeros() as usize..=depths;
        forms.extend(depths.map(|depth| (element, flits, depth)));
    }
    forms
}

/// Number of chains with the same tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Company {
    /// One chain.
    Alone,
    /// Two or more chains.
    Several,
}

fn random_contraction(random: &mut SmallRng) -> Contraction {
    let form = *forms().choose(random).expect("some forms");
    contraction_of(random, form, None)
}

/// A random contraction with a given form and company.
fn contraction_of(random: &mut SmallRng, form: Form, company: Option<Company>) -> Contraction {
    let (element, collect_flits, depth) = form;
    let output = if matches!(element, I4 | I8) { I32 } else { F32 };
    let bits = element.bits();
    let cells = collect_flits * 256 / bits;
    let columns = random.random_range(1..=cells.div_ceil(1 << depth));
    let period = 1usize << random.random_range(usize::from(bits == 4)..=cells.trailing_zeros() as usize);
    let mut loops: Vec<Loop> = (0..random.random_range(0..3))
        .map(|_| Loop { size: random.random_range(1..4), weights: random.random(), kept: random.random() })
        .collect();
    let (least, kept) = match company {
        Some(Company::Several) => (2, true),
        _ => (1, random.random_bool(0.8)),
    };
    loops.push(Loop { size: random.random_range(least..40), weights: false, kept });
    if company == Some(Company::Alone) {
        loops.iter_mut().filter(|level| level.kept).for_each(|level| level.weights = true);
    }
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

/// Packed codes: ordinary numbers, or any codes, or zeros of either sign and extremes.
fn codes(random: &mut SmallRng, element: ElementType, bytes: usize) -> Vec<u8> {
    match (random.random_range(0..4), element) {
        (0, _) => (0..bytes).map(|_| random.random()).collect(),
        (1, _) => (0..bytes).map(|_| *[0, 0x80, 0x88, 0x7f, 0xff].choose(random).expect("codes")).collect(),
        (_, Bf16) => (0..bytes / 2)
            .flat_map(|_| ((random.random_range(-4.0f32..4.0).to_bits() >> 16) as u16).to_le_bytes())
            .collect(),
        // Exponents of the small floats that neither vanish nor overflow, and any integers.
        _ => (0..bytes).map(|_| random.random::<u8>() & 0xbf).collect(),
    }
}

/// Data of a slice: register file, packets, and starts of packets.
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

/// Options under which padding adds nothing, whatever its value is.
const IGNORED: PaddingOptions =
    PaddingOptions { packet: usize::MAX, flits: 1, rule: PaddingRule::ZeroWins, computed: false };

/// Source of the packets of a kernel.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// DM, where that is possible.
    Memory,
    /// A stream that is complete.
    Stream,
    /// Blocks of this many flits.
    Blocks(usize),
}

/// The results of a slice.
fn results(
    command: &Contraction,
    path: Option<Path>,
    (data, source): (&Data, Source),
    at: Coordinates,
    buffers: &mut ContractionBuffers,
) -> (ContractionPlan, Vec<u8>) {
    let mut plan = ContractionPlan::with_kernels(command, path, IGNORED);
    let flits = data.starts.len() * command.collect_flits;
    if matches!(source, Source::Memory) && plan.whole_packets(flits).is_some() {
        plan = plan.in_place(&data.starts);
    }
    plan.load(&data.trf, at, buffers);
    plan.start(buffers);
    if plan.is_in_place && plan.is_whole(at, buffers) {
        plan.run_in_place(&data.bytes, buffers);
    } else {
        let size = command.collect_flits * FLIT_BYTES;
        let block = match source {
            Source::Blocks(flits) => flits / command.collect_flits,
            Source::Memory | Source::Stream => data.starts.len(),
        };
        for (number, starts) in data.starts.chunks(block).enumerate() {
            let mut stream = Row::new(command.trf.element);
            for &start in starts {
                let bytes = &data.bytes[start as usize..][..size];
                stream.push(bytes, size * 8 / command.trf.element.bits(), None);
            }
            plan.run(&stream, number * block * command.collect_flits, at, buffers);
        }
    }
    let mut output = Row::new(command.output);
    plan.finish(buffers, &mut output);
    (plan, output.bytes().to_vec())
}

/// Results without a kernel.
fn exact(command: &Contraction, data: &Data, at: Coordinates) -> Vec<u8> {
    results(command, None, (data, Source::Stream), at, &mut ContractionBuffers::default()).1
}

#[test]
fn all_paths_give_the_same_bits() {
    let mut random = SmallRng::seed_from_u64(5);
    let paths: Vec<Path> = Path::available().collect();
    // Number of cases with floats, with one row of them, with integers, with packets in DM, and with none of them.
    let (mut floats, mut single_rows, mut integers, mut in_place, mut general) = (0, 0, 0, 0, 0);
    let mut buffers: Vec<ContractionBuffers> = paths.iter().map(|_| ContractionBuffers::default()).collect();
    for case in 0..600 {
        let command = random_contraction(&mut random);
        let data = random_data(&mut random, &command);
        let at = Coordinates { chip: 0, cluster: 0, slice: random.random_range(0..2) };
        let expected = exact(&command, &data, at);
        for (&path, buffers) in paths.iter().zip(&mut buffers) {
            let blocks = Source::Blocks(2 * random.random_range(1..8));
            for source in [Source::Memory, Source::Stream, blocks] {
                let (plan, found) = results(&command, Some(path), (&data, source), at, buffers);
                match plan.kernel {
                    Kernel::General => general += 1,
                    Kernel::Float(_) => floats += 1,
                    Kernel::SingleRow(_) => single_rows += 1,
                    Kernel::Integer(..) => integers += 1,
                }
                in_place += usize::from(plan.is_in_place && plan.is_whole(at, buffers));
                let differs =
                    found.chunks(4).zip(expected.chunks(4)).position(|(found, expected)| found != expected);
                assert!(
                    differs.is_none() && found.len() == expected.len(),
                    "case {case}, {path:?}, {source:?}, {at:?}: result {differs:?} is {:x?} instead of {:x?}: {command:?}, {:?}",
                    differs.map(|at| &found[4 * at..4 * at + 4]),
                    differs.map(|at| &expected[4 * at..4 * at + 4]),
                    plan.kernel,
                );
            }
        }
    }
    assert!(floats > 900 && single_rows > 100, "{floats} {single_rows}");
    assert!(integers > 600 && general > 0, "{integers} {general}");
    assert!(in_place > 150, "packets in DM are tested: {in_place}");
}

/// Without padding, all steps are sorted into chains. On every path, this tests every form, chains alone and side by
/// side, and short and long reads.
#[test]
fn chains_of_every_form_give_the_same_bits() {
    let mut random = SmallRng::seed_from_u64(6);
    let mut buffers = ContractionBuffers::default();
    let at = Coordinates { chip: 0, cluster: 0, slice: 0 };
    for path in Path::available() {
        // Kernels per form and company, reads per element and packet, widths per output.
        let (mut kernels, mut reads, mut widths) = (HashSet::new(), HashSet::new(), HashSet::new());
        for (form, company) in
            forms().into_iter().flat_map(|form| [(form, Company::Alone), (form, Company::Several)])
        {
            for case in 0..6 {
                let mut command = contraction_of(&mut random, form, Some(company));
                (command.stream_guard, command.step_guard) = (Guard::always(5), Guard::always(2));
                command.trf.guard = Guard::always(5);
                let data = random_data(&mut random, &command);
                let expected = exact(&command, &data, at);
                for source in [Source::Memory, Source::Stream] {
                    let (plan, found) = results(&command, Some(path), (&data, source), at, &mut buffers);
                    assert_eq!(found, expected, "{path:?}, {form:?}, {company:?}, case {case}: {command:?}");
                    let (Kernel::Integer(shape, _) | Kernel::Float(shape) | Kernel::SingleRow(shape)) =
                        plan.kernel
                    else {
                        continue;
                    };
                    let is_short = shape.period * shape.element.bits() / 8 < shape.packet_bytes();
                    reads.insert((form.0, form.1, is_short));
                    for group in plan.chains.groups() {
                        let is_alone = group.results.len() == 1;
                        kernels.insert((form, if is_alone { Company::Alone } else { Company::Several }));
                        widths.extend(group.blocks().map(|block| (command.output, block.results.len())));
                    }
                }
            }
        }
        for form in forms() {
            let (element, flits, _) = form;
            for company in [Company::Alone, Company::Several] {
                assert_eq!(
                    kernels.contains(&(form, company)),
                    has_kernel(form),
                    "{path:?}, {form:?}, {company:?}"
                );
            }
            assert!([false, true].into_iter().all(|is_short| reads.contains(&(element, flits, is_short))));
        }
        for (output, kernel) in [(F32, "floats"), (I32, "integers")] {
            let most = widths.iter().filter(|(element, _)| *element == output).map(|&(_, width)| width).max();
            let all = (1..=most.expect("some blocks")).all(|width| widths.contains(&(output, width)));
            assert!(all, "{path:?}: every number of {kernel} side by side: {widths:?}");
        }
    }
}

/// Tells if there are kernels: columns of integers of at most a byte are summed cell by cell.
fn has_kernel((element, flits, depth): Form) -> bool {
    let cells = flits * 256 / element.bits();
    let column_bits = (1 << depth).min(cells) * element.bits();
    !matches!(element, I4 | I8) || column_bits > 8
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
        let at = Coordinates { chip: 0, cluster: 0, slice: 0 };
        let buffers = &mut ContractionBuffers::default();
        let (_, found) = results(&command, Some(path), (&data, Source::Memory), at, buffers);
        let nan = f32::NAN.to_le_bytes();
        assert!(found.as_chunks().0.iter().all(|code| *code == nan), "{path:?}: {found:x?}");
    }
}

#[test]
fn reads_are_joined_where_they_touch() {
    assert_eq!(super::joined(&[32, 0, 8, 8, 40, 100], 8), [0..16, 32..48, 100..108]);
    assert_eq!(super::joined(&[0, 4, 40], 16), [0..20, 40..56]);
    assert_eq!(super::joined(&[], 8), []);
}
