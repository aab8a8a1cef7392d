//! Bounds that follow by hand from the documented rules, bounds of random programs, and wrong bounds that are found.

use super::*;
use crate::command_time::CommandClock;
use crate::hazards::{Access, Held};
use crate::ledger::{KernelCall, Ledger};
use crate::numbers::Model;
use crate::record::Record;
use crate::schedule::{Resource, Resources, Schedule, Work};
use crate::{Clock, Profile};
use core::panic::Location;
use furiosa_visa_rules::command::{
    AccumulationKind, Collect, Command, ContextKind, Contraction, Dma, Fetch, FillId, Footprint, Memory,
    MemoryKind, Operation, Region, Sink, Step, TensorUnit, Transfer, TransferLoop, TrfAddress, TrfRegion,
};
use furiosa_visa_rules::mapping::Guard;
use furiosa_visa_rules::scalar::ElementType::{self, Bf16, F8e4m3, F32, I4, I8};
use furiosa_visa_rules::sequencer::{Config, Entry};
use std::sync::Arc;

const KERNEL: KernelCall = KernelCall { number: 1, name: "bounded" };

fn region(memory: Memory, address: u64, elements: usize) -> Region {
    let (clusters, slices) = if memory == Memory::Hbm { (1, 1) } else { (2, 256) };
    let guard = Guard::always(4);
    let footprint = Footprint { element: I8, chips: 1, clusters, slices, elements, guard };
    Region::whole(memory, address, FillId(1 + address), footprint)
}

fn config(loops: &[(usize, isize)], packet: usize) -> Config {
    let mut config = Config::new(packet);
    loops.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
    config
}

/// A move of bytes that lie together to or from slice 0.
fn moved(from: (Memory, u64), to: (Memory, u64), bytes: usize) -> Operation {
    let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
    let step = Step { units: 0, elements: 1 };
    transfer.loops.push(TransferLoop { size: bytes, source: step, destination: step });
    let (source, destination) = (region(from.0, from.1, bytes), region(to.0, to.1, bytes));
    Operation::Dma(Box::new(Dma { source, destination, transfer, pcie: false }))
}

/// `accesses` fetches of 8 bytes from an address, and as many commits.
fn pass(from: u64, to: u64, accesses: usize, sub_context: bool) -> Operation {
    let rows = [(accesses, 8), (8, 1)];
    let bytes = 8 * accesses;
    let mut fetch = Fetch::new(region(Memory::Dm, from, bytes), config(&rows, 8), accesses, 8, I8);
    fetch.fetch_size = 8;
    let destination = region(Memory::Dm, to, bytes);
    let (config, guard) = (config(&rows, 8), Guard::always(5));
    let sink = Sink::Commit { destination, config, commit_size: 8, guard };
    Operation::TensorUnit(Box::new(TensorUnit { sub_context, ..TensorUnit::new(fetch, sink) }))
}

/// A contraction of `packets` packets of 64 bytes, each used by 2 steps, with 8 rows, in all slices of a chip.
fn contraction(packets: usize) -> Operation {
    let guard = Guard::always(5);
    let (rows, steps) = (8, 2 * packets);
    let mut fetch = Fetch::new(
        region(Memory::Dm, 0, 64 * packets),
        config(&[(packets, 64), (64, 1)], 64),
        packets,
        64,
        I8,
    );
    fetch.fetch_size = 32;
    let address = TrfAddress::Full;
    let trf = TrfRegion { address, fill: FillId(7), element: I8, rows, row_elements: 128, guard };
    let contraction = Contraction {
        trf,
        stream_guard: guard,
        collect_flits: 2,
        tile: 2,
        trf_config: config(&[(packets, 0), (2, 64), (64, 1)], 64),
        steps,
        step_guard: Guard::always(2),
        depth: 6,
        columns: 1,
        slots: config(&[(1, 0)], 1),
        slot_count: 1,
        kind: AccumulationKind::Interleaved,
        output: ElementType::I32,
    };
    let mut destination = region(Memory::Dm, 1 << 16, 8);
    destination.footprint.element = ElementType::I32;
    let sink = Sink::Commit { destination, config: config(&[(8, 1)], 8), commit_size: 32, guard };
    let unit = TensorUnit::new(fetch, sink);
    let collect = Some(Collect { flits: 2 });
    Operation::TensorUnit(Box::new(TensorUnit { collect, contraction: Some(contraction), ..unit }))
}

