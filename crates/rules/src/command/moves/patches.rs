//! Short runs in patches: pieces of whole cache lines on both sides.
//!
//! Along some loops the source continues without a gap, along others the destination does. A patch is a part of both:
//!
//! ```text
//!   source                              destination
//!   piece 0    a0 b0 c0 d0 …            piece a    a0 a1 a2 a3 …
//!   piece 1    a1 b1 c1 d1 …            piece b    b0 b1 b2 b3 …
//!   …                                   …                               each letter with its number is a run
//! ```
//!
//! Code that reads all pieces of the source, and then writes all pieces of the destination, touches every line once.

use super::{LINE_BITS, Loop, Moves, STILL, for_each_index};
use crate::command::{Start, Step};
use crate::sorting;

/// Bytes of a piece for runs of one byte. Pieces of longer runs are longer, so that a patch of power-of-two loops has 8
/// to 16 KiB: it stays in the nearest cache, together with its transposed copy.
const PIECE_BYTES: usize = 128;

/// A move in patches.
#[derive(Debug)]
pub struct Patches {
    source_start: Start,
    destination_start: Start,
    /// Elements of a run.
    run: usize,
    /// The loops along which the source continues, and the loops along which the destination does.
    across: Chain,
    along: Chain,
    /// All other loops, and the loops over the parts of both.
    loops: Vec<Loop>,
}

/// Runs that lie together on one side, in nested loops. The outermost one is cut into parts.
#[derive(Debug)]
struct Chain {
    outermost: Loop,
    /// Iterations of the outermost loop that a patch takes.
    block: usize,
    /// Runs per iteration of the outermost loop.
    inside: usize,
    /// Places of the runs of a patch on the other side.
    places: Vec<Step>,
    /// The number of the loop over the parts.
    parts: usize,
}

impl Chain {
    /// A single run.
    fn new() -> Self {
        Self { outermost: Loop::ONCE, block: 1, inside: 1, places: vec![STILL], parts: 0 }
    }

    /// Takes the loop that continues at the end of the chain, unless the chain has `wanted` runs. Returns true if it
    /// took one. `sides`: the step of a loop on the side of the chain, and on the other one.
    fn grow(
        &mut self,
        loops: &mut Vec<Loop>,
        (run, wanted): (usize, usize),
        sides: impl Fn(&Loop) -> (Step, Step),
    ) -> bool {
        let inside = self.places.len();
        let near = Step { units: 0, elements: run * inside };
        let next = loops.iter().position(|next_loop| sides(next_loop).0 == near).filter(|_| inside < wanted);
        let Some(next_loop) = next.map(|k| loops.remove(k)) else { return false };
        let (step, block) = (sides(&next_loop).1, next_loop.size.min(wanted.div_ceil(inside)));
        let behind = |k: usize, place: &Step| Step {
            units: place.units + k * step.units,
            elements: place.elements + k * step.elements,
        };
        let places = (0..block).flat_map(|k| self.places.iter().map(move |place| behind(k, place)));
        *self = Self { outermost: next_loop, block, inside, places: places.collect(), parts: 0 };
        true
    }

    /// The places of the runs in a part.
    fn part(&self, indices: &[usize]) -> &[Step] {
        let count = self.block.min(self.outermost.size - indices[self.parts] * self.block);
        &self.places[..count * self.inside]
    }
}

/// Places of a side.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    unit: usize,
    position: usize,
    steps: &'a [Step],
}

impl Places<'_> {
    /// Number of places.
    pub fn len(self) -> usize {
        self.steps.len()
    }

    /// The unit and the first element of each.
    pub fn iter(self) -> impl Iterator<Item = (usize, usize)> {
        self.steps.iter().map(move |step| (self.unit + step.units, self.position + step.elements))
    }
}

/// Part of a move.
#[derive(Clone, Copy, Debug)]
pub struct Patch<'a> {
    /// Elements of a run.
    pub run: usize,
    /// The pieces of the source. Each has a run for every piece of the destination.
    pub sources: Places<'a>,
    /// The pieces of the destination. Each has a run of every piece of the source.
    pub destinations: Places<'a>,
}

impl Moves<'_> {
    /// The move in patches, of elements of `bits` bits. `None` if runs are long, a side has no neighbours, or the guard
    /// leaves out elements.
    pub fn patches(&self, bits: usize) -> Option<Patches> {
        if !self.always || self.is_empty() || bits < 8 {
            return None;
        }
        let mut loops = self.loops.clone();
        let run = (0..loops.len()).filter(|&k| loops[k].is_run()).max_by_key(|&k| loops[k].size);
        let run = run.map_or(1, |k| loops.remove(k).size);
        if run * bits >= LINE_BITS {
            return None;
        }
        let run_bytes = run * bits / 8;
        // Bytes of a patch: the product of the bytes of both pieces, divided by the bytes of a run.
        let wanted = (PIECE_BYTES << (run_bytes.ilog2() / 2)) / run_bytes;
        let (mut across, mut along) = (Chain::new(), Chain::new());
        // The chains grow in turns, because either side could take all loops.
        while across.grow(&mut loops, (run, wanted), |candidate| (candidate.source, candidate.destination))
            | along.grow(&mut loops, (run, wanted), |candidate| (candidate.destination, candidate.source))
        {
        }
        if across.places.len() == 1 || along.places.len() == 1 {
            return None;
        }
        // Loops of near neighbours come last.
        sorting::by_key(&mut loops, |outer| core::cmp::Reverse(outer.distance()));
        for chain in [&mut along, &mut across] {
            chain.parts = loops.len();
            loops.push(chain.outermost.blocks(chain.block));
        }
        let (source_start, destination_start) = (self.source_start, self.destination_start);
        Some(Patches { source_start, destination_start, run, across, along, loops })
    }
}

