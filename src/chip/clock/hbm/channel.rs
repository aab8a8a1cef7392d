//! One channel of the detailed model: its queue, its banks, its command slots.
//!
//! Requests in the queue are places of a list in the order of arrival, and every set of them is a mask, so that the
//! oldest of a set is its lowest bit. Time goes from event to event: a row that has opened, or a command.

use super::address::{CHANNEL_BANKS, Place};
use crate::chip::spec::{
    HBM_ACTIVATION_TICKS, HBM_BANK_GROUPS, HBM_BANKS, HBM_COMMAND_CYCLE_TICKS, HBM_CONTROLLER_CYCLE_TICKS,
    HBM_PARTIAL_WRITE_TICKS, HBM_QUEUE_UNITS, HBM_ROW_SWITCH_TICKS, HBM_SLICES, HBM_TCCD_OTHER_GROUP_TICKS,
    HBM_TCCD_OTHER_SLICE_TICKS, HBM_TCCD_SAME_GROUP_TICKS, HBM_UNIT_COMMANDS, HBM_UNIT_TICKS,
};

/// What a channel did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelReport {
    /// Units that were read or written.
    pub units: u64,
    /// Ticks in which the channel moved data or was held by a partial write.
    pub busy_ticks: u64,
    /// Rows that were opened in a closed bank.
    pub openings: u64,
    /// Rows that were opened in place of another.
    pub row_switches: u64,
    /// Writes of a part of a unit.
    pub partial_writes: u64,
    /// The tick in which the last data was moved. 0 if there was none.
    pub finish_ticks: u64,
}

impl ChannelReport {
    /// Units whose row was open, or was being opened for another unit.
    pub const fn row_hits(&self) -> u64 {
        self.units - self.openings - self.row_switches
    }
}

/// A set of places of the queue.
type Set = u128;

/// Places of the queue. More than entries, because a place is used once until the list is packed.
const PLACES: usize = Set::BITS as usize;
const GROUPS: usize = HBM_SLICES * HBM_BANK_GROUPS;

/// The oldest of a set that is not empty.
#[inline]
const fn oldest(set: Set) -> usize {
    set.trailing_zeros() as usize
}

/// A unit that waits.
#[derive(Clone, Copy, Debug)]
struct Entry {
    row: u16,
    bank: u8,
    /// Commands that are left. A partial write counts as two, its first and its last.
    commands: u8,
    partial_write: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowState {
    Closed,
    /// On its way, from closed or from another row.
    Opening,
    /// Open, and no command was served.
    Fresh,
    /// Open, and some command was served.
    Used,
}

#[derive(Clone, Copy, Debug)]
struct Bank {
    /// What waits for the bank.
    waiting: Set,
    /// What waits for the row of the bank. Empty only if nothing waits for the bank.
    hits: Set,
    /// The row that is open or opening.
    row: u16,
    state: RowState,
    /// The tick in which the row that is opening is open.
    open_ticks: u64,
}

/// Banks that open rows, all in the same time: first in, first out.
#[derive(Clone, Debug)]
struct Openings {
    banks: [u8; RING],
    first: u8,
    end: u8,
}

/// More than there are banks, so that the ring is never full.
const RING: usize = 64;

impl Openings {
    const fn new() -> Self {
        Self { banks: [0; RING], first: 0, end: 0 }
    }

    /// The bank that is open first.
    #[inline]
    fn first(&self) -> Option<usize> {
        (self.first != self.end).then(|| usize::from(self.banks[usize::from(self.first) % RING]))
    }

    #[inline]
    fn push(&mut self, bank: usize) {
        self.banks[usize::from(self.end) % RING] = bank as u8;
        self.end = self.end.wrapping_add(1);
    }

