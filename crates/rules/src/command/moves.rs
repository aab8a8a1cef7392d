//! The loops of a move, ordered for the simulating machine: strips of runs, in tiles that use whole cache lines.
//!
//! The iterations of a move may happen in any order. Places that are near in one layout are often far apart in the
//! other. So two loops are cut into tiles: one along which the source continues nearby, one along which the destination
//! does. A tile touches few lines and pages, and the whole of each line.

mod parts;
mod patches;

pub use patches::Patch;

use crate::command::{Start, Step, Transfer, TransferLoop};
use crate::mapping::guard::rows::{LiveRows, depends_on, live_runs};
use crate::sorting;

/// The most bits of a strip, so that it stays in the nearest cache.
const STRIP_BITS: usize = 8192 * 8;

/// The same for runs of whole lines, which do not profit from the nearest cache.
const LONG_STRIP_BITS: usize = 8 * STRIP_BITS;

/// The bits of a cache line. Longer runs need no tiles.
const LINE_BITS: usize = 512;

/// The least and the most runs of a strip in a tile with another loop: together they fill a line at the destination.
const TILE_RUNS: (usize, usize) = (16, 32);

/// The most runs of such a strip whose destinations are far apart. The nearest cache has room for few lines at
/// distances of a power of two, and a line must stay until all of it is written.
const FAR_RUNS: usize = 8;

/// The most strips of a tile.
const TILE_STRIPS: usize = 256;

const STILL: Step = Step { units: 0, elements: 0 };

/// A loop and the guard's variable that it counts.
#[derive(Clone, Copy, Debug)]
struct Loop {
    size: usize,
    source: Step,
    destination: Step,
    variable: Option<usize>,
}

/// One side of a strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The unit.
    pub unit: usize,
    /// The first element.
    pub position: usize,
    /// Elements between the starts of two runs.
    pub stride: usize,
}

/// Runs of elements that lie together on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip {
    /// Source of the runs.
    pub source: End,
    /// Destination of the runs.
    pub destination: End,
    /// Elements in a run.
    pub run: usize,
    /// The number of runs.
    pub count: usize,
}

/// A strip that is repeated at even distances, in the same unit on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strips {
    /// The first one.
    pub first: Strip,
    /// The number of strips.
    pub times: usize,
    /// Elements from one strip to the next: at the source and at the destination.
    pub next: (usize, usize),
}

impl Strips {
    /// The strips, one after another.
    pub fn all(self) -> impl Iterator<Item = Strip> {
        (0..self.times).map(move |k| {
            let mut strip = self.first;
            // A position before a start wraps around here; it is not live.
            strip.source.position = strip.source.position.wrapping_add(k * self.next.0);
            strip.destination.position = strip.destination.position.wrapping_add(k * self.next.1);
            strip
        })
    }
}

/// A move, reordered.
#[derive(Clone, Debug)]
pub struct Moves<'a> {
    transfer: &'a Transfer,
    /// Start of the loops on each side.
    source_start: Start,
    destination_start: Start,
    /// True if no iteration is left out.
    always: bool,
    /// All loops except those of one iteration. Empty loops are kept.
    loops: Vec<Loop>,
}

impl Loop {
    const ONCE: Self = Self { size: 1, source: STILL, destination: STILL, variable: None };

    /// True if the loop stays in a unit on both sides.
    fn is_inside(&self) -> bool {
        self.source.units == 0 && self.destination.units == 0
    }

    /// True if the loop makes one run on both sides.
    fn is_run(&self) -> bool {
        self.is_inside() && self.source.elements == 1 && self.destination.elements == 1
    }

    /// Distance of neighbours on the side where they are nearer.
    fn distance(&self) -> usize {
        distance(self.source).min(distance(self.destination))
    }

    /// The same loop in steps of `block` iterations.
    fn blocks(&self, block: usize) -> Self {
        let step = |step: Step| Step { units: step.units * block, elements: step.elements * block };
        let size = self.size.div_ceil(block);
        Self { size, source: step(self.source), destination: step(self.destination), ..*self }
    }
}

