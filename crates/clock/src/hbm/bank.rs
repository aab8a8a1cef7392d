//! Units and banks that wait in a channel: units of a bank by arrival, and banks by their oldest units.

use furiosa_visa_rules::spec::{HBM_QUEUE_UNITS, HBM_ROWS, HBM_UNIT_COMMANDS};

/// A set of banks.
pub(super) type Set = u64;

/// A unit that waits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unit {
    /// Number of units that arrived before it.
    pub(super) number: u64,
    pub(super) row: u16,
    pub(super) partial_write: bool,
    /// The place of the next unit in the same [`Fifo`].
    pub(super) next: u8,
}

impl Unit {
    /// Number of its commands. A partial write counts as two, its first and its last.
    #[inline]
    pub(super) const fn commands(&self) -> u8 {
        if self.partial_write { 2 } else { HBM_UNIT_COMMANDS as u8 }
    }
}

/// Units that a bank serves in the order of their arrival: their number, and the places of the first and the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fifo {
    pub(super) len: u8,
    pub(super) first: u8,
    pub(super) last: u8,
}

/// Place of no unit.
pub(super) const NOBODY: u8 = u8::MAX;

impl Fifo {
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

/// The row of a closed bank.
pub(super) const NO_ROW: u16 = u16::MAX;

const _: () = assert!(HBM_ROWS <= NO_ROW as usize);

/// A bank with the units that wait for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bank {
    /// Units that wait for the row of the bank. Empty only if no unit waits for the bank.
    pub(super) hits: Fifo,
    /// Units that wait for other rows of the bank.
    pub(super) others: Fifo,
    /// The row that is open or opening, or [`NO_ROW`].
    pub(super) row: u16,
    /// Commands left of the first unit of `hits`. `partial_write` tells if that unit is a partial write.
    pub(super) commands: u8,
    pub(super) partial_write: bool,
    /// Rank of the first unit of `hits`, from its number and the bank: `64 * number + bank`.
    pub(super) rank: u64,
    /// The tick from which the row is open.
    pub(super) open_ticks: u64,
}

impl Bank {
    /// Prepares the first unit of `hits`, which has not been served yet. `index` is the number of the bank.
    #[inline]
    pub(super) fn begin(&mut self, index: usize, units: &[Unit; HBM_QUEUE_UNITS]) {
        let first = &units[usize::from(self.hits.first) % HBM_QUEUE_UNITS];
        self.rank = rank(first.number, index);
        (self.commands, self.partial_write) = (first.commands(), first.partial_write);
    }
}

/// Rank that orders banks by their first units.
#[inline]
const fn rank(number: u64, bank: usize) -> u64 {
    number * Set::BITS as u64 + bank as u64
}

/// The bank of a rank.
#[inline]
pub(super) const fn ranked(rank: u64) -> usize {
    (rank % Set::BITS as u64) as usize
}

/// Banks with a row, open or opening, that has served nothing. Banks with the oldest units come first.
///
/// Only the head matters, the first bank with an open row. Banks behind it are ignored until it is gone.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// Ranks of the banks, in a ring.
    ranks: [u64; RING],
    first: u8,
    end: u8,
    /// Place of the head. `end` if no row is open.
    head: u8,
    /// The tick in which a row before the head is open, so that the head changes.
    pub(super) change_ticks: u64,
}

/// Size of the ring: more than the number of banks, so that it is never full.
const RING: usize = 64;

impl Waiting {
    pub(super) const fn new() -> Self {
        Self { ranks: [0; RING], first: 0, end: 0, head: 0, change_ticks: u64::MAX }
    }

    /// The rank of the head.
    #[inline]
    pub(super) fn head(&self) -> Option<u64> {
        (self.head != self.end).then(|| self.ranks[usize::from(self.head) % RING])
    }

