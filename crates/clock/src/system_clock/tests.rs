//! Resources, banks and slices of operations, command by command.

use super::super::schedule::{Resource, Wait};
use super::*;
use furiosa_visa_rules::command::{
    CopyCall, Fetch, FillId, Interleave, Start, Step, SwitchVariant, Transfer, TransferLoop,
};
use furiosa_visa_rules::mapping::{Guard, GuardDigit, GuardSum};
use furiosa_visa_rules::scalar::ElementType::I8;
use furiosa_visa_rules::sequencer::{Config, Entry};
use furiosa_visa_rules::spec::DM_BANK_RUN_ACCESSES;

fn region(memory: Memory, address: u64, elements: usize) -> Region {
    let (clusters, slices) = if memory == Memory::Hbm { (1, 1) } else { (2, 256) };
    let guard = Guard::always(4);
    let footprint = Footprint { element: I8, chips: 1, clusters, slices, elements, guard };
    Region::whole(memory, address, FillId(1 + address), footprint)
}

fn config(loops: &[(usize, isize)]) -> Config {
    let mut config = Config::new(8);
    loops.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
    config
}

/// `accesses` fetches of the same 8 bytes, and as many commits to the bytes from 4096 on.
fn pass(accesses: usize) -> Operation {
    let source = region(Memory::Dm, 0, 8);
    let mut fetch = Fetch::new(source, config(&[(accesses, 0), (8, 1)]), accesses, 8, I8);
    fetch.fetch_size = 8;
    let sink = Sink::Commit {
        destination: region(Memory::Dm, 4096, 8 * accesses),
        config: config(&[(accesses, 8), (8, 1)]),
        commit_size: 8,
        guard: Guard::always(5),
    };
    let unit = TensorUnit::new(fetch, sink);
    Operation::TensorUnit(Box::new(unit))
}

/// 256 bytes from HBM to other bytes of DM.
fn transfer() -> Operation {
    let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
    let step = Step { units: 0, elements: 1 };
    transfer.loops.push(TransferLoop { size: 256, source: step, destination: step });
    let (source, destination) = (region(Memory::Hbm, 0, 256), region(Memory::Dm, 1 << 16, 256));
    Operation::Dma(Box::new(Dma { source, destination, transfer, pcie: false }))
}

/// Compares tests of the unit, of the element, and of both in one sum with the guard itself.
#[test]
fn live_slices_are_those_of_the_guard() {
    let of_unit: (usize, usize, &[(usize, usize)]) = (0, 1, &[(1, 1)]);
    let of_slice: (usize, usize, &[(usize, usize)]) = (16, 100, &[(2, 1)]);
    let of_element: (usize, usize, &[(usize, usize)]) = (3, 5, &[(3, 1)]);
    let nowhere: (usize, usize, &[(usize, usize)]) = (12, 5, &[(3, 1)]);
    let of_both: (usize, usize, &[(usize, usize)]) = (8, 1000, &[(2, 12), (3, 1)]);
    let cases: [&[_]; 6] = [
        &[],
        &[of_unit, of_element],
        &[of_slice, of_element],
        &[of_unit, nowhere],
        &[of_both],
        &[of_slice, of_both, of_element],
    ];
    let counts = cases.map(|sums| {
        let mut region = region(Memory::Dm, 0, 12);
        let guard = &mut region.footprint.guard;
        for &(start, limit, digits) in sums {
            guard.sums.push(GuardSum { first: guard.digits.len(), len: digits.len(), start, limit });
            for &(variable, weight) in digits {
                guard.digits.push(GuardDigit { variable, base: 1, extent: 256, weight });
            }
        }
        let (guard, mut expected) = (region.footprint.guard, UsedSlices::default());
        for unit in 0..CLUSTERS * SLICES {
            let holds = |element| guard.holds(&[0, unit / SLICES, unit % SLICES, element]);
            (0..12).filter(|&element| holds(element)).for_each(|_| expected.insert(unit));
        }
        assert_eq!(live_slices(&region), expected, "{guard:?}");
        expected.len()
    });
    assert_eq!(counts, [512, 256, 200, 0, 168, 136]);
}

