//! One context of the Tensor Unit: a fetch, the commit at the end of its pipeline, and the waits of each for the other.

use super::nest::{AccessNest, NOTHING, Steps};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::mapping::gcd;
use furiosa_visa_rules::text::Text;

/// Number of fetch accesses that a commit access needs: `fetches` for every `commits`, spread evenly (assumed; totals
/// alone are documented).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitRate {
    fetches: u64,
    commits: u64,
}

impl CommitRate {
    /// `fetches` fetch accesses make `commits` commit accesses: access `k` of the commit waits for
    /// `ceil((k + 1) * fetches / commits)` accesses of the fetch, or for all of them if there are fewer.
    ///
    /// # Errors
    ///
    /// One of the numbers is 0.
    pub const fn new(fetches: u64, commits: u64) -> Result<Self, PlanError> {
        if fetches == 0 || commits == 0 {
            let text = Text::new().str("commit: a rate of ").number(fetches as usize);
            let text = text.str(" fetch accesses for ").number(commits as usize).str(" commit accesses, but");
            let text = text.str(" both are at least 1; help: leave out the stream that has none");
            return Err(PlanError::new("commit rate", text));
        }
        Ok(Self { fetches, commits })
    }
}

/// Pace at which the engine behind a fetch takes packets: the first access of each group of `accesses` comes no sooner
/// than `cycles` cycles after the first one of the group before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchPace {
    accesses: u64,
    cycles: u64,
}

impl FetchPace {
    /// Pace of an engine that takes `cycles` cycles per packet, for `packets` packets that are fetched in `accesses`
    /// accesses in all. `None` if the accesses take as long, so that nothing waits.
    pub const fn of_packets(accesses: u64, packets: u64, cycles: u64) -> Option<Self> {
        if accesses == 0 || accesses >= packets.saturating_mul(cycles) {
            return None;
        }
        // If packets share accesses, a group has several packets.
        let common = gcd(accesses as usize, packets as usize) as u64;
        Some(Self { accesses: accesses / common, cycles: packets / common * cycles })
    }

    /// Pace of an engine that takes `cycles` cycles for `accesses` accesses in all. `None` if nothing waits.
    pub const fn of_all(accesses: u64, cycles: u64) -> Option<Self> {
        if accesses == 0 || accesses >= cycles {
            return None;
        }
        let common = gcd(accesses as usize, cycles as usize) as u64;
        Some(Self { accesses: accesses / common, cycles: cycles / common })
    }
}

/// Accesses of a commit, and the fetch accesses that they wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitLoad {
    /// The accesses.
    pub nest: AccessNest,
    /// Fetch accesses that they wait for.
    pub rate: CommitRate,
}

/// Accesses of one context to the data memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextLoad {
    /// The first cycle in which an access may happen.
    pub start_cycle: u64,
    /// The accesses of the fetch. Without them, commits wait for nothing.
    pub fetch: Option<AccessNest>,
    /// Pace of the fetch, if it is not an access per cycle.
    pub pace: Option<FetchPace>,
    /// The accesses of the commit.
    pub commit: Option<CommitLoad>,
}

impl ContextLoad {
    /// A context that fetches only.
    pub const fn fetch(nest: AccessNest) -> Self {
        Self { start_cycle: 0, fetch: Some(nest), pace: None, commit: None }
    }

    /// A context that fetches and commits at a steady pace: the last commit follows the last fetch.
    pub fn new(fetch: AccessNest, commit: AccessNest) -> Self {
        let rate = CommitRate { fetches: fetch.count().max(1), commits: commit.count().max(1) };
        let commit = Some(CommitLoad { nest: commit, rate });
        Self { start_cycle: 0, fetch: Some(fetch), pace: None, commit }
    }

    /// A context that commits without a stream.
    pub const fn commit(nest: AccessNest) -> Self {
        let commit = Some(CommitLoad { nest, rate: CommitRate { fetches: 1, commits: 1 } });
        Self { start_cycle: 0, fetch: None, pace: None, commit }
    }

    /// The same load, from a cycle on.
    pub const fn starting_at(mut self, cycle: u64) -> Self {
        self.start_cycle = cycle;
        self
    }
}

/// The fetch accesses that a commit access needs, as a whole number and a rest in `1 / commits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needed {
    whole: u64,
    rest: u64,
}

impl Needed {
    const fn fetches(self) -> u64 {
        self.whole + (self.rest > 0) as u64
    }
}

/// Accesses that a context asks for in a cycle, before any of them is granted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wants {
    pub(super) fetch: bool,
    /// The fetch has accesses left, but its commit holds it back.
    pub(super) held: bool,
    pub(super) commit: bool,
}