/// The most elements of a strip with runs of `run` elements.
fn most_elements(run: usize, bits: usize) -> usize {
    if run * bits >= LINE_BITS { LONG_STRIP_BITS / bits } else { (STRIP_BITS / bits).max(1) }
}

/// Distance of neighbours. Units are far apart.
fn distance(step: Step) -> usize {
    if step.units > 0 { usize::MAX } else { step.elements }
}

/// Number of live values per loop, if each sum of the guard reads one variable and excludes only its last values.
fn simple_sizes(transfer: &Transfer) -> Option<Vec<usize>> {
    let guard = &transfer.guard;
    let mut sizes: Vec<usize> = transfer.loops.iter().map(|l| l.size).collect();
    for sum in guard.sums.iter().filter(|sum| sum.start > 0 || sum.limit != usize::MAX) {
        let digits = &guard.digits.as_slice()[sum.first..sum.first + sum.len];
        let variable = digits.first().map(|digit| digit.variable).filter(|&v| v < guard.variables)?;
        if digits.iter().any(|digit| digit.variable != variable) {
            return None;
        }
        let is_live = |value: usize| {
            let parts = digits.iter().map(|d| value / d.base % d.extent * d.weight);
            sum.holds(parts.sum())
        };
        let size = transfer.loops.as_slice().get(variable)?.size;
        let live = (0..size).take_while(|&value| is_live(value)).count();
        if (live..size).any(is_live) {
            return None;
        }
        sizes[variable] = sizes[variable].min(live);
    }
    Some(sizes)
}

impl<'a> Moves<'a> {
    /// Joins neighbouring loops if both sides continue evenly.
    pub fn new(transfer: &'a Transfer) -> Self {
        let sizes = simple_sizes(transfer);
        let mut loops: Vec<Loop> = Vec::new();
        for (k, &TransferLoop { size, source, destination }) in transfer.loops.iter().enumerate() {
            let size = sizes.as_ref().map_or(size, |sizes| sizes[k]);
            if size == 1 {
                continue;
            }
            let variable = (sizes.is_none() && depends_on(&transfer.guard, k)).then_some(k);
            let even = |outer: Step, inner: Step| {
                outer.units == inner.units * size && outer.elements == inner.elements * size
            };
            match loops.last_mut() {
                Some(outer)
                    if variable.is_none()
                        && outer.variable.is_none()
                        && even(outer.source, source)
                        && even(outer.destination, destination) =>
                {
                    *outer = Loop { size: outer.size * size, source, destination, variable };
                }
                _ => loops.push(Loop { size, source, destination, variable }),
            }
        }
        let Transfer { source_start, destination_start, .. } = *transfer;
        Self { transfer, source_start, destination_start, always: sizes.is_some(), loops }
    }

    /// The number of elements that move, or more if the guard leaves some out.
    pub fn elements(&self) -> usize {
        self.loops.iter().map(|l| l.size).product()
    }

    /// One side of all loops: their sizes and steps.
    pub fn steps(&self, side: Side) -> impl Iterator<Item = (usize, Step)> {
        self.loops.iter().map(move |l| match side {
            Side::Source => (l.size, l.source),
            Side::Destination => (l.size, l.destination),
        })
    }

    /// The number of elements from the first to the last one of a unit, counted over all units, for loops that start at
    /// the first one.
    pub fn hull(&self, side: Side) -> usize {
        self.steps(side).map(|(size, step)| size.saturating_sub(1) * step.elements).sum::<usize>() + 1
    }

    /// The last unit of a side.
    pub fn last_unit(&self, side: Side) -> usize {
        self.steps(side).map(|(size, step)| size.saturating_sub(1) * step.units).sum()
    }

    /// The units of a side, possibly with repetitions.
    pub fn units(&self, side: Side) -> Vec<usize> {
        let mut units = vec![0];
        for (size, step) in self.steps(side).filter(|(_, step)| step.units > 0) {
            units = units.iter().flat_map(|unit| (0..size).map(move |k| unit + k * step.units)).collect();
        }
        units
    }

