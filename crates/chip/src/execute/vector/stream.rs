//! The stream of a slice inside the engine, with its flags and execution ids.

use crate::memory::row::Row;
use furiosa_visa_rules::command::GROUP_BIT;
use furiosa_visa_rules::scalar::ElementType;

/// The execution id of an unwritten element: no operand applies to it.
pub(super) const NO_ID: u8 = 0xff;

/// The 32 bits of an `i32` or an `f32`, in the byte order of memory.
pub(super) type Lane = [u8; LANE_BYTES];

const LANE_BYTES: usize = 4;

/// Lanes, each marked as written or unwritten.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaneRow {
    bytes: Vec<u8>,
    /// A flag per lane: true if it is written. Empty if all are written.
    pub(super) flags: Vec<bool>,
}

impl LaneRow {
    /// A row of `len` unwritten lanes.
    pub(super) fn blank(len: usize) -> Self {
        let mut row = Self::default();
        row.clear(len);
        row
    }

    /// Replaces all lanes by `len` unwritten ones.
    pub(super) fn clear(&mut self, len: usize) {
        self.bytes.clear();
        self.bytes.resize(len * LANE_BYTES, 0);
        self.flags.clear();
        self.flags.resize(len, false);
    }

    /// Replaces all lanes by `len` written lanes of any value, and returns them.
    pub(super) fn renew(&mut self, len: usize) -> &mut [Lane] {
        self.bytes.resize(len * LANE_BYTES, 0);
        self.flags.clear();
        self.lanes_mut()
    }

    /// The number of lanes.
    pub(super) fn len(&self) -> usize {
        self.lanes().len()
    }

    /// All lanes.
    pub(super) fn lanes(&self) -> &[Lane] {
        self.bytes.as_chunks().0
    }

    /// All lanes, for writing.
    pub(super) fn lanes_mut(&mut self) -> &mut [Lane] {
        self.bytes.as_chunks_mut().0
    }

    /// All lanes and their flags, for writing.
    pub(super) fn split(&mut self) -> (&mut [Lane], &mut Vec<bool>) {
        (self.bytes.as_chunks_mut().0, &mut self.flags)
    }

    /// Swaps the values of all lanes with those of another row. The flags stay.
    pub(super) fn trade_values(&mut self, other: &mut LaneRow) {
        core::mem::swap(&mut self.bytes, &mut other.bytes);
    }

    /// All lanes with their flags, after [`LaneRow::clear`].
    pub(super) fn parts_mut(&mut self) -> impl Iterator<Item = (&mut Lane, &mut bool)> {
        self.bytes.as_chunks_mut().0.iter_mut().zip(&mut self.flags)
    }

    /// Takes over the elements of a row.
    pub(super) fn load(&mut self, row: &mut Row) {
        row.trade(row.element(), &mut self.bytes, &mut self.flags);
        row.clear(row.element());
    }

    /// Hands the elements to a row. The remaining lanes have no meaning, and count as written.
    pub(super) fn store(&mut self, element: ElementType, row: &mut Row) {
        row.trade(element, &mut self.bytes, &mut self.flags);
        self.flags.clear();
    }

    /// Becomes a copy of `lanes`. `flags`: empty if all are written.
    pub(super) fn copy(&mut self, lanes: &[Lane], flags: &[bool]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(lanes.as_flattened());
        self.flags.clear();
        self.flags.extend_from_slice(flags);
    }

    /// Clears the flags if all lanes are written.
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
        halves(&mut self.bytes, step * LANE_BYTES, &mut other.bytes);
        halves(&mut self.flags, step, &mut other.flags);
        self.tidy();
        other.tidy();
    }

    /// Keeps the leading `kept` of every `of` lanes.
    pub(super) fn trim(&mut self, kept: usize, of: usize) {
        trim(&mut self.bytes, kept * LANE_BYTES, of * LANE_BYTES);
        trim(&mut self.flags, kept, of);
        self.tidy();
    }

    /// Adds unwritten lanes behind every `from` lanes, up to `to` lanes.
    pub(super) fn pad(&mut self, from: usize, to: usize) {
        all_flags(&mut self.flags, self.bytes.len() / LANE_BYTES);
        pad(&mut self.bytes, from * LANE_BYTES, to * LANE_BYTES, 0);
        pad(&mut self.flags, from, to, false);
    }
}