    /// Adds a bank whose row is open from a later tick on.
    #[inline]
    pub(super) fn add(&mut self, rank: u64, open_ticks: u64) {
        let mut at = self.end;
        while at != self.first {
            let before = self.ranks[usize::from(at.wrapping_sub(1)) % RING];
            if before < rank {
                break;
            }
            self.ranks[usize::from(at) % RING] = before;
            at = at.wrapping_sub(1);
        }
        self.ranks[usize::from(at) % RING] = rank;
        let none = self.head == self.end;
        self.end = self.end.wrapping_add(1);
        // The bank comes before the head, or there is no head.
        if none || at.wrapping_sub(self.first) <= self.head.wrapping_sub(self.first) {
            self.head = self.head.wrapping_add(1);
            self.change_ticks = self.change_ticks.min(open_ticks);
        }
    }

    /// Removes the head in a tick in which no row before it is open, and finds the next one. There has to be a head.
    #[inline]
    pub(super) fn pop(&mut self, tick: u64, banks: &[Bank; Set::BITS as usize]) {
        let mut at = self.head;
        while at != self.first {
            self.ranks[usize::from(at) % RING] = self.ranks[usize::from(at.wrapping_sub(1)) % RING];
            at = at.wrapping_sub(1);
        }
        self.first = self.first.wrapping_add(1);
        self.head = self.head.wrapping_add(1);
        self.go_on(tick, banks);
    }

    /// Finds the head in a tick, and the tick of the next change.
    #[inline]
    pub(super) fn look(&mut self, tick: u64, banks: &[Bank; Set::BITS as usize]) {
        (self.head, self.change_ticks) = (self.first, u64::MAX);
        self.go_on(tick, banks);
    }

    /// Looks for the head from its place on.
    #[inline]
    fn go_on(&mut self, tick: u64, banks: &[Bank; Set::BITS as usize]) {
        while self.head != self.end {
            let open_ticks = banks[ranked(self.ranks[usize::from(self.head) % RING])].open_ticks;
            if open_ticks <= tick {
                break;
            }
            self.change_ticks = self.change_ticks.min(open_ticks);
            self.head = self.head.wrapping_add(1);
        }
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, ticks: u64) {
        self.change_ticks = self.change_ticks.saturating_add(ticks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    /// A bank whose row is open from a tick on.
    const fn open_from(open_ticks: u64) -> Bank {
        let (hits, others) = (Fifo::EMPTY, Fifo::EMPTY);
        Bank { hits, others, row: 0, commands: 0, partial_write: false, rank: 0, open_ticks }
    }

    /// Compares with a search of all banks, with more banks one after another than the ring holds.
    #[test]
    fn the_head_is_the_oldest_with_an_open_row() {
        let mut rng = SmallRng::seed_from_u64(48);
        let (mut banks, mut all) = ([open_from(0); Set::BITS as usize], Vec::<u64>::new());
        let (mut waiting, mut tick) = (Waiting::new(), 0);
        for number in 0..20_000 {
            let bank = rng.random_range(0..48);
            if all.iter().all(|&rank| ranked(rank) != bank) {
                // Some are older than others that wait.
                let rank = rank(number + rng.random_range(0..20), bank);
                banks[bank].open_ticks = tick + rng.random_range(1..100);
                waiting.add(rank, banks[bank].open_ticks);
                all.push(rank);
            }
            tick += rng.random_range(0..8);
            while waiting.change_ticks <= tick {
                waiting.look(waiting.change_ticks, &banks);
            }
            let open = |&rank: &u64| banks[ranked(rank)].open_ticks <= tick;
            let head = all.iter().copied().filter(open).min();
            assert_eq!(waiting.head(), head, "step {number}");
            if let Some(head) = head.filter(|_| rng.random_bool(0.6)) {
                all.retain(|&rank| rank != head);
                waiting.pop(tick, &banks);
            }
        }
    }

    #[test]
    fn units_of_a_line_are_served_as_they_come() {
        let unit = Unit { number: 0, row: 0, partial_write: false, next: NOBODY };
        let (mut units, mut line) = ([unit; HBM_QUEUE_UNITS], Fifo::EMPTY);
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
