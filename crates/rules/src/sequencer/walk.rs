//! The positions of a sequencer, in runs.

use crate::sequencer::{Config, DERIVED_ENTRIES};
use core::ops::Range;

/// Evenly spaced positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first position, in the unit of the sequencer.
    pub position: i64,
    /// The distance between two positions.
    pub stride: usize,
    /// The number of positions.
    pub len: usize,
}

/// The loops of a sequencer, joined where they continue evenly.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Start of the loops.
    base: i64,
    /// Size and stride of the outer loops, outermost first.
    loops: Vec<(usize, i64)>,
    /// Size and stride of the innermost loop.
    run: (usize, usize),
}

impl Walk {
    /// Prepares the loops.
    pub fn new(config: &Config) -> Self {
        let mut loops: Vec<(usize, i64)> = Vec::new();
        for entry in config.entries.iter().filter(|entry| entry.size != 1) {
            let stride = entry.stride as i64;
            match loops.last_mut() {
                Some((size, outer)) if *outer == stride * entry.size as i64 => {
                    *size *= entry.size;
                    *outer = stride;
                }
                _ => loops.push((entry.size, stride)),
            }
        }
        let run = match loops.pop_if(|(_, stride)| *stride >= 0) {
            Some((size, stride)) => (size, stride as usize),
            None => (1, 1),
        };
        Self { base: config.base as i64, loops, run }
    }

    /// Least number of positions that follow one another.
    pub const fn neighbours(&self) -> usize {
        if self.run.1 == 1 { self.run.0 } else { 1 }
    }

    /// Visits the positions with the numbers in `range`, in order.
    pub fn for_each(&self, range: Range<usize>, visit: impl FnMut(Run)) {
        self.cursor(range.start).advance(range.len(), visit);
    }

    /// A cursor before the position with this number.
    pub fn cursor(&self, start: usize) -> Cursor<'_> {
        let (size, _) = self.run;
        let mut rest = start / size;
        let mut cursor =
            Cursor { walk: self, within: start % size, indices: [0; DERIVED_ENTRIES], position: self.base };
        for (k, &(size, stride)) in self.loops.iter().enumerate().rev() {
            cursor.indices[k] = rest % size;
            cursor.position += cursor.indices[k] as i64 * stride;
            rest /= size;
        }
        cursor
    }

    /// The positions with the numbers in `range`, every `step`-th.
    pub fn positions(&self, range: Range<usize>, step: usize) -> Vec<i64> {
        let mut positions = Vec::with_capacity(range.len().div_ceil(step));
        let mut next = 0;
        let mut seen = 0;
        self.for_each(range, |run| {
            while next < seen + run.len {
                positions.push(run.position + ((next - seen) * run.stride) as i64);
                next += step;
            }
            seen += run.len;
        });
        positions
    }

    /// Byte address of each `piece`-byte run among the first `count` positions. `None` if a run is not contiguous or
    /// does not start at a 32-bit byte address. Positions count elements of `bits` bits from byte `address` on.
    pub fn addresses(&self, count: usize, piece: usize, address: u64, bits: usize) -> Option<Vec<u32>> {
        let per_piece = piece * 8 / bits;
        let (size, stride) = self.run;
        if stride != 1 || !size.is_multiple_of(per_piece) {
            return None;
        }
        let start = |position: i64| {
            let bits = position.checked_mul(bits as i64)?;
            let byte = if bits % 8 == 0 { u64::try_from(bits / 8).ok()? } else { return None };
            u32::try_from(address.checked_add(byte)?).ok()
        };
        self.positions(0..count, per_piece).into_iter().map(start).collect()
    }
}

/// A place in a walk, from which the walk continues.
#[derive(Debug)]
pub struct Cursor<'a> {
    walk: &'a Walk,
    /// Steps in the innermost loop.
    within: usize,
    indices: [usize; DERIVED_ENTRIES],
    /// Start of the innermost loop.
    position: i64,
}

impl Cursor<'_> {
    /// Visits the next `count` positions.
    pub fn advance(&mut self, count: usize, mut visit: impl FnMut(Run)) {
        let (size, stride) = self.walk.run;
        let mut left = count;
        while left > 0 {
            if self.within == size {
                self.within = 0;
                self.next_row();
            }
            let len = (size - self.within).min(left);
            visit(Run { position: self.position + (self.within * stride) as i64, stride, len });
            self.within += len;
            left -= len;
        }
    }

    fn next_row(&mut self) {
        for (k, &(size, stride)) in self.walk.loops.iter().enumerate().rev() {
            if self.indices[k] + 1 < size {
                self.indices[k] += 1;
                self.position += stride;
                return;
            }
            self.position -= self.indices[k] as i64 * stride;
            self.indices[k] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{config, walked_by_definition};

    #[test]
    fn every_part_of_every_walk_is_the_definition() {
        let all: [&[(usize, isize)]; 7] = [
            &[(8, 512), (16, 32), (32, 1)],
            &[(3, 7), (4, 0), (2, 5)],
            &[(4, 0)],
            &[(2, 3), (3, -4)],
            &[],
            &[(5, 1), (3, 0)],
            &[(2, 100), (1, 9), (3, 8), (8, 1)],
        ];
        for entries in all {
            let config = Config { base: entries.len() as isize % 3 - 1, ..config(entries, 1) };
            let (walk, expected) = (Walk::new(&config), walked_by_definition(&config));
            let total = expected.len();
            for start in 0..total {
                for end in [start, start + 1, (start + 7).min(total), total] {
                    let mut positions = Vec::new();
                    walk.for_each(start..end, |run| {
                        positions.extend((0..run.len).map(|k| run.position + (k * run.stride) as i64));
                    });
                    assert_eq!(positions, expected[start..end], "{config} {start}..{end}");
                }
            }
            let every_third: Vec<i64> = expected.iter().copied().step_by(3).collect();
            assert_eq!(walk.positions(0..total, 3), every_third);
        }
    }
}
