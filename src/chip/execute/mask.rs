//! The mask of the fetch adapter: the start and the end of the innermost sequencer entry become the pad value.

use super::fetch::Turns;
use crate::chip::memory::row::Row;
use crate::command::MaskConfig;
use crate::sequencer::Config;
use core::ops::Range;

/// An entry of the sequencer, by rows of the innermost one.
#[derive(Clone, Copy, Debug)]
struct Dimension {
    /// Rows per index.
    inside: usize,
    /// Indices.
    size: usize,
}

impl Dimension {
    fn new(config: &Config, entry: usize) -> Self {
        let entries = config.entries.as_slice();
        let between = entries.get(entry + 1..entries.len().max(1) - 1).unwrap_or(&[]);
        let size = entries.get(entry).map_or(1, |entry| entry.size.max(1));
        Self { inside: between.iter().map(|entry| entry.size).product::<usize>().max(1), size }
    }

    fn index(self, row: usize) -> usize {
        row / self.inside % self.size
    }
}

/// A mask, prepared for the rows of the innermost entry.
#[derive(Debug)]
pub(super) struct MaskPlan {
    /// Elements of a row.
    row: usize,
    last: Dimension,
    /// The dimension of the counts.
    count: Option<Dimension>,
    left_pad: usize,
    counts: Vec<usize>,
    pad_value: [u32; 2],
}

impl MaskPlan {
    /// Prepares a mask.
    pub(super) fn new(mask: &MaskConfig, config: &Config) -> Self {
        let row = config.entries.last().map_or(1, |entry| entry.size.max(1));
        Self {
            row,
            last: Dimension::new(config, mask.last_dim),
            count: mask.rightmost_valid_count_dim.map(|entry| Dimension::new(config, entry)),
            left_pad: mask.left_pad.min(row),
            counts: mask.last_dim_rightmost_valid_count.as_slice().to_vec(),
            pad_value: mask.pad_value,
        }
    }

    /// Masks packets of so many elements, which hold the stored elements of some time steps.
    pub(super) fn run(&self, time: Range<usize>, (turns, packet): (Turns, usize), elements: &mut Row) {
        let (first, end) = (time.start * packet / self.row, time.end * packet / self.row);
        let last = self.last.size - 1;
        for row in first..end {
            let index = self.last.index(row);
            if index != 0 && index != last {
                continue;
            }
            let start = (row - first) * self.row;
            let pad = self.pad_value[turns.tensor(row * self.row / packet)];
            if index == 0 && self.left_pad > 0 {
                elements.fill(start..start + self.left_pad, pad);
            }
            let count = self.counts.get(self.count.map_or(0, |dim| dim.index(row)));
            if let Some(&count) = count.filter(|&&count| index == last && count < self.row) {
                elements.fill(start + count..start + self.row, pad);
            }
        }
    }
}