/// 63 accesses in a row to one bank leave DMA alone; 64 hold it until the pass has ended.
#[test]
fn a_pass_that_stays_at_one_bank_holds_dma() {
    for profile in [Profile::Book, Profile::Detailed] {
        let second = |first: Operation| {
            let mut clock = Clock::new(profile);
            let kernel = KernelCall { number: 1, name: "both" };
            for operation in [first, transfer()] {
                clock.command(kernel, &Command { operation, location: Location::caller() });
            }
            let records = &clock.ledger().records;
            let ran = |name| records.iter().find(|record| record.operation == name).expect("it ran");
            (ran("commit").end, ran("to_dm").start, ran("to_dm").wait)
        };
        assert_eq!(DM_BANK_RUN_ACCESSES, 63);
        let (_, start, wait) = second(pass(63));
        assert_eq!((start, wait), (0, None), "{profile}");
        // Two tensors in turn, 32 times 8 bytes of each: at one bank they are 64 in a row, at two banks none.
        let interleaved = |address| {
            let Operation::TensorUnit(mut unit) = pass(64) else { unreachable!("it is a pass") };
            unit.fetch.interleave = Some(Interleave { source: region(Memory::Dm, address, 8), period: 1 });
            second(Operation::TensorUnit(unit)).1
        };
        assert_eq!((interleaved(8), interleaved(136)), (0, 0), "{profile}");
        assert!(interleaved(128) > 0, "{profile}");
        let (end, start, wait) = second(pass(64));
        let held = Resource::Context(ContextKind::TensorDma);
        assert_eq!((start, wait), (end, Some(Wait::Resource(held, 0))), "{profile}");
    }
}

/// A parallel copy of a column of bank 1 to one of bank 2: `rows` rows of 8 bytes.
fn column(rows: usize) -> Operation {
    let mut transfer = Transfer { guard: Guard::always(2), ..Transfer::new() };
    for (size, elements) in [(rows, 128), (8, 1)] {
        let step = Step { units: 0, elements };
        transfer.loops.push(TransferLoop { size, source: step, destination: step });
    }
    let (source, destination) = (region(Memory::Dm, 8, 8192), region(Memory::Dm, (1 << 17) + 16, 8192));
    let (call, context) = (CopyCall::ParallelCopy, ContextKind::Sub);
    Operation::UnitCopy(Box::new(UnitCopy { call, context, source, destination, moves: vec![transfer] }))
}

/// End of an operation, and start and wait of a transfer that is given behind it.
fn before_transfer(profile: Profile, operation: Operation) -> (u64, u64, Option<Wait>) {
    let mut clock = Clock::new(profile);
    let kernel = KernelCall { number: 1, name: "both" };
    for operation in [operation, transfer()] {
        clock.command(kernel, &Command { operation, location: Location::caller() });
    }
    let records = &clock.ledger().records;
    let ran = |is_transfer: bool| {
        records.iter().find(|record| (record.operation == "to_dm") == is_transfer).expect("it ran")
    };
    (ran(false).end, ran(true).start, ran(true).wait)
}

/// A parallel copy holds DMA at the limit of a pass: 63 rows of one bank leave it alone, 64 hold it.
#[test]
fn a_parallel_copy_that_stays_at_one_bank_holds_dma() {
    for profile in [Profile::Book, Profile::Detailed] {
        let second = |rows: usize| before_transfer(profile, column(rows));
        let (end, start, wait) = second(63);
        assert!(end > 0, "{profile}");
        assert_eq!((start, wait), (0, None), "{profile}");
        let (end, start, wait) = second(64);
        let held = Resource::Context(ContextKind::TensorDma);
        assert_eq!((start, wait), (end, Some(Wait::Resource(held, 0))), "{profile}");
    }
}

/// A memset of a column of bank 0: `rows` rows of 8 bytes, which are two words each.
fn set_column(rows: usize) -> Operation {
    let mut moves = Transfer { guard: Guard::always(2), ..Transfer::new() };
    for (size, elements) in [(rows, 128), (8, 1)] {
        let step = Step { units: 0, elements };
        moves.loops.push(TransferLoop { size, source: step, destination: step });
    }
    let destination = region(Memory::Dm, 1 << 17, 8192);
    Operation::Memset(Box::new(Memset { destination, immediate: 0, moves }))
}

/// A memset holds DMA at the limit of a pass: 62 words of one bank leave it alone, 64 hold it.
#[test]
fn a_memset_that_stays_at_one_bank_holds_dma() {
    for profile in [Profile::Book, Profile::Detailed] {
        let second = |rows: usize| before_transfer(profile, set_column(rows));
        let (end, start, wait) = second(31);
        // The command, the first word, and a cycle per word.
        assert_eq!(end, if profile == Profile::Book { 62 } else { 258 + 1 + 62 });
        assert_eq!((start, wait), (0, None), "{profile}");
        let (end, start, wait) = second(32);
        let held = Resource::Context(ContextKind::TensorDma);
        assert_eq!((start, wait), (end, Some(Wait::Resource(held, 0))), "{profile}");
    }
}

