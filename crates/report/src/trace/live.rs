//! Bytes of DM that hold a tensor that is still needed, over time.

use core::ops::Range;
use std::collections::BTreeMap;

/// Bytes of DM that are needed, over time. A tensor is needed from the operation that writes it to the last one that
/// reads it, or to the end as long as it might still be read.
#[derive(Debug, Default)]
pub(super) struct LiveBytes {
    /// Pieces by their first byte: end, and the last cycle of the operation that used them last.
    pieces: BTreeMap<u64, (u64, u64)>,
    pub(super) changes: BTreeMap<u64, i64>,
    level: i64,
}

impl LiveBytes {
    fn change(&mut self, cycle: u64, bytes: i64) {
        *self.changes.entry(cycle).or_default() += bytes;
    }

    /// Records a use of bytes. Bytes that are written again were needed up to their last use, and are needed from `start`
    /// on.
    pub(super) fn touch(&mut self, bytes: Range<u64>, write: bool, start: u64, end: u64) {
        let keys: Vec<u64> = self
            .pieces
            .range(..bytes.end)
            .rev()
            .take_while(|(_, (to, _))| *to > bytes.start)
            .map(|(from, _)| *from)
            .collect();
        for from in keys {
            let (to, last) = self.pieces.remove(&from).expect("it is there");
            let (low, high) = (from.max(bytes.start), to.min(bytes.end));
            if from < low {
                self.pieces.insert(from, (low, last));
            }
            if high < to {
                self.pieces.insert(high, (to, last));
            }
            if write {
                self.change(last, -((high - low) as i64));
            } else {
                self.pieces.insert(low, (high, last.max(end)));
            }
        }
        if write && bytes.start < bytes.end {
            self.change(start, (bytes.end - bytes.start) as i64);
            self.pieces.insert(bytes.start, (bytes.end, end));
        }
    }

    /// Takes out the oldest changes, as levels, and leaves `keep`.
    pub(super) fn levels(&mut self, keep: usize) -> Vec<(u64, i64)> {
        let mut levels = Vec::new();
        while self.changes.len() > keep {
            let (cycle, change) = self.changes.pop_first().expect("there is more than none");
            self.level += change;
            levels.push((cycle, self.level));
        }
        levels
    }

    /// Ends all uses.
    pub(super) fn finish(&mut self) {
        for (from, (to, last)) in core::mem::take(&mut self.pieces) {
            self.change(last, -((to - from) as i64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_live_from_their_write_to_their_last_use() {
        let mut live = LiveBytes::default();
        live.touch(0..100, true, 10, 20);
        live.touch(0..40, false, 20, 30);
        live.touch(50..150, true, 40, 45);
        live.finish();
        // 100 from 10; the upper half is needed up to 20, when it is written anew at 40; the rest up to 20 or 30.
        let expected = [(10, 100), (20, 40), (30, 0), (40, 100), (45, 0)];
        assert_eq!(live.levels(0), expected);
    }
}
