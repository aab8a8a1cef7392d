//! Bytes of DM that hold a tensor that is still needed, over time.

use core::ops::Range;
use furiosa_visa_rules::byte_ranges::ByteRanges;
use litemap::LiteMap;

/// Bytes of DM that are needed, over time. A tensor is needed from the operation that writes it to the last one that
/// reads it, or to the end as long as it might still be read.
#[derive(Debug, Default)]
pub(super) struct LiveBytes {
    /// The last cycle of the operation that used the bytes last.
    last_uses: ByteRanges<Option<u64>>,
    pub(super) changes: LiteMap<u64, i64>,
    level: i64,
}

impl LiveBytes {
    /// Records a use of bytes. Bytes that are written again were needed up to their last use, and are needed from `start`
    /// on.
    pub(super) fn touch(&mut self, bytes: Range<u64>, write: bool, start: u64, end: u64) {
        let Self { last_uses, changes, .. } = self;
        last_uses.update(bytes, |range, last| {
            let len = (range.end - range.start) as i64;
            if write {
                if let Some(last) = *last {
                    *changes.entry(last).or_default() -= len;
                }
                *changes.entry(start).or_default() += len;
                *last = Some(end);
            } else {
                *last = last.map(|last| last.max(end));
            }
        });
    }

    /// Takes out the oldest changes, as levels, and leaves `keep`.
    pub(super) fn levels(&mut self, keep: usize) -> Vec<(u64, i64)> {
        let mut levels = core::mem::take(&mut self.changes).into_tuple_vec();
        let kept = levels.split_off(levels.len().saturating_sub(keep));
        self.changes = LiteMap::from_sorted_store_unchecked(kept);
        for (_, change) in &mut levels {
            self.level += *change;
            *change = self.level;
        }
        levels
    }

    /// Ends all uses.
    pub(super) fn finish(&mut self) {
        for (range, last) in core::mem::take(&mut self.last_uses).within(0..u64::MAX) {
            if let Some(last) = *last {
                *self.changes.entry(last).or_default() -= (range.end - range.start) as i64;
            }
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
