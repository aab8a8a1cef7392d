//! What is known of bytes of a memory, found by the bytes.
//!
//! Programs that use thousands of tiles ask with each operation who else touches its bytes. Few do: the others are not looked
//! at.

use furiosa_visa_rules::command::place::Hull;
use std::collections::BTreeMap;

/// Things, by the hull of the bytes that they span.
#[derive(Debug)]
pub(crate) struct ByBytes<T> {
    /// By the first byte, and by the order in which they came. With the end of the bytes.
    things: BTreeMap<(u64, u64), (u64, T)>,
    /// How many have come so far.
    came: u64,
    /// None has spanned more bytes.
    longest: u64,
}

impl<T> Default for ByBytes<T> {
    fn default() -> Self {
        Self { things: BTreeMap::new(), came: 0, longest: 0 }
    }
}

impl<T> ByBytes<T> {
    /// Adds a thing. One without bytes is never found: it is left out.
    pub(crate) fn insert(&mut self, hull: Hull, thing: T) {
        if !hull.is_empty() {
            self.things.insert((hull.start, self.came), (hull.end, thing));
            self.came += 1;
            self.longest = self.longest.max(hull.end - hull.start);
        }
    }

    /// Those that meet a hull, by their first byte.
    pub(crate) fn meeting(&self, hull: Hull) -> impl Iterator<Item = &T> {
        // An empty hull meets nothing.
        let end = if hull.is_empty() { 0 } else { hull.end };
        let from = hull.start.saturating_sub(self.longest).min(end);
        let below = self.things.range((from, 0)..(end, 0));
        below.filter(move |(_, (end, _))| *end > hull.start).map(|(_, (_, thing))| thing)
    }

    /// Takes out those of which a hull covers all bytes and `is_covered` holds.
    pub(crate) fn remove_covered(&mut self, hull: Hull, is_covered: impl Fn(&T) -> bool) -> Vec<T> {
        if hull.is_empty() {
            return Vec::new();
        }
        let inside = self.things.range((hull.start, 0)..(hull.end, 0));
        let covered = inside.filter(|(_, (end, thing))| *end <= hull.end && is_covered(thing));
        let keys: Vec<_> = covered.map(|(key, _)| *key).collect();
        keys.iter().filter_map(|key| self.things.remove(key)).map(|(_, thing)| thing).collect()
    }

    /// Takes out all.
    pub(crate) fn clear(&mut self) {
        self.things.clear();
        self.longest = 0;
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.things.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ops::Range;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    /// Against a look at all of them.
    #[test]
    fn those_are_found_that_meet_and_those_go_that_are_covered() {
        for seed in 0..200 {
            let rng = &mut SmallRng::seed_from_u64(seed);
            let (mut own, mut all) = (ByBytes::default(), Vec::<(u64, Range<u64>)>::new());
            for number in 0..100 {
                let start = rng.random_range(0..200);
                let most = if rng.random_bool(0.1) { 150 } else { 12 };
                // Some have no bytes.
                let bytes = start..start + rng.random_range(0..most);
                let hull = Hull::of(core::slice::from_ref(&bytes));
                let meets = |other: &Range<u64>| other.start < bytes.end && bytes.start < other.end;
                let mut found: Vec<u64> = own.meeting(hull).copied().collect();
                found.sort_unstable();
                let expected = all.iter().filter(|(_, other)| !bytes.is_empty() && meets(other));
                assert_eq!(found, expected.map(|(other, _)| *other).collect::<Vec<_>>(), "seed {seed}");
                if rng.random_bool(0.3) {
                    // Odd numbers stay in any case.
                    let mut gone = own.remove_covered(hull, |other| other % 2 == 0);
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
                own.insert(hull, number);
                if !bytes.is_empty() {
                    all.push((number, bytes));
                }
                assert_eq!(own.len(), all.len(), "seed {seed}");
            }
            own.clear();
            assert_eq!((own.len(), own.meeting(Hull::of(core::slice::from_ref(&(0..1000)))).count()), (0, 0));
        }
    }
}