    #[inline]
    fn pop(&mut self) {
        self.first = self.first.wrapping_add(1);
    }
}

/// One channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    entries: [Entry; PLACES],
    /// Places from here on were not used since the list was packed.
    end: usize,
    /// Units in the queue.
    len: usize,
    slices: [Set; HBM_SLICES],
    groups: [Set; GROUPS],
    /// Units whose row is open, without and with a command served since it was opened.
    fresh: Set,
    used: Set,
    banks: [Bank; CHANNEL_BANKS],
    activations: Openings,
    switches: Openings,
    /// The tick in which the next row is open.
    next_open: u64,
    /// Everything before this tick is decided.
    now: u64,
    /// The last command, its bank, and the ticks from which tCCD allows one in another bank group of the slice, in another
    /// slice, and in the same bank group.
    last_tick: u64,
    last_bank: usize,
    allowed: [u64; 3],
    /// The next command slot that will be used and its unit, if that is known.
    next: Option<(u64, usize)>,
    /// The partial write that holds the channel, and the tick of its last command.
    held: Option<(u64, usize)>,
    report: ChannelReport,
    /// Units that have arrived since the channel was looked at: a channel that is not full need not be, and it is faster to
    /// do much at one channel than a little at many.
    arrivals: [Arrival; HBM_QUEUE_UNITS],
    arrived: usize,
    /// The queue is full before this tick.
    room_from: u64,
}

/// A unit that enters the queue.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    tick: u64,
    place: Place,
    partial_write: bool,
}

impl Channel {
    pub const fn new() -> Self {
        const NO_UNIT: Entry = Entry { row: 0, bank: 0, commands: 0, partial_write: false };
        const CLOSED: Bank = Bank { waiting: 0, hits: 0, row: 0, state: RowState::Closed, open_ticks: 0 };
        const NO_ARRIVAL: Arrival =
            Arrival { tick: 0, place: Place { channel: 0, bank: 0, row: 0 }, partial_write: false };
        const NOTHING: ChannelReport = ChannelReport {
            units: 0,
            busy_ticks: 0,
            openings: 0,
            row_switches: 0,
            partial_writes: 0,
            finish_ticks: 0,
        };
        Self {
            entries: [NO_UNIT; PLACES],
            end: 0,
            len: 0,
            slices: [0; HBM_SLICES],
            groups: [0; GROUPS],
            fresh: 0,
            used: 0,
            banks: [CLOSED; CHANNEL_BANKS],
            activations: Openings::new(),
            switches: Openings::new(),
            next_open: u64::MAX,
            now: 0,
            last_tick: 0,
            last_bank: 0,
            allowed: [0; 3],
            next: None,
            held: None,
            report: NOTHING,
            arrivals: [NO_ARRIVAL; HBM_QUEUE_UNITS],
            arrived: 0,
            room_from: 0,
        }
    }

    /// A unit wants to enter the queue at `tick`. The tick from which there is room if there is none now.
    ///
    /// Ticks do not decrease from call to call.
    #[inline]
    pub fn offer(&mut self, place: Place, partial_write: bool, tick: u64) -> Result<(), u64> {
        if tick < self.room_from {
            return Err(self.room_from);
        }
        if self.len + self.arrived == HBM_QUEUE_UNITS {
            self.settle(tick);
            if self.len == HBM_QUEUE_UNITS {
                self.advance_to_room();
                return Err(self.room_from);
            }
        }
        self.arrivals[self.arrived] = Arrival { tick, place, partial_write };
        self.arrived += 1;
        Ok(())
    }

    /// Serves all that was offered. What was done.
    pub fn finish(&mut self) -> ChannelReport {
        self.settle(u64::MAX);
        let ChannelReport { units, partial_writes, .. } = self.report;
        if units > 0 {
            self.report.finish_ticks = self.last_tick + HBM_CONTROLLER_CYCLE_TICKS;
        }
        self.report.busy_ticks =
            (units - partial_writes) * HBM_UNIT_TICKS + partial_writes * HBM_PARTIAL_WRITE_TICKS;
        self.report
    }

    /// Decides everything before `until`, arrivals included.
    #[inline(never)]
    fn settle(&mut self, until: u64) {
        for k in 0..self.arrived {
            let arrival = self.arrivals[k];
            self.advance(arrival.tick);
            self.push(arrival);
        }
        self.arrived = 0;
        self.advance(until);
    }

