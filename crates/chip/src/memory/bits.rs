//! A bit per byte: set if the byte has been written.

use core::ops::Range;

/// A set of positions. Positions past the end are not in the set.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    words: Vec<u64>,
    /// A bit per word: set if all positions of the word are in the set. Queries of long ranges read these bits.
    full: Vec<u64>,
}

/// The words that a range touches, with the bits of the range in each.
fn masks(range: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = range;
    let words = if start < end { start / 64..end.div_ceil(64) } else { 0..0 };
    words.map(move |word| {
        let low = start.saturating_sub(word * 64);
        let high = (end - word * 64).min(64);
        (word, (u64::MAX << low) & (u64::MAX >> (64 - high)))
    })
}

/// The words that a range touches in part, with the bits of the range in each, and the words that lie in it completely.
/// The range touches more than one word, or none.
fn edges(range: Range<usize>) -> ([Option<(usize, u64)>; 2], Range<usize>) {
    let Range { start, end } = range;
    if start >= end {
        return ([None; 2], 0..0);
    }
    let low = (!start.is_multiple_of(64)).then(|| (start / 64, u64::MAX << (start % 64)));
    let high = (!end.is_multiple_of(64)).then(|| (end / 64, u64::MAX >> (64 - end % 64)));
    ([low, high], start.div_ceil(64)..end / 64)
}

/// Result of [`edges`], for any range.
fn edges_of(range: Range<usize>) -> ([Option<(usize, u64)>; 2], Range<usize>) {
    match single(&range) {
        Some(edge) => ([Some(edge), None], 0..0),
        None => edges(range),
    }
}

/// The word and the bits of a range that touches only one word.
#[inline]
fn single(range: &Range<usize>) -> Option<(usize, u64)> {
    let (word, low, len) = (range.start / 64, range.start % 64, range.end.wrapping_sub(range.start));
    (0 < len && len <= 64 - low).then(|| (word, (u64::MAX >> (64 - len)) << low))
}

/// Sets the bits of a range.
fn set(words: &mut [u64], range: Range<usize>) {
    let (edges, whole) = edges_of(range);
    edges.into_iter().flatten().for_each(|(word, mask)| words[word] |= mask);
    words[whole].fill(u64::MAX);
}

/// Tells if all bits of a range are set.
fn all_set(words: &[u64], range: Range<usize>) -> bool {
    let (edges, whole) = edges_of(range);
    edges.into_iter().flatten().all(|(word, mask)| words[word] & mask == mask)
        && words[whole].iter().all(|&word| word == u64::MAX)
}

impl Bits {
    /// The empty set.
    pub(crate) const fn new() -> Self {
        Self { words: Vec::new(), full: Vec::new() }
    }

    /// Makes room for the positions below `len`.
    pub(crate) fn grow(&mut self, len: usize) {
        let words = len.div_ceil(64);
        if words > self.words.len() {
            // Allocates zeroed pages, as a block does: untouched pages take no memory.
            let mut grown = vec![0; words];
            grown[..self.words.len()].copy_from_slice(&self.words);
            self.words = grown;
            self.full.resize(words.div_ceil(64), 0);
        }
    }

    /// Tells if `position` is in the set.
    #[inline]
    pub(crate) fn get(&self, position: usize) -> bool {
        self.words.get(position / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    /// Tells if every position of the range is in the set.
    #[inline]
    pub(crate) fn all_set(&self, range: Range<usize>) -> bool {
        if range.end > self.words.len() * 64 {
            return range.is_empty();
        }
        if let Some((word, mask)) = single(&range) {
            return self.words[word] & mask == mask;
        }
        let (edges, whole) = edges(range);
        edges.into_iter().flatten().all(|(word, mask)| self.words[word] & mask == mask)
            && all_set(&self.full, whole)
    }

    /// Puts the range into the set. There must be room for it.
    #[inline]
    pub(crate) fn set(&mut self, range: Range<usize>) {
        // Most ranges are short.
        if let Some((word, mask)) = single(&range) {
            self.set_in_word(word, mask);
            return;
        }
        let (edges, whole) = edges(range);
        edges.into_iter().flatten().for_each(|(word, mask)| self.set_in_word(word, mask));
        if all_set(&self.full, whole.clone()) {
            return;
        }
        self.words[whole.clone()].fill(u64::MAX);
        set(&mut self.full, whole);
    }

    #[inline]
    fn set_in_word(&mut self, word: usize, mask: u64) {
        let before = self.words[word];
        // Most passes write bytes again that are in the set already.
        if before & mask == mask {
            return;
        }
        self.words[word] = before | mask;
        if before | mask == u64::MAX {
            self.full[word / 64] |= 1 << (word % 64);
        }
    }

    /// Takes the range out of the set. There must be room for it.
    #[inline]
    pub(crate) fn clear(&mut self, range: Range<usize>) {
        for (word, mask) in masks(range) {
            self.words[word] &= !mask;
            self.full[word / 64] &= !(1 << (word % 64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::seq::IndexedRandom;
    use rand::{Rng, SeedableRng};

    #[test]
    fn random_ranges_agree_with_a_list_of_bools() {
        // The length covers words of `full` that are full in parts and as a whole.
        const LEN: usize = 15_000;
        let mut random = SmallRng::seed_from_u64(7);
        let mut bits = Bits::new();
        let mut naive = vec![false; LEN];
        bits.grow(LEN);
        for _ in 0..5000 {
            let start = random.random_range(0..LEN);
            let most = *[200, 200, LEN].choose(&mut random).expect("some lengths");
            let end = (start + random.random_range(0..most)).min(LEN);
            match random.random_range(0..4) {
                0 | 3 => {
                    bits.set(start..end);
                    naive[start..end].fill(true);
                }
                1 => {
                    bits.clear(start..end);
                    naive[start..end].fill(false);
                }
                _ => {
                    assert_eq!(
                        bits.all_set(start..end),
                        naive[start..end].iter().all(|&b| b),
                        "{start}..{end}"
                    );
                    assert_eq!(bits.get(start), naive[start]);
                }
            }
        }
        assert!((0..LEN).all(|k| bits.get(k) == naive[k]));
    }

    #[test]
    fn nothing_is_set_past_the_end() {
        let mut bits = Bits::new();
        bits.grow(64);
        bits.set(0..64);
        assert!(bits.all_set(0..64) && !bits.all_set(0..65) && !bits.get(64));
        assert!(bits.all_set(1000..1000));
    }
}
