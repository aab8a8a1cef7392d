//! Tight tests: granted in cycle `t`, refused in `t - 1`. Banks (guide: clock).

use super::nest::tests::entries;
use super::*;
use furiosa_visa_rules::spec::{CLUSTERS, DM_BYTES, SLICES};

fn main_nest(loops: &[(usize, isize)], base: usize, bytes: usize) -> AccessNest {
    AccessNest::main(&entries(loops), base, bytes).expect("inside of the slice")
}

fn sub_nest(loops: &[(usize, isize)], base: usize) -> AccessNest {
    AccessNest::sub(&entries(loops), base, 8).expect("inside of the slice")
}

/// A commit that waits for nothing.
fn commit_only(nest: AccessNest) -> ContextLoad {
    let rate = CommitRate::new(1, 1).expect("both sides");
    ContextLoad { commit: Some(CommitLoad { nest, rate }), ..ContextLoad::default() }
}

/// Contexts in which `requester` makes `accesses` accesses of 8 bytes in one bank, and no other requester any.
fn alone(requester: Requester, accesses: usize, bank: usize) -> [ContextLoad; 2] {
    let loops = [(accesses, 0)];
    let idle = ContextLoad::default;
    match requester {
        Requester::MainFetch => [ContextLoad::fetch(main_nest(&loops, bank * 8, 8)), idle()],
        Requester::MainCommit => [commit_only(main_nest(&loops, bank * 8, 8)), idle()],
        Requester::SubFetch => [idle(), ContextLoad::fetch(sub_nest(&loops, bank * 8))],
        Requester::SubCommit => [idle(), commit_only(sub_nest(&loops, bank * 8))],
        Requester::Dma => unreachable!("DMA is no context"),
    }
}

fn run([main, sub]: &[ContextLoad; 2]) -> Occupancy {
    Occupancy::of(main, sub)
}

fn request(arrival: u64, slice: usize, bytes: usize) -> DmaRequest {
    DmaRequest::new(arrival, slice, bytes).expect("legal")
}

#[track_caller]
fn serve(occupancy: &Occupancy, requests: &[DmaRequest]) -> DmaReport {
    occupancy.serve_dma(&[requests])
}

/// The capacity is that of the banks (G65).
#[test]
fn capacity() {
    assert_eq!(DM_BYTES * SLICES * CLUSTERS, 2 * 8 * 32 * 16 * 4096 * 8);
    assert_eq!(DM_BYTES * SLICES * CLUSTERS, 256 << 20);
}

/// Packets of two accesses, one every 256 cycles, beside another stream: a packet goes first, and the next one waits
/// for its pace.
#[test]
fn a_ring_sets_the_pace_of_a_fetch() {
    let nest = main_nest(&[(16, 0)], 0, 8);
    let pace = FetchPace::of_packets(16, 8, 256);
    let paced = ContextLoad { pace, ..ContextLoad::fetch(nest) };
    let occupancy = run(&[paced.clone(), ContextLoad::default()]);
    assert_eq!(occupancy.end_cycle(), 7 * 256 + 2);
    assert!(occupancy.longest_runs().iter().all(|longest| longest.cycles <= 2));
    let other = |accesses| ContextLoad::fetch(sub_nest(&[(accesses, 0)], 0));
    for (accesses, cycles) in [(1, 3), (254, 256), (255, 259), (508, 512), (509, 515)] {
        let report = run(&[paced.clone(), other(accesses)]).requester(Requester::SubFetch);
        assert_eq!(report.end_cycle(), cycles, "{accesses} accesses beside the packets");
    }
}

/// A commit of the main context and a requester of the sub context, on one bank and on two.
#[test]
fn main_goes_before_sub() {
    for high in [Requester::MainFetch, Requester::MainCommit] {
        for low in [Requester::SubFetch, Requester::SubCommit] {
            for accesses in [1, 2, 7] {
                let meet = |bank| {
                    let ([main, _], [_, sub]) = (alone(high, accesses, 3), alone(low, 1, bank));
                    let occupancy = run(&[main, sub]);
                    let end = accesses as u64;
                    assert_eq!(occupancy.requester(high).end_cycle(), end, "{high} never waits");
                    occupancy.requester(low)
                };
                let (same, other) = (meet(3), meet(4));
                let refused = accesses as u64;
                assert_eq!(same.last_grant_cycle, Some(refused), "{low} after {high}");
                assert_eq!((same.stalled_by(high), same.stalled()), (refused, refused));
                assert_eq!((other.last_grant_cycle, other.stalled()), (Some(0), 0));
            }
        }
    }
}