    /// Decides everything before `until` if nothing arrives.
    #[inline]
    fn advance(&mut self, until: u64) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Goes on until the full queue has room, which is after the command that makes it. Nothing can arrive before.
    fn advance_to_room(&mut self) {
        while self.len == HBM_QUEUE_UNITS {
            let more = self.step(u64::MAX);
            debug_assert!(more, "a unit in the queue is served some time");
        }
        self.room_from = self.now;
    }

    /// A unit enters the queue.
    #[inline]
    fn push(&mut self, Arrival { tick, place, partial_write }: Arrival) {
        debug_assert!(self.len < HBM_QUEUE_UNITS && self.now <= tick);
        if self.len == 0 {
            self.end = 0;
        } else if self.end == PLACES {
            self.pack();
        }
        let commands = if partial_write { 2 } else { HBM_UNIT_COMMANDS as u8 };
        let at = self.end;
        self.entries[at] = Entry { row: place.row, bank: place.bank, commands, partial_write };
        self.end += 1;
        self.len += 1;
        self.enlist(at);
        let bank = usize::from(place.bank);
        if self.banks[bank].hits == 0 {
            self.open(bank, tick);
        }
    }

    /// Enters a unit into the sets.
    #[inline]
    fn enlist(&mut self, at: usize) {
        let Entry { row, bank, .. } = self.entries[at];
        let (index, unit) = (usize::from(bank), 1 << at);
        self.slices[index / (HBM_BANK_GROUPS * HBM_BANKS)] |= unit;
        self.groups[index / HBM_BANKS] |= unit;
        let bank = &mut self.banks[index];
        bank.waiting |= unit;
        if bank.row == row && bank.state != RowState::Closed {
            bank.hits |= unit;
            match bank.state {
                RowState::Fresh => self.fresh |= unit,
                RowState::Used => {
                    self.used |= unit;
                    self.next = None;
                }
                RowState::Closed | RowState::Opening => {}
            }
        }
    }

    /// Moves the units together, oldest first.
    #[cold]
    fn pack(&mut self) {
        let mut live = self.slices.iter().fold(0, |all, slice| all | slice);
        (self.slices, self.groups) = ([0; HBM_SLICES], [0; GROUPS]);
        (self.fresh, self.used, self.next) = (0, 0, None);
        for bank in &mut self.banks {
            (bank.waiting, bank.hits) = (0, 0);
        }
        self.end = 0;
        while live != 0 {
            let from = oldest(live);
            live &= live - 1;
            if let Some((_, at)) = &mut self.held
                && *at == from
            {
                *at = self.end;
            }
            self.entries[self.end] = self.entries[from];
            self.enlist(self.end);
            self.end += 1;
        }
    }

    /// A bank begins to open the row of the oldest unit that waits for it.
    fn open(&mut self, index: usize, tick: u64) {
        let bank = &mut self.banks[index];
        bank.row = self.entries[oldest(bank.waiting)].row;
        let mut rest = bank.waiting;
        while rest != 0 {
            let at = oldest(rest);
            rest &= rest - 1;
            if self.entries[at].row == bank.row {
                bank.hits |= 1 << at;
            }
        }
        if bank.state == RowState::Closed {
            self.report.openings += 1;
            bank.open_ticks = tick + HBM_ACTIVATION_TICKS;
            self.activations.push(index);
        } else {
            self.report.row_switches += 1;
            bank.open_ticks = tick + HBM_ROW_SWITCH_TICKS;
            self.switches.push(index);
        }
        self.next_open = self.next_open.min(bank.open_ticks);
        bank.state = RowState::Opening;
    }

    /// The rows that are open in the tick `next_open` serve their units.
    fn opened(&mut self) {
        let (tick, candidates) = (self.next_open, self.candidates());
        self.next_open = u64::MAX;
        for openings in [&mut self.activations, &mut self.switches] {
            while let Some(index) = openings.first() {
                let bank = &mut self.banks[index];
                if bank.open_ticks > tick {
                    self.next_open = self.next_open.min(bank.open_ticks);
                    break;
                }
                openings.pop();
                bank.state = RowState::Fresh;
                self.fresh |= bank.hits;
            }
        }
        self.now = self.now.max(tick);
        if self.candidates() != candidates {
            self.next = None;
        }
    }

