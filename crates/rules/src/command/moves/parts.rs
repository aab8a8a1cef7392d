//! A move in parts that write to separate places, so that they may happen at the same time.

use super::{Loop, Moves};
use crate::command::{Start, Step};
use crate::mapping::gcd;
use core::ops::Range;

impl Moves<'_> {
    /// Cuts the move into at most `count` parts that write to different units. Returns the units, in order, and the
    /// part. A move that cannot be cut is a single part.
    pub fn parts_by_unit(&self, count: usize) -> Vec<(Range<usize>, Self)> {
        let step = |candidate: &Loop| candidate.destination.units;
        let first = usize::try_from(self.destination_start.units).ok();
        let Some((first, (cut, inside))) = first.zip(self.outermost(step)) else {
            return vec![(0..usize::MAX, self.clone())];
        };
        let outer = self.loops[cut];
        let count = count.clamp(1, outer.size);
        let part = |k: usize| {
            let range = outer.size * k / count..outer.size * (k + 1) / count;
            let units =
                first + range.start * step(&outer)..first + (range.end - 1) * step(&outer) + inside + 1;
            (units, self.part(cut, range))
        };
        (0..count).map(part).collect()
    }

    /// Cuts the move into at most `count` parts that write to different elements. Returns the elements of any unit, in
    /// order, and the part. All parts except the first begin at page starts: element `page` plus multiples of `every`.
    pub fn parts_by_page(&self, count: usize, (page, every): (usize, usize)) -> Vec<(Range<usize>, Self)> {
        let step = |candidate: &Loop| candidate.destination.elements;
        let first = usize::try_from(self.destination_start.elements).ok();
        let Some((first, (cut, _))) = first.zip(self.outermost(step)) else {
            return vec![(0..usize::MAX, self.clone())];
        };
        let outer = self.loops[cut];
        let start = |value: usize| first + value * step(&outer);
        let is_page = |value: &usize| start(*value) % every == page % every;
        // Page starts repeat after `period` values, so a search over as many values suffices.
        let period = every / gcd(step(&outer), every);
        let mut starts = vec![0];
        for k in 1..count {
            let behind = outer.size * k / count + 1;
            let least = (starts[starts.len() - 1] + 1).max(behind.saturating_sub(period));
            starts.extend((least..behind).rev().find(is_page));
        }
        let ends = starts[1..].iter().copied().chain([outer.size]);
        let ranges = starts.iter().zip(ends).map(|(&start, end)| start..end);
        ranges.map(|range| (start(range.start)..start(range.end), self.part(cut, range))).collect()
    }

    /// The loop with the largest step, and the distance that all others cover together. `None` if they cover a whole
    /// step of it, or if the guard depends on it.
    fn outermost(&self, step: impl Fn(&Loop) -> usize) -> Option<(usize, usize)> {
        let cut = (0..self.loops.len()).max_by_key(|&k| step(&self.loops[k]))?;
        let others = self.loops.iter().enumerate().filter(|&(k, _)| k != cut);
        let inside = others.map(|(_, other)| other.size.saturating_sub(1) * step(other)).sum();
        let outer = &self.loops[cut];
        (step(outer) > inside && outer.variable.is_none() && !self.is_empty()).then_some((cut, inside))
    }

    /// Some iterations of a loop that the guard does not depend on.
    fn part(&self, cut: usize, range: Range<usize>) -> Self {
        let mut part = self.clone();
        let Loop { source, destination, .. } = self.loops[cut];
        let behind = |start: Start, step: Step| Start {
            units: start.units.saturating_add_unsigned(range.start * step.units),
            elements: start.elements.saturating_add_unsigned(range.start * step.elements),
        };
        part.source_start = behind(self.source_start, source);
        part.destination_start = behind(self.destination_start, destination);
        part.loops[cut].size = range.len();
        part
    }
}

#[cfg(test)]
mod tests {
    use super::super::Strip;
    use super::*;
    use crate::mapping::{GuardDigit, GuardSum};
    use crate::testing::{moved_by_definition, transfer};
    use rand::rngs::SmallRng;
    use rand::seq::SliceRandom;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeMap;

