//! Best-first search: choices by their bounds, the best bound first, until the bound of the next one is no better than
//! what was found.
//!
//! ```text
//!   all choices ──fit?──▶ bound of extents ──▶ derive ──legal?──▶ bound of commands
//!                                                             ──▶ bound of moves ──▶ clock
//!   the smallest bound goes first, at each of these stages
//! ```

use crate::bound::{Rates, Work, hbm_bytes, of_choice, of_commands, of_extents, of_moves};
use crate::choice::Choice;
use crate::commands::{Commands, commands, cycles, first_commands};
use crate::fixed::Fixed;
use crate::layout::{Layout, Notation, layout};
use crate::pass::{Progress, Reach, Watch, Watched, each_in_threads, pass};
use crate::problem::Problem;
use crate::schedule::Schedule;
use core::cmp::Reverse;
use core::time::Duration;
use furiosa_visa_clock::bound::Bounds;
use furiosa_visa_clock::command_time::CommandClock;
use furiosa_visa_clock::{Model, Profile};
use furiosa_visa_rules::error::PlanError;
use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::sync::Mutex;
use std::thread::available_parallelism;
use std::time::Instant;

/// Sets of extents of which the sample before the first round has one.
const SAMPLED: u64 = 64;
/// Choices with the smallest bounds, from which the first plans are made: they tell what is too slow.
const PROBES: usize = 4096;
/// Derived choices of the first round that wait before the clock runs the first one.
const WAITING: usize = 1024;
/// Choices that are derived together before the clock runs the first one, whatever the number of threads.
const MANY: usize = 64;
/// Choices that are derived together later.
const FEW: usize = 8;
/// Choices of the first round that the clock runs, if not more plans are asked for.
const PRICED: u64 = 3;
/// Choices that the clock runs together, whatever the number of threads.
const TOGETHER: usize = 4;

/// Reason of a choice without a place for its buffers.
const DOES_NOT_FIT: &str = "the buffers do not fit DM, or weights or a bias do not fit their register files";
/// Reason of a choice without mappings.
const NO_LAYOUT: &str = "the summed axes of a slice are no whole flits, or a mapping has too many digits";

/// Options of a search.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// Number of plans to find.
    pub top: usize,
    /// Time after which the best plans so far are the answer. `None`: until it is proven.
    pub limit: Option<Duration>,
    /// The operand in the register file: 0 or 1. `None`: either.
    pub weights: Option<usize>,
    /// Digits that are fixed in slices and clusters.
    pub fixed: Option<&'a Fixed>,
    /// The model of time.
    pub profile: Profile,
    /// Number of threads. The answer is the same for any number of them, if no time is over.
    pub threads: usize,
    /// Looks at the progress, and may end the search.
    pub watch: Option<Watch<'a>>,
}

impl Default for Search<'_> {
    fn default() -> Self {
        let threads = available_parallelism().map_or(1, |threads| threads.get());
        Self {
            top: 1,
            limit: None,
            weights: None,
            fixed: None,
            profile: Profile::default(),
            threads,
            watch: None,
        }
    }
}

/// A kernel: its mappings, and its exact cycles.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The problem.
    pub problem: Problem,
    /// The choice.
    pub choice: Choice,
    /// The mappings of all calls.
    pub layout: Layout,
    /// Addresses and steps.
    pub schedule: Schedule,
    /// Cycles of the kernel on the clock.
    pub cycles: u64,
    /// Work of each resource, in cycles: a bound of what this choice can take.
    pub work: Work,
}

impl Plan {
    /// The kernel of a choice, with its cycles.
    ///
    /// # Errors
    /// Why there is none: buffers that do not fit, or the refusal of a call.
    pub fn of(problem: &Problem, choice: Choice, profile: Profile) -> Result<Self, String> {
        let rates = Rates::new(profile);
        let Some(schedule) = Schedule::new(problem, &choice) else {
            return Err(DOES_NOT_FIT.to_string());
        };
        let Some(layout) = layout(problem, &choice, &Notation::new(problem)) else {
            return Err(NO_LAYOUT.to_string());
        };
        let derived = |error: PlanError| error.to_string();
        let first = first_commands(problem, &choice, &layout, &schedule).map_err(derived)?;
        let quick = of_choice(problem, &choice, &schedule, &rates);
        let work = of_commands(quick, &schedule, &first, &rates);
        let commands = commands(problem, &choice, &layout, &schedule).map_err(derived)?;
        let cycles = cycles(commands.operations, new_times(profile));
        Ok(Self { problem: problem.clone(), choice, layout, schedule, cycles, work })
    }

