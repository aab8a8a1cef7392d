//! A bias: its place in DM and in the vector register file of the slices that add it.

use super::digits::Digits;
use super::notation::{Mapping, Notation};
use crate::choice::{Choice, Level, ROWS, Sums};
use crate::problem::{Problem, Role};
use furiosa_visa_rules::spec;

/// A digit of an axis: positions of the axis per value, and number of values.
type Digit = (usize, usize);

/// The part of a bias that a tile takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BiasTile {
    /// The digit that counts the tiles.
    pub index: Mapping,
    /// Elements in DM that are left.
    pub element: Mapping,
    /// Steps per tile.
    pub inner: usize,
}

/// The mappings of a bias.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bias {
    /// All elements in HBM.
    pub stored: Mapping,
    /// Elements in DM, of all tiles.
    pub element: Mapping,
    /// The part of a tile, if there are several.
    pub tile: Option<BiasTile>,
    /// Time and packet of a load.
    pub load: [Mapping; 2],
    /// Elements in the vector register file, of one tile.
    pub part: Mapping,
}

/// The positions of an axis that a slice has of the sums of a step, where they leave the last pass. Outermost first.
fn held(problem: &Problem, choice: &Choice, axis: usize) -> Vec<Digit> {
    let split = &choice.splits[axis];
    let (mut outer, mut extent) = (Vec::new(), split.at(Level::Local));
    let rows = problem.axes.iter().rposition(|axis| axis.role == Role::Of(choice.weights)) == Some(axis);
    if let Some(gather) = choice.gather {
        if gather.axis == axis {
            extent /= gather.count;
        } else if rows {
            outer.push((split.stride(Level::Slice), gather.count));
        }
    }
    let team = match choice.sums == Sums::Shared(axis) {
        true => choice.extent(problem, Role::Summed, Level::Slice),
        false => 1,
    };
    let low = if rows { ROWS } else { 1 };
    outer.push((low * team, extent / low / team));
    outer.push((1, low));
    outer.retain(|(_, extent)| *extent > 1);
    outer
}

/// The greatest part of the innermost digit that a flit has.
fn lanes(digits: &[Digit]) -> usize {
    let extent = digits.last().map_or(1, |(_, extent)| *extent);
    (1..=spec::BEAT_LANES).rev().find(|lanes| extent.is_multiple_of(*lanes)).unwrap_or(1)
}

/// Number of tiles of an axis.
pub(crate) fn tiles(choice: &Choice, axis: usize) -> usize {
    choice.splits[axis].at(Level::Loops) * choice.splits[axis].at(Level::Blocks)
}

/// Number of flits of the part of a bias that a tile takes, in each slice.
pub(crate) fn flits(problem: &Problem, choice: &Choice, axis: usize) -> usize {
    let digits = held(problem, choice, axis);
    digits.iter().map(|(_, extent)| *extent).product::<usize>() / lanes(&digits)
}

impl Digits<'_> {
    /// The mappings of a bias along an axis. `inner`: steps per tile of the axis.
    pub(super) fn bias(&self, notation: &Notation, axis: usize, inner: usize) -> Option<Bias> {
        let mut digits = held(self.problem, self.choice, axis);
        let lanes = lanes(&digits);
        let (stride, extent) = digits.pop().unwrap_or((1, 1));
        let texts = |digits: &[Digit]| -> Vec<String> {
            digits.iter().filter_map(|&(stride, extent)| self.digit(axis, stride, extent)).collect()
        };
        let mut time = texts(&digits);
        time.extend(self.digit(axis, stride * lanes, extent / lanes));
        let packet = self.digit(axis, stride, lanes).unwrap_or_else(|| "1".to_string());
        let packet =
            if lanes == spec::BEAT_LANES { packet } else { format!("{packet} # {}", spec::BEAT_LANES) };
        let packet = vec![packet];
        let part = [&time[..], &packet].concat();
        let split = &self.choice.splits[axis];
        let count = tiles(self.choice, axis);
        let level = if split.at(Level::Loops) > 1 { Level::Loops } else { Level::Blocks };
        let index = self.digit(axis, split.stride(level), count);
        let tile = match &index {
            None => None,
            Some(index) => Some(BiasTile {
                index: notation.list(core::slice::from_ref(index))?,
                element: notation.list(&[&[format!("1 # {count}")], &part[..]].concat())?,
                inner,
            }),
        };
        let all: Vec<String> = index.into_iter().chain(part.iter().cloned()).collect();
        Some(Bias {
            stored: notation.list(&[self.problem.axes[axis].name.clone()])?,
            element: notation.list(&all)?,
            tile,
            load: [notation.list(&time)?, notation.list(&packet)?],
            part: notation.list(&part)?,
        })
    }
}
