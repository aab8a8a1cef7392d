//! What waits at the banks of a channel: units in lines, one after another, and banks in an order.

use crate::spec::{HBM_QUEUE_UNITS, HBM_ROWS, HBM_UNIT_COMMANDS};

/// A set of banks.
pub(super) type Set = u64;

/// A unit that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    /// Units that arrived before it.
    pub(super) number: u64,
    pub(super) row: u16,
    pub(super) partial_write: bool,
    /// The place of the next unit in the same line.
    pub(super) next: u8,
}

impl Unit {
    /// Its commands. A partial write counts as two, its first and its last.
    #[inline]
    pub(super) const fn commands(&self) -> u8 {
        if self.partial_write { 2 } else { HBM_UNIT_COMMANDS as u8 }
    }
}

/// Units of a bank in the order of arrival: their number, the places of the first and the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) len: u8,
    pub(super) first: u8,
    pub(super) last: u8,
}

/// The place of no unit.
pub(super) const NOBODY: u8 = u8::MAX;

impl Line {
    pub(super) const EMPTY: Self = Self { len: 0, first: NOBODY, last: NOBODY };

    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn push(&mut self, at: u8, units: &mut [Unit; HBM_QUEUE_UNITS]) {
        units[usize::from(at) % HBM_QUEUE_UNITS].next = NOBODY;
        if self.is_empty() {
            self.first = at;
        } else {
            units[usize::from(self.last) % HBM_QUEUE_UNITS].next = at;
        }
        self.last = at;
        self.len += 1;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowState {
    /// On its way, from closed or from another row; or there is none.
    Opening,
    /// Open, and no command was served.
    Fresh,
    /// Open, and some command was served.
    Used,
}

/// The row of a closed bank.
pub(super) const NO_ROW: u16 = u16::MAX;

const _: () = assert!(HBM_ROWS <= NO_ROW as usize);

#[derive(Clone, Copy, Debug)]
pub(super) struct Bank {
    /// What waits for the row of the bank. Empty only if nothing waits for the bank.
    pub(super) hits: Line,
    /// What waits for other rows of the bank.
    pub(super) others: Line,
    /// The row that is open or opening, or [`NO_ROW`].
    pub(super) row: u16,
    pub(super) state: RowState,
    /// Commands that are left of the first of the hits, and whether it is a partial write.
    pub(super) commands: u8,
    pub(super) partial_write: bool,
    /// The number of the first of the hits, and the bank: `64 * number + bank`.
    pub(super) rank: u64,
    /// The tick in which the row that is opening is open.
    pub(super) open_ticks: u64,
}

impl Bank {
    /// Looks at the first of the hits, which has not been served yet. `index`: which bank it is.
    #[inline]
    pub(super) fn begin(&mut self, index: usize, units: &[Unit; HBM_QUEUE_UNITS]) {
        let first = &units[usize::from(self.hits.first) % HBM_QUEUE_UNITS];
        self.rank = rank(first.number, index);
        (self.commands, self.partial_write) = (first.commands(), first.partial_write);
    }
}

/// Orders banks by their first units.
#[inline]
const fn rank(number: u64, bank: usize) -> u64 {
    number * Set::BITS as u64 + bank as u64
}

/// Banks in an order.
#[derive(Clone, Debug)]
pub(super) struct Banks {
    banks: [u8; RING],
    first: u8,
    end: u8,
}

/// More than there are banks, so that the ring is never full.
const RING: usize = 64;

impl Banks {
    pub(super) const fn new() -> Self {
        Self { banks: [0; RING], first: 0, end: 0 }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        (self.first != self.end).then(|| usize::from(self.banks[usize::from(self.first) % RING]))
    }

    /// Adds a bank before the last ones, for which `later` holds.
    #[inline]
    pub(super) fn push_before(&mut self, bank: usize, later: impl Fn(usize) -> bool) {
        let mut at = self.end;
        self.end = self.end.wrapping_add(1);
        while at != self.first {
            let before = self.banks[usize::from(at.wrapping_sub(1)) % RING];
            if !later(usize::from(before)) {
                break;
            }
            self.banks[usize::from(at) % RING] = before;
            at = at.wrapping_sub(1);
        }
        self.banks[usize::from(at) % RING] = bank as u8;
    }

    /// All of them, in their order.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let len = self.end.wrapping_sub(self.first);
        (0..len).map(|k| usize::from(self.banks[usize::from(self.first.wrapping_add(k)) % RING]))
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.first = self.first.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_order(mut banks: Banks) -> Vec<usize> {
        core::iter::from_fn(|| banks.first().inspect(|_| banks.pop())).collect()
    }

    #[test]
    fn banks_come_in_the_order_that_was_asked_for() {
        let mut banks = Banks::new();
        // More than the ring holds, one after another.
        for bank in 0..100 {
            banks.push_before(bank % 48, |_| false);
            assert_eq!(banks.first(), Some(bank % 48));
            banks.pop();
        }
        [3, 5, 9].into_iter().for_each(|bank| banks.push_before(bank, |_| false));
        banks.push_before(7, |other| other > 7);
        banks.push_before(1, |other| other > 1);
        banks.push_before(11, |other| other > 11);
        assert_eq!(in_order(banks), [1, 3, 5, 7, 9, 11]);
    }

    #[test]
    fn units_of_a_line_are_served_as_they_come() {
        let unit = Unit { number: 0, row: 0, partial_write: false, next: NOBODY };
        let (mut units, mut line) = ([unit; HBM_QUEUE_UNITS], Line::EMPTY);
        assert!(line.is_empty());
        [40, 2, 63].into_iter().for_each(|at| line.push(at, &mut units));
        let mut next = line.first;
        let mut places = Vec::new();
        for _ in 0..line.len {
            places.push(next);
            next = units[usize::from(next)].next;
        }
        assert_eq!((places, next, line.last), (vec![40, 2, 63], NOBODY, 63));
    }
}
