//! The Tensor Unit at the banks: the grants of each cycle.
//!
//! [`Arbiter::step`] is one cycle, plainly. Repetitions are not stepped: once all streams are in the state of an earlier
//! cycle, the same cycles follow until one of their loops ends, and are counted at once.

use super::context::{ContextLoad, Mark, Pipeline};
use super::report::{CycleRun, Requester, RequesterReport};
use super::timeline::{Grants, Timeline, UNIT_REQUESTERS};
use furiosa_visa_rules::spec::DM_BANKS;

/// Cycles that are compared with a snapshot before a later cycle becomes the next snapshot. Doubles with each try.
const FIRST_SEARCH_CYCLES: u64 = 32;
/// Least length of a repetition in cycles. A shorter one is stepped.
const SHORTEST_REPEAT_CYCLES: u64 = 128;

/// The contexts of the Tensor Unit in front of the banks of a slice.
struct Arbiter<'a> {
    /// Main, sub.
    contexts: [Pipeline<'a>; 2],
    last_grant_cycle: [u64; UNIT_REQUESTERS],
    stalls: [[u64; UNIT_REQUESTERS]; UNIT_REQUESTERS],
}

impl Arbiter<'_> {
    /// Grants of a cycle. Requesters are served by priority, each with all of its banks or none.
    #[inline]
    fn step(&mut self, cycle: u64) -> Grants {
        let mut grants = Grants::default();
        for (context, fetch) in self.contexts.iter_mut().zip([Requester::MainFetch, Requester::SubFetch]) {
            if cycle < context.start_cycle {
                continue;
            }
            let (fetch, commit) = (fetch as usize, fetch as usize + 1);
            let wants = context.wants(cycle);
            context.refused = false;
            if wants.held {
                self.stalls[fetch][commit] += 1;
            }
            if wants.fetch {
                let banks = context.fetch.banks();
                if banks & grants.banks() == 0 {
                    grants.grant(fetch, banks);
                    self.last_grant_cycle[fetch] = cycle;
                    context.fetch_granted(cycle);
                } else {
                    self.stalls[fetch][grants.holder(banks)] += 1;
                }
            }
            if wants.commit {
                let banks = context.commit.banks();
                if banks & grants.banks() == 0 {
                    grants.grant(commit, banks);
                    self.last_grant_cycle[commit] = cycle;
                    context.commit_granted();
                } else {
                    self.stalls[commit][grants.holder(banks)] += 1;
                    context.refused = true;
                }
            }
        }
        grants
    }
}

/// A cycle to compare later ones with.
struct Snapshot {
    cycle: u64,
    contexts: [Mark; 2],
    stalls: [[u64; UNIT_REQUESTERS]; UNIT_REQUESTERS],
    /// Short form of the state: if it differs, nothing repeats.
    key: u64,
}

impl Arbiter<'_> {
    #[inline]
    fn key(&self) -> u64 {
        self.contexts.iter().fold(0, |key, context| {
            key << 16
                | (context.fetch.phase() << 8 | context.commit.phase() << 1) as u64
                | u64::from(context.refused)
        })
    }

    fn snapshot(&self, cycle: u64) -> Snapshot {
        let contexts = self.contexts.each_ref().map(|context| context.mark(cycle));
        Snapshot { cycle, contexts, stalls: self.stalls, key: self.key() }
    }

    /// Number of times that the cycles since a snapshot certainly follow again.
    fn repeats(&self, snapshot: &Snapshot, cycle: u64) -> u64 {
        let contexts = self.contexts.iter().zip(&snapshot.contexts);
        let times = contexts.map(|(context, mark)| context.repeats(mark, cycle, cycle - snapshot.cycle));
        times.min().unwrap_or(0)
    }

    /// Counts the cycles since a snapshot another `times` times.
    fn repeat(&mut self, snapshot: &Snapshot, cycle: u64, times: u64) {
        let period = cycle - snapshot.cycle;
        for (k, (context, mark)) in self.contexts.iter_mut().zip(&snapshot.contexts).enumerate() {
            let (fetched, committed) = context.since(mark);
            for (requester, accesses) in [(2 * k, fetched), (2 * k + 1, committed)] {
                if accesses > 0 {
                    self.last_grant_cycle[requester] += period * times;
                }
            }
            context.repeat(mark, times, period);
        }
        for (now, before) in self.stalls.iter_mut().flatten().zip(snapshot.stalls.iter().flatten()) {
            *now += (*now - before) * times;
        }
    }
}

