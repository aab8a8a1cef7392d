//! Ways to bring a tensor from one layout to another, with their exact cycles and their calls.
//!
//! ```text
//!   Problem ──▶ ways of one step ──────────────────────────▶ lower ──legal?──▶ Clock     exact cycles
//!          └──▶ layouts between ──▶ two steps, the best of each kind ──┘        └──▶ calls, as a kernel has them
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`digits`] | mappings as lists of digits |
//! | [`passes`] | what a pass of the Tensor Unit may read in which order |
//! | [`steps`] | a move as a command and as a call |
//! | [`between`] | layouts between two steps |
//!
//! A step is a transfer of the DMA engines, a parallel copy of the sub context, or a pass of the Tensor Unit with or without
//! the Switch Engine and the Transpose Engine. A way has one step or two. Layouts between two steps are few: the orders of
//! both sides in HBM, the slices of one side with the order of the other one, and an even spread over slices. This is no
//! search: another way may take fewer cycles.
//!
//! ```
//! use furiosa_visa_plan::route::{Place, Problem, route};
//! use furiosa_visa_rules::mapping::parse::{Axes, parse_mapping};
//! use furiosa_visa_rules::scalar::ElementType::I8;
//! let axes = Axes::parse("M=512,K=64")?;
//! let [cluster, slice, rows, columns] =
//!     ["1 # 2", "M / 2", "M % 2, K", "K, M % 2"].map(|text| parse_mapping(text, &axes).expect("a mapping"));
//! let from = Place::Dm { cluster, slice, element: rows };
//! let to = Place::Dm { cluster, slice, element: columns };
//! let outcome = route(&Problem::new(axes, I8, from, to)?, Default::default());
//! let best = &outcome.ways[0];
//! assert!(best.calls.contains("ctx.main.begin(x.view())"), "{}", best.calls);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod between;
pub mod digits;
pub mod passes;
pub mod steps;

use crate::commands::cycles;
use digits::Values;
use furiosa_visa_clock::command_time::CommandClock;
use furiosa_visa_clock::{Model, Profile};
use furiosa_visa_rules::command::{FillId, Operation};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::lower::Tensor;
use furiosa_visa_rules::mapping::parse::Axes;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::sequencer::transfer::{Placement, derive_transfer};
use std::collections::BTreeMap;
pub use steps::{Place, Step};

/// The call, for messages.
const OPERATION: &str = "route";
/// Names of the tensors of a way, with one step and with two.
const NAMES: [&str; 3] = ["x", "between", "y"];

/// A tensor, where it is and where it is to be.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The axes.
    pub axes: Axes,
    /// The type of an element.
    pub element: ElementType,
    /// Where it is.
    pub from: Place,
    /// Where it is to be.
    pub to: Place,
}

impl Problem {
    /// Checks that both places hold the tensor, and all of it.
    ///
    /// # Errors
    /// A refusal of a place that its memory does not hold, of elements that only one of them has, and of types that no
    /// memory holds. Axes that only `to` has are copies.
    pub fn new(axes: Axes, element: ElementType, from: Place, to: Place) -> Result<Self, PlanError> {
        let shapes = [from.shape(element), to.shape(element)];
        for shape in &shapes {
            shape.footprint()?;
        }
        let dimensions = shapes.each_ref().map(|shape| shape.dimensions());
        let [from_placement, to_placement] = [0, 1].map(|side: usize| Placement {
            name: shapes[side].name(),
            dimensions: dimensions[side].split_at(shapes[side].levels()).0,
        });
        derive_transfer(OPERATION, &from_placement, &to_placement, true)?;
        Ok(Self { axes, element, from, to })
    }
}

/// A way from one layout to another.
#[derive(Clone, Debug)]
pub struct Way {
    /// Its steps, in words: `DMA, then pass with transpose`.
    pub name: String,
    /// Cycles as a kernel of its own.
    pub cycles: u64,
    /// The steps.
    pub steps: Vec<Step>,
    /// Where the tensor is between two steps.
    pub between: Option<Place>,
    /// The calls, as a kernel has them: from `x` to `y`, in a function with `ctx`.
    pub calls: String,
    /// The commands.
    pub operations: Vec<Operation>,
    /// The tensor before the first step and after the last one, as the commands have them.
    pub ends: [Tensor; 2],
}

/// Candidates of a step that a rule refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The step: `pass with switch`.
    pub step: String,
    /// The rule.
    pub rule: String,
    /// The message of the first one.
    pub message: String,
    /// Number of candidates.
    pub count: u64,
}

/// All ways that were found, and what was refused.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The ways, the cheapest one first. Of ways with the same name the cheapest one is here.
    pub ways: Vec<Way>,
    /// Refusals of single steps from one side to the other.
    pub refused: Vec<Refused>,
    /// Number of candidates in ways of two steps that are refused, by rule.
    pub refused_of_two: BTreeMap<String, u64>,
}

