//! Values of ranges of bytes.

use core::ops::Range;
use std::collections::BTreeMap;

/// Ranges of bytes with a value each. No two share a byte.
///
/// ```
/// use furiosa_visa_rules::byte_ranges::ByteRanges;
/// let mut touched = ByteRanges::default();
/// touched.update(0..100, |_, count| *count += 1);
/// touched.update(60..200, |_, count| *count += 1);
/// let found: Vec<_> = touched.within(50..300).map(|(bytes, count)| (bytes, *count)).collect();
/// assert_eq!(found, [(50..60, 1), (60..100, 2), (100..200, 1)]);
/// ```
#[derive(Clone, Debug)]
pub struct ByteRanges<V> {
    /// End and value of each range, by its first byte.
    ranges: BTreeMap<u64, (u64, V)>,
}

impl<V> Default for ByteRanges<V> {
    fn default() -> Self {
        Self { ranges: BTreeMap::new() }
    }
}

impl<V: Copy + Default + PartialEq> ByteRanges<V> {
    /// The ranges that share a byte with `bytes`, in order, each cut to it.
    pub fn within(&self, bytes: Range<u64>) -> impl Iterator<Item = (Range<u64>, &V)> {
        // Only the last range before `bytes` can reach into it.
        let before = self.ranges.range(..=bytes.start).next_back().map_or(bytes.start, |(start, _)| *start);
        let near = self
            .ranges
            .range(before..bytes.end.max(before))
            .map(move |(&start, (end, value))| (start.max(bytes.start)..(*end).min(bytes.end), value));
        near.filter(|(bytes, _)| !bytes.is_empty())
    }

    /// Changes the values of `bytes`, range by range. Bytes without a value start with the default one. Neighbours in
    /// `bytes` with equal values become one range.
    pub fn update(&mut self, bytes: Range<u64>, mut change: impl FnMut(Range<u64>, &mut V)) {
        if bytes.is_empty() {
            return;
        }
        let mut parts: Vec<(Range<u64>, V)> = Vec::new();
        let mut end = bytes.start;
        for (range, value) in self.within(bytes.clone()) {
            parts.extend([(end..range.start, V::default()), (range.clone(), *value)]);
            end = range.end;
        }
        parts.push((end..bytes.end, V::default()));
        for place in [bytes.start, bytes.end] {
            if let Some((_, (end, value))) = self.ranges.range_mut(..place).next_back()
                && *end > place
            {
                let upper = (*end, *value);
                *end = place;
                self.ranges.insert(place, upper);
            }
        }
        let mut last: Option<(u64, V)> = None;
        for (range, mut value) in parts.into_iter().filter(|(range, _)| !range.is_empty()) {
            change(range.clone(), &mut value);
            self.ranges.remove(&range.start);
            let start = last.filter(|(_, known)| *known == value).map_or(range.start, |(start, _)| start);
            self.ranges.insert(start, (range.end, value));
            last = Some((start, value));
        }
    }

    /// Forgets ranges by their values.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&V) -> bool) {
        self.ranges.retain(|_, (_, value)| is_kept(value));
    }

    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Tells if there are none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    /// Compares with a value for each byte. Neighbours are joined inside of an update alone.
    #[test]
    fn updates_are_those_of_single_bytes() {
        let mut random = SmallRng::seed_from_u64(3);
        for _ in 0..200 {
            let (mut ranges, mut single) = (ByteRanges::default(), [0u8; 64]);
            for _ in 0..40 {
                let start = random.random_range(0..64u64);
                let bytes = start..random.random_range(start..=64);
                let (mask, value) = (random.random_range(0..4), random.random_range(0..4));
                let mut seen = Vec::new();
                ranges.update(bytes.clone(), |range, old| {
                    seen.extend(range.clone());
                    assert!(range.clone().all(|byte| single[byte as usize] == *old));
                    *old = *old & mask | value;
                });
                assert_eq!(seen, bytes.clone().collect::<Vec<_>>());
                bytes.clone().for_each(|byte| single[byte as usize] = single[byte as usize] & mask | value);
                let joined: Vec<u8> = ranges.within(bytes.clone()).map(|(_, value)| *value).collect();
                assert!(joined.windows(2).all(|pair| pair[0] != pair[1]), "{bytes:?}: {joined:?}");
                let mut found = [0; 64];
                for (range, value) in ranges.within(0..64) {
                    range.for_each(|byte| found[byte as usize] = *value);
                }
                assert_eq!(found, single);
            }
            assert!(!ranges.is_empty() && ranges.len() <= 64);
            ranges.retain(|value| *value == 9);
            assert!(ranges.is_empty());
        }
    }
}
