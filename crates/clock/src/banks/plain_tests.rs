//! A second, plain implementation of the same rules: every cycle, every slice, every bank, with whole addresses. The
//! model is compared with it on random loads.

use super::nest::tests::{addresses, entries, random_loops};
use super::*;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::collections::VecDeque;

type Loops = Vec<(usize, isize)>;

/// A stream: loops, base, bytes per access.
#[derive(Clone, Debug)]
struct Stream {
    loops: Loops,
    base: usize,
    bytes: usize,
}

#[derive(Clone, Debug, Default)]
struct Context {
    start: u64,
    fetch: Option<Stream>,
    /// Packets, and cycles for each.
    pace: Option<(u64, u64)>,
    /// Stream, and the numbers of fetches and of commits of its rate.
    commit: Option<(Stream, u64, u64)>,
}

/// Arrival, slice, bytes.
type Request = (u64, usize, usize);

#[derive(Clone, Debug, Default)]
struct Load {
    contexts: [Context; 2],
    engines: Vec<Vec<Request>>,
}

#[derive(Debug, PartialEq)]
struct Outcome {
    requesters: [RequesterReport; 4],
    longest_runs: [CycleRun; 16],
    dma: DmaReport,
}

fn model(load: &Load) -> (Outcome, Occupancy) {
    let nest = |stream: &Stream, sub: bool| {
        let new = if sub { AccessNest::sub } else { AccessNest::main };
        new(&entries(&stream.loops), stream.base, stream.bytes).expect("inside of the slice")
    };
    let [main, sub] = [0, 1].map(|k| {
        let Context { start, fetch, pace, commit } = &load.contexts[k];
        let accesses =
            fetch.as_ref().map_or(0, |fetch| fetch.loops.iter().map(|level| level.0 as u64).product());
        ContextLoad {
            start_cycle: *start,
            fetch: fetch.as_ref().map(|fetch| nest(fetch, k == 1)),
            pace: pace.and_then(|(packets, cycles)| FetchPace::of_packets(accesses, packets, cycles)),
            commit: commit.as_ref().map(|(commit, fetches, commits)| CommitLoad {
                nest: nest(commit, k == 1),
                rate: CommitRate::new(*fetches, *commits).expect("both sides"),
            }),
        }
    });
    let occupancy = Occupancy::of(&main, &sub);
    let request = |&(arrival, slice, bytes): &Request| DmaRequest::new(arrival, slice, bytes).expect("legal");
    let engines: Vec<Vec<_>> =
        load.engines.iter().map(|engine| engine.iter().map(request).collect()).collect();
    let dma = occupancy.serve_dma(&engines);
    let requesters = [0, 1, 2, 3].map(|k| occupancy.requester(Requester::ALL[k]));
    (Outcome { requesters, longest_runs: occupancy.longest_runs(), dma }, occupancy)
}

/// Longest run of a bank, of runs given as `(start, end)`.
fn longest(runs: impl IntoIterator<Item = (u64, u64)>) -> CycleRun {
    let mut best = CycleRun::default();
    for (start, end) in runs.into_iter().filter(|(start, end)| start < end) {
        if end - start > best.cycles || end - start == best.cycles && start < best.start_cycle {
            best = CycleRun { start_cycle: start, cycles: end - start };
        }
    }
    best
}

struct Waiting {
    issue: u64,
    beats: u64,
    number: u64,
    done: u64,
    lacking: Vec<usize>,
}

