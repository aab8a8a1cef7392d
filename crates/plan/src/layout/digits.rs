//! Digits of axes at their levels, as text.

use super::notation::Notation;
use super::{Counter, Stored, Tile};
use crate::choice::{Choice, Level, Spread, Sums};
use crate::problem::{Problem, Role};

/// Digits of a problem under a choice.
pub(super) struct Digits<'a> {
    pub problem: &'a Problem,
    pub choice: &'a Choice,
}

impl Digits<'_> {
    /// Axes with a role, outermost first.
    pub(super) fn axes(&self, role: Role) -> impl Iterator<Item = usize> {
        let axes = &self.problem.axes;
        (0..axes.len()).filter(move |&axis| axes[axis].role == role)
    }

    /// `(axis / stride) % extent`. `None`: there is one position.
    pub(super) fn digit(&self, axis: usize, stride: usize, extent: usize) -> Option<String> {
        let (name, size) = (&self.problem.axes[axis].name, self.problem.axes[axis].size);
        let padded = self.choice.splits[axis].padded;
        let base = if padded == size { name.clone() } else { format!("{name} # {padded}") };
        match (stride, extent) {
            (_, 1) => None,
            (1, _) if extent == padded => Some(base),
            (_, _) if stride * extent == padded => Some(format!("{base} / {stride}")),
            (1, _) => Some(format!("{base} % {extent}")),
            _ => Some(format!("{base} / {stride} % {extent}")),
        }
    }

    /// The digits at a level. More slices than have some may pad them.
    pub(super) fn level(&self, role: Role, level: Level) -> Vec<String> {
        let padded = self.choice.padded_slices(self.problem, role).filter(|_| level == Level::Slice);
        self.axes(role)
            .filter_map(|axis| {
                let split = &self.choice.splits[axis];
                let own = self.digit(axis, split.stride(level), split.at(level))?;
                Some(padded.map_or(own.clone(), |[padded, _]| format!("{own} # {padded}")))
            })
            .collect()
    }

    /// The outermost local digit of an axis that is spread.
    pub(super) fn spread(&self, spread: Spread) -> Option<String> {
        let local = self.choice.splits[spread.axis].at(Level::Local);
        self.digit(spread.axis, local / spread.count, spread.count)
    }

    /// The slices of a role, of which the innermost ones have parts of an operand. The others get copies.
    pub(super) fn partly_spread(&self, copied: Role, spread: Spread) -> Option<Vec<String>> {
        let slices = self.choice.extent(self.problem, copied, Level::Slice);
        let mut found = Vec::new();
        if spread.count < slices {
            let last =
                self.axes(copied).filter(|&axis| self.choice.splits[axis].at(Level::Slice) > 1).last()?;
            for axis in self.axes(copied) {
                let split = &self.choice.splits[axis];
                let inner = if axis == last { spread.count } else { 1 };
                found.extend(self.digit(
                    axis,
                    split.stride(Level::Slice) * inner,
                    split.at(Level::Slice) / inner,
                ));
            }
        }
        found.push(self.spread(spread)?);
        Some(found)
    }

    /// Local digits of the axes with a role: without what is spread, and from `low` positions of the innermost axis on.
    /// The digit that slices share is left out if `shared` says so, otherwise it stands behind the rest of its axis.
    pub(super) fn local(
        &self,
        role: Role,
        spread: Option<Spread>,
        lows: &[(usize, usize)],
        shared: bool,
    ) -> Vec<String> {
        let team = self.team();
        self.axes(role)
            .filter_map(|axis| {
                let mut extent = self.choice.splits[axis].at(Level::Local);
                if let Some(spread) = spread.filter(|spread| spread.axis == axis) {
                    extent /= spread.count;
                }
                let mut low = lows.iter().find(|(of, _)| *of == axis).map_or(1, |(_, low)| *low);
                if !shared && self.choice.sums == Sums::Shared(axis) {
                    low *= team;
                }
                self.digit(axis, low, extent / low)
            })
            .collect()
    }

    /// The local digit of a summed axis of an operand in DM: with the padding of its rows in HBM, where the fetch fills it up.
    pub(super) fn summed_in_slice(
        &self,
        operand: usize,
        axis: usize,
        spread: Option<Spread>,
    ) -> Option<String> {
        let own = self.local_of(axis, spread)?;
        let is_filled = self.choice.filled_axis(self.problem) == Some(axis);
        let padded = self.problem.padded_rows(operand).filter(|(padded, _)| is_filled && *padded == axis);
        Some(padded.map_or(own.clone(), |(_, size)| format!("{own} # {size}")))
    }

    /// The local digit of an axis, without what is spread.
    pub(super) fn local_of(&self, axis: usize, spread: Option<Spread>) -> Option<String> {
        let spread = spread.filter(|spread| spread.axis == axis).map_or(1, |spread| spread.count);
        self.digit(axis, 1, self.choice.splits[axis].at(Level::Local) / spread)
    }

    /// Number of slices that share a summed axis.
    pub(super) fn team(&self) -> usize {
        self.choice.extent(self.problem, Role::Summed, Level::Slice)
    }

    /// The tiles of a tensor, and the digits of each of its axes that are left in the last one; none of a layout that is given.
    pub(super) fn stored(
        &self,
        notation: &Notation,
        tensor: usize,
        counters: &[(usize, Counter)],
    ) -> Option<(Stored, Vec<Vec<String>>)> {
        let axes = &self.problem.tensors[tensor];
        // A tile of the stream has all parts of the sums.
        let is_part = |axis: usize| self.problem.axes[axis].role == Role::Summed;
        let has_all = |axis: usize| is_part(axis) && tensor == self.choice.stream();
        let own = counters.iter().filter(|(axis, _)| axes.contains(axis) && !has_all(*axis));
        let level = |axis: usize| {
            let split = &self.choice.splits[axis];
            if split.at(Level::Loops) > 1 { Level::Loops } else { Level::Blocks }
        };
        if let Some(given) = &self.problem.hbm[tensor] {
            let digits = own.map(|&(axis, counter)| {
                let stride = self.choice.splits[axis].stride(level(axis));
                (self.problem.axes[axis].name.as_str(), stride, counter)
            });
            return Some((given.stored(notation, digits)?, Vec::new()));
        }
        let name = |axis: usize| self.problem.positions(tensor, axis).0.to_string();
        let element = notation.list(&axes.iter().map(|&axis| name(axis)).collect::<Vec<_>>())?;
        let mut parts: Vec<Vec<String>> = axes.iter().map(|&axis| vec![name(axis)]).collect();
        let mut tiles = Vec::new();
        // An axis in windows whose parts are in slices is a tile of all of them, further on for the next slice.
        let in_units = self.problem.in_units(self.choice).filter(|_| self.problem.windowed() == Some(tensor));
        let only = in_units.filter(|window| self.choice.splits[window.output].at(Level::Loops) == 1);
        let only = only.map(|window| (window.output, Counter { inner: 1, count: 1 }));
        for (axis, counter) in own.copied().chain(only) {
            let Some(place) = axes.iter().position(|own| *own == axis) else { continue };
            if let Some((index, len, step, rest)) = self.tile_in_windows(tensor, axis, counter) {
                parts[place] = vec![rest];
                let (index, element) = (notation.list(&[index])?, notation.list(&parts.concat())?);
                tiles.push(Tile { index, len, step, element, counter });
                continue;
            }
            let (split, level) = (&self.choice.splits[axis], level(axis));
            let (stride, count) = (split.stride(level), split.at(level));
            let outside = self.digit(axis, stride * count, split.padded / stride / count);
            let inside = self.digit(axis, 1, stride);
            parts[place] = outside.into_iter().chain([format!("1 # {count}")]).chain(inside).collect();
            let index = notation.list(&[self.digit(axis, stride, count)?])?;
            tiles.push(Tile { index, len: 1, step: 1, element: notation.list(&parts.concat())?, counter });
        }
        Some((Stored { element, tiles }, parts))
    }
}