    /// Units that may be served: those whose row has served others, and the oldest of those whose row has not.
    #[inline]
    fn candidates(&self) -> Set {
        self.used | (self.fresh & self.fresh.wrapping_neg())
    }

    /// The units for the bank group of a bank, and those for its slice.
    #[inline]
    fn neighbours(&self, bank: usize) -> (Set, Set) {
        (self.groups[bank / HBM_BANKS], self.slices[bank / (HBM_BANK_GROUPS * HBM_BANKS)])
    }

    /// The next command slot that will be used if nothing happens before, and the unit.
    #[inline]
    fn next_command(&self) -> (u64, usize) {
        if let Some(held) = self.held {
            return held;
        }
        let candidates = self.candidates();
        if candidates == 0 {
            return (u64::MAX, 0);
        }
        let earliest = self.now.next_multiple_of(HBM_COMMAND_CYCLE_TICKS);
        let [other_group, other_slice, same_group] = self.allowed;
        let (group, slice) = self.neighbours(self.last_bank);
        let apart = candidates & !group;
        let near = apart & slice;
        let tick = earliest.max(match (near, apart) {
            (0, 0) => same_group,
            (0, _) => other_slice,
            _ => other_group,
        });
        let allowed = if tick >= same_group {
            candidates
        } else if tick >= other_slice {
            apart
        } else {
            near
        };
        (tick, oldest(allowed))
    }

    /// What happens next, if it is before `until`.
    #[inline]
    fn step(&mut self, until: u64) -> bool {
        let (tick, at) = match self.next {
            Some(next) => next,
            None => self.next_command(),
        };
        self.next = Some((tick, at));
        if tick.min(self.next_open) >= until {
            return false;
        }
        // A row that is open in the tick of a slot can use the slot.
        if self.next_open <= tick {
            self.opened();
        } else {
            self.issue(tick, at, until.min(self.next_open));
        }
        true
    }

    /// A command of the unit `at`, and those after it that are sure: two units in different bank groups of a slice take turns
    /// until one of them is done or something happens at `limit`.
    #[inline]
    fn issue(&mut self, tick: u64, at: usize, limit: u64) {
        let Entry { bank, commands, partial_write, .. } = self.entries[at];
        let index = usize::from(bank);
        self.serve(index);
        if partial_write && commands > 1 {
            return self.hold(tick, at);
        }
        let candidates = self.candidates();
        let (group, slice) = self.neighbours(index);
        let near = candidates & slice & !group;
        let other = oldest(near) % PLACES;
        let partner = self.entries[other];
        let (other_group, _) = self.neighbours(usize::from(partner.bank));
        let turns = near != 0
            && oldest(candidates & slice & !other_group) == at
            && self.used >> other & 1 == 1
            && !partner.partial_write;
        let slots = (limit - tick).div_ceil(HBM_TCCD_OTHER_GROUP_TICKS);
        let commands = slots.min(2 * u64::from(commands) - 1).min(2 * u64::from(partner.commands));
        let count = if turns { commands } else { 1 };
        let last = if count % 2 == 1 { at } else { other };
        self.entries[other].commands -= (count / 2) as u8;
        self.entries[at].commands -= count.div_ceil(2) as u8;
        self.issued(tick + (count - 1) * HBM_TCCD_OTHER_GROUP_TICKS, last);
        if self.entries[last].commands == 0 {
            self.leave(last, self.now - 1);
        } else if turns {
            let next = if last == at { other } else { at };
            self.next = Some((self.allowed[0], next));
        }
    }

    /// The row of a bank serves a command.
    #[inline]
    fn serve(&mut self, index: usize) {
        let bank = &mut self.banks[index];
        bank.state = RowState::Used;
        self.fresh &= !bank.hits;
        self.used |= bank.hits;
    }