/// The commit is refused in cycle 1 and granted in cycle 2, in which the fetch is held back.
#[test]
fn the_fetch_goes_before_the_commit_of_its_context() {
    let contexts = |fetches, fetch_bank: usize, commit_bank: usize| {
        let main = ContextLoad::new(
            main_nest(&[(fetches, 0)], fetch_bank * 8, 8),
            main_nest(&[(fetches, 0)], commit_bank * 8, 8),
        );
        let sub = ContextLoad::new(
            sub_nest(&[(fetches, 0)], fetch_bank * 8),
            sub_nest(&[(fetches, 0)], commit_bank * 8),
        );
        [[main, ContextLoad::default()], [ContextLoad::default(), sub]]
    };
    let requesters =
        [[Requester::MainFetch, Requester::MainCommit], [Requester::SubFetch, Requester::SubCommit]];
    for (k, [fetch, commit]) in requesters.into_iter().enumerate() {
        let of = |fetches, bank| {
            let occupancy = run(&contexts(fetches, 5, bank)[k]);
            (occupancy.requester(fetch), occupancy.requester(commit))
        };
        let (_, apart) = of(2, 6);
        assert_eq!((apart.last_grant_cycle, apart.stalled()), (Some(2), 0), "one cycle after its fetch");
        // Cycle 1 goes to the second fetch; then there is no fetch any more.
        let (fetched, committed) = of(2, 5);
        assert_eq!((fetched.last_grant_cycle, fetched.stalled()), (Some(1), 0));
        assert_eq!((committed.last_grant_cycle, committed.stalled_by(fetch)), (Some(3), 1));
        // Cycle 2 goes to the commit: neither starves the other.
        let (fetched, committed) = of(3, 5);
        assert_eq!((fetched.last_grant_cycle, fetched.stalled_by(commit)), (Some(3), 1));
        assert_eq!((committed.last_grant_cycle, committed.stalled_by(fetch)), (Some(5), 2));
        for fetches in [100, 100_000] {
            let (fetched, committed) = of(fetches, 5);
            assert_eq!(committed.end_cycle(), 2 * fetches as u64, "they alternate");
            assert_eq!(fetched.end_cycle(), 2 * fetches as u64 - 2);
        }
    }
}

/// The lowest priority: a beat waits for the last of its banks.
#[test]
fn everybody_goes_before_dma() {
    for requester in [Requester::MainFetch, Requester::MainCommit, Requester::SubFetch, Requester::SubCommit]
    {
        for accesses in [1, 2, 50] {
            let occupancy = run(&alone(requester, accesses, 9));
            let report = serve(&occupancy, &[request(0, 40, 128)]);
            let end = accesses as u64;
            assert_eq!(report.engines[0].last_grant_cycle, Some(end), "after {requester}");
            assert_eq!(report.engines[0].bank_stall_cycles[requester as usize], end);
            let later = serve(&occupancy, &[request(end, 40, 128)]);
            assert_eq!(
                (later.engines[0].last_grant_cycle, later.engines[0].bank_stall_cycles),
                (Some(end), [0; 4])
            );
            assert_eq!(occupancy.requester(requester).end_cycle(), end, "DMA takes nothing from it");
            assert_eq!(occupancy.requester(Requester::Dma), RequesterReport::default());
        }
    }
}

/// 4 banks of an aligned access of 32 bytes, 5 of another one, all or nothing.
#[test]
fn footprints_of_the_main_context() {
    let meets = |base, bytes, bank| {
        let sub = ContextLoad::fetch(sub_nest(&[], bank * 8));
        let occupancy = run(&[ContextLoad::fetch(main_nest(&[], base, bytes)), sub]);
        occupancy.requester(Requester::SubFetch).stalled() == 1
    };
    let banks = |base, bytes| (0..16usize).filter(|&bank| meets(base, bytes, bank)).collect::<Vec<_>>();
    assert_eq!(banks(16, 32), [2, 3, 4, 5]);
    assert_eq!(banks(20, 32), [2, 3, 4, 5, 6]);
    assert_eq!(banks(112, 32), [0, 1, 14, 15], "around the end of a row");
    assert_eq!(banks(0, 24), [0, 1, 2]);
    assert_eq!([banks(8, 8).len(), banks(12, 8).len(), banks(0, 64).len(), banks(4, 64).len()], [1, 2, 8, 9]);
    // All or nothing: the commit lacks one of four banks, and the three others stay free for the sub context.
    let main = ContextLoad::new(main_nest(&[(2, 0)], 24, 8), main_nest(&[], 0, 32));
    let occupancy = run(&[main, ContextLoad::fetch(sub_nest(&[], 0)).starting_at(1)]);
    assert_eq!(occupancy.requester(Requester::SubFetch).last_grant_cycle, Some(1));
    assert_eq!(occupancy.requester(Requester::MainCommit).last_grant_cycle, Some(2));
}

