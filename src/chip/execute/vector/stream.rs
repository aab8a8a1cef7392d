//! The stream of a slice inside the engine, and what stands beside it.

use crate::chip::memory::row::Row;
use crate::command::GROUP_BIT;
use crate::scalar::ElementType;

/// The execution id of an element that nobody wrote: no operand is for it.
pub(super) const NO_ID: u8 = 0xff;

/// Lanes of 32 bits and which of them somebody wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneRow {
    pub(super) values: Vec<u32>,
    /// One entry per lane; empty as long as all are written.
    pub(super) flags: Vec<bool>,
}

impl LaneRow {
    /// Takes over the elements of a row.
    pub(super) fn load(&mut self, row: &Row) {
        self.values.clear();
        let (lanes, _) = row.bytes().as_chunks::<4>();
        self.values.extend(lanes.iter().map(|&bytes| u32::from_le_bytes(bytes)));
        self.flags.clear();
        self.flags.extend_from_slice(row.flags().unwrap_or(&[]));
    }

    /// Hands the elements to an empty row.
    pub(super) fn store(&self, element: ElementType, row: &mut Row) {
        row.clear(element);
        let flags = (!self.flags.is_empty()).then_some(&self.flags[..]);
        let (bytes, _) = row.push_blank(self.values.len(), flags);
        let (places, _) = bytes.as_chunks_mut::<4>();
        places.iter_mut().zip(&self.values).for_each(|(place, lane)| *place = lane.to_le_bytes());
    }

    /// The same lanes as another row.
    pub(super) fn copy(&mut self, other: &LaneRow) {
        self.values.clone_from(&other.values);
        self.flags.clone_from(&other.flags);
    }

    /// One entry per lane that says whether it was written.
    pub(super) fn all_flags(&mut self) -> &mut [bool] {
        if self.flags.is_empty() {
            self.flags.resize(self.values.len(), true);
        }
        &mut self.flags
    }

    /// Forgets flags that say nothing.
    pub(super) fn tidy(&mut self) {
        if self.flags.iter().all(|&flag| flag) {
            self.flags.clear();
        }
    }

    /// Moves every second run of `step` lanes to another row.
    pub(super) fn unzip(&mut self, step: usize, other: &mut LaneRow) {
        fn halves<T: Copy>(all: &mut Vec<T>, step: usize, other: &mut Vec<T>) {
            other.clear();
            let pairs = all.len() / (2 * step).max(1);
            for pair in 0..pairs {
                let first = 2 * step * pair;
                other.extend_from_slice(&all[first + step..first + 2 * step]);
                all.copy_within(first..first + step, step * pair);
            }
            all.truncate(pairs * step);
        }
        halves(&mut self.values, step, &mut other.values);
        halves(&mut self.flags, step, &mut other.flags);
        self.tidy();
        other.tidy();
    }

    /// Keeps the leading `kept` of every `of` lanes.
    pub(super) fn trim(&mut self, kept: usize, of: usize) {
        let packets = self.values.len() / of.max(1);
        for packet in 1..packets {
            self.values.copy_within(packet * of..packet * of + kept, packet * kept);
            if !self.flags.is_empty() {
                self.flags.copy_within(packet * of..packet * of + kept, packet * kept);
            }
        }
        self.values.truncate(packets * kept);
        self.flags.truncate(packets * kept);
        self.tidy();
    }

    /// Adds lanes that nobody wrote behind every `from` lanes, to `to` in all.
    pub(super) fn pad(&mut self, from: usize, to: usize) {
        let packets = self.values.len() / from.max(1);
        self.all_flags();
        self.values.resize(packets * to, 0);
        self.flags.resize(packets * to, false);
        for packet in (0..packets).rev() {
            self.values.copy_within(packet * from..(packet + 1) * from, packet * to);
            self.values[packet * to + from..(packet + 1) * to].fill(0);
            self.flags.copy_within(packet * from..(packet + 1) * from, packet * to);
            self.flags[packet * to + from..(packet + 1) * to].fill(false);
        }
    }
}

/// The execution ids of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// All the same.
    Same(u8),
    /// One per lane.
    Each(Vec<u8>),
}

impl Ids {
    /// Keeps the leading `kept` of every `of` lanes.
    pub(super) fn trim(&mut self, kept: usize, of: usize) {
        if let Ids::Each(ids) = self {
            let packets = ids.len() / of.max(1);
            (1..packets).for_each(|packet| ids.copy_within(packet * of..packet * of + kept, packet * kept));
            ids.truncate(packets * kept);
        }
    }

    /// Adds lanes without an id behind every `from` lanes.
    pub(super) fn pad(&mut self, from: usize, to: usize) {
        if let Ids::Each(ids) = self {
            let packets = ids.len() / from.max(1);
            ids.resize(packets * to, NO_ID);
            for packet in (0..packets).rev() {
                ids.copy_within(packet * from..(packet + 1) * from, packet * to);
                ids[packet * to + from..(packet + 1) * to].fill(NO_ID);
            }
        }
    }
}

/// Whether an id is of a group: what [`crate::command::ValidBranchIds::holds`] says, for ids that may be none.
#[inline]
pub(super) fn holds(ids: crate::command::ValidBranchIds, id: u8) -> bool {
    id != NO_ID && ids.holds(id)
}

/// The id of the elements of a group.
pub(super) const fn group_id(group: usize) -> u8 {
    if group == 0 { 0 } else { GROUP_BIT }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_come_and_go() {
        let mut row = LaneRow { values: (0..16).collect(), flags: Vec::new() };
        let mut ids = Ids::Each((0..16).collect());
        row.trim(4, 8);
        ids.trim(4, 8);
        assert_eq!((&row.values[..], row.flags.len()), (&[0, 1, 2, 3, 8, 9, 10, 11][..], 0));
        assert_eq!(ids, Ids::Each(vec![0, 1, 2, 3, 8, 9, 10, 11]));
        row.pad(4, 8);
        ids.pad(4, 8);
        assert_eq!(row.values, [0, 1, 2, 3, 0, 0, 0, 0, 8, 9, 10, 11, 0, 0, 0, 0]);
        assert!(row.flags.iter().enumerate().all(|(k, &flag)| flag == (k % 8 < 4)));
        let none = [NO_ID; 4];
        assert_eq!(ids, Ids::Each([&[0, 1, 2, 3][..], &none, &[8, 9, 10, 11], &none].concat()));
        row.trim(4, 8);
        assert_eq!((row.values.len(), row.flags.len()), (8, 0), "all that is left was written");
    }

    #[test]
    fn rows_go_in_and_out() {
        let mut row = Row::new(ElementType::F32);
        row.push(&[0, 0, 128, 63, 1, 2, 3, 4], 2, Some(&[true, false]));
        let (mut lanes, mut back) = (LaneRow::default(), Row::new(ElementType::I8));
        lanes.load(&row);
        assert_eq!(lanes.values, [1f32.to_bits(), 0x0403_0201]);
        lanes.store(ElementType::F32, &mut back);
        assert_eq!(
            (back.bytes(), back.flags(), back.element()),
            (row.bytes(), row.flags(), ElementType::F32)
        );
    }
}