/// Words of a memset meet the fetches of the main context at their bank, and go after it, in the detailed profile.
#[test]
fn a_memset_goes_after_the_main_context_at_the_banks() {
    let cycles = |profile, beside: bool| {
        let mut clock = Clock::new(profile);
        let kernel = KernelCall { number: 1, name: "both" };
        let mut operations = vec![set_column(31)];
        if beside {
            operations.insert(0, pass(600));
        }
        for operation in operations {
            clock.command(kernel, &Command { operation, location: Location::caller() });
        }
        let records = &clock.ledger().records;
        let set = records.iter().find(|record| record.operation == "memset").expect("it ran");
        set.end - set.start
    };
    assert_eq!(cycles(Profile::Book, true), cycles(Profile::Book, false));
    assert!(cycles(Profile::Detailed, true) > cycles(Profile::Detailed, false));
}

/// All slices of each cluster to the other cluster, 256 bytes each.
fn shuffle() -> Operation {
    let part = |from: isize, to: isize| {
        let at = |units| Start { units, elements: 0 };
        let mut transfer = Transfer { source_start: at(from), destination_start: at(to), ..Transfer::new() };
        transfer.guard = Guard::always(2);
        for (size, units, elements) in [(256, 1, 0), (256, 0, 1)] {
            let step = Step { units, elements };
            transfer.loops.push(TransferLoop { size, source: step, destination: step });
        }
        transfer
    };
    let (source, destination) = (region(Memory::Dm, 1 << 17, 256), region(Memory::Dm, (1 << 17) + 4096, 256));
    let (call, context) = (CopyCall::DmClusterShuffle, ContextKind::TensorDma);
    let moves = vec![part(256, 0), part(0, 256)];
    Operation::UnitCopy(Box::new(UnitCopy { call, context, source, destination, moves }))
}

/// 4096 fetches and commits of 8 bytes, one bank after the other.
fn long_pass() -> Operation {
    let accesses = 4096;
    let source = region(Memory::Dm, 0, 8 * accesses);
    let mut fetch = Fetch::new(source, config(&[(accesses, 8), (8, 1)]), accesses, 8, I8);
    fetch.fetch_size = 8;
    let sink = Sink::Commit {
        destination: region(Memory::Dm, 1 << 16, 8 * accesses),
        config: config(&[(accesses, 8), (8, 1)]),
        commit_size: 8,
        guard: Guard::always(5),
    };
    Operation::TensorUnit(Box::new(TensorUnit::new(fetch, sink)))
}

/// A shuffle is served behind a pass that uses the same banks, in the detailed profile.
#[test]
fn a_shuffle_meets_a_pass_in_its_banks() {
    for (profile, is_later) in [(Profile::Book, false), (Profile::Detailed, true)] {
        let end = |operations: Vec<Operation>| {
            let mut clock = Clock::new(profile);
            let kernel = KernelCall { number: 1, name: "both" };
            for operation in operations {
                clock.command(kernel, &Command { operation, location: Location::caller() });
            }
            let records = &clock.ledger().records;
            let record =
                records.iter().find(|record| record.operation == "dm_cluster_shuffle").expect("it ran");
            assert_eq!((record.start, record.context), (0, ContextKind::TensorDma), "{profile}");
            record.end
        };
        let (alone, beside) = (end(vec![shuffle()]), end(vec![long_pass(), shuffle()]));
        assert!(alone < 1000 && (alone < beside) == is_later, "{profile}: {alone}, {beside}");
    }
}

/// Slices behind a switch count if they get packets and the stream holds an element in them.
#[test]
fn receivers_get_packets_and_hold_elements() {
    let Operation::TensorUnit(mut unit) = pass(1) else { unreachable!("it is a pass") };
    // m![A # 16, 1 # 16] with A = 5.
    let mut switch = Switch::blank(SwitchVariant::CustomBroadcast, 256, 1);
    switch.push_digit(16, 5, 1);
    let slices = |unit: &TensorUnit| {
        let used = receiving_slices(unit, &switch);
        let mut expected = UsedSlices::default();
        for (cluster, slice) in (0..2).flat_map(|cluster| (0..5).map(move |k| (cluster, 16 * k))) {
            let Sink::Commit { guard, .. } = &unit.sink else { unreachable!("it is committed") };
            if guard.holds(&[0, cluster, slice, 0, 0]) {
                expected.insert(cluster * SLICES + slice);
            }
        }
        assert_eq!(used, expected);
        used.len()
    };
    assert_eq!(slices(&unit), 10);
    let Sink::Commit { guard, .. } = &mut unit.sink else { unreachable!("it is committed") };
    guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit: 33 });
    guard.digits.push(GuardDigit { variable: 2, base: 1, extent: 256, weight: 1 });
    assert_eq!(slices(&unit), 6, "slices 0, 16 and 32 of each cluster");
}

