//! Cutting a move into loop nests without conditions.
//!
//! A move is loops with a guard that leaves out padding, over units that belong to different engines. A command is
//! loops and nothing else. So the index space of the loops is cut into *parts*: products of evenly spaced index values
//! in which every index tuple is live and every unit belongs to the same engine.
//!
//! ```text
//! 15 elements as a in 0..8, b in 0..2, guard 2 a + b < 15
//!
//!     a  0 1 2 3 4 5 6 7
//! b = 0  1 1 1 1 1 1 1 2        part 1: a in 0..7, all b       part 2: a = 7, b = 0
//! b = 1  1 1 1 1 1 1 1 .
//! ```
//!
//! Interval arithmetic on the guard's sums tells if a range of index values is live. A range with no clear answer is
//! halved, and neighbours that turn out equal are joined again. So the work grows with the number of different values,
//! not with the number of elements.

use super::sequencer::Side;
use furiosa_visa_rules::command::TRANSFER_LOOPS;
use furiosa_visa_rules::mapping::{GUARD_SUMS, Guard, GuardSum};

/// Maximum number of ranges that are looked at before a guard counts as too ragged. Two per value in the worst case.
const LOOKS: usize = 1 << 15;
/// Maximum number of parts before a guard counts as too ragged.
const PARTS: usize = 1024;
/// Maximum number of element positions of a granule that are looked at one by one.
const GRANULE_POSITIONS: usize = 4096;
/// Number of keys, which are the same all over a part: one per side.
const KEYS: usize = 2;

/// Distance that one iteration moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// Units, see [`furiosa_visa_rules::command::Memory`].
    pub(super) units: u64,
    /// Bits inside a unit.
    pub(super) bits: u64,
}

impl Reach {
    fn times(self, n: usize) -> Self {
        Self { units: self.units * n as u64, bits: self.bits * n as u64 }
    }

    fn and(self, other: Self) -> Self {
        Self { units: self.units + other.units, bits: self.bits + other.bits }
    }
}

/// A loop of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MoveLoop {
    pub(super) size: usize,
    pub(super) source: Reach,
    pub(super) destination: Reach,
    /// The guard's variable that it counts.
    pub(super) variable: usize,
    /// Amount that an iteration adds to the variable.
    pub(super) weight: usize,
    /// True if it lies inside a block that the hardware can only move as a whole: the values of the block are live
    /// together if one of them is.
    pub(super) granule: bool,
}

impl MoveLoop {
    pub(super) fn reach(&self, side: Side) -> Reach {
        match side {
            Side::Source => self.source,
            Side::Destination => self.destination,
        }
    }
}

/// Rule that units of a part have the same `unit / units` on a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) side: Side,
    pub(super) units: u64,
    /// The unit at which the loops start.
    pub(super) start: i64,
}

/// Loops without conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Size and reach on both sides, in the order of the move.
    pub(super) loops: Vec<(usize, Reach, Reach)>,
    /// Start on the source side, and on the destination side.
    pub(super) source: Reach,
    pub(super) destination: Reach,
}

/// Cuts a move into parts. `None` if the guard is too ragged for a reasonable number of parts.
pub(super) fn parts(guard: &Guard, loops: &[MoveLoop], keys: [Key; KEYS]) -> Option<Vec<Part>> {
    let mut cutter = Cutter::new(guard, loops, keys);
    let full: Vec<Span> = loops.iter().map(|l| Span { first: 0, last: l.size - 1 }).collect();
    let tree = cutter.tree(&full)?;
    let mut parts = Vec::new();
    flatten(loops, &tree, &mut vec![None; loops.len()], &mut parts).then_some(parts)
}

/// The hull: the loops, shortened as far as every live element stays. Padding between live elements stays too.
pub(super) fn hull(guard: &Guard, loops: &[MoveLoop], keys: [Key; KEYS]) -> Vec<MoveLoop> {
    let mut cutter = Cutter::new(guard, loops, keys);
    let mut spans: Vec<Span> = loops.iter().map(|l| Span { first: 0, last: l.size - 1 }).collect();
    for k in (0..loops.len()).filter(|&k| !loops[k].granule) {
        // Finds the least value that has nothing live behind it.
        let (mut low, mut high) = (0, spans[k].last);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut behind = spans.clone();
            behind[k].first = middle + 1;
            if matches!(cutter.look(&behind), Look::Nothing) { high = middle } else { low = middle + 1 }
        }
        spans[k].last = high;
    }
    loops.iter().zip(&spans).map(|(l, span)| MoveLoop { size: span.last + 1, ..*l }).collect()
}