    /// The commands of the kernel.
    ///
    /// # Errors
    /// None for a plan of a search: its commands have been derived.
    pub fn commands(&self) -> Result<Commands, PlanError> {
        commands(&self.problem, &self.choice, &self.layout, &self.schedule)
    }

    /// Bytes that go through HBM, copies for slices and clusters included.
    pub fn hbm_bytes(&self) -> u64 {
        hbm_bytes(&self.problem, &self.choice, &self.schedule)
    }
}

/// Number of choices at each stage of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Sets of extents that fit the register file: each of them has many choices.
    pub extents: u64,
    /// Those whose products alone take too long. Their choices are not looked at.
    pub skipped: u64,
    /// Choices of the others.
    pub choices: u64,
    /// Those whose buffers fit.
    pub fitting: u64,
    /// Those whose bound was too high to derive them.
    pub bounded: u64,
    /// Those that were derived.
    pub derived: u64,
    /// Those that the clock ran.
    pub priced: u64,
    /// Number of those that a rule refuses, with the first message.
    pub refused: BTreeMap<String, (u64, String)>,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The best plans, the best one first.
    pub plans: Vec<Plan>,
    /// Cycles that no plan of the space goes below. Equal to those of the best plan if it is proven.
    pub bound: u64,
    /// Cycles that no kernel for the problem goes below.
    pub of_problem: Bounds,
    /// Number of choices at each stage.
    pub space: Space,
    /// True if the watch has ended the search.
    pub is_stopped: bool,
    /// True if all of the plans are proven, and not the first one alone.
    pub is_whole: bool,
}

impl Outcome {
    /// Part of the best plan's cycles that may still be spared: 0 if it is proven to be the best of the space.
    pub fn gap(&self) -> f64 {
        match self.plans.first() {
            Some(best) => 1.0 - self.bound.min(best.cycles) as f64 / best.cycles as f64,
            None => 0.0,
        }
    }
}

/// A derived choice that waits for the clock.
struct Waiting {
    choice: Choice,
    layout: Layout,
    schedule: Schedule,
    work: Work,
}

/// A rule that refuses a choice, and its message.
type Refusal = (String, String);

/// Times of commands, without transfers that are known.
pub(crate) fn new_times(profile: Profile) -> CommandClock {
    CommandClock::new(Model::new(profile))
}

/// Derives the first commands of a choice. `None` if its buffers do not fit.
fn derive(
    problem: &Problem,
    choice: &Choice,
    notation: &Notation,
    rates: &Rates,
) -> Option<Result<Waiting, Refusal>> {
    let schedule = Schedule::new(problem, choice)?;
    let quick = of_choice(problem, choice, &schedule, rates);
    let Some(layout) = layout(problem, choice, notation) else {
        return Some(Err(("whole flits".to_string(), NO_LAYOUT.to_string())));
    };
    Some(match first_commands(problem, choice, &layout, &schedule) {
        Ok(first) => {
            let work = of_commands(quick, &schedule, &first, rates);
            Ok(Waiting { choice: choice.clone(), layout, schedule, work })
        }
        Err(error) => Err((error.rule().to_string(), error.to_string())),
    })
}

/// A search that runs.
struct State<'a> {
    problem: &'a Problem,
    search: &'a Search<'a>,
    watched: &'a Watched<'a>,
    rates: Rates,
    /// The clock of each thread. All of them know the transfers that one has timed.
    times: Vec<Mutex<CommandClock>>,
    /// Mappings of each thread.
    notations: Vec<Mutex<Notation>>,
    space: Space,
    waiting: BinaryHeap<Reverse<(u64, Choice)>>,
    derived: BTreeMap<Choice, Waiting>,
    /// Choices that were derived, or refused.
    seen: HashSet<Choice>,
    /// Number of choices that were tried on the clock: it ran them, or their moves alone are too slow.
    tried: u64,
    plans: Vec<Plan>,
}

