//! Axes in windows: how they lie in DM and in HBM, and how a fetch reads them.
//!
//! ```text
//!   InH       0  1  2  3  4  5  6  7  8  9          H = 8 in two slices, Y = 3
//!   slice 0   ■  ■  ■  ■  □  □                      own positions, and those of the next slice that windows reach
//!   slice 1               ■  ■  ■  ■  □  □
//! ```
//!
//! Slices get their own positions by one transfer, and those of the next slice by another one: the same tile of HBM, further on.

use super::digits::Digits;
use super::notation::{Mapping, Notation};
use super::{Counter, Tile};
use crate::choice::{Level, Spread};
use crate::problem::Role;
use furiosa_visa_rules::sequencer::Window;

/// Some values of a digit, in a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The digit.
    pub index: Mapping,
    /// Number of values.
    pub len: usize,
    /// The first one.
    pub start: usize,
    /// Elements of the view that are left.
    pub element: Mapping,
}

/// A stream that has an axis in windows in several slices, as it is brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// Clusters.
    pub cluster: Mapping,
    /// Slices.
    pub slice: Mapping,
    /// Elements: own positions and as many of the next slice.
    pub element: Mapping,
    /// Own positions in it.
    pub own: Cut,
    /// Positions of the next slice in it.
    pub next: Vec<Cut>,
    /// Positions that the tile in HBM is further on for them.
    pub ahead: usize,
    /// Those that windows reach, in that tile.
    pub reached: Option<Cut>,
}