    /// True if a look at everything between the first and the last element of the source is a small part of the work.
    /// Then the elements are known to be initialised without a look at each run.
    pub fn is_compact(&self) -> bool {
        if !self.source_start.is_first() {
            return false;
        }
        let loops = || self.steps(Side::Source).filter(|(_, step)| step.units > 0);
        let units: usize = loops().map(|(size, _)| size).product();
        let run = self.loops.iter().filter(|l| l.is_run()).map(|l| l.size).max().unwrap_or(1);
        let runs = self.elements() / run.max(1);
        // A word of marks covers 4096 bytes.
        runs > 1 && units.saturating_mul(self.hull(Side::Source)) / 1024 <= runs.saturating_mul(16)
    }

    /// True if nothing moves.
    fn is_empty(&self) -> bool {
        self.loops.iter().any(|l| l.size == 0)
    }

    /// True if all elements are one run on both sides, from the first element of the source on.
    pub fn is_single_run(&self) -> bool {
        let is_run = match &self.loops[..] {
            [] => true,
            [only] => only.is_run(),
            _ => false,
        };
        is_run && !self.is_empty() && self.always && self.source_start.is_first()
    }

    /// True if every element between the first and the last one of every destination unit is written.
    pub fn fills_destination(&self) -> bool {
        let mut loops: Vec<(usize, Step)> =
            self.steps(Side::Destination).filter(|(_, step)| step.elements > 0).collect();
        sorting::by_key(&mut loops, |(_, step)| step.elements);
        let mut filled = 1;
        self.always
            && !self.is_empty()
            && self.destination_start.is_first()
            && loops.iter().all(|&(size, step)| {
                let goes_on = step.elements == filled && step.units == 0;
                filled *= size;
                goes_on
            })
    }

    /// Calls `visit` with every strip of the move, of elements of `bits` bits.
    pub fn for_each_strip(&self, bits: usize, mut visit: impl FnMut(Strip)) {
        self.for_each_strips(bits, |strips| strips.all().for_each(&mut visit));
    }

    /// Calls `visit` with all strips of the move, combined if they repeat one strip within its units.
    pub fn for_each_strips(&self, bits: usize, mut visit: impl FnMut(Strips)) {
        self.visit_strips(bits, &mut visit);
    }

    /// [`Self::for_each_strips`], compiled once for all callers: a call is little beside the bytes of a strip.
    fn visit_strips(&self, bits: usize, visit: &mut dyn FnMut(Strips)) {
        if self.is_empty() {
            return;
        }
        let order = Order::new(self.loops.clone(), bits);
        let Order { run, row, middle, .. } = order;
        let live = LiveRows::new(&self.transfer.guard, row.variable.unwrap_or(usize::MAX), row.size);
        let mut mask = Vec::new();
        let mut variables = vec![0; self.transfer.guard.variables];
        let most = most_elements(run, bits);
        // Positions before a start are not live.
        let (from, to) = (self.source_start, self.destination_start);
        let repeats = self.always && middle.is_inside() && run <= most;
        let next = (middle.source.elements, middle.destination.elements);
        order.for_each_tile(&mut variables, |variables, tile| {
            let times = if repeats { tile.strips } else { 1 };
            for k in (0..tile.strips).step_by(times) {
                if let Some(variable) = middle.variable {
                    variables[variable] = k;
                }
                let unit = |base: Step, step: Step| base.units + k * step.units;
                let position = |base: Step, step: Step, row: Step, first: usize| {
                    base.elements + k * step.elements + first * row.elements
                };
                let mut cut = |start: usize, len: usize| {
                    let end = |start: Start, tile: Step, middle: Step, row: Step, first: usize| End {
                        unit: start.units.saturating_add_unsigned(unit(tile, middle)) as usize,
                        position: start.elements.saturating_add_unsigned(position(tile, middle, row, first))
                            as usize,
                        stride: row.elements,
                    };
                    let strip = |first: usize, offset: usize, run: usize, count: usize| {
                        let mut source = end(from, tile.source, middle.source, row.source, first);
                        let mut destination =
                            end(to, tile.destination, middle.destination, row.destination, first);
                        source.position += offset;
                        destination.position += offset;
                        Strips { first: Strip { source, destination, run, count }, times, next }
                    };
                    if run > most {
                        for first in start..start + len {
                            for offset in (0..run).step_by(most) {
                                visit(strip(first, offset, most.min(run - offset), 1));
                            }
                        }
                    } else if run == 1 && row.is_run() {
                        for first in (start..start + len).step_by(most) {
                            visit(strip(first, 0, most.min(start + len - first), 1));
                        }
                    } else {
                        let runs = (most / run).max(1);
                        for first in (start..start + len).step_by(runs) {
                            visit(strip(first, 0, run, runs.min(start + len - first)));
                        }
                    }
                };
                if self.always {
                    cut(0, tile.runs);
                } else {
                    // A row that is a variable of the guard is not cut into blocks.
                    let liveness = live.row(variables, &mut mask);
                    live_runs(liveness, &mask, tile.runs, &mut cut);
                }
            }
        });
    }
}

