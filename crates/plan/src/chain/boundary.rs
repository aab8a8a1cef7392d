//! Layouts at the boundaries of a contraction: what leaves it and what arrives, as a whole; and ways between them.

use super::Chain;
use super::kernel::alone_of_passage;
use super::pair::{self, PairStep, with_turn};
use super::rows::RowStep;
use super::rows::passes::MADE;
use super::rows::place::{RowLayout, places};
use crate::layout::{Notation, Stored, Tile};
use crate::route::digits::Values;
use crate::route::{Place, Problem as Route, Step, route};
use crate::search::Plan;
use furiosa_visa_clock::Profile;
use furiosa_visa_rules::scalar::ElementType;
use std::collections::HashMap;
use std::sync::Arc;

/// The result of a plan as one tensor in DM.
#[derive(Clone, Debug)]
pub struct Leaving {
    /// Its elements in a slice, and the tile that a step writes.
    pub stored: Stored,
    /// Where it is.
    pub place: Place,
}

/// The result of a plan as one tensor in DM: tiles are its outermost digits. `None`: no mapping has so many digits.
pub fn leaving(plan: &Plan) -> Option<Leaving> {
    let (layout, notation) = (&plan.layout, Notation::new(&plan.problem));
    let mut digits: Vec<String> = layout.stored[2].tiles.iter().map(|tile| tile.index.text.clone()).collect();
    if layout.result.text != "1" {
        digits.push(layout.result.text.clone());
    }
    let element = notation.list(&digits)?;
    let mut tiles = Vec::new();
    for (number, tile) in layout.stored[2].tiles.iter().enumerate() {
        digits[number] = format!("1 # {}", tile.counter.count);
        tiles.push(Tile { element: notation.list(&digits)?, ..tile.clone() });
    }
    let place =
        Place::Dm { cluster: layout.cluster.expr, slice: layout.result_slice().expr, element: element.expr };
    Some(Leaving { stored: Stored { element, tiles }, place })
}

/// Where an operand of a plan is in DM. `None`: it comes in several tiles, pieces or blocks.
pub fn arriving(plan: &Plan, operand: usize) -> Option<Place> {
    let (choice, schedule, layout) = (&plan.choice, &plan.schedule, &plan.layout);
    let (is_whole, path) = if operand == choice.weights {
        (schedule.is_resident && schedule.steps_per_tile() == 1, &layout.weights)
    } else {
        (schedule.tiles == 1 && layout.pieces.is_none(), &layout.stream)
    };
    let place =
        Place::Dm { cluster: layout.cluster.expr, slice: path.slice.expr, element: path.element.expr };
    is_whole.then_some(place)
}

/// A part of a passage.
#[derive(Clone, Debug)]
pub enum Move {
    /// A step of a way.
    Step(Step),
    /// A function of rows, where they are.
    Rows(Box<RowStep>),
    /// A sum or a product with another tensor, where the result is.
    Pair(Box<PairStep>),
}

impl Move {
    /// The move, in words.
    pub fn name(&self) -> &'static str {
        match self {
            Move::Step(step) => step.name(),
            Move::Rows(step) => step.rows.name(),
            Move::Pair(step) => step.op.name(),
        }
    }
}

/// The way of a result to the layout of an operand, through a function of rows if there is one.
#[derive(Clone, Debug)]
pub struct Passage {
    /// In words: `stays`, `pass with switch`, `parallel copy, then softmax`.
    pub name: String,
    /// Where the result is.
    pub from: Place,
    /// Where the operand is to be.
    pub to: Place,
    /// Steps, each with the place behind it.
    pub steps: Vec<(Move, Place)>,
    /// Cycles as a kernel of its own.
    pub cycles: u64,
}

impl Passage {
    /// Tells if the operand arrives in DM.
    pub fn arrives_in_dm(&self) -> bool {
        matches!(self.to, Place::Dm { .. })
    }

    /// Tells if the result stays in DM until its first step.
    pub fn starts_in_dm(&self) -> bool {
        matches!(self.from, Place::Dm { .. })
    }
}

/// Tells if an operand may be the tensor of a result as it is: units have the same mappings, and elements the same places.
fn is_same(from: &Place, to: &Place) -> bool {
    match (from, to) {
        (Place::Dm { cluster: a, slice: b, .. }, Place::Dm { cluster: c, slice: d, .. }) => {
            (a, b) == (c, d) && from.is_same(to)
        }
        (Place::Hbm { .. }, Place::Hbm { .. }) => from.is_same(to),
        _ => false,
    }
}

/// A way, with the places behind its steps.
pub type Way = Vec<(Move, Place)>;

/// Two places in words.
type Ends = (String, String);