impl Digits<'_> {
    /// The positions of an axis in windows that a tile has: `InH`, or `InH = 18`.
    fn rows(&self, axis: usize, outputs: usize) -> Option<(String, usize)> {
        let window = self.problem.window(self.choice.stream(), axis)?;
        let (name, size) = self.problem.positions(self.choice.stream(), axis);
        let rows = window.positions(outputs, &self.problem.axes);
        Some((if rows == size { name.to_string() } else { format!("{name} = {rows}") }, rows))
    }

    /// The positions of an axis in windows in DM: `InH = 9`, or `RoomH = 14` where slices have parts of it.
    fn in_slice(&self, axis: usize) -> Option<String> {
        let Some(window) = self.problem.in_units(self.choice).filter(|window| window.output == axis) else {
            let rows = self.rows(axis, self.choice.splits[axis].at(Level::Local));
            return rows.filter(|(_, rows)| *rows > 1).map(|(text, _)| text);
        };
        let room = window.room(&self.choice.splits[axis], &self.problem.axes);
        let (name, size) =
            (window.room_name(&self.problem.axes), self.problem.positions(self.choice.stream(), axis).1);
        Some(if room == size { name } else { format!("{name} = {room}") })
    }

    /// The local digit of an axis of an operand, as it lies in DM.
    pub(super) fn in_slice_of(&self, operand: usize, axis: usize, spread: Option<Spread>) -> Option<String> {
        match self.problem.window(operand, axis) {
            Some(_) => self.in_slice(axis),
            None if self.problem.axes[axis].role == Role::Summed => {
                self.summed_in_slice(operand, axis, spread)
            }
            None => self.local_of(axis, spread),
        }
    }

    /// Local digits of an operand's own axes, as they lie in DM.
    pub(super) fn positions(&self, operand: usize, spread: Option<Spread>) -> Vec<String> {
        self.axes(Role::Of(operand)).filter_map(|axis| self.in_slice_of(operand, axis, spread)).collect()
    }

    /// `(positions / stride) % extent` of a tile of the axis whose slices have parts. `None`: there is one position.
    fn part(&self, window: &crate::windows::Window, stride: usize, extent: usize) -> Option<String> {
        let split = &self.choice.splits[window.output];
        let all = split.stride(Level::Loops) * window.stride;
        let base = format!("{} = {all}", window.input);
        match (stride, extent) {
            (_, 1) => None,
            (1, _) if extent == all => Some(base),
            (_, _) if stride * extent == all => Some(format!("{base} / {stride}")),
            (1, _) => Some(format!("{base} % {extent}")),
            _ => Some(format!("{base} / {stride} % {extent}")),
        }
    }

    /// The digits of the stream at a level, as it is brought.
    pub(super) fn level_in_room(&self, level: Level) -> Vec<String> {
        let axes = self.axes(Role::Of(self.choice.stream()));
        let digit = |axis: usize| {
            let split = &self.choice.splits[axis];
            match self.problem.in_units(self.choice) {
                Some(window) if window.output == axis => {
                    self.part(window, split.stride(level) * window.stride, split.at(level))
                }
                _ => self.digit(axis, split.stride(level), split.at(level)),
            }
        };
        axes.filter_map(digit).collect()
    }

    /// The way of the stream to slices that have parts of an axis in windows. `left`: digits of its axes in a tile of HBM.
    /// `cluster` and `slice`: units then. `behind`: digits in DM behind the stream's own.
    pub(super) fn room(
        &self,
        notation: &Notation,
        left: &[Vec<String>],
        [cluster, slice]: [Mapping; 2],
        spread: Option<Spread>,
        behind: &[String],
    ) -> Option<Room> {
        let window = self.problem.in_units(self.choice)?;
        let split = &self.choice.splits[window.output];
        let own = split.at(Level::Local) * window.stride;
        let reached = window.neighbours(split, &self.problem.axes)?;
        let element = |digits: &[String]| {
            let all =
                self.axes(Role::Of(self.choice.stream())).flat_map(|axis| match axis == window.output {
                    true => digits.to_vec(),
                    false => match self.problem.window(self.choice.stream(), axis) {
                        Some(_) => self.in_slice(axis).into_iter().collect(),
                        None => self.local_of(axis, spread).into_iter().collect(),
                    },
                });
            notation.list(&all.chain(behind.iter().cloned()).collect::<Vec<_>>())
        };
        let (side, inside) = (window.side_name(&self.problem.axes), self.part(window, 1, own));
        let with = |first: &str| [first.to_string()].into_iter().chain(inside.clone()).collect::<Vec<_>>();
        let side_of = |start| {
            let index = notation.list(std::slice::from_ref(&side))?;
            Some(Cut { index, len: 1, start, element: element(&with("1 # 2"))? })
        };
        let mut next = vec![side_of(1)?];
        let mut further = None;
        if let Some(inside) = inside.as_ref().filter(|_| reached < own) {
            let (index, some) =
                (notation.list(std::slice::from_ref(inside))?, format!("{inside} = {reached} # {own}"));
            let left_of_room = element(&["1 # 2".to_string(), some.clone()])?;
            next.push(Cut { index: index.clone(), len: reached, start: 0, element: left_of_room });
            // The same digit in the tile of HBM.
            let stream = self.choice.stream();
            let all = split.stride(Level::Loops) * window.stride;
            let size = self.problem.positions(stream, window.output).1;
            let outside = self.part(window, own, all / own)?;
            let mut digits = left.to_vec();
            let place = self.problem.tensors[stream].iter().position(|axis| *axis == window.output)?;
            *digits.get_mut(place)? = vec![format!("[{outside}, {some}] # {size}")];
            let element = notation.list(&digits.concat())?;
            further = Some(Cut { index, len: reached, start: own - reached, element });
        }
        Some(Room {
            cluster,
            slice,
            element: element(&with(&side))?,
            own: side_of(0)?,
            next,
            ahead: reached,
            reached: further,
        })
    }

    /// Local digits of the summed axes that an operand has.
    pub(super) fn summed_of(&self, operand: usize, spread: Option<Spread>) -> Vec<String> {
        let has = |axis: &usize| self.problem.windowed() != Some(operand) || !self.problem.is_tap(*axis);
        self.axes(Role::Summed)
            .filter(has)
            .filter_map(|axis| self.summed_in_slice(operand, axis, spread))
            .collect()
    }

    /// The windows in which an operand is read.
    pub(super) fn windows(&self, notation: &Notation, operand: usize) -> Option<&'static [Window]> {
        let own = self.problem.windows.iter().filter(|_| self.problem.windowed() == Some(operand));
        let window = |window: &crate::windows::Window| {
            let local = self.choice.splits[window.output].at(Level::Local);
            let list = |digit: Option<String>| notation.list(&digit.into_iter().collect::<Vec<_>>());
            Some(Window {
                input: list(self.in_slice(window.output))?.expr,
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
        if self.problem.in_units(self.choice) == Some(window) {
            let rows = outputs * window.stride;
            return Some((name.to_string(), rows, rows, format!("{name} = {rows} # {size}")));
        }
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