fn plain(load: &Load) -> Outcome {
    let all = |stream: Option<&Stream>| stream.map_or(vec![], |stream| addresses(&stream.loops, stream.base));
    let streams: Vec<Vec<usize>> = (load.contexts.iter())
        .flat_map(|context| {
            [all(context.fetch.as_ref()), all(context.commit.as_ref().map(|commit| &commit.0))]
        })
        .collect();
    let banks_of = |requester: usize, address: usize| -> Vec<usize> {
        let context = &load.contexts[requester / 2];
        if requester >= 2 {
            return vec![address / 8 % 16];
        }
        let stream =
            if requester == 0 { context.fetch.as_ref() } else { context.commit.as_ref().map(|c| &c.0) };
        let mut banks: Vec<_> =
            (0..stream.expect("it has accesses").bytes).map(|k| (address + k) / 8 % 16).collect();
        banks.dedup();
        banks
    };
    let mut reports = [RequesterReport::default(); 4];
    let mut done = [0usize; 4];
    let mut refused = [false; 2];
    // The cycle in which each group of fetches may begin.
    let mut group_begins = [0; 2];
    // Runs of the Tensor Unit per bank, the open one last.
    let mut runs: Vec<Vec<(u64, u64)>> = vec![vec![(0, 0)]; 16];
    let active_from = load.engines.iter().flat_map(|engine| engine.first()).map(|request| request.0).min();
    let mut with_dma: Vec<Vec<(u64, u64)>> = vec![vec![]; 16];
    let engines = load.engines.len();
    let mut dma = DmaReport { engines: vec![EngineReport::default(); engines], ..DmaReport::default() };
    let mut queues: Vec<Vec<VecDeque<Waiting>>> =
        (0..engines).map(|_| (0..64).map(|_| VecDeque::new()).collect()).collect();
    let (mut issued, mut paths) = (vec![0; engines], vec![[0; 2]; engines]);
    let mut cycle = 0;
    loop {
        let idle = queues.iter().flatten().all(VecDeque::is_empty);
        let unit_done = (0..4).all(|k| done[k] == streams[k].len());
        if unit_done && idle && (0..engines).all(|k| issued[k] == load.engines[k].len()) {
            break;
        }
        let mut owner = [None; 16];
        for (context, refused) in refused.iter_mut().enumerate() {
            if cycle < load.contexts[context].start {
                continue;
            }
            let (fetch, commit) = (2 * context, 2 * context + 1);
            // Accesses that come together, and the cycles for them.
            let group = (load.contexts[context].pace)
                .map(|(packets, cycles)| (streams[fetch].len() as u64, packets, cycles))
                .filter(|(accesses, packets, cycles)| *accesses < packets * cycles)
                .map(|(accesses, packets, cycles)| {
                    let least =
                        (1..=accesses).find(|k| (k * packets).is_multiple_of(accesses)).expect("all of them");
                    (least, least * packets / accesses * cycles)
                });
            let begins = group.is_some_and(|(accesses, _)| (done[fetch] as u64).is_multiple_of(accesses));
            let paced = begins && cycle < group_begins[context];
            let rate = load.contexts[context].commit.as_ref().map_or((1, 1), |commit| (commit.1, commit.2));
            // Commit accesses for which `fetched` fetch accesses are enough.
            let fetched = done[fetch] as u64;
            let due = if fetched == streams[fetch].len() as u64 {
                streams[commit].len()
            } else {
                ((fetched * rate.1 / rate.0) as usize).min(streams[commit].len())
            };
            let held = *refused || due >= done[commit] + 2;
            *refused = false;
            for (requester, wants) in [(fetch, true), (commit, due > done[commit])] {
                let Some(&address) = streams[requester].get(done[requester]).filter(|_| wants) else {
                    continue;
                };
                if requester == fetch && paced {
                    continue;
                }
                if requester == fetch && held {
                    reports[fetch].stall_cycles[commit] += 1;
                    continue;
                }
                let banks = banks_of(requester, address);
                if let Some(cause) = banks.iter().filter_map(|&bank| owner[bank]).min() {
                    let cause: usize = cause;
                    reports[requester].stall_cycles[cause] += 1;
                    *refused |= requester == commit;
                    continue;
                }
                banks.iter().for_each(|&bank| owner[bank] = Some(requester));
                done[requester] += 1;
                if let (true, true, Some((_, cycles))) = (requester == fetch, begins, group) {
                    group_begins[context] = cycle + cycles;
                }
                reports[requester].accesses += 1;
                reports[requester].last_grant_cycle = Some(cycle);
            }
        }
        for (bank, runs) in runs.iter_mut().enumerate() {
            match (runs.last_mut(), owner[bank]) {
                (Some(run), Some(_)) if run.1 == cycle => run.1 = cycle + 1,
                (_, Some(_)) => runs.push((cycle, cycle + 1)),
                _ => (),
            }
        }
        for engine in 0..engines {
            let report = &mut dma.engines[engine];
            if let Some(&(arrival, slice, bytes)) = load.engines[engine].get(issued[engine])
                && arrival <= cycle
            {
                let queue = &mut queues[engine][slice];
                if paths[engine][slice / 32] > cycle {
                    report.path_stall_cycles += 1;
                } else if queue.len() == 2 {
                    report.queue_stall_cycles += 1;
                } else {
                    let (beats, number) = (bytes.div_ceil(128) as u64, issued[engine] as u64);
                    let lacking = (0..16).collect();
                    queue.push_back(Waiting { issue: cycle, beats, number, done: 0, lacking });
                    paths[engine][slice / 32] = cycle + beats;
                    issued[engine] += 1;
                }
            }
            for (slice, queue) in queues[engine].iter_mut().enumerate() {
                let Some(head) = queue.front_mut().filter(|head| head.issue + head.done <= cycle) else {
                    continue;
                };
                let asked = head.lacking[0];
                let granted = |bank: &usize| owner[*bank].is_none();
                for &bank in head.lacking.iter().filter(|bank| granted(bank)) {
                    let before = runs[bank].last().filter(|run| run.1 == cycle).map_or(cycle, |run| run.0);
                    with_dma[bank].push((before.max(active_from.expect("DMA is active")), cycle + 1));
                }
                head.lacking.retain(|bank| !granted(bank));
                if let Some(cause) = head.lacking.iter().filter_map(|&bank| owner[bank]).min() {
                    report.bank_stall_cycles[cause] += 1;
                } else {
                    head.done += 1;
                    head.lacking = (0..16).collect();
                    report.beats += 1;
                    report.last_grant_cycle = Some(cycle);
                    if head.done == head.beats {
                        report.requests += 1;
                        queue.pop_front();
                    }
                }
                for waiting in queue.iter().filter(|waiting| cycle - waiting.issue == 4096) {
                    let timeout = NocTimeout {
                        engine,
                        request: waiting.number,
                        slice,
                        bank: asked,
                        issue_cycle: waiting.issue,
                        cycle: cycle + 1,
                    };
                    let earlier = dma.timeout.filter(|earlier| earlier.cycle <= timeout.cycle);
                    dma.timeout = Some(earlier.unwrap_or(timeout));
                }
            }
        }
        cycle += 1;
    }
    if let Some(active_from) = active_from {
        let until = dma.end_cycle();
        for bank in 0..16 {
            let clipped = runs[bank].iter().map(|run| (run.0.max(active_from), run.1.min(until)));
            let run = longest(clipped.chain(with_dma[bank].iter().copied()));
            if run.cycles >= 64 {
                let cycles = run.start_cycle..run.start_cycle + run.cycles;
                dma.starvations.push(Starvation { bank, accesses: run.cycles, cycles });
            }
        }
    }
    let longest_runs = core::array::from_fn(|bank| longest(runs[bank].iter().copied()));
    Outcome { requesters: reports, longest_runs, dma }
}

