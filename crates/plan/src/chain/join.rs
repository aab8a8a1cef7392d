//! The join: of the plans of each contraction, those that are best together.
//!
//! ```text
//!   plans of contraction 1 ──┐                     ┌── plans of contraction 2 ──┐
//!     arrives / leaves       ├── through HBM, or ──┤     arrives / leaves       ├── …
//!     arrives / leaves       ┘    a way in DM      └──   arrives / leaves      ─┘
//! ```
//!
//! Of the best plans of each search, the one with the fewest cycles is kept for each pair of boundary layouts. A sum of parts
//! is the price of a join: the exact cycles of each contraction without what it does not load or store, and those of the ways.
//! The clock then runs the joins with the smallest sums as whole kernels, and the contractions through HBM, too.

use super::Chain;
use super::boundary::{Passage, Passages, arriving, leaving};
use super::kernel::{ChainKernel, Part, alone};
use crate::route::Place;
use crate::search::{Outcome, Plan, Search, search};
use furiosa_visa_clock::bound::Bounds;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

/// Plans of a search that the join looks at.
const PLANS: usize = 48;
/// Joins that are kept for each plan.
pub const BEST: usize = 4;
/// Joins that the clock runs as whole kernels.
const RUN: usize = 32;

/// The result of planning a chain.
#[derive(Clone, Debug)]
pub struct ChainOutcome {
    /// The best kernels, the best one first.
    pub kernels: Vec<ChainKernel>,
    /// The best kernel in which all results go through HBM.
    pub through_hbm: Option<ChainKernel>,
    /// Cycles of the best kernels of all contractions, and of the functions of rows between them, one after another through
    /// HBM. `None`: a function of rows has no way from HBM to HBM.
    pub apart: Option<u64>,
    /// Cycles that no kernel for the chain goes below.
    pub bound: Bounds,
    /// The searches of the contractions.
    pub searches: Vec<Outcome>,
    /// Number of plans of each contraction with different boundaries.
    pub plans: Vec<usize>,
    /// Number of pairs of layouts between which a way was looked for.
    pub ways: usize,
    /// Number of joins that the clock ran, and of those that had no place or were refused.
    pub run: [usize; 2],
    /// True if somebody has stopped a search.
    pub is_stopped: bool,
}

impl ChainOutcome {
    /// Part of the best kernel's cycles that may still be spared, against the bound of the chain.
    pub fn gap(&self) -> f64 {
        match self.kernels.first() {
            Some(best) => 1.0 - self.bound.cycles().min(best.cycles) as f64 / best.cycles as f64,
            None => 0.0,
        }
    }

    /// The first contraction without a plan.
    pub fn without_plan(&self) -> Option<usize> {
        self.searches.iter().position(|outcome| outcome.plans.is_empty())
    }
}

/// A plan with its boundaries.
#[derive(Debug)]
pub struct Candidate {
    /// With the result as one tensor in DM, if it may stay there.
    pub part: Part,
    /// The operand that may arrive in DM, and where the plan reads it.
    pub arriving: Option<(usize, Place)>,
    /// Cycles by what is in DM: nothing or what arrives, and nothing or what leaves.
    pub cycles: [[Option<u64>; 2]; 2],
}

impl Candidate {
    fn new(chain: &Chain, number: usize, plan: &Plan, search: &Search<'_>) -> Self {
        let arriving = chain.arriving(number).and_then(|operand| Some((operand, arriving(plan, operand)?)));
        let leaving = if chain.may_stay(number) { leaving(plan) } else { None };
        let mut part = Part { plan: plan.clone(), leaving: None, passage: None, alone: plan.cycles };
        let of = |part: &Part, arriving| alone(part, arriving, search.profile).ok();
        let arrives = arriving.and_then(|arriving| of(&part, Some(arriving)));
        part.leaving = leaving;
        let leaves = part.leaving.as_ref().and_then(|_| of(&part, None));
        let both = arriving.filter(|_| part.leaving.is_some()).and_then(|own| of(&part, Some(own)));
        Self { part, arriving, cycles: [[Some(plan.cycles), leaves], [arrives, both]] }
    }
}

/// The plans of a search with different boundaries.
pub fn candidates(chain: &Chain, number: usize, outcome: &Outcome, search: &Search<'_>) -> Vec<Candidate> {
    let mut known = HashSet::new();
    let mut found = Vec::new();
    for plan in &outcome.plans {
        let place = |operand| arriving(plan, operand).map(|place| place.text());
        let arrives = chain.arriving(number).and_then(place);
        let leaves = if chain.may_stay(number) { leaving(plan) } else { None };
        if known.insert((arrives, leaves.map(|leaving| leaving.place.text()))) {
            found.push(Candidate::new(chain, number, plan, search));
        }
    }
    found
}

