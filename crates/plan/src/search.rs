//! Best-first search: choices by their bounds, the best bound first, until the bound of the next one is no better than
//! what was found.
//!
//! ```text
//!   all choices ──fit?──▶ bound of extents ──▶ derive ──legal?──▶ bound of commands ──▶ clock
//!                                   the smallest bound goes first, at each of these stages
//! ```

use crate::bound::{Rates, Work, hbm_bytes, of_choice, of_commands, of_extents};
use crate::choice::Choice;
use crate::commands::{Commands, Schedule, commands, cycles, first_commands};
use crate::layout::{Layout, Notation, layout};
use crate::problem::Problem;
use crate::space::for_each_of;
use core::cell::Cell;
use core::cmp::Reverse;
use core::time::Duration;
use furiosa_visa_clock::bound::Bounds;
use furiosa_visa_clock::command_time::CommandClock;
use furiosa_visa_clock::{Model, Profile};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::spec;
use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::time::Instant;

/// Choices with the smallest bounds, from which the first plans are made: they tell what is too slow.
const PROBES: usize = 4096;
/// Derived choices of the first round that wait before the clock runs the first one.
const WAITING: usize = 1024;
/// Choices of the first round that the clock runs, if not more plans are asked for.
const PRICED: u64 = 3;

/// Reason of a choice without a place for its buffers.
const DOES_NOT_FIT: &str = "the buffers do not fit DM, or weights or a bias do not fit their register files";
/// Reason of a choice without mappings.
const NO_LAYOUT: &str = "the summed axes of a slice are no whole flits, or a mapping has too many digits";

/// Options of a search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Number of plans to find.
    pub top: usize,
    /// Time after which the best plans so far are the answer. `None`: until it is proven.
    pub limit: Option<Duration>,
    /// The operand in the register file: 0 or 1. `None`: either.
    pub weights: Option<usize>,
    /// The model of time.
    pub profile: Profile,
}