/// Values of a loop, the ends included.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: usize,
    last: usize,
}

/// Result for a product of spans. Masks have one bit per key and per sum.
#[derive(Clone, Copy, Debug)]
enum Look {
    Nothing,
    All([i64; KEYS]),
    /// These keys and sums differ.
    Mixed(u32),
}

/// Evenly spaced values: `count` ranges of `len` values, `period` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Values {
    start: usize,
    period: usize,
    count: usize,
    len: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Tree {
    Nothing,
    All([i64; KEYS]),
    /// A loop, and the tree of each group of its values.
    Split(usize, Vec<(Values, Tree)>),
}

struct Cutter<'a> {
    guard: &'a Guard,
    loops: &'a [MoveLoop],
    keys: [Key; KEYS],
    /// The keys and sums that each loop takes part in.
    parts: Vec<u32>,
    granules: Vec<usize>,
    looks: usize,
}

type Interval = (usize, usize);

impl<'a> Cutter<'a> {
    fn new(guard: &'a Guard, loops: &'a [MoveLoop], keys: [Key; KEYS]) -> Self {
        let of_sum = |sum: usize| 1u32 << (KEYS + sum);
        // The sums that each variable takes part in, be it given or a sum.
        let mut variables = vec![0u32; guard.variables + guard.sums.len()];
        for (k, sum) in guard.sums.iter().enumerate().rev() {
            let through = of_sum(k) | variables[guard.variables + k];
            for digit in &guard.digits.as_slice()[sum.first..sum.first + sum.len] {
                if digit.extent > 1 && digit.weight > 0 {
                    variables[digit.variable] |= through;
                }
            }
        }
        let parts = loops.iter().map(|l| {
            let keys = keys.iter().enumerate().filter(|(_, key)| l.reach(key.side).units > 0);
            keys.fold(variables.get(l.variable).copied().unwrap_or(0), |mask, (k, _)| mask | 1 << k)
        });
        let granules = (0..loops.len()).filter(|&k| loops[k].granule).collect();
        Self { guard, loops, keys, parts: parts.collect(), granules, looks: 0 }
    }

    /// Intervals of the values of the guard's sums.
    fn sums(&self, spans: &[Span]) -> [Interval; GUARD_SUMS] {
        let mut variables = [(0, 0); TRANSFER_LOOPS];
        for (l, span) in self.loops.iter().zip(spans) {
            let (low, high) = variables[l.variable];
            variables[l.variable] = (low + l.weight * span.first, high + l.weight * span.last);
        }
        let mut sums = [(0, 0); GUARD_SUMS];
        for (k, sum) in self.guard.sums.iter().enumerate() {
            let mut total = (0, 0);
            for digit in &self.guard.digits.as_slice()[sum.first..sum.first + sum.len] {
                let (low, high) = match digit.variable.checked_sub(self.guard.variables) {
                    Some(earlier) => {
                        let start = self.guard.sums.at(earlier).start;
                        let (low, high): Interval = sums[earlier];
                        (low.saturating_sub(start), high.saturating_sub(start))
                    }
                    None => variables[digit.variable],
                };
                let (low, high) = (low / digit.base, high / digit.base);
                let (low, high) = if low / digit.extent == high / digit.extent {
                    (low % digit.extent, high % digit.extent)
                } else {
                    (0, digit.extent - 1)
                };
                total = (total.0 + low * digit.weight, total.1 + high * digit.weight);
            }
            sums[k] = total;
        }
        sums
    }