    /// The first command of a partial write: nothing else goes until the last.
    #[cold]
    fn hold(&mut self, tick: u64, at: usize) {
        let rest = HBM_PARTIAL_WRITE_TICKS - HBM_CONTROLLER_CYCLE_TICKS;
        self.held = Some((tick + rest, at));
        self.entries[at].commands = 1;
        self.report.partial_writes += 1;
        self.issued(tick, at);
    }

    /// A command for the unit `at` was issued.
    #[inline]
    fn issued(&mut self, tick: u64, at: usize) {
        self.next = None;
        self.now = tick + 1;
        self.last_bank = usize::from(self.entries[at].bank);
        self.allowed = [
            tick + HBM_TCCD_OTHER_GROUP_TICKS,
            tick + HBM_TCCD_OTHER_SLICE_TICKS,
            tick + HBM_TCCD_SAME_GROUP_TICKS,
        ];
        self.last_tick = tick;
    }

    /// A unit is done.
    #[inline]
    fn leave(&mut self, at: usize, tick: u64) {
        let (stay, index) = (!(1 << at), usize::from(self.entries[at].bank));
        self.held = None;
        self.report.units += 1;
        self.len -= 1;
        self.used &= stay;
        self.slices[index / (HBM_BANK_GROUPS * HBM_BANKS)] &= stay;
        self.groups[index / HBM_BANKS] &= stay;
        let bank = &mut self.banks[index];
        bank.waiting &= stay;
        bank.hits &= stay;
        if bank.hits == 0 && bank.waiting != 0 {
            self.open(index, tick);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { channel: 0, bank: 5, row: 7 };

    /// A queue takes 64 units and not 65. The room is there after the last command of a unit, not in its tick.
    #[test]
    fn the_queue_holds_64_units() {
        let mut channel = Channel::new();
        for unit in 0..HBM_QUEUE_UNITS {
            assert_eq!(channel.offer(PLACE, false, 0), Ok(()), "unit {unit}");
        }
        // The row is open at 60; commands of one bank group go at 60, 68, 76 and 84.
        assert_eq!(channel.offer(PLACE, false, 0), Err(85));
        assert_eq!(channel.offer(PLACE, false, 84), Err(85));
        assert_eq!(channel.offer(PLACE, false, 85), Ok(()));
        assert_eq!(channel.offer(PLACE, false, 85), Err(85 + 4 * 8));
        let report = channel.finish();
        assert_eq!((report.units, report.openings, report.row_switches), (65, 1, 0));
        assert_eq!((report.finish_ticks, report.row_hits()), (60 + (65 * 4 - 1) * 8 + 4, 64));
    }

    /// tCCD to the tick: four commands each of two units that are open at the same time.
    #[test]
    fn two_units_take_turns() {
        let run = |banks: [u8; 2]| {
            let mut channel = Channel::new();
            for bank in banks {
                assert_eq!(channel.offer(Place { bank, ..PLACE }, false, 0), Ok(()));
            }
            channel.finish().finish_ticks - HBM_ACTIVATION_TICKS
        };
        assert_eq!(run([0, 4]), 7 * 4 + 4, "other bank group");
        assert_eq!(run([0, 16]), 7 * 6 + 4, "other slice");
        assert_eq!(run([0, 1]), 7 * 8 + 4, "same bank group");
        assert_eq!(run([0, 20]), 7 * 6 + 4, "other slice and other bank group");
    }

    /// A partial write holds the channel for 800 ticks.
    #[test]
    fn a_partial_write_holds_the_channel() {
        let mut channel = Channel::new();
        assert_eq!(channel.offer(PLACE, true, 0), Ok(()));
        assert_eq!(channel.offer(Place { bank: 9, ..PLACE }, false, 0), Ok(()));
        let report = channel.finish();
        assert_eq!((report.units, report.partial_writes, report.openings), (2, 1, 2));
        assert_eq!(report.busy_ticks, 800 + 16);
        // Its last data ends at 60 + 800. The other unit is in another bank group and goes on without a gap.
        assert_eq!(report.finish_ticks, 60 + 800 + (4 - 1) * 8 + 4);
    }
}