/// An access of the sub context takes one bank, that of its address.
#[test]
fn footprints_of_the_sub_context() {
    for base in [40, 44] {
        let met = (0..16usize).filter(|&bank| {
            let main = ContextLoad::fetch(main_nest(&[], bank * 8, 8));
            run(&[main, ContextLoad::fetch(sub_nest(&[], base))]).requester(Requester::SubFetch).stalled()
                == 1
        });
        assert_eq!(met.collect::<Vec<_>>(), [5]);
        let met = (0..16usize).filter(|&bank| {
            let sub = ContextLoad::new(sub_nest(&[(2, 0)], bank * 8), sub_nest(&[(2, 0)], base));
            run(&[ContextLoad::default(), sub]).requester(Requester::SubCommit).stalled() == 1
        });
        assert_eq!(met.collect::<Vec<_>>(), [5], "the first commit meets the second fetch");
    }
}

/// `max(main, sub)` on disjoint banks, `main + sub` on one bank throughout (guide: clock).
#[test]
fn bounds_of_two_contexts() {
    for (main, sub) in [(100, 60), (60, 100), (70_000, 50_000)] {
        let end = |bank: usize| {
            let sub = ContextLoad::fetch(sub_nest(&[(sub, 0)], bank * 8));
            run(&[ContextLoad::fetch(main_nest(&[(main / 10, 0), (10, 128)], 0, 8)), sub]).end_cycle()
        };
        assert_eq!(end(1), main.max(sub) as u64, "disjoint banks");
        assert_eq!(end(0), (main + sub) as u64, "one bank");
    }
}

/// Four commits for a fetch: the fetch goes at their pace. One commit for four fetches: they go at their own pace.
#[test]
fn a_pipeline_goes_at_the_pace_of_its_slower_end() {
    let of = |fetches, commits| {
        let fetch = main_nest(&[(fetches, 128)], 0, 32);
        let occupancy =
            run(&[ContextLoad::new(fetch, main_nest(&[(commits, 0)], 72, 8)), ContextLoad::default()]);
        let [fetch, commit] = [Requester::MainFetch, Requester::MainCommit].map(|k| occupancy.requester(k));
        (fetch, commit)
    };
    // Fetches in cycles 0, 4, 8, …: with the last of the four commits of the fetch before.
    let (fetch, commit) = of(100, 400);
    assert_eq!((fetch.last_grant_cycle, commit.last_grant_cycle), (Some(396), Some(400)));
    assert_eq!((fetch.stalled_by(Requester::MainCommit), fetch.stalled(), commit.stalled()), (297, 297, 0));
    let (fetch, commit) = of(400, 100);
    assert_eq!((fetch.last_grant_cycle, commit.last_grant_cycle), (Some(399), Some(400)));
    assert_eq!((fetch.stalled(), commit.stalled()), (0, 0));
}

/// A request holds the path of its DMN for a cycle per 128 bytes.
#[test]
fn the_path_of_a_dmn() {
    let idle = Occupancy::of(&ContextLoad::default(), &ContextLoad::default());
    for (bytes, cycles) in [(1, 1), (127, 1), (128, 1), (129, 2), (255, 2), (256, 2)] {
        for (arrival, stalls) in [(1, cycles - 1), (cycles - 1, u64::from(cycles == 2)), (cycles, 0), (9, 0)]
        {
            let report = serve(&idle, &[request(0, 0, bytes), request(arrival, 31, 128)]).engines[0];
            assert_eq!(report.path_stall_cycles, stalls, "{bytes} bytes, then one at {arrival}");
            assert_eq!(report.end_cycle(), arrival.max(cycles) + 1);
            let other = serve(&idle, &[request(0, 0, bytes), request(arrival, 32, 128)]).engines[0];
            assert_eq!(
                (other.path_stall_cycles, other.queue_stall_cycles),
                (0, 0),
                "slice 32 is the other DMN's"
            );
        }
    }
}

