//! One context of the Tensor Unit: a fetch, the commit at the end of its pipeline, and how they hold each other back.

use super::address::BankMask;
use super::nest::{AccessNest, Steps};
use crate::error::PlanError;
use crate::text::Text;

/// How many fetch accesses a commit access needs: `fetches` for every `commits`, spread evenly (assumed; the pages give
/// totals only).
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
            let text = Text::new().str("commit: ").count(commits as usize, "access").str("es for ");
            let text = text.number(fetches as usize).str(" of the fetch, but a rate has at least 1 of both");
            return Err(PlanError::new("commit rate", text.str("; help: leave the commit out")));
        }
        Ok(Self { fetches, commits })
    }
}

/// The accesses of a commit, and when its data is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitLoad {
    /// The accesses.
    pub nest: AccessNest,
    /// What they wait for.
    pub rate: CommitRate,
}

/// What one context asks of the data memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextLoad {
    /// The first cycle in which an access may happen.
    pub start_cycle: u64,
    /// The accesses of the fetch. Without them, commits wait for nothing.
    pub fetch: Option<AccessNest>,
    /// The accesses of the commit.
    pub commit: Option<CommitLoad>,
}

impl ContextLoad {
    /// A context that fetches only.
    pub const fn fetch(nest: AccessNest) -> Self {
        Self { start_cycle: 0, fetch: Some(nest), commit: None }
    }

    /// A context that fetches and commits at a steady pace: the last commit follows the last fetch.
    pub fn new(fetch: AccessNest, commit: AccessNest) -> Self {
        let rate = CommitRate { fetches: fetch.count().max(1), commits: commit.count().max(1) };
        Self { start_cycle: 0, fetch: Some(fetch), commit: Some(CommitLoad { nest: commit, rate }) }
    }

    /// The same, from a cycle on.
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

/// A context at work.
#[derive(Clone, Debug)]
pub(super) struct Pipeline<'a> {
    pub(super) start_cycle: u64,
    pub(super) fetch: Option<Steps<'a>>,
    pub(super) commit: Option<Steps<'a>>,
    rate: CommitRate,
    /// For the next commit access and for the one after it.
    needed: [Needed; 2],
    /// The commit was refused in the previous cycle.
    refused: bool,
}

/// A position of a pipeline, to compare later ones with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) fetched: u64,
    pub(super) committed: u64,
    needed: Needed,
    refused: bool,
    started: bool,
}

impl<'a> Pipeline<'a> {
    pub(super) fn new(load: &'a ContextLoad) -> Self {
        let none_waited = CommitRate { fetches: 1, commits: 1 };
        let rate = load.commit.as_ref().map_or(none_waited, |commit| commit.rate);
        let mut pipeline = Self {
            start_cycle: load.start_cycle,
            fetch: load.fetch.as_ref().map(Steps::new),
            commit: load.commit.as_ref().map(|commit| Steps::new(&commit.nest)),
            rate,
            needed: [Needed { whole: 0, rest: 0 }; 2],
            refused: false,
        };
        pipeline.pass_commit();
        pipeline.pass_commit();
        pipeline
    }

    /// Moves what is needed to the next commit access.
    #[inline]
    fn pass_commit(&mut self) {
        let CommitRate { fetches, commits } = self.rate;
        let [_, next] = self.needed;
        let (mut whole, mut rest) = (next.whole + fetches / commits, next.rest + fetches % commits);
        if rest >= commits {
            (whole, rest) = (whole + 1, rest - commits);
        }
        self.needed = [next, Needed { whole, rest }];
    }
}