/// Banks of every slice that the Tensor Unit took, cycle by cycle. DMA is served from the rest, see
/// [`Occupancy::serve_dma`](super::Occupancy::serve_dma).
#[derive(Clone, Debug)]
pub struct Occupancy {
    requesters: [RequesterReport; UNIT_REQUESTERS],
    pub(super) timeline: Timeline,
}

impl Occupancy {
    /// Runs both contexts to their ends.
    pub fn of(main: &ContextLoad, sub: &ContextLoad) -> Self {
        let mut arbiter = Arbiter {
            contexts: [Pipeline::new(main), Pipeline::new(sub)],
            last_grant_cycle: [0; UNIT_REQUESTERS],
            stalls: [[0; UNIT_REQUESTERS]; UNIT_REQUESTERS],
        };
        let mut timeline = Timeline::default();
        let (mut snapshot, mut search_cycles) = (arbiter.snapshot(0), FIRST_SEARCH_CYCLES);
        while let Some(start) = next_start(&arbiter) {
            let mut cycle = timeline.end();
            if cycle < start {
                timeline.idle_until(start);
                (snapshot, search_cycles) = (arbiter.snapshot(start), FIRST_SEARCH_CYCLES);
                cycle = start;
            }
            timeline.record(arbiter.step(cycle));
            cycle += 1;
            if arbiter.key() == snapshot.key {
                let (period, times) = (cycle - snapshot.cycle, arbiter.repeats(&snapshot, cycle));
                if times >= SHORTEST_REPEAT_CYCLES.div_ceil(period) {
                    arbiter.repeat(&snapshot, cycle, times);
                    timeline.repeat(period as usize, times);
                    (snapshot, search_cycles) = (arbiter.snapshot(timeline.end()), FIRST_SEARCH_CYCLES);
                    continue;
                }
            }
            if cycle >= snapshot.cycle + search_cycles {
                snapshot = arbiter.snapshot(cycle);
                search_cycles *= 2;
            }
        }
        timeline.close();
        let [main, sub] = &arbiter.contexts;
        let accesses = [&main.fetch, &main.commit, &sub.fetch, &sub.commit].map(|steps| steps.position());
        let requesters = core::array::from_fn(|k| RequesterReport {
            accesses: accesses[k],
            last_grant_cycle: (accesses[k] > 0).then_some(arbiter.last_grant_cycle[k]),
            stall_cycles: arbiter.stalls[k],
        });
        Self { requesters, timeline }
    }

    /// Report of a requester. That of DMA is empty: see [`Self::serve_dma`].
    pub fn requester(&self, requester: Requester) -> RequesterReport {
        self.requesters.get(requester as usize).copied().unwrap_or_default()
    }

    /// The cycle after the last grant to the Tensor Unit.
    pub fn end_cycle(&self) -> u64 {
        self.timeline.end()
    }

    /// The longest run of cycles in which each bank was granted to the Tensor Unit, cycle after cycle. Of equally long
    /// ones, the first.
    pub fn longest_runs(&self) -> [CycleRun; DM_BANKS] {
        self.timeline.longest_runs(0..self.timeline.end())
    }

    /// Number of cycles that were stepped one by one. All others repeat some of these.
    pub const fn stepped_cycles(&self) -> usize {
        self.timeline.recorded_cycles()
    }
}

/// First cycle in which a context that is not finished may ask for an access.
#[inline]
fn next_start(arbiter: &Arbiter) -> Option<u64> {
    match &arbiter.contexts {
        [main, sub] if sub.finished() => (!main.finished()).then_some(main.start_cycle),
        [main, sub] if main.finished() => Some(sub.start_cycle),
        [main, sub] => Some(main.start_cycle.min(sub.start_cycle)),
    }
}