/// `2n` requests that alternate between the DMNs of a pair take `2n + 1` cycles; request `2n - 1` ends in cycle `2n`
/// (G67). On one DMN each takes 2 (G68).
#[test]
fn interleaved_dmns() {
    let idle = Occupancy::of(&ContextLoad::default(), &ContextLoad::default());
    for n in [1, 2, 5, 64, 1000] {
        let alternating: Vec<_> = (0..2 * n).map(|k| request(0, k / 2 % 32 + k % 2 * 32, 256)).collect();
        let report = serve(&idle, &alternating).engines[0];
        assert_eq!((report.end_cycle(), report.last_grant_cycle), (2 * n as u64 + 1, Some(2 * n as u64)));
        assert_eq!(
            (report.path_stall_cycles, report.requests, report.beats),
            (0, 2 * n as u64, 4 * n as u64)
        );
        let one: Vec<_> = (0..2 * n).map(|k| request(0, k % 32, 256)).collect();
        let report = serve(&idle, &one).engines[0];
        assert_eq!((report.end_cycle(), report.path_stall_cycles), (4 * n as u64, 2 * n as u64 - 1));
    }
}

/// Two requests wait in a slice; the third one waits at the engine, and everything behind it.
#[test]
fn the_queue_of_a_slice() {
    let busy = run(&alone(Requester::MainFetch, 100, 0));
    // The first beat ends in cycle 100, the second one in 101: the place is free in 102.
    for (arrival, stalls) in [(4, 98), (101, 1), (102, 0), (103, 0)] {
        let requests =
            [request(0, 7, 256), request(0, 7, 256), request(arrival, 7, 256), request(0, 50, 256)];
        let two = serve(&busy, &requests[..2]).engines[0];
        assert_eq!((two.queue_stall_cycles, two.path_stall_cycles, two.end_cycle()), (0, 1, 104));
        let three = serve(&busy, &requests[..3]).engines[0];
        assert_eq!(three.queue_stall_cycles, stalls, "the third one, at {arrival}");
        let four = serve(&busy, &requests).engines[0];
        assert_eq!(four.queue_stall_cycles, stalls);
        assert_eq!(four.requests, 4);
        let ahead = serve(&busy, &[requests[0], requests[1], requests[3]]).engines[0];
        assert_eq!((ahead.queue_stall_cycles, ahead.path_stall_cycles), (0, 1), "the queue of another slice");
    }
}

/// A sequential fetch uses each bank every fourth cycle: a beat takes two cycles, not one, and is never locked out.
#[test]
fn streaming_fetches_let_dma_through() {
    let occupancy = run(&[ContextLoad::fetch(main_nest(&[(16_384, 32)], 0, 32)), ContextLoad::default()]);
    let requests: Vec<_> = (0..1000).map(|k| request(0, k % 2 * 32 + k / 2 % 32, 256)).collect();
    let report = serve(&occupancy, &requests);
    let engine = report.engines[0];
    assert_eq!((engine.bank_stall_cycles, engine.queue_stall_cycles), ([2000, 0, 0, 0], 0));
    assert_eq!((engine.last_grant_cycle, report.starvations.len()), (Some(1000 + 2), 0));
    assert_eq!(report.timeout, None);
}

/// 63 accesses in a row, that of DMA included, are safe; 64 starve (G69; the documentation also says "more than 64").
#[test]
fn the_64_rule_while_it_runs() {
    let report = |accesses, arrival| {
        serve(&run(&alone(Requester::MainFetch, accesses, 11)), &[request(arrival, 3, 256)]).starvations
    };
    assert_eq!(report(62, 0), []);
    assert_eq!(report(63, 0), [Starvation { bank: 11, accesses: 64, cycles: 0..64 }]);
    // Only cycles in which DMA is active count.
    assert_eq!(report(163, 101), []);
    assert_eq!(report(163, 100), [Starvation { bank: 11, accesses: 64, cycles: 100..164 }]);
    let text = report(163, 100)[0].to_string();
    assert_eq!(
        text,
        "data memory: bank 11 served 64 accesses in a row in cycles 100 to 163 while DMA was active, but only 63 are \
         safe; help: let operations that meet in this bank run one after the other, or move one of their tensors"
    );
}

/// Main 30, sub 20 and DMA 1 are 51; 30, 35 and 1 are 66; 35, 20 and 1 are 56 (G70).
#[test]
fn accesses_of_all_contexts_add_up() {
    let report = |main, sub| {
        let ([main, _], [_, sub]) =
            (alone(Requester::MainFetch, main, 2), alone(Requester::SubFetch, sub, 2));
        let occupancy = run(&[main, sub]);
        let dma = serve(&occupancy, &[request(0, 0, 128)]);
        assert_eq!(occupancy.longest_runs()[2].cycles, occupancy.end_cycle());
        (dma.engines[0].end_cycle(), dma.starvations)
    };
    assert_eq!(report(30, 20), (51, vec![]));
    assert_eq!(report(35, 20), (56, vec![]));
    assert_eq!(report(30, 35), (66, vec![Starvation { bank: 2, accesses: 66, cycles: 0..66 }]));
}