/// The time of a kernel of these commands.
fn kernel(profile: Profile, commands: &[Operation]) -> KernelTime {
    let mut clock = Clock::new(profile);
    for operation in commands {
        let operation = operation.clone();
        clock.command(KERNEL, &Command { operation, location: Location::caller() });
    }
    clock.ledger().kernels[0]
}

/// Three loads of 4096 bytes to a slice. Each has 16 requests, of 2 cycles each in the network of the slice, behind a
/// start of 500. 48 units of HBM are 48 * 16 / 32 ticks.
#[test]
fn loads_one_after_another_are_bound_by_their_queue() {
    let loads = [0, 1, 2].map(|k| moved((Memory::Hbm, k << 16), (Memory::Dm, k << 12), 4096));
    let time = kernel(Profile::Book, &loads);
    let bounds = time.bounds;
    assert_eq!((bounds.of(Limit::DmaQueue), time.makespan()), (3 * 532, 3 * 532));
    assert_eq!((bounds.of(Limit::DmaEngine), bounds.of(Limit::Hbm)), (3 * 532, 8));
    // None of them reads what another one wrote.
    assert_eq!(
        (bounds.of(Limit::Dependences), bounds.of(Limit::Main), bounds.of(Limit::Multipliers)),
        (532, 0, 0)
    );
    // The engine has as many cycles as the queue, and comes first.
    assert_eq!((bounds.held_by(), bounds.cycles()), (Limit::DmaEngine, 3 * 532));
}

/// The detailed profile adds 7.1 % of refresh to HBM: 256 units are 128 ticks, and 9 more.
#[test]
fn refresh_is_a_part_of_the_bound_of_hbm() {
    let load = moved((Memory::Hbm, 0), (Memory::Dm, 0), 1 << 16);
    assert_eq!(kernel(Profile::Book, core::slice::from_ref(&load)).bounds.of(Limit::Hbm), 43);
    assert_eq!(kernel(Profile::Detailed, &[load]).bounds.of(Limit::Hbm), 46);
}

/// 512 packets, each used twice: 1024 steps of all multipliers. The fetch has 1024 accesses of 32 bytes. Contractions
/// add a tree of 6 levels to each pass, which the multipliers alone do not have.
#[test]
fn contractions_are_bound_by_the_main_context_and_the_multipliers() {
    let time = kernel(Profile::Book, &[contraction(512), contraction(512)]);
    let bounds = time.bounds;
    assert_eq!(bounds.of(Limit::Multipliers), 2 * 1024);
    assert_eq!((bounds.of(Limit::Main), bounds.of(Limit::Compute)), (2 * 1030, 2 * 1030));
    assert_eq!((bounds.held_by(), bounds.cycles(), time.makespan()), (Limit::Main, 2060, 2060));
}

/// Five passes of 50 accesses in the sub context beside one of 60 in the main context.
#[test]
fn passes_of_the_sub_context_are_bound_by_it() {
    let at = |k: u64| pass(4096 * k, (1 << 16) + 4096 * k, 50, true);
    let commands = [pass(1 << 17, 1 << 18, 60, false), at(0), at(1), at(2), at(3), at(4)];
    let time = kernel(Profile::Book, &commands);
    let bounds = time.bounds;
    assert_eq!((bounds.held_by(), bounds.cycles(), time.makespan()), (Limit::Sub, 250, 250));
    assert_eq!((bounds.of(Limit::Main), bounds.of(Limit::Dependences)), (60, 60));
}

/// A load of 256 bytes takes 506 cycles: 16/3 of HBM, rounded up. Nothing overlaps the first load and the last store.
#[test]
fn loads_before_and_stores_behind_count() {
    let load = |k: u64| moved((Memory::Hbm, k << 16), (Memory::Dm, 4096 * k), 256);
    let of = |k: u64| pass(4096 * k, (1 << 17) + 4096 * k, 32, false);
    let store = |k: u64| moved((Memory::Dm, (1 << 17) + 4096 * k), (Memory::Hbm, (1 << 30) + (k << 16)), 256);
    let time = kernel(Profile::Book, &[load(0), load(1), of(0), of(1), store(0), store(1)]);
    let bounds = time.bounds;
    assert_eq!(bounds.of(Limit::Dependences), 506 + 32 + 506);
    // Two passes between the first load and the last store.
    assert_eq!(bounds.of(Limit::Main), 506 + 64 + 506);
    // Nothing is read before a load or behind a store.
    assert_eq!((bounds.held_by(), bounds.cycles(), time.makespan()), (Limit::DmaQueue, 4 * 506, 4 * 506));
    // The engine has 4 times 500 and 16/3 cycles, which are rounded up once.
    assert_eq!(bounds.of(Limit::DmaEngine), 2022);

    // A buffer that is used again makes the schedule longer, and leaves the bound.
    let again = kernel(Profile::Book, &[load(0), of(0), load(0), of(0), store(0)]);
    assert_eq!((again.bounds.cycles(), again.makespan()), (3 * 506, 3 * 506 + 64));
}