    /// All parts together are the move, and no two write to the same place.
    #[test]
    fn parts_are_the_move() {
        let seed = 29;
        let mut random = SmallRng::seed_from_u64(seed);
        let (mut by_unit, mut by_page) = (0, 0);
        for case in 0..400 {
            // Units and elements of the destination, each written once: digits in any order, with gaps.
            let (mut loops, mut units, mut elements) = (Vec::new(), 1, 1);
            for _ in 0..random.random_range(1..5usize) {
                let size = random.random_range(1..6);
                let source = [0, 1, 5, 30][random.random_range(0..4)];
                if random.random_range(0..2) == 0 {
                    loops.push((size, random.random_range(0..2), source, units, 0));
                    units *= size + random.random_range(0..2);
                } else {
                    loops.push((size, random.random_range(0..2), source, 0, elements));
                    elements *= size + random.random_range(0..2);
                }
            }
            loops.shuffle(&mut random);
            let mut transfer = transfer(&loops);
            let (unit, element) = (random.random_range(0..3), random.random_range(0..9));
            if random.random_range(0..2) == 0 {
                transfer.guard.digits.push(GuardDigit {
                    variable: random.random_range(0..loops.len()),
                    base: 1,
                    extent: 8,
                    weight: 1,
                });
                let (start, limit) = (random.random_range(0..2), random.random_range(1..5));
                transfer.guard.sums.push(GuardSum { first: 0, len: 1, start, limit });
            }
            let expected: BTreeMap<_, _> = (moved_by_definition(&transfer).into_iter())
                .map(|((u, e), from)| ((u + unit, e + element), from))
                .collect();
            transfer.destination_start = Start { units: unit as isize, elements: element as isize };
            let (moves, count) = (Moves::new(&transfer), random.random_range(1..5));
            let page = (random.random_range(0..4), 4);
            for (is_unit, parts) in
                [(true, moves.parts_by_unit(count)), (false, moves.parts_by_page(count, page))]
            {
                assert!((1..=count).contains(&parts.len()), "seed {seed}, case {case}");
                assert!(parts.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start));
                *if is_unit { &mut by_unit } else { &mut by_page } += usize::from(parts.len() > 1);
                let mut found = BTreeMap::new();
                for (k, (places, part)) in parts.iter().enumerate() {
                    let is_page = places.start % page.1 == page.0;
                    assert!(is_unit || k == 0 || is_page, "seed {seed}, case {case}");
                    part.for_each_strip(8, |Strip { source, destination, run, count }| {
                        for (k, e) in (0..count).flat_map(|k| (0..run).map(move |e| (k, e))) {
                            let from = (source.unit, source.position + k * source.stride + e);
                            let to = (destination.unit, destination.position + k * destination.stride + e);
                            let place = if is_unit { to.0 } else { to.1 };
                            assert!(places.contains(&place), "seed {seed}, case {case}: {to:?}");
                            assert_eq!(found.insert(to, from), None, "seed {seed}, case {case}: {to:?}");
                        }
                    });
                }
                assert_eq!(found, expected, "seed {seed}, case {case}: {transfer:?}");
            }
        }
        assert!(by_unit > 50 && by_page > 50, "{by_unit}, {by_page}");
    }

    /// An existing page start is found, even if few values begin a page.
    #[test]
    fn pages_are_found() {
        let parts = |loops: &[_], page| {
            let transfer = transfer(loops);
            let parts = Moves::new(&transfer).parts_by_page(2, page);
            parts.into_iter().map(|(places, _)| places).collect::<Vec<_>>()
        };
        // Steps of 3 meet pages of 8 at 24 and 48, or at 12 and 36.
        let steps = [(20, 0, 1, 0, 3)];
        assert_eq!(parts(&steps, (0, 8)), [0..24, 24..60]);
        assert_eq!(parts(&steps, (4, 8)), [0..12, 12..60]);
        // Steps of 4 meet no page that begins at an odd element.
        let steps = [(20, 0, 3, 0, 4), (4, 0, 1, 0, 1)];
        assert_eq!(parts(&steps, (1, 8)).len(), 1);
        assert_eq!(parts(&steps, (4, 8)), [0..36, 36..80]);
    }
}