/// Ways that were looked for.
#[derive(Debug)]
pub struct Passages<'a> {
    pub(super) chain: &'a Chain,
    profile: Profile,
    values: Values,
    known: HashMap<(usize, Ends), Option<Arc<Passage>>>,
    ways: HashMap<(ElementType, Ends), Option<(Way, u64)>>,
}

impl<'a> Passages<'a> {
    /// Ways between layouts of a chain.
    pub fn new(chain: &'a Chain, profile: Profile) -> Self {
        let values = Values::new(&with_turn(&chain.axes));
        Self { chain, profile, values, known: HashMap::new(), ways: HashMap::new() }
    }

    /// Number of pairs of layouts that were looked at.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// The tensor in front of a contraction in HBM. `None`: no mapping has its axes.
    pub fn hbm(&self, number: usize) -> Option<Place> {
        let (contraction, tensor) = self.chain.before(number);
        let problem = &self.chain.problems[contraction];
        let names: Vec<&str> =
            problem.tensors[tensor].iter().map(|&axis| problem.axes[axis].name.as_str()).collect();
        let text = if names.is_empty() { "1".to_string() } else { names.join(", ") };
        Some(Place::Hbm { element: self.values.of(&text)? })
    }

    /// The cheapest way to a contraction, from where the result of the one before is to where its operand is to be. `None`:
    /// there is none.
    pub fn between(&mut self, number: usize, from: &Place, to: &Place) -> Option<Arc<Passage>> {
        let key = (number, (from.text(), to.text()));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let found = self.found(number, from, to).map(Arc::new);
        self.known.insert(key, found.clone());
        found
    }

    fn found(&mut self, number: usize, from: &Place, to: &Place) -> Option<Passage> {
        let chain = self.chain;
        let (contraction, tensor) = chain.before(number);
        let element = chain.problems[contraction].element_of(tensor);
        let (pair, rows) = (chain.pairs[number].as_ref(), chain.rows[number].as_ref());
        let middle = match (pair, rows) {
            (None, None) => {
                let (way, cycles) = self.way(element, from, to)?;
                return Some(self.passage(from, to, way, cycles));
            }
            (_, Some(rows)) => places(rows, [from, to], &self.values),
            (Some(pair), None) => pair::places(pair, [from, to], &self.values),
        };
        let mut best: Option<Passage> = None;
        for place in middle {
            let Some(steps) = self.through(number, [from, &place, to], element) else { continue };
            let passage = self.passage(from, to, steps, 0);
            let others = self.hbm(number).filter(|_| pair.is_some());
            let Ok(cycles) = alone_of_passage(element, &passage, others, self.profile) else { continue };
            if best.as_ref().is_none_or(|known| cycles < known.cycles) {
                best = Some(Passage { cycles, ..passage });
            }
        }
        best
    }

    /// The way to a contraction by a place in which its functions are. `None`: there is none, or they are not done there.
    fn through(
        &mut self,
        number: usize,
        [from, place, to]: [&Place; 3],
        element: ElementType,
    ) -> Option<Way> {
        let chain = self.chain;
        let (mut steps, _) = self.way(element, from, place)?;
        if let Some(pair) = &chain.pairs[number] {
            let hbm = self.hbm(number)?;
            let (way, _) = self.way(MADE, &hbm, place)?;
            steps.push((Move::Pair(Box::new(PairStep::new(pair, place, way, &self.values)?)), *place));
        }
        if let Some(rows) = &chain.rows[number] {
            let layout = RowLayout::new(rows, place, &self.values)?;
            steps.push((Move::Rows(Box::new(RowStep { rows: rows.clone(), layout })), *place));
        }
        steps.extend(self.way(MADE, place, to)?.0);
        Some(steps)
    }

    fn passage(&self, from: &Place, to: &Place, steps: Way, cycles: u64) -> Passage {
        let names: Vec<&str> = steps.iter().map(|(own, _)| own.name()).collect();
        let name = if names.is_empty() { "stays".to_string() } else { names.join(", then ") };
        Passage { name, from: *from, to: *to, steps, cycles }
    }

    /// The cheapest way between two places, with its cycles. `None`: there is none.
    fn way(&mut self, element: ElementType, from: &Place, to: &Place) -> Option<(Way, u64)> {
        if is_same(from, to) {
            return Some((Way::new(), 0));
        }
        let key = (element, (from.text(), to.text()));
        if let Some(known) = self.ways.get(&key) {
            return known.clone();
        }
        let found = self.route(element, from, to);
        self.ways.insert(key, found.clone());
        found
    }

    fn route(&self, element: ElementType, from: &Place, to: &Place) -> Option<(Way, u64)> {
        let problem = Route::new(self.chain.axes.clone(), element, *from, *to).ok()?;
        let way = route(&problem, self.profile).ways.into_iter().next()?;
        let places = way.between.into_iter().chain([*to]);
        Some((way.steps.into_iter().map(Move::Step).zip(places).collect(), way.cycles))
    }
}
