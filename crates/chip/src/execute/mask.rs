//! The mask of the fetch adapter: the start and the end of the innermost sequencer entry become the pad value.

use crate::memory::row::Row;
use core::ops::Range;
use furiosa_visa_rules::command::{MaskConfig, Turns};
use furiosa_visa_rules::sequencer::Config;

/// An entry of the sequencer, in rows of the innermost entry.
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

    /// Masks packets of `packet` elements. `elements` holds the stored elements of the time steps `time`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::list::List;
    use furiosa_visa_rules::scalar::ElementType;
    use furiosa_visa_rules::testing::config;

    /// The masked elements of all packets, read in blocks of `block` packets.
    fn masked(mask: &MaskConfig, entries: &[(usize, isize)], packet: usize, block: usize) -> Vec<bool> {
        let config = config(entries, packet);
        let plan = MaskPlan::new(mask, &config);
        let steps = config.positions() / packet;
        let mut found = Vec::new();
        for start in (0..steps).step_by(block) {
            let time = start..(start + block).min(steps);
            let len = time.len() * packet;
            let mut row = Row::new(ElementType::I8);
            row.push(&vec![0; len], len, Some(&vec![false; len]));
            plan.run(time, (Turns::every(1), packet), &mut row);
            let flags = row.flags().expect("there are flags");
            // Masked elements count as initialised, and have the pad value of their tensor.
            for (k, (&byte, &flag)) in row.bytes().iter().zip(flags).enumerate() {
                let tensor = (start + k / packet) % 2;
                assert_eq!(byte, if flag { mask.pad_value[tensor] as u8 } else { 0 });
            }
            found.extend_from_slice(flags);
        }
        found
    }

    fn mask(last_dim: usize, left_pad: usize, counts: &[usize], dim: Option<usize>) -> MaskConfig {
        let mut list = List::new(0);
        counts.iter().for_each(|&count| list.push(count));
        MaskConfig {
            last_dim,
            left_pad,
            last_dim_rightmost_valid_count: list,
            rightmost_valid_count_dim: dim,
            pad_value: [7, 9],
        }
    }

    /// The three cases of padding (guide: fetch), cut into blocks of any size.
    #[test]
    fn the_cases_of_padding() {
        for block in [1, 2, 5, 1000] {
            let one = masked(&mask(1, 2, &[28], None), &[(4, 96), (3, 32), (32, 1)], 32, block);
            assert!((0..384).all(|k| one[k] == (k % 96 < 2 || k % 96 >= 92)));
            let two = masked(&mask(0, 2, &[28], None), &[(3, 32), (4, 96), (32, 1)], 32, block);
            let at = |k: usize| k / 128 * 32 + k % 32;
            assert!((0..384).all(|k| two[k] == (at(k) < 2 || at(k) >= 92)));
            let counts = [16, 16, 16, 16, 16, 16, 1, 0];
            let entries = [(4, 128), (8, 16), (1, 0), (16, 1)];
            let three = masked(&mask(2, 0, &counts, Some(1)), &entries, 16, block);
            assert!((0..512).all(|k| three[k] == (k % 128 >= 97)));
        }
    }

    /// Rows inside a packet.
    #[test]
    fn packets_of_several_rows() {
        let found = masked(&mask(1, 1, &[5], None), &[(3, 24), (2, 8), (8, 1)], 16, 1);
        assert!((0..48).all(|k| found[k] == (k % 16 < 1 || k % 16 >= 13)));
        let always = masked(&mask(1, 1, &[6], None), &[(6, 8), (1, 0), (8, 1)], 16, 2);
        assert!((0..48).all(|k| always[k] == (k % 8 < 1 || k % 8 >= 6)));
    }
}