/// A side of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The side that elements come from.
    Source,
    /// The side that elements go to.
    Destination,
}

/// A part of the loops `row` and `middle`.
#[derive(Clone, Copy, Debug)]
struct Tile {
    source: Step,
    destination: Step,
    runs: usize,
    strips: usize,
}

/// The order of the loops.
#[derive(Debug)]
struct Order {
    /// Elements that lie together on both sides.
    run: usize,
    /// Runs of a strip.
    row: Loop,
    /// Strips of a tile.
    middle: Loop,
    row_block: usize,
    middle_block: usize,
    /// All other loops, with the loops over blocks of rows and of the middle, which come last.
    loops: Vec<Loop>,
    /// The loop over blocks of rows.
    row_loop: usize,
}

impl Order {
    fn new(mut loops: Vec<Loop>, bits: usize) -> Self {
        let runs = (0..loops.len()).filter(|&k| loops[k].is_run() && loops[k].variable.is_none());
        let run = runs.max_by_key(|&k| loops[k].size).map_or(1, |k| loops.remove(k).size);
        // Long strips cost least. Among them near neighbours are better, most of all at the destination if they share
        // lines there.
        let worth = |l: &Loop| {
            let near = match (l.source.elements == run, l.destination.elements == run) {
                (false, false) => 2,
                (false, true) if run * bits < LINE_BITS => 12,
                (true, false) | (false, true) => 4,
                (true, true) => 64,
            };
            let free = if l.variable.is_none() { 2 } else { 1 };
            (l.size.min(TILE_RUNS.1) * free * near, usize::MAX - l.distance())
        };
        let best = (0..loops.len()).filter(|&k| loops[k].is_inside()).max_by_key(|&k| worth(&loops[k]));
        let row = best.map_or(Loop::ONCE, |k| loops.remove(k));
        // The middle continues nearby on the side where the row does not.
        let source_is_near = distance(row.source) < distance(row.destination);
        let other = |l: &Loop| distance(if source_is_near { l.destination } else { l.source });
        let middle = (0..loops.len()).min_by_key(|&k| (other(&loops[k]), loops[k].distance()));
        let middle = middle.map_or(Loop::ONCE, |k| loops.remove(k));
        let strip = (most_elements(run, bits) / run).max(1);
        let row_block = match (row.variable, middle.size) {
            (Some(_), _) => row.size,
            (None, _) if middle.size == 1 || run * bits >= LINE_BITS => strip,
            (None, _) if row.destination.elements != run => strip.min(FAR_RUNS),
            (None, _) => strip.min((LINE_BITS / bits / run).clamp(TILE_RUNS.0, TILE_RUNS.1)),
        };
        let middle_block = if middle.variable.is_some() { middle.size } else { TILE_STRIPS };
        // Loops of near neighbours come last. Rows come last among loops of equal distance.
        let rows = row.blocks(row_block);
        sorting::by_key(&mut loops, |l| core::cmp::Reverse(l.distance()));
        let row_loop = loops.partition_point(|l| l.distance() >= rows.distance());
        loops.insert(row_loop, rows);
        loops.push(middle.blocks(middle_block));
        Self { run, row, middle, row_block, middle_block, loops, row_loop }
    }