/// Plans up to a contraction, with the sum of their cycles. Each has a passage in front, or is reached through HBM.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The sum.
    pub cycles: u64,
    /// The candidates, and how the result of the one before arrives.
    pub parts: Vec<(usize, Option<Arc<Passage>>)>,
    /// The way of the last result to HBM, if something is behind the last contraction.
    pub end: Edge,
}

impl Joined {
    fn then(&self, cycles: u64, candidate: usize, passage: Option<Arc<Passage>>) -> Self {
        let mut parts = self.parts.clone();
        parts.push((candidate, passage));
        Self { cycles: self.cycles + cycles, parts, end: None }
    }

    /// With what is behind the last contraction.
    fn ended(&self, end: Edge) -> Self {
        Self { cycles: self.cycles + price(&end), parts: self.parts.clone(), end }
    }

    /// Tells if another join has the same candidates, and passages between the same places.
    fn is_same(&self, other: &Self) -> bool {
        let ends = |edge: &Edge| edge.as_ref().map(|passage| (passage.from, passage.to));
        let is_same = |(own, other): (&(usize, Edge), &(usize, Edge))| {
            own.0 == other.0 && ends(&own.1) == ends(&other.1)
        };
        self.parts.len() == other.parts.len()
            && self.parts.iter().zip(&other.parts).all(is_same)
            && ends(&self.end) == ends(&other.end)
    }
}

/// The best plan of each contraction, with all results in HBM. `None`: a function of rows has no way from HBM to HBM.
fn apart(all: &[Vec<Candidate>], passages: &mut Passages<'_>) -> Option<Joined> {
    let start = Joined { cycles: 0, parts: Vec::new(), end: None };
    let joined = all.iter().enumerate().try_fold(start, |joined, (number, own)| {
        let edge = edge(passages, number, [None, None])?;
        Some(joined.then(own.first()?.part.plan.cycles + price(&edge), 0, edge))
    })?;
    match passages.chain.has_end() {
        true => Some(joined.ended(edge(passages, all.len(), [None, None])?)),
        false => Some(joined),
    }
}

/// Keeps the best joins.
fn keep(list: &mut Vec<Joined>, joined: Joined, most: usize) {
    let place = list.partition_point(|known| known.cycles <= joined.cycles);
    if place < most {
        list.insert(place, joined);
        list.truncate(most);
    }
}

/// The joins up to a contraction: those whose result is in HBM, and for each candidate those whose result stays in DM.
struct Reached {
    in_hbm: Vec<Joined>,
    in_dm: Vec<Vec<Joined>>,
}

impl Reached {
    /// All joins with the candidate whose result stays in DM, the smallest sums first.
    fn sorted(&self) -> Vec<(Option<usize>, &Joined)> {
        let in_hbm = self.in_hbm.iter().map(|joined| (None, joined));
        let in_dm =
            self.in_dm.iter().enumerate().flat_map(|(k, list)| list.iter().map(move |j| (Some(k), j)));
        let mut all: Vec<_> = in_hbm.chain(in_dm).collect();
        all.sort_by_key(|(_, joined)| joined.cycles);
        all
    }
}

/// The way of a result to the next contraction: none of its own through HBM, or a passage.
pub type Edge = Option<Arc<Passage>>;

/// The cheapest way to a contraction, between places in DM or, without one, in HBM. `None`: there is none.
pub fn edge(passages: &mut Passages<'_>, number: usize, [from, to]: [Option<Place>; 2]) -> Option<Edge> {
    let has_rows = passages.chain.has_function(number);
    match (from, to) {
        (None, None) if !has_rows => Some(None),
        // Without a function of rows, what is in HBM is loaded, and what stays in DM is taken there.
        (Some(_), None) | (None, Some(_)) if !has_rows => None,
        (from, to) => {
            let hbm = passages.hbm(number);
            passages.between(number, &from.or(hbm)?, &to.or(hbm)?).map(Some)
        }
    }
}

/// Cycles of a way: none without a passage.
pub fn price(edge: &Edge) -> u64 {
    edge.as_ref().map_or(0, |passage| passage.cycles)
}

/// Where the result of a candidate stays.
pub fn left(all: &[Vec<Candidate>], number: usize, candidate: Option<usize>) -> Option<Place> {
    let candidate = &all[number.checked_sub(1)?][candidate?];
    candidate.part.leaving.as_ref().map(|leaving| leaving.place)
}

