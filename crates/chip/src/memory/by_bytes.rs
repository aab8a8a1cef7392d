//! Items that belong to bytes of a memory, found by the bytes.
//!
//! A program with thousands of tiles asks at each operation for the items that meet its bytes. Only few do, and the
//! others are not visited.

use furiosa_visa_rules::command::place::Hull;
use std::collections::BTreeMap;

/// Items, by the hull of the bytes that they span.
#[derive(Debug)]
pub(crate) struct ByBytes<T> {
    /// Items and the ends of their bytes, by first byte and number of insertion.
    things: BTreeMap<(u64, u64), (u64, T)>,
    /// Number of items inserted so far.
    came: u64,
    /// Length in bytes of the longest item.
    longest: u64,
}

impl<T> Default for ByBytes<T> {
    fn default() -> Self {
        Self { things: BTreeMap::new(), came: 0, longest: 0 }
    }
}

impl<T> ByBytes<T> {
    /// Adds an item. An item without bytes is never found, so it is left out.
    pub(crate) fn insert(&mut self, hull: Hull, thing: T) {
        if !hull.is_empty() {
            self.things.insert((hull.start, self.came), (hull.end, thing));
            self.came += 1;
            self.longest = self.longest.max(hull.end - hull.start);
        }
    }

    /// The items that meet a hull, by their first byte.
    pub(crate) fn meeting(&self, hull: Hull) -> impl Iterator<Item = &T> {
        // An empty hull meets nothing.
        let end = if hull.is_empty() { 0 } else { hull.end };
        let from = hull.start.saturating_sub(self.longest).min(end);
        let below = self.things.range((from, 0)..(end, 0));
        below.filter(move |(_, (end, _))| *end > hull.start).map(|(_, (_, thing))| thing)
    }

    /// Removes the items whose bytes all lie in a hull and for which `is_covered` holds.
    pub(crate) fn remove_covered(&mut self, hull: Hull, is_covered: impl Fn(&T) -> bool) -> Vec<T> {
        if hull.is_empty() {
            return Vec::new();
        }
        let inside = self.things.range((hull.start, 0)..(hull.end, 0));
        let covered = inside.filter(|(_, (end, thing))| *end <= hull.end && is_covered(thing));
        let keys: Vec<_> = covered.map(|(key, _)| *key).collect();
        keys.iter().filter_map(|key| self.things.remove(key)).map(|(_, thing)| thing).collect()
    }

    /// Removes all items.
    pub(crate) fn clear(&mut self) {
        self.things.clear();
        self.longest = 0;
    }

    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.things.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ops::Range;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    /// Finds and removes the same items as a search through a list.
    #[test]
    fn those_are_found_that_meet_and_those_go_that_are_covered() {
        for seed in 0..200 {
            let rng = &mut SmallRng::seed_from_u64(seed);
            let (mut index, mut all) = (ByBytes::default(), Vec::<(u64, Range<u64>)>::new());
            for number in 0..100 {
                let start = rng.random_range(0..200);
                let most = if rng.random_bool(0.1) { 150 } else { 12 };
                // Some have no bytes.
                let bytes = start..start + rng.random_range(0..most);
                let hull = Hull::of(core::slice::from_ref(&bytes));
                let meets = |other: &Range<u64>| other.start < bytes.end && bytes.start < other.end;
                let mut found: Vec<u64> = index.meeting(hull).copied().collect();
                found.sort_unstable();
                let expected = all.iter().filter(|(_, other)| !bytes.is_empty() && meets(other));
                assert_eq!(found, expected.map(|(other, _)| *other).collect::<Vec<_>>(), "seed {seed}");
                if rng.random_bool(0.3) {
                    // Odd numbers stay in any case.
                    let mut gone = index.remove_covered(hull, |other| other % 2 == 0);
                    gone.sort_unstable();
                    let inside = |other: &Range<u64>| bytes.start <= other.start && other.end <= bytes.end;
                    let (covered, rest): (Vec<_>, Vec<_>) =
                        all.into_iter().partition(|(other, span)| other % 2 == 0 && inside(span));
                    assert_eq!(
                        gone,
                        covered.iter().map(|(other, _)| *other).collect::<Vec<_>>(),
                        "seed {seed}"
                    );
                    all = rest;
                }
                index.insert(hull, number);
                if !bytes.is_empty() {
                    all.push((number, bytes));
                }
                assert_eq!(index.len(), all.len(), "seed {seed}");
            }
            index.clear();
            assert_eq!(
                (index.len(), index.meeting(Hull::of(core::slice::from_ref(&(0..1000)))).count()),
                (0, 0)
            );
        }
    }
}