impl Patches {
    /// Calls `visit` with every patch.
    pub fn for_each(&self, mut visit: impl FnMut(Patch<'_>)) {
        let Self { source_start, destination_start, run, across, along, loops } = self;
        // All elements move, so that no place lies before a start.
        let places = |start: &Start, base: Step, steps| Places {
            unit: start.units.saturating_add_unsigned(base.units) as usize,
            position: start.elements.saturating_add_unsigned(base.elements) as usize,
            steps,
        };
        for_each_index(loops, &mut [], |_, indices, source, destination| {
            let sources = places(source_start, source, along.part(indices));
            let destinations = places(destination_start, destination, across.part(indices));
            visit(Patch { run: *run, sources, destinations });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{moved_by_definition, transfer};
    use rand::rngs::SmallRng;
    use rand::seq::SliceRandom;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeMap;

    /// The elements of all patches: destination to source.
    fn elements_of(patches: &Patches) -> BTreeMap<(usize, usize), (usize, usize)> {
        let mut moves = BTreeMap::new();
        patches.for_each(|Patch { run, sources, destinations }| {
            for (d, (from_unit, from)) in sources.iter().enumerate() {
                for (s, (unit, to)) in destinations.iter().enumerate() {
                    for e in 0..run {
                        let there = (unit, to + d * run + e);
                        assert_eq!(moves.insert(there, (from_unit, from + s * run + e)), None, "{there:?}");
                    }
                }
            }
        });
        moves
    }

    #[test]
    fn patches_are_the_move() {
        let seed = 31;
        let mut random = SmallRng::seed_from_u64(seed);
        let mut cut = 0;
        for case in 0..600 {
            // Digits in different orders on both sides, with gaps. The outermost digit may be units.
            let digits = random.random_range(2..6);
            let sizes: Vec<usize> = (0..digits).map(|_| random.random_range(1..8)).collect();
            let mut layout = || {
                let mut order: Vec<usize> = (1..digits).collect();
                order.shuffle(&mut random);
                let (mut steps, mut elements) = (vec![(0, 1); digits], sizes[0]);
                let units = random.random_range(0..2) == 0;
                for (number, k) in order.into_iter().enumerate() {
                    if units && number + 2 == digits {
                        steps[k] = (random.random_range(1..3), 0);
                    } else {
                        steps[k] = (0, elements);
                        elements *= sizes[k];
                        elements += [0, 0, 0, 3][random.random_range(0..4)];
                    }
                }
                steps
            };
            let (from, to) = (layout(), layout());
            let loops = (0..digits).map(|k| (sizes[k], from[k].0, from[k].1, to[k].0, to[k].1));
            let transfer = transfer(&loops.rev().collect::<Vec<_>>());
            let bits = [8, 16, 32][case % 3];
            if let Some(patches) = Moves::new(&transfer).patches(bits) {
                let expected = moved_by_definition(&transfer);
                assert_eq!(elements_of(&patches), expected, "seed {seed}, case {case}: {transfer:?}");
                cut += 1;
            }
        }
        assert!(cut > 150, "{cut} moves have patches");
    }

    #[test]
    fn pieces_are_whole_lines() {
        // The example: 8 bytes of four columns in each of 64 slices, which are 32 neighbouring bytes of a row.
        let loops = [(64, 0, 16, 1, 0), (4, 0, 4, 0, 4 * 96), (96, 0, 1024, 0, 4), (4, 0, 1, 0, 1)];
        let there = transfer(&loops);
        let patches = Moves::new(&there).patches(16).expect("both sides have neighbours");
        assert_eq!(elements_of(&patches), moved_by_definition(&there));
        let mut sizes = BTreeMap::new();
        patches.for_each(|patch| {
            *sizes.entry((patch.destinations.len() * 8, patch.sources.len() * 8)).or_insert(0) += 1;
        });
        assert_eq!(sizes, BTreeMap::from([((256, 256), 24)]));
        let back = transfer(&loops.map(|(size, units, elements, to, at)| (size, to, at, units, elements)));
        let patches = Moves::new(&back).patches(16).expect("both sides have neighbours");
        assert_eq!(elements_of(&patches), moved_by_definition(&back));
    }

    #[test]
    fn other_moves_have_no_patches() {
        let patches = |loops: &[_], bits| Moves::new(&transfer(loops)).patches(bits).is_some();
        let turned = [(8, 0, 2, 0, 16), (8, 0, 16, 0, 2), (2, 0, 1, 0, 1)];
        assert!(patches(&turned, 8) && !patches(&turned, 4), "elements of half a byte go one by one");
        assert!(!patches(&[(8, 0, 64, 0, 512), (8, 0, 512, 0, 64), (64, 0, 1, 0, 1)], 8), "a run is a line");
        assert!(!patches(&[(8, 0, 4, 0, 16), (8, 0, 32, 0, 2), (2, 0, 1, 0, 1)], 8), "the source has gaps");
        assert!(
            !patches(&[(8, 0, 2, 0, 32), (8, 0, 16, 0, 4), (2, 0, 1, 0, 1)], 8),
            "the destination has gaps"
        );
        let mut guarded = transfer(&turned);
        for (variable, weight) in [(0, 8), (1, 1)] {
            guarded.guard.digits.push(crate::mapping::GuardDigit { variable, base: 1, extent: 8, weight });
        }
        guarded.guard.sums.push(crate::mapping::GuardSum { first: 0, len: 2, start: 0, limit: 50 });
        assert!(Moves::new(&guarded).patches(8).is_none(), "some elements do not move");
    }
}