    /// The sums with the intervals of their values.
    fn tests<'s>(&'s self, sums: &'s [Interval]) -> impl Iterator<Item = (&'s GuardSum, Interval)> {
        self.guard.sums.iter().zip(sums.iter().copied())
    }

    /// Tells if one value of the granule makes everything else live.
    fn granule_is_live(&self, spans: &[Span]) -> bool {
        let sizes = || self.granules.iter().map(|&k| self.loops[k].size);
        let positions: usize = sizes().product();
        let mut pinned = spans.to_vec();
        (0..positions.min(GRANULE_POSITIONS)).any(|position| {
            let mut rest = position;
            for (&k, size) in self.granules.iter().zip(sizes()) {
                pinned[k] = Span { first: rest % size, last: rest % size };
                rest /= size;
            }
            let sums = self.sums(&pinned);
            self.tests(&sums).all(|(sum, (low, high))| sum.start <= low && high < sum.end())
        })
    }

    fn look(&mut self, spans: &[Span]) -> Look {
        self.looks += 1;
        let mut mixed = 0;
        let mut key_values = [0; KEYS];
        for (k, key) in self.keys.iter().enumerate() {
            let reached = |value: fn(&Span) -> usize| -> i64 {
                let units =
                    self.loops.iter().zip(spans).map(|(l, s)| l.reach(key.side).units * value(s) as u64);
                (units.sum::<u64>() as i64 + key.start).div_euclid(key.units as i64)
            };
            key_values[k] = reached(|span| span.first);
            mixed |= u32::from(reached(|span| span.last) != key_values[k]) << k;
        }
        let sums = self.sums(spans);
        let mut ragged = 0;
        for (k, (sum, (low, high))) in self.tests(&sums).enumerate() {
            if low >= sum.end() || high < sum.start {
                return Look::Nothing;
            }
            ragged |= u32::from(low < sum.start || high >= sum.end()) << (KEYS + k);
        }
        if ragged != 0 && !self.granules.is_empty() {
            if self.granule_is_live(spans) {
                ragged = 0;
            } else if self.candidates(spans, ragged).next().is_none() {
                return Look::Nothing;
            }
        }
        if mixed | ragged == 0 { Look::All(key_values) } else { Look::Mixed(mixed | ragged) }
    }

    /// Loops that can be cut to separate the keys and sums of `mixed`.
    fn candidates(&self, spans: &[Span], mixed: u32) -> impl Iterator<Item = usize> {
        (0..self.loops.len()).filter(move |&k| {
            !self.loops[k].granule && spans[k].first < spans[k].last && self.parts[k] & mixed != 0
        })
    }

    /// The loop with the most influence on the first key or sum that is mixed and can be cut. Keys come first.
    fn choose(&self, spans: &[Span], mixed: u32) -> Option<usize> {
        let things = (0..KEYS + GUARD_SUMS).filter(|thing| mixed >> thing & 1 == 1);
        let first = things.into_iter().find(|thing| self.candidates(spans, 1 << thing).next().is_some())?;
        let influence = |k: usize| -> u64 {
            if first < KEYS {
                let values = spans[k].last - spans[k].first;
                return self.loops[k].reach(self.keys[first].side).units * values as u64;
            }
            let mut only: Vec<Span> = spans.iter().map(|s| Span { first: s.first, last: s.first }).collect();
            only[k] = spans[k];
            let (low, high) = self.sums(&only)[first - KEYS];
            (high - low) as u64
        };
        self.candidates(spans, 1 << first).max_by_key(|&k| (influence(k), core::cmp::Reverse(k)))
    }

    fn tree(&mut self, spans: &[Span]) -> Option<Tree> {
        let mixed = match self.look(spans) {
            Look::Nothing => return Some(Tree::Nothing),
            Look::All(keys) => return Some(Tree::All(keys)),
            Look::Mixed(mixed) => mixed,
        };
        let k = self.choose(spans, mixed)?;
        let mut runs = Vec::new();
        self.runs(k, spans, &mut runs)?;
        let values = evenly_spaced(runs)?;
        Some(if values.is_empty() { Tree::Nothing } else { Tree::Split(k, values) })
    }

    /// Collects ranges of values of loop `k` with the tree of each, in order. Equal neighbours are joined.
    fn runs(&mut self, k: usize, spans: &[Span], runs: &mut Vec<(usize, usize, Tree)>) -> Option<()> {
        if self.looks > LOOKS {
            return None;
        }
        let Span { first, last } = spans[k];
        let tree = match self.look(spans) {
            Look::Nothing => Tree::Nothing,
            Look::All(keys) => Tree::All(keys),
            Look::Mixed(mixed) if first == last || self.parts[k] & mixed == 0 => self.tree(spans)?,
            Look::Mixed(_) => {
                let middle = first + (last - first) / 2;
                let mut half = spans.to_vec();
                half[k] = Span { first, last: middle };
                self.runs(k, &half, runs)?;
                half[k] = Span { first: middle + 1, last };
                return self.runs(k, &half, runs);
            }
        };
        match runs.last_mut() {
            Some((_, len, same)) if *same == tree => *len += last - first + 1,
            _ => runs.push((first, last - first + 1, tree)),
        }
        Some(())
    }
}