fn random_stream(rng: &mut SmallRng, most: usize, sub: bool) -> Stream {
    let mut loops = random_loops(rng, most);
    if rng.random_bool(0.2) {
        // A long loop inside: sequential, one bank, or one bank row after row.
        let size = rng.random_range(1..=most);
        let stride = [32, 8, 0, 0, 128, 64][rng.random_range(0..6)];
        loops.truncate(1);
        loops.push((size.min(1024), stride));
    }
    let align = [1, 8, 8, 8, 32, 128][rng.random_range(0..6)];
    let base = rng.random_range(200_000..205_000) / align * align;
    let bytes = if sub { 8 } else { [1, 8, 16, 24, 32, 32, 32, 64][rng.random_range(0..8)] };
    Stream { loops, base, bytes }
}

fn random_context(rng: &mut SmallRng, most: usize, sub: bool) -> Context {
    let fetch = rng.random_bool(0.9).then(|| random_stream(rng, most, sub));
    let commit = rng.random_bool(0.6).then(|| {
        let stream = random_stream(rng, most, sub);
        let rate = (rng.random_range(1..=8), rng.random_range(1..=8));
        (stream, rate.0, rate.1)
    });
    let pace = fetch.as_ref().filter(|_| rng.random_bool(0.3)).map(|fetch| {
        // Some packets have several accesses, some accesses several packets.
        let accesses = fetch.loops.iter().map(|level| level.0 as u64).product::<u64>();
        let packets =
            if rng.random_bool(0.2) { 2 * accesses } else { (accesses / rng.random_range(1..9)).max(1) };
        (packets, accesses / packets * rng.random_range(1..4) + rng.random_range(1..6))
    });
    Context { start: if rng.random_bool(0.5) { 0 } else { rng.random_range(0..200) }, fetch, pace, commit }
}

