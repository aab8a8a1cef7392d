//! Axes in windows: how they lie in DM and in HBM, and how a fetch reads them.

use super::digits::Digits;
use super::notation::Notation;
use super::{Counter, Tile};
use crate::choice::{Level, Spread};
use crate::problem::Role;
use furiosa_visa_rules::sequencer::Window;

impl Digits<'_> {
    /// The positions of an axis in windows that a tile has: `InH`, or `InH = 18`.
    fn rows(&self, axis: usize, outputs: usize) -> Option<(String, usize)> {
        let window = self.problem.window(self.choice.stream(), axis)?;
        let (name, size) = self.problem.positions(self.choice.stream(), axis);
        let rows = window.positions(outputs, &self.problem.axes);
        Some((if rows == size { name.to_string() } else { format!("{name} = {rows}") }, rows))
    }

    /// Local digits of an operand's own axes, as they lie in DM.
    pub(super) fn positions(&self, operand: usize, spread: Option<Spread>) -> Vec<String> {
        self.axes(Role::Of(operand))
            .flat_map(|axis| match self.problem.window(operand, axis) {
                Some(_) => {
                    let rows = self.rows(axis, self.choice.splits[axis].at(Level::Local));
                    rows.filter(|(_, rows)| *rows > 1).map(|(text, _)| text)
                }
                None => self.local_of(axis, spread),
            })
            .collect()
    }

    /// Local digits of the summed axes that an operand has.
    pub(super) fn summed_of(&self, operand: usize, spread: Option<Spread>) -> Vec<String> {
        let has = |axis: &usize| self.problem.windowed() != Some(operand) || !self.problem.is_tap(*axis);
        self.axes(Role::Summed).filter(has).flat_map(|axis| self.local_of(axis, spread)).collect()
    }

    /// The windows in which an operand is read.
    pub(super) fn windows(&self, notation: &Notation, operand: usize) -> Option<&'static [Window]> {
        let own = self.problem.windows.iter().filter(|_| self.problem.windowed() == Some(operand));
        let window = |window: &crate::windows::Window| {
            let local = self.choice.splits[window.output].at(Level::Local);
            let list = |digit: Option<String>| notation.list(&digit.into_iter().collect::<Vec<_>>());
            let rows = self.rows(window.output, local).filter(|(_, rows)| *rows > 1);
            Some(Window {
                input: list(rows.map(|(text, _)| text))?.expr,
                output: list(self.digit(window.output, 1, local))?.expr,
                window: list(self.digit(window.tap, 1, self.problem.axes[window.tap].size))?.expr,
                stride: window.stride,
                dilation: 1,
            })
        };
        Some(notation.windows(own.map(window).collect::<Option<_>>()?))
    }

    /// The tile of an axis in windows that a step reads, and what is left of the axis.
    pub(super) fn tile_in_windows(
        &self,
        tensor: usize,
        axis: usize,
        counter: Counter,
    ) -> Option<(String, usize, usize, String)> {
        let window = self.problem.window(tensor, axis)?;
        let (name, size) = self.problem.positions(tensor, axis);
        let outputs = self.problem.axes[axis].size / counter.count;
        let (text, rows) = self.rows(axis, outputs)?;
        Some((name.to_string(), rows, outputs * window.stride, format!("{text} # {size}")))
    }
}

impl Tile {
    /// The first value of the digit at a step.
    pub fn start(&self, step: usize) -> usize {
        self.counter.at(step) * self.step
    }
}