impl State<'_> {
    /// Cycles that a plan must stay below to be among the best.
    fn limit(&self) -> u64 {
        if self.plans.len() < self.search.top {
            u64::MAX
        } else {
            self.plans.last().map_or(u64::MAX, |plan| plan.cycles)
        }
    }

    /// Tells if the best plan so far is the answer.
    fn is_over(&self, end: Option<Instant>) -> bool {
        let is_late = || end.is_some_and(|end| Instant::now() >= end);
        !self.plans.is_empty() && (self.watched.is_stopped() || is_late())
    }

    /// Derives and prices choices, the smallest bound first, and returns the smallest bound that is left. `choices` are
    /// sorted by their bounds. None is tried on the clock before `waiting` choices wait, and at most `most` are.
    fn best_first(
        &mut self,
        choices: &[(u64, Choice)],
        waiting: usize,
        most: Option<u64>,
        end: Option<Instant>,
    ) -> u64 {
        let (mut next, before) = (0, self.tried);
        let most = most.map(|most| before + most);
        loop {
            self.watched.tell(&Progress {
                choices: self.space.choices,
                derived: self.space.derived,
                priced: self.space.priced,
                best: self.plans.first().map(|plan| plan.cycles),
            });
            let of_next = choices.get(next).map_or(u64::MAX, |(bound, _)| *bound);
            let of_waiting = self.waiting.peek().map_or(u64::MAX, |Reverse((bound, _))| *bound);
            let (bound, limit) = (of_next.min(of_waiting), self.limit());
            let is_enough = most.is_some_and(|most| self.tried >= most);
            if bound >= limit || bound == u64::MAX || self.is_over(end) || is_enough {
                return bound;
            }
            // Who stops a search waits for its first plan: what is derived by then is priced.
            let is_stopped = self.watched.is_stopped();
            let is_early = self.tried == before && self.waiting.len() < waiting && !is_stopped;
            let is_next = of_next <= of_waiting || is_early && of_next < u64::MAX;
            if is_next && !(is_stopped && of_waiting < u64::MAX) {
                let most = if is_early { MANY } else { FEW };
                let together = choices[next..]
                    .iter()
                    .take(most)
                    .take_while(|(bound, _)| is_early || *bound <= of_waiting && *bound < limit);
                let count = together.count();
                self.derive(&choices[next..next + count]);
                next += count;
            } else {
                let left = most.map_or(TOGETHER, |most| TOGETHER.min((most - self.tried) as usize));
                self.price(left, if is_early { u64::MAX } else { of_next.min(limit) });
            }
        }
    }

    /// Derives choices, and lets them wait for the clock.
    fn derive(&mut self, choices: &[(u64, Choice)]) {
        let new: Vec<&Choice> = choices
            .iter()
            .map(|(_, choice)| choice)
            .filter(|choice| self.seen.insert((*choice).clone()))
            .collect();
        let found = each_in_threads(&self.notations, &new, |notation, choice| {
            derive(self.problem, choice, notation, &self.rates)
        });
        for derived in found.into_iter().flatten() {
            match derived {
                Err((rule, message)) => self.refuse(rule, message),
                Ok(waiting) => {
                    self.space.derived += 1;
                    self.waiting.push(Reverse((waiting.work.cycles(), waiting.choice.clone())));
                    self.derived.insert(waiting.choice.clone(), waiting);
                }
            }
        }
    }

    fn refuse(&mut self, rule: String, message: String) {
        self.space.refused.entry(rule).or_insert((0, message)).0 += 1;
    }

    /// Tries the waiting choice with the smallest bound on the clock, and at most `most` in all, if the bounds of the others are
    /// below `limit`. The clock does not run one whose moves alone are too slow.
    fn price(&mut self, most: usize, limit: u64) {
        let mut together = Vec::new();
        while let Some(Reverse((bound, choice))) = self.waiting.pop() {
            if !together.is_empty() && (together.len() >= most || bound >= limit) {
                self.waiting.push(Reverse((bound, choice)));
                break;
            }
            together.extend(self.derived.remove(&choice));
        }
        let slowest = self.limit();
        let priced = each_in_threads(&self.times, &together, |times, waiting| {
            let Waiting { choice, layout, schedule, work } = waiting;
            let operations = commands(self.problem, choice, layout, schedule)?.operations;
            let is_slow =
                slowest < u64::MAX && of_moves(work, &operations, &self.rates, times, slowest) >= slowest;
            Ok::<_, PlanError>((!is_slow).then(|| cycles(operations, times.clone())))
        });
        for (waiting, priced) in together.into_iter().zip(priced) {
            let Waiting { choice, layout, schedule, work } = waiting;
            self.tried += u64::from(priced.is_ok());
            match priced {
                Err(error) => self.refuse(error.rule().to_string(), error.to_string()),
                Ok(None) => {}
                Ok(Some(cycles)) => {
                    self.space.priced += 1;
                    let plan = Plan { problem: self.problem.clone(), choice, layout, schedule, cycles, work };
                    let place = self
                        .plans
                        .partition_point(|known| (known.cycles, &known.choice) < (plan.cycles, &plan.choice));
                    self.plans.insert(place, plan);
                    self.plans.truncate(self.search.top.max(1));
                }
            }
        }
    }

    /// The choices with the smallest bounds within reach, sorted; and the bound of all others, which is 0 if the pass over them
    /// was ended.
    fn probes(&mut self, reach: Reach) -> (Vec<(u64, Choice)>, u64) {
        let is_full = |probes: &BinaryHeap<_>| probes.len() >= PROBES;
        let limit = self.limit();
        let keep = |probes: &BinaryHeap<(u64, Choice)>, choice: &Choice| {
            let bound = of_extents(self.problem, choice);
            bound < limit && (!is_full(probes) || probes.peek().is_some_and(|(worst, _)| bound <= *worst))
        };
        let take = |probes: &mut BinaryHeap<(u64, Choice)>, bound: u64, choice: &Choice| {
            // Of choices with the same bound, the order of choices decides, and not that of threads.
            let is_better = |(worst, other): &(u64, Choice)| (bound, choice) < (*worst, other);
            if !is_full(probes) || probes.peek().is_some_and(is_better) {
                probes.push((bound, choice.clone()));
            }
            if probes.len() > PROBES {
                probes.pop();
            }
        };
        let by = (&self.rates, self.watched, reach);
        let found = pass(self.problem, self.search, by, BinaryHeap::new, keep, take);
        self.space.choices = found.choices;
        let mut probes: Vec<(u64, Choice)> = found.parts.into_iter().flatten().collect();
        probes.sort_unstable();
        let others = if probes.len() < PROBES { u64::MAX } else { probes[PROBES - 1].0 };
        probes.truncate(PROBES);
        (probes, if found.is_whole { others } else { 0 })
    }
}