fn random_load(rng: &mut SmallRng, most: usize) -> Load {
    let contexts = [random_context(rng, most, false), random_context(rng, most, true)];
    let engines = (0..rng.random_range(0..3))
        .map(|_| {
            let slices = [1, 2, 64][rng.random_range(0..3)];
            let mut arrival = rng.random_range(0..100);
            (0..rng.random_range(0..60))
                .map(|_| {
                    arrival += rng.random_range(0..4) / 2;
                    let slice =
                        rng.random_range(0..slices) * 63 / slices.max(2) + rng.random_range(0..2) * 32;
                    (arrival, slice % 64, [256, 256, 128, 100, 129][rng.random_range(0..5)])
                })
                .collect()
        })
        .collect();
    Load { contexts, engines }
}

#[test]
fn random_loads_take_the_same_cycles() {
    let mut rng = SmallRng::seed_from_u64(70_600);
    let (mut stepped, mut cycles, mut starving) = (0, 0, 0);
    for round in 0..3000 {
        let most = [30, 300, 300, 3000][round % 4];
        let load = random_load(&mut rng, most);
        let (outcome, occupancy) = model(&load);
        assert_eq!(outcome, plain(&load), "round {round} of seed 70600: {load:?}");
        stepped += occupancy.stepped_cycles() as u64;
        cycles += occupancy.end_cycle();
        starving += usize::from(!outcome.dma.starvations.is_empty());
    }
    assert!(stepped < cycles * 9 / 10, "repetition is found: {stepped} of {cycles} cycles stepped");
    assert!(starving > 100, "{starving} loads starve DMA");
}

/// One bank that is never free for longer than a request may wait, beside a few requests.
#[test]
fn random_loads_time_out_in_the_same_cycle() {
    let mut rng = SmallRng::seed_from_u64(70_700);
    let mut timeouts = 0;
    for round in 0..60 {
        let mut load = Load::default();
        for (k, context) in load.contexts.iter_mut().enumerate() {
            let bytes = if k == 1 { 8 } else { [8, 32, 64][rng.random_range(0..3)] };
            let stride = [0, 128, 0][rng.random_range(0..3)];
            let loops = vec![(rng.random_range(1..3), 64), (rng.random_range(1000..3500), stride)];
            context.fetch = Some(Stream { loops, base: rng.random_range(0..4) * 8, bytes });
            context.start = rng.random_range(0..50);
        }
        let request = |rng: &mut SmallRng| {
            (rng.random_range(0..800), rng.random_range(0..4) * 16, [128, 256][rng.random_range(0..2)])
        };
        load.engines =
            (0..rng.random_range(1..3)).map(|_| (0..4).map(|_| request(&mut rng)).collect()).collect();
        if rng.random_bool(0.3) {
            load.engines.push(load.engines[0].clone());
        }
        let (outcome, _) = model(&load);
        assert_eq!(outcome, plain(&load), "round {round} of seed 70700: {load:?}");
        timeouts += usize::from(outcome.dma.timeout.is_some());
    }
    assert!((5..55).contains(&timeouts), "{timeouts} of 60 loads time out");
}