/// State of a context.
#[derive(Clone, Debug)]
pub(super) struct Pipeline<'a> {
    pub(super) start_cycle: u64,
    pub(super) fetch: Steps<'a>,
    pub(super) commit: Steps<'a>,
    pace: FetchPace,
    /// Accesses of the group of the pace that are still to come.
    in_group: u64,
    /// The first cycle of the next group.
    next_group: u64,
    rate: CommitRate,
    /// Fetch accesses that the next commit access needs, and the one after it.
    needed: [Needed; 2],
    /// The commit was refused in the previous cycle.
    pub(super) refused: bool,
}

/// State of a pipeline in an earlier cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    fetched: u64,
    fetch_phase: usize,
    in_group: u64,
    group_wait: u64,
    committed: u64,
    commit_phase: usize,
    needed: Needed,
    refused: bool,
    started: bool,
}

impl<'a> Pipeline<'a> {
    pub(super) fn new(load: &'a ContextLoad) -> Self {
        let rate = load.commit.as_ref().map_or(CommitRate { fetches: 1, commits: 1 }, |commit| commit.rate);
        let mut pipeline = Self {
            start_cycle: load.start_cycle,
            fetch: Steps::new(load.fetch.as_ref().unwrap_or(&NOTHING)),
            commit: Steps::new(load.commit.as_ref().map_or(&NOTHING, |commit| &commit.nest)),
            // Without a pace, an access per cycle.
            pace: load.pace.unwrap_or(FetchPace { accesses: u64::MAX, cycles: 0 }),
            in_group: 0,
            next_group: 0,
            rate,
            needed: [Needed { whole: 0, rest: 0 }; 2],
            refused: false,
        };
        pipeline.pass_commit();
        pipeline.pass_commit();
        pipeline
    }

    pub(super) const fn finished(&self) -> bool {
        self.fetch.finished() && self.commit.finished()
    }

    /// Cycles until the pace lets the fetch go on.
    #[inline]
    const fn group_wait(&self, cycle: u64) -> u64 {
        if self.in_group > 0 { 0 } else { self.next_group.saturating_sub(cycle) }
    }

    /// Accesses that the context asks for in a cycle. A commit access is due from the cycle after the last fetch access
    /// that it needs. The fetch waits while its commit was refused, or while more than one commit access is due.
    #[inline]
    pub(super) const fn wants(&self, cycle: u64) -> Wants {
        let fetched = self.fetch.position();
        let fetching = !self.fetch.finished();
        let ready = fetching && self.group_wait(cycle) == 0;
        let due = !fetching || fetched >= self.needed[0].fetches();
        let two_due = fetched >= self.needed[1].fetches() && self.commit.left() > 1;
        let held = ready && (self.refused || two_due);
        Wants { fetch: ready && !held, held, commit: due && !self.commit.finished() }
    }

    /// Records that the next fetch access is granted.
    #[inline]
    pub(super) fn fetch_granted(&mut self, cycle: u64) {
        if self.in_group == 0 {
            self.in_group = self.pace.accesses;
            self.next_group = cycle + self.pace.cycles;
        }
        self.in_group -= 1;
        self.fetch.advance();
    }

    /// Records that the next commit access is granted.
    #[inline]
    pub(super) fn commit_granted(&mut self) {
        self.commit.advance();
        self.pass_commit();
    }

    #[inline]
    const fn pass_commit(&mut self) {
        let CommitRate { fetches, commits } = self.rate;
        let [_, next] = self.needed;
        let (mut whole, mut rest) = (next.whole, next.rest + fetches);
        if rest >= commits {
            (whole, rest) = (whole + rest / commits, rest % commits);
        }
        self.needed = [next, Needed { whole, rest }];
    }

    pub(super) const fn mark(&self, cycle: u64) -> Mark {
        Mark {
            fetched: self.fetch.position(),
            fetch_phase: self.fetch.phase(),
            in_group: self.in_group,
            group_wait: self.next_group.saturating_sub(cycle),
            committed: self.commit.position(),
            commit_phase: self.commit.phase(),
            needed: self.needed[0],
            refused: self.refused,
            started: cycle >= self.start_cycle,
        }
    }

