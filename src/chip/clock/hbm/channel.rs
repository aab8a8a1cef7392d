//! One channel of the detailed model: its queue, its banks, its command slots.
//!
//! Requests in the queue are places of a list in the order of arrival, and every set of them is a mask, so that the
//! oldest of a set is its lowest bit. Time goes from event to event: a row that has opened, or a command.

use super::address::{CHANNEL_BANKS, Place};
use crate::chip::spec::{
    HBM_ACTIVATION_TICKS, HBM_BANK_GROUPS, HBM_BANKS, HBM_COMMAND_CYCLE_TICKS, HBM_CONTROLLER_CYCLE_TICKS,
    HBM_PARTIAL_WRITE_TICKS, HBM_QUEUE_UNITS, HBM_ROW_SWITCH_TICKS, HBM_SLICES, HBM_TCCD_OTHER_GROUP_TICKS,
    HBM_TCCD_OTHER_SLICE_TICKS, HBM_TCCD_SAME_GROUP_TICKS, HBM_UNIT_COMMANDS,
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
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    row: u16,
    bank: u8,
    /// Commands that are left. A partial write counts as two, its first and its last.
    commands: u8,
    partial_write: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RowState {
    #[default]
    Closed,
    /// On its way, from closed or from another row.
    Opening,
    /// Open, and no command was served.
    Fresh,
    /// Open, and some command was served.
    Used,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    /// What waits for the bank.
    waiting: Set,
    /// What waits for the row of the bank. Empty only if nothing waits for the bank.
    hits: Set,
    /// The row that is open or opening.
    row: u16,
    state: RowState,
}

/// Banks that open rows, all in the same time: first in, first out.
#[derive(Clone, Debug)]
struct Openings {
    banks: [(u64, u8); 64],
    first: usize,
    len: usize,
}

impl Openings {
    const fn new() -> Self {
        Self { banks: [(0, 0); 64], first: 0, len: 0 }
    }

    /// The tick in which the next one is open.
    #[inline]
    fn next(&self) -> u64 {
        if self.len == 0 { u64::MAX } else { self.banks[self.first % 64].0 }
    }

    fn push(&mut self, tick: u64, bank: u8) {
        self.banks[(self.first + self.len) % 64] = (tick, bank);
        self.len += 1;
    }

    fn pop(&mut self) -> u8 {
        let bank = self.banks[self.first % 64].1;
        self.first = (self.first + 1) % 64;
        self.len -= 1;
        bank
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
    /// Everything before this tick is decided.
    now: u64,
    /// The bank of the last command, and the ticks from which tCCD allows one in another bank group of the slice, in another
    /// slice, and in the same bank group.
    last_bank: usize,
    allowed: [u64; 3],
    /// The partial write that holds the channel, and the tick of its last command.
    held: Option<(u64, usize)>,
    report: ChannelReport,
}

impl Channel {
    pub const fn new() -> Self {
        const NO_UNIT: Entry = Entry { row: 0, bank: 0, commands: 0, partial_write: false };
        const CLOSED: Bank = Bank { waiting: 0, hits: 0, row: 0, state: RowState::Closed };
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
            now: 0,
            last_bank: 0,
            allowed: [0; 3],
            held: None,
            report: NOTHING,
        }
    }

    /// Whether the queue is full at the tick up to which time has advanced.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len == HBM_QUEUE_UNITS
    }

    /// What was done so far.
    pub fn report(&self) -> ChannelReport {
        self.report
    }

    /// Decides everything before `until`.
    #[inline]
    pub fn advance(&mut self, until: u64) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Goes on until the queue has room. The tick of the command that makes it: there is room after it.
    ///
    /// Exact only if nothing arrives before, which a full queue prevents.
    pub fn advance_to_room(&mut self) -> u64 {
        while self.is_full() {
            let more = self.step(u64::MAX);
            debug_assert!(more, "a unit in the queue is served some time");
        }
        self.now - 1
    }

    /// A unit arrives at `tick`, up to which time has advanced. There is room.
    #[inline]
    pub fn push(&mut self, place: Place, partial_write: bool, tick: u64) {
        debug_assert!(!self.is_full() && self.now <= tick);
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
                RowState::Used => self.used |= unit,
                RowState::Closed | RowState::Opening => {}
            }
        }
    }

    /// Moves the units together, oldest first.
    #[cold]
    fn pack(&mut self) {
        let mut live = self.slices.iter().fold(0, |all, slice| all | slice);
        (self.slices, self.groups) = ([0; HBM_SLICES], [0; GROUPS]);
        (self.fresh, self.used) = (0, 0);
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
            self.activations.push(tick + HBM_ACTIVATION_TICKS, index as u8);
        } else {
            self.report.row_switches += 1;
            self.switches.push(tick + HBM_ROW_SWITCH_TICKS, index as u8);
        }
        bank.state = RowState::Opening;
    }

    /// The next command slot that will be used if nothing happens before, and the unit.
    ///
    /// Served may be a unit whose row has served others, and the oldest of the units whose row has not.
    #[inline]
    fn next_command(&self) -> (u64, usize) {
        if let Some(held) = self.held {
            return held;
        }
        let candidates = self.used | (self.fresh & self.fresh.wrapping_neg());
        if candidates == 0 {
            return (u64::MAX, 0);
        }
        let earliest = self.now.next_multiple_of(HBM_COMMAND_CYCLE_TICKS);
        let [other_group, other_slice, same_group] = self.allowed;
        let apart = candidates & !self.groups[self.last_bank / HBM_BANKS];
        let near = apart & self.slices[self.last_bank / (HBM_BANK_GROUPS * HBM_BANKS)];
        let tick = match (near, apart) {
            (0, 0) => earliest.max(same_group),
            (0, _) => earliest.max(other_slice),
            _ => earliest.max(other_group),
        };
        let allowed = if tick >= same_group {
            candidates
        } else if tick >= other_slice {
            apart
        } else {
            near
        };
        (tick, oldest(allowed))
    }

    /// The next event, if it is before `until`.
    #[inline]
    fn step(&mut self, until: u64) -> bool {
        let (command, at) = self.next_command();
        let (activation, switch) = (self.activations.next(), self.switches.next());
        let opened = activation.min(switch);
        // A row that is open in the tick of a slot can use the slot.
        if opened.min(command) >= until {
            return false;
        }
        if opened <= command {
            let bank = if activation <= switch { self.activations.pop() } else { self.switches.pop() };
            let bank = &mut self.banks[usize::from(bank)];
            bank.state = RowState::Fresh;
            self.fresh |= bank.hits;
            self.now = self.now.max(opened);
        } else {
            self.issue(command, at);
            self.now = command + 1;
        }
        true
    }

    /// A command of a unit.
    #[inline]
    fn issue(&mut self, tick: u64, at: usize) {
        let unit = 1 << at;
        let entry = &mut self.entries[at];
        let index = usize::from(entry.bank);
        let bank = &mut self.banks[index];
        if bank.state == RowState::Fresh {
            bank.state = RowState::Used;
            self.fresh &= !bank.hits;
            self.used |= bank.hits;
        }
        self.last_bank = index;
        self.allowed = [
            tick + HBM_TCCD_OTHER_GROUP_TICKS,
            tick + HBM_TCCD_OTHER_SLICE_TICKS,
            tick + HBM_TCCD_SAME_GROUP_TICKS,
        ];
        self.report.busy_ticks += HBM_CONTROLLER_CYCLE_TICKS;
        self.report.finish_ticks = tick + HBM_CONTROLLER_CYCLE_TICKS;
        entry.commands -= 1;
        if entry.commands > 0 {
            if entry.partial_write {
                let rest = HBM_PARTIAL_WRITE_TICKS - HBM_CONTROLLER_CYCLE_TICKS;
                self.held = Some((tick + rest, at));
                self.report.busy_ticks += rest - HBM_CONTROLLER_CYCLE_TICKS;
            }
            return;
        }
        self.held = None;
        self.report.units += 1;
        self.report.partial_writes += u64::from(entry.partial_write);
        self.len -= 1;
        self.used &= !unit;
        self.slices[index / (HBM_BANK_GROUPS * HBM_BANKS)] &= !unit;
        self.groups[index / HBM_BANKS] &= !unit;
        bank.waiting &= !unit;
        bank.hits &= !unit;
        if bank.hits == 0 && bank.waiting != 0 {
            self.open(index, tick);
        }
    }
}