/// A legal step with its command.
#[derive(Clone, Debug)]
struct Done {
    step: Step,
    operation: Operation,
    made: Tensor,
    cycles: u64,
}

/// The state of a run.
struct State<'a> {
    problem: &'a Problem,
    values: Values,
    times: CommandClock,
    profile: Profile,
    fills: u64,
    refused: BTreeMap<(&'static str, String), (u64, String)>,
    ways: BTreeMap<String, Way>,
}

impl State<'_> {
    fn fill(&mut self) -> FillId {
        self.fills += 1;
        FillId(self.fills)
    }

    /// The cheapest legal step of each kind from a tensor to a place.
    fn steps(&mut self, source: &Tensor, [from, to]: [&Place; 2], others: &[&Tensor]) -> Vec<Done> {
        let mut best: BTreeMap<&'static str, Done> = BTreeMap::new();
        for step in steps::candidates(self.problem.element, [from, to], &self.values) {
            let fill = self.fill();
            match steps::derive(&step, source, to, others, fill) {
                Ok((operation, made)) => {
                    let cycles = self.times.time(&operation).cycles();
                    let name = step.name();
                    if best.get(name).is_none_or(|known| cycles < known.cycles) {
                        best.insert(name, Done { step, operation, made, cycles });
                    }
                }
                Err(refusal) => {
                    let key = (step.name(), refusal.rule().to_string());
                    let known = self.refused.entry(key);
                    known.or_insert_with(|| (0, refusal.message().to_string())).0 += 1;
                }
            }
        }
        best.into_values().collect()
    }

    /// Keeps a way, if it is the cheapest one of its name.
    fn found(&mut self, source: &Tensor, steps: &[&Done], between: Option<Place>) {
        let Some(last) = steps.last() else { return };
        let names: Vec<String> = steps.iter().map(|done| done.step.name().to_string()).collect();
        let mut name = names.join(", then ");
        if let Some(Place::Hbm { .. }) = between {
            name += ", through HBM";
        }
        let operations: Vec<Operation> = steps.iter().map(|done| done.operation.clone()).collect();
        let cycles = cycles(operations.clone(), CommandClock::new(Model::new(self.profile)));
        if self.ways.get(&name).is_some_and(|known| known.cycles <= cycles) {
            return;
        }
        let (element, mut calls) = (self.problem.element, String::new());
        let places: Vec<&Place> = between.iter().chain([&self.problem.to]).collect();
        for (number, (done, place)) in steps.iter().zip(&places).enumerate() {
            let names = [
                if number == 0 { NAMES[0] } else { NAMES[1] },
                if number + 1 == places.len() { NAMES[2] } else { NAMES[1] },
            ];
            calls += &steps::calls(&done.step, element, place, names);
        }
        let ends = [*source, last.made];
        let steps = steps.iter().map(|done| done.step).collect();
        self.ways.insert(name.clone(), Way { name, cycles, steps, between, calls, operations, ends });
    }
}

/// Finds ways from one layout to another.
pub fn route(problem: &Problem, profile: Profile) -> Outcome {
    let mut state = State {
        problem,
        values: Values::new(&problem.axes),
        times: CommandClock::new(Model::new(profile)),
        profile,
        fills: 0,
        refused: BTreeMap::new(),
        ways: BTreeMap::new(),
    };
    let (from, to) = (problem.from, problem.to);
    // The places were checked, and address 0 is one of each memory.
    let Ok(source) = Tensor::new(from.shape(problem.element), 0, state.fill()) else {
        return Outcome::default();
    };
    for done in state.steps(&source, [&from, &to], &[&source]) {
        state.found(&source, &[&done], None);
    }
    let direct = core::mem::take(&mut state.refused);
    for place in between::places(problem, &state.values) {
        let first = state.steps(&source, [&from, &place], &[&source]);
        // All first steps make the same tensor.
        let Some(made) = first.first().map(|done| done.made) else { continue };
        let second = state.steps(&made, [&place, &to], &[&source, &made]);
        for one in &first {
            for two in &second {
                state.found(&source, &[one, two], Some(place));
            }
        }
    }
    let mut refused_of_two = BTreeMap::new();
    for ((_, rule), (count, _)) in &state.refused {
        *refused_of_two.entry(rule.clone()).or_insert(0) += count;
    }
    let refused = direct.into_iter().map(|((step, rule), (count, message))| Refused {
        step: step.to_string(),
        rule,
        message,
        count,
    });
    let mut ways: Vec<Way> = state.ways.into_values().collect();
    ways.sort_by_key(|way| (way.cycles, way.steps.len()));
    Outcome { ways, refused: refused.collect(), refused_of_two }
}