    /// Number of times that the pipeline certainly repeats its steps between `mark` and `cycle`, which is now, if all
    /// others repeat theirs.
    ///
    /// The last two accesses of the commit are left out: the fetch looks ahead to them.
    pub(super) fn repeats(&self, mark: &Mark, cycle: u64, period_cycles: u64) -> u64 {
        if cycle < self.start_cycle {
            return (self.start_cycle - cycle) / period_cycles;
        }
        if self.refused != mark.refused || !mark.started {
            return 0;
        }
        let (fetched, committed) = self.since(mark);
        let paced = self.pace.cycles > 0 && !self.fetch.finished();
        let group_wait = self.next_group.saturating_sub(cycle);
        if paced && (self.in_group, group_wait) != (mark.in_group, mark.group_wait) {
            return 0;
        }
        let mut waits = u64::MAX;
        if !self.fetch.finished() && !self.commit.finished() {
            let [now, _] = self.needed;
            if committed == 0 && fetched > 0 {
                // The fetch goes on alone until the next commit access is due.
                waits = now.fetches().saturating_sub(self.fetch.position() + 1) / fetched;
            } else if now.rest != mark.needed.rest || now.whole - mark.needed.whole != fetched {
                return 0;
            }
        }
        let fetches = match fetched {
            0 => u64::MAX,
            _ if self.fetch.phase() != mark.fetch_phase => 0,
            _ => self.fetch.repeats(mark.fetched) / fetched,
        };
        let commits = match committed {
            0 => u64::MAX,
            _ if self.commit.phase() != mark.commit_phase => 0,
            _ => self.commit.repeats(mark.committed).min(self.commit.left().saturating_sub(2)) / committed,
        };
        fetches.min(commits).min(waits)
    }

    /// Accesses of fetch and commit since `mark`.
    pub(super) const fn since(&self, mark: &Mark) -> (u64, u64) {
        (self.fetch.position() - mark.fetched, self.commit.position() - mark.committed)
    }

    /// Repeats the steps since `mark` another `times` times.
    pub(super) fn repeat(&mut self, mark: &Mark, times: u64, period_cycles: u64) {
        let (fetched, committed) = self.since(mark);
        self.next_group += period_cycles * times;
        self.fetch.skip(fetched * times);
        self.commit.skip(committed * times);
        if committed > 0 {
            for needed in &mut self.needed {
                needed.whole += fetched * times;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::nest::tests::entries;
    use super::*;

    #[test]
    fn a_rate_has_both_sides() {
        assert!(CommitRate::new(1, 1).is_ok());
        for (fetches, commits) in [(0, 1), (1, 0)] {
            let error = CommitRate::new(fetches, commits).expect_err("a side is missing");
            let text = format!(
                "commit: a rate of {fetches} fetch accesses for {commits} commit accesses, but both are at \
                 least 1; help: leave out the stream that has none"
            );
            assert_eq!(error.message(), text);
        }
    }

    /// A group has one packet if packets have separate accesses, and more packets if they share some.
    #[test]
    fn a_pace_has_whole_groups() {
        let pace = |accesses, cycles| Some(FetchPace { accesses, cycles });
        assert_eq!(FetchPace::of_packets(8, 4, 32), pace(2, 32));
        assert_eq!(FetchPace::of_packets(2, 8, 4), pace(1, 16));
        assert_eq!(FetchPace::of_packets(9, 6, 2), pace(3, 4));
        assert_eq!(FetchPace::of_all(1920, 4800), pace(2, 5));
        assert_eq!((FetchPace::of_all(8, 9), FetchPace::of_all(8, 8)), (pace(8, 9), None));
        assert_eq!((FetchPace::of_all(8, 0), FetchPace::of_all(0, 8)), (None, None));
        // As many accesses as cycles: nothing waits.
        assert_eq!(FetchPace::of_packets(127, 4, 32), pace(127, 128));
        assert_eq!([FetchPace::of_packets(128, 4, 32), FetchPace::of_packets(0, 4, 32)], [None; 2]);
    }

    /// `ceil((k + 1) * fetches / commits)`, one access after the other.
    #[test]
    fn commits_wait_for_their_fetches() {
        for (fetches, commits) in [(1, 1), (4, 1), (1, 4), (3, 2), (2, 3), (64, 5), (5, 64), (1000, 999)] {
            let nest = || AccessNest::main(&entries(&[(3000, 32)]), 0, 32).expect("inside of the slice");
            let rate = CommitRate::new(fetches, commits).expect("both sides");
            let commit = Some(CommitLoad { nest: nest(), rate });
            let load = ContextLoad { fetch: Some(nest()), commit, ..ContextLoad::default() };
            let mut pipeline = Pipeline::new(&load);
            for k in 0..2000 {
                let needed = ((k + 1) * fetches).div_ceil(commits);
                assert_eq!(pipeline.needed[0].fetches(), needed, "{fetches} for {commits}, access {k}");
                pipeline.commit_granted();
            }
        }
    }
}