/// The joins with the smallest sums, the smallest one first.
pub fn joins(all: &[Vec<Candidate>], passages: &mut Passages<'_>) -> Vec<Joined> {
    let start = Joined { cycles: 0, parts: Vec::new(), end: None };
    let mut before = Reached { in_hbm: vec![start], in_dm: Vec::new() };
    for (number, own) in all.iter().enumerate() {
        let mut reached = Reached { in_hbm: Vec::new(), in_dm: vec![Vec::new(); own.len()] };
        let sources = before.sorted();
        for (index, candidate) in own.iter().enumerate() {
            for (arrives, leaves) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let to = candidate.arriving.map(|(_, place)| place).filter(|_| arrives == 1);
                let Some(cycles) = candidate.cycles[arrives][leaves] else { continue };
                let (list, most) = match leaves {
                    0 => (&mut reached.in_hbm, RUN),
                    _ => (&mut reached.in_dm[index], BEST),
                };
                for (source, joined) in &sources {
                    // The smallest sums first: the others need no way.
                    let is_worse = |last: &Joined| joined.cycles + cycles >= last.cycles;
                    if list.len() == most && list.last().is_some_and(is_worse) {
                        break;
                    }
                    let from = left(all, number, *source);
                    if let Some(edge) = edge(passages, number, [from, to]) {
                        keep(list, joined.then(cycles + price(&edge), index, edge), most);
                    }
                }
            }
        }
        before = reached;
    }
    if !passages.chain.has_end() {
        return before.in_hbm;
    }
    let mut ended = Vec::new();
    for (source, joined) in before.sorted() {
        let from = left(all, all.len(), source);
        if let Some(end) = edge(passages, all.len(), [from, None]) {
            keep(&mut ended, joined.ended(end), RUN);
        }
    }
    ended
}

/// Plans a chain. `search.top` is the number of kernels that are returned, and the time is shared by the contractions.
pub fn plan_chain(chain: &Chain, options: &Search<'_>) -> ChainOutcome {
    let end = options.limit.map(|limit| Instant::now() + limit);
    let count = chain.problems.len();
    let mut searches: Vec<Outcome> = Vec::new();
    for (number, problem) in chain.problems.iter().enumerate() {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()) / (count - number) as u32);
        let own = Search { top: PLANS.max(options.top), limit: left, weights: None, fixed: None, ..*options };
        searches.push(search(problem, &own));
    }
    let mut outcome = ChainOutcome {
        kernels: Vec::new(),
        through_hbm: None,
        apart: None,
        bound: chain.bounds(options.profile),
        plans: Vec::new(),
        ways: 0,
        run: [0, 0],
        is_stopped: searches.iter().any(|own| own.is_stopped),
        searches,
    };
    if outcome.without_plan().is_some() {
        return outcome;
    }
    let own = |(number, searched)| candidates(chain, number, searched, options);
    let all: Vec<Vec<Candidate>> = outcome.searches.iter().enumerate().map(own).collect();
    outcome.plans = all.iter().map(Vec::len).collect();
    let mut passages = Passages::new(chain, options.profile);
    let mut joins = joins(&all, &mut passages);
    // Each contraction as it is best alone.
    let apart = apart(&all, &mut passages);
    outcome.apart = apart.as_ref().map(|joined| joined.cycles);
    outcome.ways = passages.count();
    if let Some(apart) = apart {
        joins.retain(|joined| !joined.is_same(&apart));
        joins.insert(0, apart);
    }
    for joined in joins {
        let starts_in_dm = |passage: &Arc<Passage>| passage.starts_in_dm();
        let is_kept = |number: usize| {
            let next = joined.parts.get(number + 1).map_or(&joined.end, |(_, edge)| edge);
            next.as_ref().is_some_and(starts_in_dm)
        };
        let part = |(number, (index, passage)): (usize, &(usize, Option<Arc<Passage>>))| {
            let candidate = &all[number][*index];
            let Part { plan, leaving, alone, .. } = candidate.part.clone();
            let arrives_in_dm = passage.as_ref().is_some_and(|passage| passage.arrives_in_dm());
            let [arrives, leaves] = [arrives_in_dm, is_kept(number)].map(usize::from);
            Part {
                plan,
                leaving: leaving.filter(|_| is_kept(number)),
                passage: passage.clone(),
                alone: candidate.cycles[arrives][leaves].unwrap_or(alone),
            }
        };
        let parts: Vec<Part> = joined.parts.iter().enumerate().map(part).collect();
        match ChainKernel::of(chain, parts, joined.end.clone(), options.profile) {
            Ok(kernel) => {
                outcome.run[0] += 1;
                let is_better = |known: &ChainKernel| kernel.cycles < known.cycles;
                if kernel.staying() == 0 && outcome.through_hbm.as_ref().is_none_or(is_better) {
                    outcome.through_hbm = Some(kernel.clone());
                }
                let place = outcome.kernels.partition_point(|known| known.cycles <= kernel.cycles);
                outcome.kernels.insert(place, kernel);
            }
            Err(_) => outcome.run[1] += 1,
        }
    }
    outcome.kernels.truncate(options.top.max(1));
    outcome
}
