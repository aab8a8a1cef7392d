//! Layouts at the boundaries of a contraction: what leaves it and what arrives, as a whole; and ways between them.

use super::Chain;
use crate::layout::{Notation, Stored, Tile};
use crate::route::{Place, Problem as Move, Step, route};
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

/// Where an operand of a plan is in DM. `None`: it comes in several tiles or blocks.
pub fn arriving(plan: &Plan, operand: usize) -> Option<Place> {
    let (choice, schedule, layout) = (&plan.choice, &plan.schedule, &plan.layout);
    let (is_whole, path) = if operand == choice.weights {
        (schedule.is_resident && schedule.steps_per_tile() == 1, &layout.weights)
    } else {
        (schedule.tiles == 1, &layout.stream)
    };
    let place =
        Place::Dm { cluster: layout.cluster.expr, slice: path.slice.expr, element: path.element.expr };
    is_whole.then_some(place)
}

/// How a result comes to the layout of an operand.
#[derive(Clone, Debug)]
pub struct Passage {
    /// In words: `stays`, `pass with switch`.
    pub name: String,
    /// Where the result is.
    pub from: Place,
    /// Where the operand is to be.
    pub to: Place,
    /// Steps, each with the place behind it.
    pub steps: Vec<(Step, Place)>,
    /// Cycles as a kernel of its own.
    pub cycles: u64,
}

/// Tells if an operand may be the tensor of a result as it is: units have the same mappings, and elements the same places.
fn is_same(from: &Place, to: &Place) -> bool {
    match (from, to) {
        (Place::Dm { cluster: a, slice: b, .. }, Place::Dm { cluster: c, slice: d, .. }) => {
            (a, b) == (c, d) && from.is_same(to)
        }
        _ => false,
    }
}

/// Ways that were looked for.
#[derive(Debug)]
pub struct Passages<'a> {
    chain: &'a Chain,
    profile: Profile,
    known: HashMap<(String, String), Option<Arc<Passage>>>,
}

impl<'a> Passages<'a> {
    /// Ways between layouts of a chain.
    pub fn new(chain: &'a Chain, profile: Profile) -> Self {
        Self { chain, profile, known: HashMap::new() }
    }

    /// Number of pairs of layouts that were looked at.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// The cheapest way from a result to an operand. `None`: there is none.
    pub fn between(&mut self, element: ElementType, from: &Place, to: &Place) -> Option<Arc<Passage>> {
        let key = (from.text(), to.text());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let found = self.found(element, from, to).map(Arc::new);
        self.known.insert(key, found.clone());
        found
    }

    fn found(&self, element: ElementType, from: &Place, to: &Place) -> Option<Passage> {
        let (from, to) = (*from, *to);
        if is_same(&from, &to) {
            return Some(Passage { name: "stays".to_string(), from, to, steps: Vec::new(), cycles: 0 });
        }
        let problem = Move::new(self.chain.axes.clone(), element, from, to).ok()?;
        let way = route(&problem, self.profile).ways.into_iter().next()?;
        let places = way.between.into_iter().chain([to]);
        let steps = way.steps.into_iter().zip(places).collect();
        Some(Passage { name: way.name, from, to, steps, cycles: way.cycles })
    }
}
