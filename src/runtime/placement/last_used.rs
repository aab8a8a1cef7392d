//! The last uses of the bytes of a memory.

use core::ops::Range;
use furiosa_visa_rules::sorting;

/// Stamps of the last commands that used the bytes of a memory. 0: nobody has used them.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct LastUsed {
    /// Starts of pieces, with the stamp up to the next start.
    pieces: Vec<(u64, u64)>,
}

impl LastUsed {
    pub(in crate::runtime) fn new() -> Self {
        Self { pieces: vec![(0, 0)] }
    }

    /// The piece that a byte lies in.
    fn index(&self, byte: u64) -> usize {
        self.pieces.partition_point(|&(start, _)| start <= byte) - 1
    }

    /// The greatest stamp of some bytes.
    pub(super) fn latest(&self, bytes: &Range<u64>) -> u64 {
        let pieces = self.pieces[self.index(bytes.start)..].iter();
        pieces.take_while(|&&(start, _)| start < bytes.end).map(|&(_, stamp)| stamp).max().unwrap_or(0)
    }

    /// Sets the stamp of some bytes.
    pub(super) fn set(&mut self, bytes: &Range<u64>, stamp: u64) {
        if bytes.is_empty() {
            return;
        }
        let (first, last) = (self.index(bytes.start), self.index(bytes.end));
        let mut new = Vec::with_capacity(3);
        let (start, before) = self.pieces[first];
        if start < bytes.start && before != stamp {
            new.push((start, before));
            new.push((bytes.start, stamp));
        } else {
            new.push((start.min(bytes.start), stamp));
        }
        let after = self.pieces[last].1;
        if after != stamp {
            new.push((bytes.end, after));
        }
        self.pieces.splice(first..=last, new);
    }

    /// Notes last commands, which have the stamps from `now` on.
    pub(in crate::runtime) fn note(&mut self, uses: impl Iterator<Item = (usize, Range<u64>)>, now: u64) {
        let mut uses: Vec<_> = uses.collect();
        sorting::by_key(&mut uses, |(last, _)| *last);
        uses.iter().for_each(|(last, bytes)| self.set(bytes, now + *last as u64));
    }

    /// The bounds of pieces in some bytes.
    pub(super) fn bounds(&self, bytes: &Range<u64>) -> impl Iterator<Item = u64> {
        let first = self.pieces.partition_point(|&(start, _)| start <= bytes.start);
        let end = bytes.end;
        self.pieces[first..].iter().map(|&(start, _)| start).take_while(move |&start| start < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of bytes has the same stamps.
    #[test]
    fn pieces_are_as_bytes() {
        let (mut bytes, mut pieces) = ([0u64; 40], LastUsed::new());
        let mut random = 1u64;
        for stamp in 1..400 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(stamp);
            let (start, len) = ((random >> 33) % 32, (random >> 50) % 9);
            let stamp = if stamp % 3 == 0 { stamp - 1 } else { stamp };
            pieces.set(&(start..start + len), stamp);
            bytes[start as usize..(start + len) as usize].fill(stamp);
            for from in 0..30 {
                let greatest = bytes[from..from + 6].iter().max().copied().unwrap_or(0);
                assert_eq!(pieces.latest(&(from as u64..from as u64 + 6)), greatest);
            }
            let bounds: Vec<u64> = (1..40).filter(|&k| bytes[k] != bytes[k - 1]).map(|k| k as u64).collect();
            let found: Vec<u64> = pieces.bounds(&(0..40)).collect();
            assert!(bounds.iter().all(|bound| found.contains(bound)), "{bounds:?} {found:?}");
        }
    }
}