impl Default for Search {
    fn default() -> Self {
        Self { top: 1, limit: None, weights: None, profile: Profile::default() }
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
        let (cycles, _) = cycles(commands.operations, new_times(profile));
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
    /// Sets of extents: each of them has many choices.
    pub extents: u64,
    /// Those that do not fit the register file, or whose products alone take too long. Their choices are not looked at.
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

/// Times of commands, without transfers that are known.
fn new_times(profile: Profile) -> CommandClock {
    CommandClock::new(Model::new(profile))
}

/// A search that runs.
struct State<'a> {
    problem: &'a Problem,
    search: &'a Search,
    rates: Rates,
    /// Transfers that the clock has timed.
    times: Option<CommandClock>,
    notation: Notation,
    space: Space,
    waiting: BinaryHeap<Reverse<(u64, Choice)>>,
    derived: BTreeMap<Choice, Waiting>,
    /// Choices that were derived, or refused.
    seen: HashSet<Choice>,
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

    /// Derives and prices choices, the smallest bound first, and returns the smallest bound that is left. `choices` are
    /// sorted by their bounds. The clock does not run before `waiting` choices are derived, and at most `most` times.
    fn best_first(
        &mut self,
        choices: &[(u64, Choice)],
        waiting: usize,
        most: Option<u64>,
        end: Option<Instant>,
    ) -> u64 {
        let mut next = 0;
        loop {
            let of_next = choices.get(next).map_or(u64::MAX, |(bound, _)| *bound);
            let of_waiting = self.waiting.peek().map_or(u64::MAX, |Reverse((bound, _))| *bound);
            let bound = of_next.min(of_waiting);
            let is_late = !self.plans.is_empty() && end.is_some_and(|end| Instant::now() >= end);
            let is_enough = most.is_some_and(|most| self.space.priced >= most);
            if bound >= self.limit() || bound == u64::MAX || is_late || is_enough {
                return bound;
            }
            let is_early = self.space.priced == 0 && self.waiting.len() < waiting;
            if of_next <= of_waiting || is_early && of_next < u64::MAX {
                self.derive(&choices[next].1);
                next += 1;
            } else {
                self.price();
            }
        }
    }

    /// Derives a choice, and lets it wait for the clock.
    fn derive(&mut self, choice: &Choice) {
        if !self.seen.insert(choice.clone()) {
            return;
        }
        let Some(schedule) = Schedule::new(self.problem, choice) else { return };
        let quick = of_choice(self.problem, choice, &schedule, &self.rates);
        let choice = choice.clone();
        let Some(layout) = layout(self.problem, &choice, &self.notation) else {
            self.refuse("whole flits".to_string(), NO_LAYOUT.to_string());
            return;
        };
        match first_commands(self.problem, &choice, &layout, &schedule) {
            Ok(first) => {
                self.space.derived += 1;
                let work = of_commands(quick, &schedule, &first, &self.rates);
                self.waiting.push(Reverse((work.cycles(), choice.clone())));
                self.derived.insert(choice.clone(), Waiting { choice, layout, schedule, work });
            }
            Err(error) => self.refuse(error.rule().to_string(), error.to_string()),
        }
    }

    fn refuse(&mut self, rule: String, message: String) {
        self.space.refused.entry(rule).or_insert((0, message)).0 += 1;
    }

    /// Runs the clock for the waiting choice with the smallest bound.
    fn price(&mut self) {
        let Some(Reverse((_, choice))) = self.waiting.pop() else { return };
        let Some(Waiting { choice, layout, schedule, work }) = self.derived.remove(&choice) else { return };
        match commands(self.problem, &choice, &layout, &schedule) {
            Err(error) => self.refuse(error.rule().to_string(), error.to_string()),
            Ok(commands) => {
                self.space.priced += 1;
                let times = self.times.take().unwrap_or_else(|| new_times(self.search.profile));
                let (cycles, times) = cycles(commands.operations, times);
                self.times = Some(times);
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

/// Finds the choices that take the fewest cycles.
pub fn search(problem: &Problem, search: &Search) -> Outcome {
    let end = search.limit.map(|limit| Instant::now() + limit);
    let mut state = State {
        problem,
        search,
        rates: Rates::new(search.profile),
        times: None,
        notation: Notation::new(problem),
        space: Space::default(),
        waiting: BinaryHeap::new(),
        derived: BTreeMap::new(),
        seen: HashSet::new(),
        plans: Vec::new(),
    };

    // The first round: some choices with small bounds, for plans that tell what is too slow.
    let rates = state.rates;
    let fits = |choice: &Choice| choice.file_bytes(problem) <= spec::TRF_BYTES;
    let mut probes: BinaryHeap<(u64, Choice)> = BinaryHeap::new();
    // The bound that a choice must stay below to be one of them.
    let worst = Cell::new(u64::MAX);
    let mut keep = |choice: &Choice| fits(choice) && of_extents(problem, choice) < worst.get();
    for_each_of(problem, search.weights, &mut keep, &mut |choice| {
        let Some(schedule) = Schedule::new(problem, choice) else { return };
        let bound = of_choice(problem, choice, &schedule, &rates).cycles();
        if bound < worst.get() {
            probes.push((bound, choice.clone()));
        }
        if probes.len() > PROBES {
            probes.pop();
            worst.set(probes.peek().map_or(u64::MAX, |(bound, _)| *bound));
        }
    });
    state.best_first(&probes.into_sorted_vec(), WAITING, Some(PRICED.max(search.top as u64)), end);

    // The second round: everything that may be better.
    let limit = state.limit();
    let mut quick: Vec<(u64, Choice)> = Vec::new();
    let (mut extents, mut space) = ([0, 0], Space::default());
    let mut keep = |choice: &Choice| {
        let is_kept = fits(choice) && of_extents(problem, choice) < limit;
        extents[usize::from(is_kept)] += 1;
        is_kept
    };
    for_each_of(problem, search.weights, &mut keep, &mut |choice| {
        space.choices += 1;
        let Some(schedule) = Schedule::new(problem, choice) else { return };
        space.fitting += 1;
        let bound = of_choice(problem, choice, &schedule, &rates).cycles();
        if bound < limit {
            quick.push((bound, choice.clone()));
        }
    });
    quick.sort_unstable();
    (state.space.choices, state.space.fitting) = (space.choices, space.fitting);
    state.space.extents = extents.iter().sum();
    state.space.skipped = extents[0];
    let bound = state.best_first(&quick, 0, None, end);
    state.space.bounded = state.space.fitting.saturating_sub(state.seen.len() as u64);
    let best = state.plans.first().map_or(bound, |plan| plan.cycles);
    Outcome {
        bound: bound.min(best),
        of_problem: problem.bounds(search.profile),
        plans: state.plans,
        space: state.space,
    }
}