    /// Calls `visit` with the guard's variables and every tile.
    fn for_each_tile(&self, variables: &mut [usize], mut visit: impl FnMut(&mut [usize], Tile)) {
        let Self { loops, row_loop: row, .. } = self;
        let middle = loops.len() - 1;
        for_each_index(loops, variables, |variables, indices, source, destination| {
            let runs = self.row_block.min(self.row.size - indices[*row] * self.row_block);
            let strips = self.middle_block.min(self.middle.size - indices[middle] * self.middle_block);
            visit(variables, Tile { source, destination, runs, strips });
        });
    }
}

/// Calls `visit` with the guard's variables, all indices of the loops, and the distance from the start on both sides.
fn for_each_index(
    loops: &[Loop],
    variables: &mut [usize],
    mut visit: impl FnMut(&mut [usize], &[usize], Step, Step),
) {
    let mut indices = vec![0; loops.len()];
    let (mut source, mut destination) = (STILL, STILL);
    loop {
        visit(variables, &indices, source, destination);
        let mut k = loops.len();
        loop {
            if k == 0 {
                return;
            }
            k -= 1;
            let l = &loops[k];
            let back = l.size - 1;
            if indices[k] < back {
                indices[k] += 1;
                source.units += l.source.units;
                source.elements += l.source.elements;
                destination.units += l.destination.units;
                destination.elements += l.destination.elements;
            } else {
                indices[k] = 0;
                source.units -= l.source.units * back;
                source.elements -= l.source.elements * back;
                destination.units -= l.destination.units * back;
                destination.elements -= l.destination.elements * back;
            }
            if let Some(variable) = l.variable {
                variables[variable] = indices[k];
            }
            if indices[k] > 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Guard, GuardDigit, GuardSum};
    use crate::testing::{moved_by_definition, transfer};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeMap;

    /// Checks two loops along the same elements: neither is a run of the other.
    #[test]
    fn loops_that_meet_are_both_moved() {
        for sizes in [[4, 2], [2, 4], [3, 3]] {
            let transfer = transfer(&sizes.map(|size| (size, 0, 1, 0, 1)));
            let mut moved = BTreeMap::new();
            Moves::new(&transfer).for_each_strip(8, |strip| {
                for (k, e) in (0..strip.count).flat_map(|k| (0..strip.run).map(move |e| (k, e))) {
                    let at = |end: End| (end.unit, end.position + k * end.stride + e);
                    *moved.entry((at(strip.source), at(strip.destination))).or_insert(0) += 1;
                }
            });
            let mut expected = BTreeMap::new();
            for at in (0..sizes[0]).flat_map(|a| (0..sizes[1]).map(move |b| (0, a + b))) {
                *expected.entry((at, at)).or_insert(0) += 1;
            }
            assert_eq!(moved, expected, "{sizes:?}");
        }
    }

    /// The elements of all strips: destination to source.
    fn strips_of(
        transfer: &Transfer,
        allowed: impl Fn(&Strip) -> bool,
    ) -> BTreeMap<(usize, usize), (usize, usize)> {
        let mut moves = BTreeMap::new();
        Moves::new(transfer).for_each_strip(8, |strip| {
            assert!(allowed(&strip), "{strip:?}");
            let Strip { source, destination, .. } = strip;
            for (k, e) in (0..strip.count).flat_map(|k| (0..strip.run).map(move |e| (k, e))) {
                let from = (source.unit, source.position + k * source.stride + e);
                let to = (destination.unit, destination.position + k * destination.stride + e);
                assert_eq!(moves.insert(to, from), None, "{transfer:?} writes {to:?} once");
            }
        });
        moves
    }

    #[test]
    fn strips_are_the_move() {
        let mut random = SmallRng::seed_from_u64(11);
        for _ in 0..300 {
            let mut loops = Vec::new();
            let mut inner = 1;
            for k in 0..random.random_range(1..5usize) {
                let size = random.random_range(1..6);
                let units = k == 3;
                let source = [0, 1, inner, 7][random.random_range(0..4)];
                loops.push((
                    size,
                    usize::from(units),
                    source,
                    usize::from(units),
                    if units { 0 } else { inner },
                ));
                inner *= size;
            }
            loops.reverse();
            let mut transfer = transfer(&loops);
            if random.random_range(0..2) == 0 {
                for _ in 0..2 {
                    transfer.guard.digits.push(GuardDigit {
                        variable: random.random_range(0..loops.len()),
                        base: 1,
                        extent: 8,
                        weight: random.random_range(1..4),
                    });
                }
                transfer.guard.sums.push(GuardSum {
                    first: 0,
                    len: 2,
                    start: 0,
                    limit: random.random_range(1..12),
                });
            }
            let moves = strips_of(&transfer, |_| true);
            assert_eq!(moves, moved_by_definition(&transfer), "{transfer:?}");
        }
    }

    #[test]
    fn even_loops_become_one_run() {
        let mut strips = Vec::new();
        let transfer = transfer(&[(4, 0, 64, 1, 0), (8, 0, 8, 0, 8), (8, 0, 1, 0, 1)]);
        let moves = Moves::new(&transfer);
        moves.for_each_strip(8, |strip| {
            strips.push((strip.source.position, strip.destination.unit, strip.run, strip.count));
        });
        assert_eq!(strips, [(0, 0, 64, 1), (64, 1, 64, 1), (128, 2, 64, 1), (192, 3, 64, 1)]);
        assert_eq!((moves.hull(Side::Source), moves.hull(Side::Destination)), (256, 64));
        assert_eq!((moves.units(Side::Source), moves.units(Side::Destination)), (vec![0], vec![0, 1, 2, 3]));
        assert!(moves.is_compact() && moves.fills_destination());
    }

    #[test]
    fn large_transposes_are_cut_into_tiles() {
        let loops =
            [(2, 0, 2 * 70 * 300, 1, 0), (70, 0, 2, 0, 2 * 300), (300, 0, 2 * 70, 0, 2), (2, 0, 1, 0, 1)];
        let transfer = transfer(&loops);
        // The last part of the transpose is missing; the guard then depends on both loops of the tiles.
        let mut guarded = transfer;
        for (variable, weight) in [(1, 4), (2, 1)] {
            guarded.guard.digits.push(GuardDigit { variable, base: 1, extent: 512, weight });
        }
        guarded.guard.sums.push(GuardSum { first: 0, len: 2, start: 0, limit: 500 });
        let mut short = transfer;
        short.guard.digits.push(GuardDigit { variable: 2, base: 1, extent: 512, weight: 1 });
        short.guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit: 277 });
        for transfer in [transfer, guarded, short] {
            let expected = moved_by_definition(&transfer);
            assert_eq!(strips_of(&transfer, |strip| strip.count <= 300), expected);
        }
        strips_of(&transfer, |strip| strip.run == 2 && strip.count <= TILE_RUNS.1);
    }

    #[test]
    fn padding_at_the_end_of_a_loop_shortens_it() {
        let mut transfer = transfer(&[(8, 0, 16, 0, 16), (16, 0, 1, 0, 1)]);
        transfer.guard.digits.push(GuardDigit { variable: 1, base: 1, extent: 16, weight: 1 });
        transfer.guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit: 10 });
        let moves = Moves::new(&transfer);
        let mut strips = Vec::new();
        moves.for_each_strip(8, |strip| strips.push((strip.run, strip.count)));
        assert_eq!(strips, [(10, 8)]);
        assert!(!moves.fills_destination());
        // The first positions are missing, which is left to the guard.
        transfer.guard.digits = Guard::always(2).digits;
        transfer.guard.digits.push(GuardDigit { variable: 1, base: 1, extent: 8, weight: 1 });
        transfer.guard.sums = Guard::always(2).sums;
        transfer.guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit: 3 });
        let mut strips = Vec::new();
        Moves::new(&transfer).for_each_strip(8, |strip| strips.push((strip.run, strip.count)));
        assert_eq!(strips, vec![(3, 1); 16]);
    }
}