/// A query for the cycles of a launch while it runs changes nothing. If nothing meets at the banks, the last answer is
/// the time of the launch.
#[test]
fn cycles_of_a_launch_that_runs() {
    let run = |asks: bool| {
        let mut clock = Clock::new(Profile::Book);
        let mut answers = Vec::new();
        for number in 1..=2 {
            for operation in [pass(40), transfer(), transfer(), pass(7)] {
                let kernel = KernelCall { number, name: "both" };
                clock.command(kernel, &Command { operation, location: Location::caller() });
                answers.extend(asks.then(|| clock.launch_cycles()));
            }
        }
        let ledger = clock.ledger();
        let ran: Vec<_> =
            ledger.records.iter().map(|record| (record.number, record.start, record.end)).collect();
        let cycles: Vec<u64> = ledger.kernels.iter().map(|kernel| kernel.makespan()).collect();
        (ran, cycles, answers)
    };
    let (asked, unasked) = (run(true), run(false));
    assert_eq!((&asked.0, &asked.1), (&unasked.0, &unasked.1));
    let (cycles, answers) = (&asked.1, &asked.2);
    assert!(answers.chunks(4).all(|launch| launch[0] > 0 && launch.is_sorted()), "{answers:?}");
    assert_eq!([answers[3], answers[7]], [cycles[0], cycles[1]]);
}

/// Sums of an observer, which sees every operation.
#[derive(Clone, Default)]
struct Seen(Arc<std::sync::Mutex<(u64, u64)>>);

impl Observer for Seen {
    fn ended(&mut self, record: &crate::Record) {
        let mut sums = self.0.lock().expect("nobody panics");
        *sums = (sums.0 + 1, sums.1 + record.cycles());
    }
}

/// Ten times as many turns of a loop store as much, and nothing of their number and of their cycles is lost.
#[test]
fn turns_of_a_loop_are_counted() {
    use crate::repeats::KEPT_ALIKE;
    for profile in [Profile::Book, Profile::Detailed] {
        let turns = |count: u64, launches: u64| {
            let (mut clock, seen) = (Clock::new(profile), Seen::default());
            clock.observe(Box::new(seen.clone()));
            let lines = [Location::caller(), Location::caller()];
            for number in 1..=launches {
                for _ in 0..count / launches {
                    let operations = [long_pass(), transfer()];
                    for (operation, location) in operations.into_iter().zip(lines) {
                        let kernel = KernelCall { number, name: "turns" };
                        clock.command(kernel, &Command { operation, location });
                    }
                }
            }
            let ledger = clock.ledger();
            let seen = *seen.0.lock().expect("nobody panics");
            let counted: u64 = ledger.repeats.iter().map(|repeats| repeats.count).sum();
            let cycles: u64 = ledger.repeats.iter().map(|repeats| repeats.cycles).sum();
            let kept: u64 = ledger.records.iter().map(|record| record.cycles()).sum();
            assert_eq!((ledger.records.len() as u64 + counted, kept + cycles), seen, "{profile}");
            assert_eq!((ledger.totals.operations, ledger.totals.left_out), (2 * count, 0));
            assert_eq!(ledger.totals.busy.iter().sum::<u64>(), seen.1, "{profile}");
            ledger.clone()
        };
        let kept = KEPT_ALIKE as u64;
        let (few, some, many) = (turns(kept, 1), turns(2 * kept, 1), turns(20 * kept, 1));
        assert_eq!((few.records.len(), few.repeats.len()), (2 * KEPT_ALIKE, 0), "{profile}");
        for ledger in [&some, &many, &turns(20 * kept, 10)] {
            assert_eq!((ledger.records.len(), ledger.repeats.len()), (2 * KEPT_ALIKE, 2), "{profile}");
        }
        for (k, repeats) in many.repeats.iter().enumerate() {
            assert_eq!(repeats.like, k as u64, "{profile}");
            assert_eq!(
                (repeats.first, repeats.last),
                (2 * kept + k as u64, 2 * 20 * kept - 2 + k as u64),
                "{profile}"
            );
            assert_eq!((repeats.count, repeats.least), (19 * kept, repeats.most), "{profile}");
            let (_, cycles) = repeats.period.expect("every turn takes the same time");
            assert_eq!(repeats.period, Some((2, cycles)), "{profile}");
            assert_eq!(
                (repeats.count - 1) * cycles,
                repeats.end - repeats.least - repeats.start,
                "{profile}"
            );
        }
    }
}