/// Bounds of kernels add up, and the limit of most of their cycles is named.
#[test]
fn bounds_of_all_kernels_are_their_sum() {
    let of = |limit, cycles| KernelTime {
        call: KERNEL,
        start: 0,
        end: 1000,
        operations: 1,
        bounds: Bounds::default().with(limit, cycles).with(Limit::Multipliers, 10),
    };
    let kernels = [of(Limit::Main, 300), of(Limit::Hbm, 500), of(Limit::Main, 250)];
    assert_eq!(of_all(&kernels), Some((1050, Limit::Main)));
    assert_eq!(of_all(&kernels[..2]), Some((800, Limit::Hbm)));
    assert_eq!(of_all(&[]), None);
}

/// A bound that is one cycle too great is found, whichever it is.
#[test]
fn a_bound_that_is_too_great_is_found() {
    let load = moved((Memory::Hbm, 0), (Memory::Dm, 0), 4096);
    let time = kernel(Profile::Book, &[load]);
    assert_eq!(check(&time), Ok(()));
    for limit in Limit::ALL {
        let exact = KernelTime { bounds: time.bounds.with(limit, 532), ..time };
        assert_eq!(check(&exact), Ok(()), "{limit}");
        let above = KernelTime { bounds: time.bounds.with(limit, 533), ..time };
        let excess = Excess { limit, bound: 533, makespan: 532 };
        assert_eq!(check(&above), Err(excess), "{limit}");
    }
}

/// The ledger compares them when a kernel has ended.
#[test]
#[should_panic(
    expected = "a lower bound is wrong: DMA queue gives 8 cycles, but the kernel took 7, in `bounded`"
)]
fn the_ledger_finds_a_bound_that_is_too_great() {
    let mut ledger = Ledger::default();
    ledger.add(&Record { start: 3, end: 10, ..Record::given((KERNEL, 0), Location::caller()) });
    ledger.bound_kernel(KERNEL, Bounds::default().with(Limit::DmaQueue, 7));
    assert_eq!(ledger.kernels[0].bounds.cycles(), 7);
    ledger.bound_kernel(KERNEL, Bounds::default().with(Limit::DmaQueue, 8));
}

/// The time of a single command is that of a run in which it is alone.
#[test]
fn times_of_commands_are_those_of_a_run() {
    let commands = [
        moved((Memory::Hbm, 0), (Memory::Dm, 0), 4096),
        moved((Memory::Dm, 0), (Memory::Hbm, 100), 1000),
        moved((Memory::Hbm, 0), (Memory::Hbm, 1 << 20), 1 << 16),
        pass(0, 4096, 50, false),
        pass(0, 4096, 50, true),
        // All accesses to one bank: they take longer than the formula says.
        pass(0, 8, 63, false),
        contraction(16),
    ];
    for profile in [Profile::Book, Profile::Detailed] {
        let mut alone = CommandClock::new(Model::new(profile));
        for operation in &commands {
            let time = alone.time(operation);
            let mut clock = Clock::new(profile);
            clock.command(KERNEL, &Command { operation: operation.clone(), location: Location::caller() });
            let record = &clock.ledger().records[0];
            assert_eq!(
                (time.cycles(), &time.timing),
                (record.cycles(), &record.timing),
                "{profile} {operation:?}"
            );
            assert_eq!((time.resources, time.bitmap), (record.resources, None));
        }
    }
}

/// Random commands of all contexts: cycles, resources, bytes that are read and written.
fn random_works(buffers: u64, next: &mut impl FnMut(u64) -> u64) -> Vec<Record> {
    let access = |start: u64, write| {
        let bytes = start..start + 64;
        Access { memory: MemoryKind::Dm, of: bytes.clone(), bytes, write, tensor: Held::UNKNOWN }
    };
    (0..30)
        .map(|_| {
            let context = ContextKind::ALL[next(4) as usize];
            let mut resources = Resources::of(context);
            if context != ContextKind::PcieDma && next(3) == 0 {
                resources = resources.with(Resource::Compute);
            }
            let accesses = Arc::new([access(next(buffers) * 32, false), access(next(buffers) * 32, true)]);
            // The end keeps the cycles.
            let end = next(50);
            Record { context, resources, accesses, end, ..Record::given((KERNEL, 0), Location::caller()) }
        })
        .collect()
}