/// Finds the choices that take the fewest cycles.
pub fn search(problem: &Problem, search: &Search<'_>) -> Outcome {
    let start = Instant::now();
    let at = |parts: u32| search.limit.map(|limit| start + limit / parts);
    let end = at(1);
    let watched = Watched::new(search.watch);
    let threads = 0..search.threads.max(1);
    let times = new_times(search.profile);
    let mut state = State {
        problem,
        search,
        watched: &watched,
        rates: Rates::new(search.profile),
        times: threads.clone().map(|_| Mutex::new(times.clone())).collect(),
        notations: threads.map(|_| Mutex::new(Notation::new(problem))).collect(),
        space: Space::default(),
        waiting: BinaryHeap::new(),
        derived: BTreeMap::new(),
        seen: HashSet::new(),
        tried: 0,
        plans: Vec::new(),
    };

    // A sample of a large space, so that there is something to answer when the time is over.
    let first = search.top.max(1) as u64;
    let (sample, _) = state.probes(Reach { every: SAMPLED, end: at(4) });
    state.best_first(&sample, MANY, Some(first), end);

    // The first round: some choices with small bounds, for plans that tell what is too slow. What it has found when half of the
    // time is over is priced. Without a plan, there is nothing to answer.
    let until = |end: Option<Instant>, state: &State<'_>| end.filter(|_| !state.plans.is_empty());
    let (probes, others) = state.probes(Reach { every: 1, end: until(at(2), &state) });
    let left = state.best_first(&probes, WAITING, Some(PRICED.max(first)), None);
    let (mut bound, mut is_whole) = (left.min(others), false);

    // The second round: everything that may be better.
    let limit = state.limit();
    let reach = Reach { every: 1, end: until(end, &state) };
    let take = |quick: &mut Vec<(u64, Choice)>, bound: u64, choice: &Choice| {
        if bound < limit {
            quick.push((bound, choice.clone()));
        }
    };
    let keep = |_: &Vec<_>, choice: &Choice| of_extents(problem, choice) < limit;
    let found = pass(problem, search, (&state.rates, &watched, reach), Vec::new, keep, take);
    (state.space.choices, state.space.fitting) = (found.choices, found.fitting);
    (state.space.extents, state.space.skipped) = (found.extents, found.skipped);
    if found.is_whole {
        let mut quick: Vec<(u64, Choice)> = found.parts.into_iter().flatten().collect();
        quick.sort_unstable();
        bound = state.best_first(&quick, 0, None, end);
        is_whole = bound >= state.limit() || bound == u64::MAX;
    }
    state.space.bounded = state.space.fitting.saturating_sub(state.seen.len() as u64);
    let best = state.plans.first().map_or(u64::MAX, |plan| plan.cycles);
    let of_problem = problem.bounds(search.profile);
    Outcome {
        bound: bound.max(of_problem.cycles()).min(best),
        of_problem,
        plans: state.plans,
        space: state.space,
        is_stopped: watched.is_stopped(),
        is_whole,
    }
}