/// Gathers equal ranges at equal distances.
fn evenly_spaced(runs: Vec<(usize, usize, Tree)>) -> Option<Vec<(Values, Tree)>> {
    let mut left: Vec<_> = runs.into_iter().filter(|(.., tree)| *tree != Tree::Nothing).collect();
    let mut all = Vec::new();
    while !left.is_empty() {
        let (start, len, tree) = left.remove(0);
        let mut values = Values { start, period: 0, count: 1, len };
        left.retain(|(at, length, other)| {
            let distance = at - start;
            let fits = match values.count {
                1 => true,
                count => distance == values.period * count,
            };
            let taken = *length == len && fits && *other == tree;
            if taken {
                if values.count == 1 {
                    values.period = distance;
                }
                values.count += 1;
            }
            !taken
        });
        all.push((values, tree));
        if all.len() > PARTS {
            return None;
        }
    }
    Some(all)
}

/// Writes the leaves of a tree as parts. Returns false if there are too many.
fn flatten(loops: &[MoveLoop], tree: &Tree, chosen: &mut Vec<Option<Values>>, parts: &mut Vec<Part>) -> bool {
    match tree {
        Tree::Nothing => true,
        Tree::All(_) => {
            let mut part = Part::default();
            for (l, values) in loops.iter().zip(chosen.iter()) {
                let whole = Values { start: 0, period: 0, count: 1, len: l.size };
                let Values { start, period, count, len } = values.unwrap_or(whole);
                part.source = part.source.and(l.source.times(start));
                part.destination = part.destination.and(l.destination.times(start));
                part.loops.push((count, l.source.times(period), l.destination.times(period)));
                part.loops.push((len, l.source, l.destination));
            }
            part.loops.retain(|(size, ..)| *size > 1);
            parts.push(part);
            parts.len() <= PARTS
        }
        Tree::Split(k, values) => values.iter().all(|(values, tree)| {
            chosen[*k] = Some(*values);
            let fits = flatten(loops, tree, chosen, parts);
            chosen[*k] = None;
            fits
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::mapping::{GuardDigit, GuardSum};
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeMap;

    const KEYS_OF_PES: [Key; 2] = [
        Key { side: Side::Destination, units: 64, start: 0 },
        Key { side: Side::Source, units: 256, start: 0 },
    ];

    /// Loops of `(size, source units, source bits, destination units, destination bits)`, one variable each.
    fn loops(list: &[(usize, u64, u64, u64, u64)]) -> Vec<MoveLoop> {
        let make = |(variable, &(size, units, bits, to_units, to_bits)): (usize, &_)| MoveLoop {
            size,
            source: Reach { units, bits },
            destination: Reach { units: to_units, bits: to_bits },
            variable,
            weight: 1,
            granule: false,
        };
        list.iter().enumerate().map(make).collect()
    }

    /// Sums of `(limit, digits of (variable, base, extent, weight))`.
    fn guard(variables: usize, sums: &[(usize, &[(usize, usize, usize, usize)])]) -> Guard {
        let mut guard = Guard::always(variables);
        for &(limit, digits) in sums {
            guard.sums.push(GuardSum { first: guard.digits.len(), len: digits.len(), start: 0, limit });
            for &(variable, base, extent, weight) in digits {
                guard.digits.push(GuardDigit { variable, base, extent, weight });
            }
        }
        guard
    }

    /// Positions that a part moves, from loops and offsets: `(units, bits)` of the source and of the destination.
    fn moved(part: &Part) -> Vec<[(u64, u64); 2]> {
        let mut all = vec![(part.source, part.destination)];
        for &(size, source, destination) in &part.loops {
            let steps = |k| {
                move |&(from, to): &(Reach, Reach)| (from.and(source.times(k)), to.and(destination.times(k)))
            };
            all = (0..size).flat_map(|k| all.iter().map(steps(k)).collect::<Vec<_>>()).collect();
        }
        all.into_iter().map(|(from, to)| [(from.units, from.bits), (to.units, to.bits)]).collect()
    }

    /// The same positions by the definition of a move, with the number of times that each is moved.
    fn live(guard: &Guard, loops: &[MoveLoop]) -> BTreeMap<[(u64, u64); 2], usize> {
        let total: usize = loops.iter().map(|l| l.size).product();
        let mut all = BTreeMap::new();
        for k in 0..total {
            let (mut rest, mut from, mut to) = (k, Reach::default(), Reach::default());
            let mut variables = vec![0; guard.variables];
            for l in loops.iter().rev() {
                variables[l.variable] += l.weight * (rest % l.size);
                (from, to) =
                    (from.and(l.source.times(rest % l.size)), to.and(l.destination.times(rest % l.size)));
                rest /= l.size;
            }
            if guard.holds(&variables) {
                *all.entry([(from.units, from.bits), (to.units, to.bits)]).or_default() += 1;
            }
        }
        all
    }

    fn check(guard: &Guard, loops: &[MoveLoop]) -> usize {
        let parts = parts(guard, loops, KEYS_OF_PES).expect("not too ragged");
        let mut found = BTreeMap::new();
        for part in &parts {
            let all = moved(part);
            for [(from, _), (to, _)] in &all {
                assert_eq!((from / 256, to / 64), (part.source.units / 256, part.destination.units / 64));
            }
            all.into_iter().for_each(|cell| *found.entry(cell).or_default() += 1);
        }
        assert_eq!(found, live(guard, loops), "{guard:?} {loops:?}");
        parts.len()
    }

    #[test]
    fn a_move_without_conditions_is_one_part() {
        assert_eq!(check(&Guard::always(2), &loops(&[(64, 0, 8, 1, 0), (5, 0, 512, 0, 8)])), 1);
        // A slice loop over a cluster is cut where the engine changes; one that stays inside an engine is not cut.
        assert_eq!(check(&Guard::always(1), &loops(&[(256, 0, 8, 1, 0)])), 4);
        assert_eq!(check(&Guard::always(1), &loops(&[(60, 0, 8, 1, 0)])), 1);
    }

    #[test]
    fn units_that_straddle_engines_are_cut_unevenly() {
        // Slice 3 a + b: engine 0 ends inside a = 21.
        assert_eq!(check(&Guard::always(2), &loops(&[(40, 0, 24, 3, 0), (3, 0, 8, 1, 0)])), 4);
    }

    #[test]
    fn a_bound_on_a_loop_shortens_it() {
        let loops = loops(&[(16, 0, 8, 0, 8), (4, 0, 128, 0, 128)]);
        assert_eq!(check(&guard(2, &[(10, &[(0, 1, 16, 1)])]), &loops), 1);
        // Two independent bounds.
        assert_eq!(check(&guard(2, &[(10, &[(0, 1, 16, 1)]), (3, &[(1, 1, 4, 1)])]), &loops), 1);
    }

    #[test]
    fn a_joint_bound_leaves_one_part_per_digit() {
        let loops = loops(&[(100, 0, 512, 0, 512), (8, 0, 64, 0, 64), (8, 0, 8, 0, 8)]);
        for (limit, count) in [(6400, 1), (6399, 3), (6392, 2), (6336, 1), (70, 2), (64, 1), (1, 1)] {
            let guard = guard(3, &[(limit, &[(0, 1, 100, 64), (1, 1, 8, 8), (2, 1, 8, 1)])]);
            assert_eq!(check(&guard, &loops), count, "{limit}");
        }
    }

    /// `m![[A, B # 8] # 160 / 4]`, `% 4` with B = 5: the inner digit is short in every second value of the outer one.
    #[test]
    fn equal_ranges_at_equal_distances_are_loops() {
        let sums: [(usize, &[(usize, usize, usize, usize)]); 2] =
            [(usize::MAX, &[(0, 1, 40, 4), (1, 1, 4, 1)]), (5, &[(2, 1, 8, 1)])];
        let loops = loops(&[(40, 0, 32, 0, 64), (4, 0, 8, 0, 8)]);
        assert_eq!(check(&guard(2, &sums), &loops), 2);
    }

    #[test]
    fn too_ragged_a_guard_is_given_up() {
        // 3 of every 7 positions, cut at 2: no two neighbours are alike, but for the period.
        let sums: [(usize, &[(usize, usize, usize, usize)]); 2] =
            [(usize::MAX, &[(0, 1, 1 << 20, 2), (1, 1, 2, 1)]), (3, &[(2, 1, 7, 1)])];
        let loops = loops(&[(1 << 20, 0, 16, 0, 16), (2, 0, 8, 0, 8)]);
        let guard = guard(2, &sums);
        assert_eq!(parts(&guard, &loops, KEYS_OF_PES), None);
        assert_eq!(hull(&guard, &loops, KEYS_OF_PES), loops);
    }

    #[test]
    fn the_hull_has_every_live_element() {
        let loops = loops(&[(100, 0, 512, 0, 512), (8, 0, 64, 0, 64), (8, 0, 8, 0, 8)]);
        let guard = guard(3, &[(70, &[(0, 1, 100, 64), (1, 1, 8, 8), (2, 1, 8, 1)])]);
        let sizes: Vec<_> = hull(&guard, &loops, KEYS_OF_PES).iter().map(|l| l.size).collect();
        assert_eq!(sizes, [2, 8, 8]);
    }

    #[test]
    fn granules_are_live_together() {
        // 13 elements as a in 0..4, b in 0..4: the last element stands alone, but b moves as a whole.
        let mut loops = loops(&[(4, 0, 64, 0, 64), (4, 0, 16, 0, 16)]);
        let guard = guard(2, &[(9, &[(0, 1, 4, 4), (1, 1, 4, 1)])]);
        assert_eq!(check(&guard, &loops), 2);
        loops[1].granule = true;
        let parts = parts(&guard, &loops, KEYS_OF_PES).expect("not ragged");
        assert_eq!(parts.len(), 1);
        assert_eq!(moved(&parts[0]).len(), 12);
    }

    #[test]
    fn a_granule_can_be_ragged_beside_other_padding() {
        // Found by random moves: the first sum differs in the granule only, the second one in a loop.
        let mut loops = loops(&[(4, 0, 64, 0, 64), (4, 0, 16, 0, 16)]);
        loops[1].granule = true;
        let guard = guard(2, &[(3, &[(1, 1, 4, 1)]), (2, &[(0, 1, 4, 1)])]);
        let parts = parts(&guard, &loops, KEYS_OF_PES).expect("not ragged");
        assert_eq!(parts.iter().map(|part| moved(part).len()).collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn random_guards() {
        let mut total = 0;
        for seed in 0..600 {
            let mut random = SmallRng::seed_from_u64(seed);
            let count = random.random_range(1..5);
            let list: Vec<_> = (0..count)
                .map(|_| {
                    let units = [[0, 0], [0, 1], [0, 37], [100, 30]][random.random_range(0..4)];
                    let size = random.random_range(1..7);
                    (size, units[0], random.random_range(0..64u64), units[1], random.random_range(0..64u64))
                })
                .collect();
            let mut guard = Guard::always(count);
            for k in 0..random.random_range(0..4) {
                let first = guard.digits.len();
                for _ in 0..random.random_range(1..4) {
                    guard.digits.push(GuardDigit {
                        variable: random.random_range(0..count + k),
                        base: random.random_range(1..4),
                        extent: random.random_range(1..7),
                        weight: random.random_range(0..5),
                    });
                }
                let limit =
                    if random.random_range(0..4) == 0 { usize::MAX } else { random.random_range(1..12) };
                guard.sums.push(GuardSum { first, len: guard.digits.len() - first, start: 0, limit });
            }
            println!("seed {seed}");
            total += check(&guard, &loops(&list));
        }
        assert!(total > 1000, "{total} parts");
    }
}