/// Bounds by their definition: paths of a graph of all pairs of commands.
fn plain_bounds(works: &[Record]) -> Bounds {
    let is_host = |k: usize| works[k].context == ContextKind::PcieDma;
    // Last writer of each byte before each command.
    let reads_from = |k: usize| -> Vec<usize> {
        let of_access = |read: &Access| {
            let last = |byte: u64| {
                let writes = |j: &usize| {
                    works[*j].accesses.iter().any(|access| access.write && access.bytes.contains(&byte))
                };
                (0..k).rev().find(writes)
            };
            read.bytes.clone().filter_map(last).collect::<Vec<_>>()
        };
        works[k].accesses.iter().filter(|access| !access.write).flat_map(of_access).collect()
    };
    let sources: Vec<Vec<usize>> = (0..works.len()).map(reads_from).collect();
    let mut heads = vec![0u64; works.len()];
    let mut ends = heads.clone();
    for k in 0..works.len() {
        heads[k] = sources[k].iter().map(|&j| ends[j]).max().unwrap_or(0);
        ends[k] = if is_host(k) && heads[k] == 0 { 0 } else { heads[k] + works[k].end };
    }
    let mut tails = vec![0u64; works.len()];
    for k in (0..works.len()).rev() {
        let behind = (k + 1..works.len()).filter(|j| sources[*j].contains(&k));
        let through = |j: usize| if is_host(j) && tails[j] == 0 { 0 } else { works[j].end + tails[j] };
        tails[k] = behind.map(through).max().unwrap_or(0);
    }
    let on = |resource: Resource| {
        let holds = |k: &usize| !is_host(*k) && works[*k].resources.has(resource);
        let all = || (0..works.len()).filter(holds);
        let sum: u64 = all().map(|k| works[k].end).sum();
        let least = |of: &[u64]| all().map(|k| of[k]).min().unwrap_or(0);
        if sum == 0 { 0 } else { least(&heads) + sum + least(&tails) }
    };
    let chain = (0..works.len()).filter(|k| !is_host(*k)).map(|k| ends[k]).max().unwrap_or(0);
    Bounds::default()
        .with(Limit::DmaQueue, on(Resource::Context(ContextKind::TensorDma)))
        .with(Limit::Main, on(Resource::Context(ContextKind::Main)))
        .with(Limit::Sub, on(Resource::Context(ContextKind::Sub)))
        .with(Limit::Compute, on(Resource::Compute))
        .with(Limit::Dependences, chain)
}

/// Bounds of random programs are those of their definition, and never above the cycles of the schedule.
#[test]
fn bounds_of_random_programs_hold() {
    let mut seed = 11u64;
    let mut next = |n: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % n
    };
    let (mut exact, mut held) = (0, [0; Limit::ALL.len()]);
    for case in 0..300 {
        let works = random_works([8, 64, 512][case % 3], &mut next);
        let mut gathered = KernelBounds::new(KERNEL);
        let mut schedule = Schedule::new();
        for work in &works {
            gathered.add(work, work.end, Model::new(Profile::Book));
            schedule.add(Work {
                context: work.context,
                resources: work.resources,
                accesses: work.accesses.clone(),
                cycles: work.end,
                load: work.load.clone(),
            });
        }
        let bounds = gathered.bounds();
        assert_eq!(bounds, plain_bounds(&works), "case {case}");
        let ended: Vec<_> = core::iter::from_fn(|| schedule.advance()).collect();
        let own = || ended.iter().filter(|own| works[own.number as usize].context != ContextKind::PcieDma);
        let start = own().map(|own| own.start).min().unwrap_or(0);
        let end = own().map(|own| own.end).max().unwrap_or(0);
        assert!(bounds.cycles() <= end - start, "case {case}: {bounds:?}, {} cycles", end - start);
        exact += usize::from(bounds.cycles() == end - start);
        held[bounds.held_by() as usize] += 1;
    }
    // The bound is of use: it is often reached, and by different limits.
    assert!(exact > 0, "never reached");
    assert!(held.iter().filter(|count| **count > 0).count() > 2, "{held:?}");
}

fn product(axes: Vec<ProductAxis>, types: [ElementType; 3], chips: usize) -> Product {
    let [first, second, result] = types;
    Product { axes, first, second, result, chips }
}