/// Flags of all `len` lanes. Empty flags, which say that all are written, are filled in.
pub(super) fn all_flags(flags: &mut Vec<bool>, len: usize) -> &mut [bool] {
    if flags.is_empty() {
        flags.resize(len, true);
    }
    flags
}

/// Keeps the leading `kept` of every `of` items.
fn trim<T: Copy>(all: &mut Vec<T>, kept: usize, of: usize) {
    let packets = all.len() / of.max(1);
    (1..packets).for_each(|packet| all.copy_within(packet * of..packet * of + kept, packet * kept));
    all.truncate(packets * kept);
}

/// Adds blanks behind every `from` items, up to `to` items.
fn pad<T: Copy>(all: &mut Vec<T>, from: usize, to: usize, blank: T) {
    let packets = all.len() / from.max(1);
    all.resize(packets * to, blank);
    for packet in (0..packets).rev() {
        all.copy_within(packet * from..(packet + 1) * from, packet * to);
        all[packet * to + from..(packet + 1) * to].fill(blank);
    }
}

/// The execution ids of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// One id for all lanes.
    Same(u8),
    /// An id per lane.
    Each(Vec<u8>),
}

impl Ids {
    /// Keeps the leading `kept` of every `of` lanes.
    pub(super) fn trim(&mut self, kept: usize, of: usize) {
        if let Ids::Each(ids) = self {
            trim(ids, kept, of);
        }
    }

    /// Adds lanes without an id behind every `from` lanes.
    pub(super) fn pad(&mut self, from: usize, to: usize) {
        if let Ids::Each(ids) = self {
            pad(ids, from, to, NO_ID);
        }
    }
}

/// Tells if an id belongs to a group: [`furiosa_visa_rules::command::ValidBranchIds::holds`], extended to [`NO_ID`].
#[inline]
pub(super) fn holds(ids: furiosa_visa_rules::command::ValidBranchIds, id: u8) -> bool {
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
        let values = |row: &LaneRow| -> Vec<u32> {
            row.lanes().iter().map(|&lane| u32::from_le_bytes(lane)).collect()
        };
        let lanes: Vec<Lane> = (0..16u32).map(u32::to_le_bytes).collect();
        let mut row = LaneRow::default();
        row.copy(&lanes, &[]);
        let mut ids = Ids::Each((0..16).collect());
        row.trim(4, 8);
        ids.trim(4, 8);
        assert_eq!((values(&row), row.flags.len()), (vec![0, 1, 2, 3, 8, 9, 10, 11], 0));
        assert_eq!(ids, Ids::Each(vec![0, 1, 2, 3, 8, 9, 10, 11]));
        row.pad(4, 8);
        ids.pad(4, 8);
        assert_eq!(values(&row), [0, 1, 2, 3, 0, 0, 0, 0, 8, 9, 10, 11, 0, 0, 0, 0]);
        assert!(row.flags.iter().enumerate().all(|(k, &flag)| flag == (k % 8 < 4)));
        let none = [NO_ID; 4];
        assert_eq!(ids, Ids::Each([&[0, 1, 2, 3][..], &none, &[8, 9, 10, 11], &none].concat()));
        row.trim(4, 8);
        assert_eq!((row.len(), row.flags.len()), (8, 0), "all that is left was written");
    }

    #[test]
    fn rows_go_in_and_out() {
        let bytes = [0, 0, 128, 63, 1, 2, 3, 4];
        let mut row = Row::new(ElementType::F32);
        row.push(&bytes, 2, Some(&[true, false]));
        let (mut lanes, mut back) = (LaneRow::default(), Row::new(ElementType::I8));
        back.push(&[1, 2, 3], 3, None);
        lanes.load(&mut row);
        assert_eq!((lanes.lanes(), row.len()), (&[1f32.to_le_bytes(), [1, 2, 3, 4]][..], 0));
        lanes.store(ElementType::I32, &mut back);
        assert_eq!((back.bytes(), back.len(), back.element()), (&bytes[..], 2, ElementType::I32));
        assert_eq!(back.flags(), Some(&[true, false][..]));
    }
}