/// 4096 cycles without an answer are survived, 4097 are not.
#[test]
fn the_noc_times_out() {
    let report = |accesses, issue_cycle, requests: &[DmaRequest]| {
        let [main, sub] = alone(Requester::MainFetch, accesses, 6);
        run(&[main.starting_at(issue_cycle), sub]).serve_dma(&[&[], requests]).timeout
    };
    for issue in [0, 1000] {
        assert_eq!(report(4096, issue, &[request(issue, 33, 128)]), None);
        let timeout =
            NocTimeout { engine: 1, request: 0, slice: 33, bank: 6, issue_cycle: issue, cycle: issue + 4097 };
        assert_eq!(report(4097, issue, &[request(issue, 33, 128)]), Some(timeout));
        assert_eq!(report(1 << 40, issue, &[request(issue, 33, 128); 9]), Some(timeout));
        // The second beat is answered a cycle later.
        assert_eq!(report(4095, issue, &[request(issue, 33, 256)]), None);
        assert_eq!(report(4096, issue, &[request(issue, 33, 256)]), Some(timeout));
    }
    // The second one in the queue waits for the first one. When its time is up, the bank is free again.
    let pair = [request(0, 0, 128), request(1, 0, 128)];
    assert_eq!(report(4096, 0, &pair), None);
    let timeout = NocTimeout { engine: 1, request: 1, slice: 0, bank: 0, issue_cycle: 1, cycle: 4098 };
    assert_eq!(report(4096, 0, &[pair[0], request(1, 0, 256)]), Some(timeout));
}

/// Repetitions are not stepped, even for hours of chip time.
#[test]
fn repetition_is_not_stepped() {
    let fetch = || main_nest(&[(65_536, 0), (16_384, 32)], 0, 32);
    let occupancy = run(&[ContextLoad::fetch(fetch()), ContextLoad::default()]);
    assert_eq!(occupancy.end_cycle(), 1 << 30);
    assert!(occupancy.stepped_cycles() < 100, "{}", occupancy.stepped_cycles());
    let requests =
        [request(0, 0, 256), request(1 << 29, 1, 256), request(1 << 30, 2, 256), request(1 << 31, 2, 256)];
    let report = serve(&occupancy, &requests).engines[0];
    assert_eq!((report.bank_stall_cycles, report.end_cycle()), ([4, 0, 0, 0], (1 << 31) + 2));
    // A commit for 64 fetches and weights in the sub context.
    let main = ContextLoad::new(fetch(), main_nest(&[(65_536, 0), (256, 32)], 256 << 10, 32));
    let sub = ContextLoad::fetch(sub_nest(&[(4096, 0), (4096, 8)], 300 << 10));
    let occupancy = run(&[main, sub]);
    assert!(occupancy.end_cycle() > 1 << 30 && occupancy.stepped_cycles() < 100_000, "{occupancy:?}");
    let accesses = Requester::ALL.map(|requester| occupancy.requester(requester).accesses);
    assert_eq!(accesses, [1 << 30, 1 << 24, 1 << 24, 0, 0]);
    // A context that starts late.
    let [main, sub] = alone(Requester::SubFetch, 3, 1);
    let occupancy = run(&[main, sub.starting_at(1 << 40)]);
    assert_eq!((occupancy.end_cycle(), occupancy.stepped_cycles()), ((1 << 40) + 3, 4));
}

#[test]
fn requests_stay_in_their_engine() {
    assert!(DmaRequest::new(0, 63, 256).is_ok() && DmaRequest::new(0, 0, 1).is_ok());
    let refused = [
        (
            64,
            256,
            "DMA: slice 64 of an engine, but it serves 64; help: count slices from the first one of its PE",
        ),
        (0, 0, "DMA: a request of 0 bytes, but requests have 1 to 256 bytes; help: split it"),
        (0, 257, "DMA: a request of 257 bytes, but requests have 1 to 256 bytes; help: split it"),
    ];
    for (slice, bytes, text) in refused {
        assert_eq!(
            DmaRequest::new(0, slice, bytes).map_err(|error| error.message().to_owned()),
            Err(text.to_owned())
        );
    }
}