fn square(size: u64) -> Vec<ProductAxis> {
    vec![ProductAxis::of_first(size), ProductAxis::of_second(size), ProductAxis::summed(size)]
}

/// 4096 x 4096 x 4096 in bf16: 2^36 products at 2^17 per cycle; 96 MiB at 1536 bytes per cycle of HBM, and at 2048
/// bytes per cycle of the networks of DM. A load and a store start, 500 cycles each.
#[test]
fn problems_have_the_bounds_of_their_bytes_and_products() {
    let of = |types: [ElementType; 3], chips: usize, profile: Profile| {
        let bounds = problem(&product(square(4096), types, chips), Model::new(profile));
        [Limit::Multipliers, Limit::Hbm, Limit::DmaEngine].map(|limit| bounds.of(limit) - 1000)
    };
    let same = |element: ElementType| [element; 3];
    assert_eq!(of(same(Bf16), 1, Profile::Book), [524_288, 65_536, 49_152]);
    // Networks with 4 ticks in place of 3, and 71 ticks of refresh for 1000 ticks of HBM: 196608 + 13959 ticks.
    assert_eq!(of(same(Bf16), 1, Profile::Detailed), [524_288, 70_189, 65_536]);
    assert_eq!(of(same(Bf16), 8, Profile::Book), [65_536, 8_192, 6_144]);
    // 8-bit elements are multiplied at twice the rate, 4-bit ones at four times. The wider operand decides.
    assert_eq!(of([F8e4m3, F8e4m3, Bf16], 1, Profile::Book), [262_144, 43_690, 32_768]);
    assert_eq!(of([I4, I4, Bf16], 1, Profile::Book)[0], 131_072);
    assert_eq!(of([Bf16, F8e4m3, Bf16], 1, Profile::Book)[0], 524_288);
    // The Contraction Engine multiplies no f32: it is cast to bf16.
    assert_eq!(of(same(F32), 1, Profile::Book), [524_288, 131_072, 98_304]);
}

#[test]
fn axes_are_those_of_each_tensor() {
    let batch =
        [ProductAxis::batch(3), ProductAxis::of_first(5), ProductAxis::of_second(7), ProductAxis::summed(11)];
    let of = product(batch.to_vec(), [I8, Bf16, F32], 1);
    assert_eq!((of.products(), of.bytes()), (3 * 5 * 7 * 11, [3 * 5 * 11, 2 * 3 * 7 * 11, 4 * 3 * 5 * 7]));
    // An axis of the first operand alone is summed before, one of the result alone repeats it.
    let alone = ProductAxis { size: 13, in_first: true, in_second: false, in_result: false };
    let repeated = ProductAxis { size: 17, in_first: false, in_second: false, in_result: true };
    let of = product([&batch[..], &[alone, repeated]].concat(), [I8, Bf16, F32], 1);
    assert_eq!(of.products(), 3 * 5 * 7 * 11);
    assert_eq!(of.bytes(), [13 * 3 * 5 * 11, 2 * 3 * 7 * 11, 17 * 4 * 3 * 5 * 7]);
    // Nothing moves, and nothing starts.
    let none = product(vec![ProductAxis::batch(0)], [I8; 3], 1);
    assert_eq!(problem(&none, Model::new(Profile::Detailed)).cycles(), 0);
}

/// 512 slices of 512 KiB of DM, 64 KiB and 8 KiB of register files and 4 KiB of accumulators are 308 281 344 bytes, `C`.
/// In bf16, a phase with `4 C` bytes makes at most `C^1.5 = 5.4128e12` products (`2 C * sqrt(2 C / 8)`).
/// 65536^3 products are 52.002 times as many, so 208 `C` pass HBM. Each tensor once is 83.6 `C`.
#[test]
fn operands_that_do_not_fit_are_read_again() {
    assert_eq!(ON_CHIP_BYTES, 308_281_344);
    let once = |size: u128| 3 * size * size * 2;
    let bytes = |size: u64, chips: usize| product(square(size), [Bf16; 3], chips).hbm_bytes();
    assert_eq!(bytes(65_536, 1), 208 * 308_281_344);
    assert!(once(65_536) < bytes(65_536, 1));
    // All three fit: each byte passes once.
    assert_eq!(bytes(4096, 1), once(4096));
    // Eight chips hold eight times as much: 2.3 phases, whose bytes are fewer than those of the tensors.
    assert_eq!(bytes(65_536, 8), once(65_536));
}
