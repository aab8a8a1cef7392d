//! One channel of the detailed model: its queue, its banks, its command slots.
//!
//! A bank serves the units for its row in the order of arrival. So only the first of them matters at any time, and a
//! set of units that may be served is a mask of banks. Time goes from event to event: a row that has opened, or a
//! command.

use super::address::{CHANNEL_BANKS, Place};
use super::bank::{Bank, Fifo, NO_ROW, NOBODY, Set, Unit, Waiting, ranked};
use furiosa_visa_rules::spec::{
    HBM_ACTIVATION_TICKS, HBM_BANK_GROUPS, HBM_BANKS, HBM_COMMAND_CYCLE_TICKS, HBM_CONTROLLER_CYCLE_TICKS,
    HBM_PARTIAL_WRITE_TICKS, HBM_QUEUE_UNITS, HBM_ROW_SWITCH_TICKS, HBM_TCCD_OTHER_GROUP_TICKS,
    HBM_TCCD_OTHER_SLICE_TICKS, HBM_TCCD_SAME_GROUP_TICKS, HBM_UNIT_COMMANDS, HBM_UNIT_TICKS,
};

/// Work of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelReport {
    /// Units that were read or written.
    pub units: u64,
    /// Bytes of them that were requested.
    pub bytes: u64,
    /// Ticks in which the channel moved data or was held by a partial write.
    pub busy_ticks: u64,
    /// Rows that were opened in a closed bank.
    pub openings: u64,
    /// Rows that were opened in place of another.
    pub row_switches: u64,
    /// Writes of a part of a unit.
    pub partial_writes: u64,
    /// The tick of the first command. 0 if there was none.
    pub start_ticks: u64,
    /// The tick in which the last data was moved. 0 if there was none.
    pub finish_ticks: u64,
}

impl ChannelReport {
    /// Units whose row was open, or was being opened for another unit.
    pub const fn row_hits(&self) -> u64 {
        self.units - self.openings - self.row_switches
    }
}

const _: () = assert!(CHANNEL_BANKS <= Set::BITS as usize && HBM_QUEUE_UNITS == u64::BITS as usize);

/// Length of arrays of banks: a power of two above their number, so that the rest of a division by it is the bank
/// itself, and is inside.
const BANKS: usize = Set::BITS as usize;

/// Ticks between commands for two bank groups of a slice, for two slices, and for one bank group (tCCD).
const GAPS: [u64; 3] = [HBM_TCCD_OTHER_GROUP_TICKS, HBM_TCCD_OTHER_SLICE_TICKS, HBM_TCCD_SAME_GROUP_TICKS];

const _: () = assert!(GAPS[0] <= GAPS[1] && GAPS[1] <= GAPS[2]);
const _: () = assert!(HBM_UNIT_TICKS <= GAPS[0] * HBM_UNIT_COMMANDS as u64, "no unit takes less");

/// For each bank, the banks in other bank groups of its slice, and those in other bank groups of the channel.
const ELSEWHERE: [[Set; 2]; BANKS] = {
    const SLICE: usize = HBM_BANK_GROUPS * HBM_BANKS;
    let mut elsewhere = [[0; 2]; BANKS];
    let mut bank = 0;
    while bank < BANKS {
        let group: Set = ((1 << HBM_BANKS) - 1) << (bank / HBM_BANKS * HBM_BANKS);
        let slice: Set = ((1 << SLICE) - 1) << (bank / SLICE * SLICE);
        elsewhere[bank] = [slice & !group, !group];
        bank += 1;
    }
    elsewhere
};

/// Subsets of `banks` that can get a command, after each of [`GAPS`], behind a command for the bank `last`: other bank
/// groups of its slice, other bank groups, all. Each set contains the one before.
#[inline]
const fn after(last: usize, banks: Set) -> [Set; 3] {
    let [in_slice, everywhere] = ELSEWHERE[last % BANKS];
    [banks & in_slice, banks & everywhere, banks]
}

/// Index of the first non-empty set. The last set must be non-empty.
#[inline]
const fn first_of(sets: [Set; 3]) -> usize {
    (sets[0] == 0) as usize + (sets[1] == 0) as usize
}

/// A bank without a request so far.
const CLOSED: Bank = Bank {
    hits: Fifo::EMPTY,
    others: Fifo::EMPTY,
    row: NO_ROW,
    commands: 0,
    partial_write: false,
    rank: 0,
    open_ticks: 0,
};

/// Places for the units of a channel.
#[derive(Clone, Debug)]
struct Queue {
    units: [Unit; HBM_QUEUE_UNITS],
    /// Free places of `units`, as a mask.
    free: u64,
    /// Number of units that have entered the queue.
    entered: u64,
}

/// Command slots.
#[derive(Clone, Debug, Default)]
struct Commands {
    /// Tick of the last command.
    last_tick: u64,
    /// Bank of the last command.
    last_bank: usize,
    /// Ticks from which the next command can go: after each of [`GAPS`].
    allowed: [u64; 3],
    /// Next slot that will be used, and its bank, if they are known.
    next: Option<(u64, usize)>,
    /// The tick of the last command of the partial write that holds the channel, and its bank.
    held: Option<(u64, usize)>,
}

/// Units that have arrived since the channel was settled. A channel that is not full need not be settled at once, and
/// it is faster to do much at one channel than a little at many.
#[derive(Clone, Debug)]
struct Arrivals {
    list: [Arrival; HBM_QUEUE_UNITS],
    len: usize,
    /// Number of places of the queue that were free then.
    room: usize,
    /// The queue is full before this tick.
    room_from: u64,
}

/// A unit that enters the queue.
#[derive(Clone, Copy, Debug, Default)]
struct Arrival {
    tick: u64,
    place: Place,
    partial_write: bool,
}

/// One channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    queue: Queue,
    banks: [Bank; BANKS],
    /// Banks with a row.
    active: Set,
    /// Banks with units for an open row that has served some command since it was opened.
    used: Set,
    /// Banks with units for a row, open or opening, that has served no command.
    waiting: Waiting,
    /// First tick that is not decided yet.
    now: u64,
    commands: Commands,
    report: ChannelReport,
    arrivals: Arrivals,
}

impl Channel {
    pub fn new() -> Self {
        let list = [Arrival::default(); HBM_QUEUE_UNITS];
        Self {
            queue: Queue { units: [Unit::default(); HBM_QUEUE_UNITS], free: u64::MAX, entered: 0 },
            banks: [CLOSED; BANKS],
            active: 0,
            used: 0,
            waiting: Waiting::new(),
            now: 0,
            commands: Commands::default(),
            report: ChannelReport::default(),
            arrivals: Arrivals { list, len: 0, room: HBM_QUEUE_UNITS, room_from: 0 },
        }
    }

    /// Resets the channel. It clears only the parts that were used, so that a short load is cheap.
    pub fn reset(&mut self) {
        let mut rest = core::mem::take(&mut self.active);
        while rest != 0 {
            self.banks[rest.trailing_zeros() as usize % BANKS] = CLOSED;
            rest &= rest - 1;
        }
        // Free places, and banks without a row, are never read. Every field has a name here.
        let Self { queue, banks: _, active: _, used, waiting, now, commands, report, arrivals } = self;
        (queue.free, queue.entered) = (u64::MAX, 0);
        (arrivals.len, arrivals.room, arrivals.room_from) = (0, HBM_QUEUE_UNITS, 0);
        (*used, *now, *waiting) = (0, 0, Waiting::new());
        (*commands, *report) = (Commands::default(), ChannelReport::default());
    }

    /// Offers a unit to the queue at `tick`. If there is no room, the error is the tick from which there is room.
    ///
    /// Ticks do not decrease from call to call.
    #[inline]
    pub fn offer(&mut self, place: Place, partial_write: bool, tick: u64) -> Result<(), u64> {
        if tick < self.arrivals.room_from {
            return Err(self.arrivals.room_from);
        }
        if self.arrivals.len == self.arrivals.room {
            self.settle(tick);
            if self.queue.free == 0 {
                // No unit can arrive before there is room, which is after the command that makes it.
                self.advance(u64::MAX, true);
                self.arrivals.room = self.queue.free.count_ones() as usize;
                self.arrivals.room_from = self.now;
                return Err(self.arrivals.room_from);
            }
        }
        self.arrivals.list[self.arrivals.len] = Arrival { tick, place, partial_write };
        self.arrivals.len += 1;
        Ok(())
    }

    /// Counts the bytes of a unit that was taken.
    #[inline]
    pub fn count_bytes(&mut self, bytes: u32) {
        self.report.bytes += u64::from(bytes);
    }

    /// Serves all units that were offered, and reports the work.
    pub fn finish(&mut self) -> ChannelReport {
        self.settle(u64::MAX);
        let ChannelReport { units, partial_writes, .. } = self.report;
        if units > 0 {
            self.report.finish_ticks = self.commands.last_tick + HBM_CONTROLLER_CYCLE_TICKS;
        }
        self.report.busy_ticks =
            (units - partial_writes) * HBM_UNIT_TICKS + partial_writes * HBM_PARTIAL_WRITE_TICKS;
        self.report
    }

    /// Decides everything before `until`, arrivals included.
    #[inline(never)]
    pub fn settle(&mut self, until: u64) {
        for k in 0..self.arrivals.len {
            let arrival = self.arrivals.list[k];
            if !self.may_enter_early(&arrival) {
                self.advance(arrival.tick, false);
            }
            self.enter(arrival);
        }
        self.arrivals.len = 0;
        self.advance(until, false);
        self.arrivals.room = self.queue.free.count_ones() as usize;
    }

    /// Adds all values that decide the future from `tick` on to `state`, with ticks and arrivals counted from there.
    /// Everything before `tick` must be settled.
    pub fn state(&self, tick: u64, state: &mut Vec<u64>) {
        let after = |at: u64| at.saturating_sub(tick);
        // Once tCCD allows a command for any bank, the last bank does not matter.
        let last_bank = if after(self.commands.allowed[2]) > 0 { self.commands.last_bank as u64 } else { 0 };
        state.extend([after(self.now), after(self.arrivals.room_from), last_bank]);
        state.extend(self.commands.allowed.map(after));
        state.extend(self.commands.held.map_or([0; 2], |(at, bank)| [1 + after(at), bank as u64]));
        let mut rest = self.active;
        while rest != 0 {
            let index = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let bank = &self.banks[index % BANKS];
            let (open, used) = (after(bank.open_ticks), self.used >> index & 1);
            state.push(open << 32 | used << 24 | (index as u64) << 16 | u64::from(bank.row));
            for line in [bank.hits, bank.others] {
                let mut at = line.first;
                while at != NOBODY {
                    let unit = self.queue.units[usize::from(at) % HBM_QUEUE_UNITS];
                    let commands = if at == bank.hits.first { bank.commands } else { unit.commands() };
                    let form = u64::from(commands) << 1 | u64::from(unit.partial_write);
                    state.extend([self.queue.entered - unit.number, form << 16 | u64::from(unit.row)]);
                    at = unit.next;
                }
                // No unit has this number.
                state.push(0);
            }
        }
    }

    /// Counts of its work, and the tick of its last command.
    pub fn counts(&self) -> (ChannelReport, u64) {
        (self.report, self.commands.last_tick)
    }

    /// Repeats everything since these counts another `times` times; together, the repeats take `ticks` ticks.
    pub fn repeat(&mut self, (report, last_tick): &(ChannelReport, u64), times: u64, ticks: u64) {
        let total = &mut self.report;
        total.units += (total.units - report.units) * times;
        total.bytes += (total.bytes - report.bytes) * times;
        total.openings += (total.openings - report.openings) * times;
        total.row_switches += (total.row_switches - report.row_switches) * times;
        total.partial_writes += (total.partial_writes - report.partial_writes) * times;
        if self.commands.last_tick != *last_tick {
            self.commands.last_tick += ticks;
        }
        self.commands.next = None;
        self.now += ticks;
        self.arrivals.room_from += ticks;
        self.commands.allowed = self.commands.allowed.map(|at| at + ticks);
        self.commands.held = self.commands.held.map(|(at, bank)| (at + ticks, bank));
        self.waiting.pass(ticks);
        for bank in &mut self.banks {
            bank.open_ticks += ticks;
        }
    }

    /// Decides everything before `until` if nothing arrives. With `to_room`, it stops when there is room in the queue.
    fn advance(&mut self, until: u64, to_room: bool) {
        loop {
            if to_room && self.queue.free != 0 {
                return;
            }
            let (tick, bank) = match self.commands.next {
                Some(next) => next,
                None => self.next_command(),
            };
            self.commands.next = Some((tick, bank));
            let change_ticks = self.waiting.change_ticks;
            if tick.min(change_ticks) >= until {
                self.now = self.now.max(until);
                return;
            }
            // A row that is open in the tick of a slot can use the slot.
            if change_ticks <= tick {
                // Another bank is the first to begin its row.
                self.now = self.now.max(change_ticks);
                self.waiting.look(change_ticks, &self.banks);
                self.commands.next = None;
            } else {
                self.issue(tick, bank, until);
            }
        }
    }

    /// Tells if a unit may enter before its time, because no decision before its arrival depends on it: its bank has no
    /// other unit and must open its row, or is busy until then with other units, each for at least [`HBM_UNIT_TICKS`].
    #[inline]
    fn may_enter_early(&self, arrival: &Arrival) -> bool {
        let bank = &self.banks[usize::from(arrival.place.bank) % BANKS];
        if bank.hits.is_empty() {
            return bank.row != arrival.place.row;
        }
        self.now.max(bank.open_ticks) + u64::from(bank.hits.len - 1) * HBM_UNIT_TICKS >= arrival.tick
    }

    /// Puts a unit into the queue.
    #[inline]
    fn enter(&mut self, Arrival { tick, place: Place { bank, row, .. }, partial_write }: Arrival) {
        debug_assert!(self.queue.free != 0);
        let at = self.queue.free.trailing_zeros() as u8;
        self.queue.free &= self.queue.free - 1;
        let number = self.queue.entered;
        self.queue.entered += 1;
        self.queue.units[usize::from(at) % HBM_QUEUE_UNITS] =
            Unit { number, row, partial_write, next: NOBODY };
        let index = usize::from(bank);
        let bank = &mut self.banks[index % BANKS];
        if !bank.hits.is_empty() {
            let line = if bank.row == row { &mut bank.hits } else { &mut bank.others };
            return line.push(at, &mut self.queue.units);
        }
        bank.hits.push(at, &mut self.queue.units);
        if bank.row == row {
            // The row has served all its units before: a row with units to serve has hits.
            bank.begin(index, &self.queue.units);
            self.used |= 1 << index;
            self.commands.next = None;
        } else {
            bank.row = row;
            self.open(index, tick);
        }
    }

    /// Turns a bank to the row of the first unit that waits for another row.
    fn go_on(&mut self, index: usize, tick: u64) {
        let bank = &mut self.banks[index % BANKS];
        let mut at = bank.others.first;
        bank.row = self.queue.units[usize::from(at) % HBM_QUEUE_UNITS].row;
        bank.others = Fifo::EMPTY;
        while at != NOBODY {
            let Unit { row, next, .. } = self.queue.units[usize::from(at) % HBM_QUEUE_UNITS];
            let line = if row == bank.row { &mut bank.hits } else { &mut bank.others };
            line.push(at, &mut self.queue.units);
            at = next;
        }
        self.open(index, tick);
    }

    /// Begins to open the row of a bank.
    #[inline]
    fn open(&mut self, index: usize, tick: u64) {
        let bank = &mut self.banks[index % BANKS];
        bank.begin(index, &self.queue.units);
        let closed = self.active >> index & 1 == 0;
        self.active |= 1 << index;
        if closed {
            bank.open_ticks = tick + HBM_ACTIVATION_TICKS;
            if self.report.openings == 0 {
                // Units arrive in order, so that no other row is open earlier.
                self.report.start_ticks = bank.open_ticks.next_multiple_of(HBM_COMMAND_CYCLE_TICKS);
            }
            self.report.openings += 1;
        } else {
            self.report.row_switches += 1;
            bank.open_ticks = tick + HBM_ROW_SWITCH_TICKS;
        }
        self.waiting.add(bank.rank, bank.open_ticks);
    }

    /// Banks whose first unit may be served: all banks whose row has served a unit, and the bank with the oldest unit of
    /// all others.
    #[inline]
    fn candidates(&self) -> Set {
        self.waiting.head().map_or(self.used, |rank| self.used | 1 << ranked(rank))
    }

    /// The bank with the oldest first unit. `banks` is not empty.
    #[inline]
    fn oldest(&self, banks: Set) -> usize {
        let rank = |bank: u32| self.banks[bank as usize % BANKS].rank;
        // Mostly one or two banks: the first and the last.
        let (first, last) = (banks.trailing_zeros(), Set::BITS - 1 - banks.leading_zeros());
        let mut least = rank(first).min(rank(last));
        let mut rest = banks & (banks - 1) & !(1 << last);
        while rest != 0 {
            least = least.min(rank(rest.trailing_zeros()));
            rest &= rest - 1;
        }
        (least % u64::from(Set::BITS)) as usize
    }

    /// The next command slot that is used if nothing happens before, and its bank.
    #[inline]
    fn next_command(&self) -> (u64, usize) {
        if let Some(held) = self.commands.held {
            return held;
        }
        let candidates = self.candidates();
        if candidates == 0 {
            return (u64::MAX, 0);
        }
        let earliest = self.now.next_multiple_of(HBM_COMMAND_CYCLE_TICKS);
        let sets = after(self.commands.last_bank, candidates);
        let tick = earliest.max(self.commands.allowed[first_of(sets)]);
        let wait =
            usize::from(tick >= self.commands.allowed[1]) + usize::from(tick >= self.commands.allowed[2]);
        (tick, self.oldest(sets[wait]))
    }

    /// Next command after one for a bank, if the candidates stay: the ticks until it, and its bank. Selected, not indexed
    /// by [`first_of`]: that saves 3 % of the time of random units.
    #[inline]
    fn follower(&self, bank: usize, candidates: Set) -> (u64, usize) {
        let [in_slice, everywhere, all] = after(bank, candidates);
        let (gap, set) = if everywhere != 0 { (GAPS[1], everywhere) } else { (GAPS[2], all) };
        let (gap, set) = if in_slice != 0 { (GAPS[0], in_slice) } else { (gap, set) };
        (gap, self.oldest(set))
    }

    /// Issues a command for a bank, and the commands after it that are certain: those of the same unit, or of two units
    /// in turns, until a unit is done or `limit`, when something else happens.
    #[inline]
    fn issue(&mut self, tick: u64, bank: usize, mut limit: u64) {
        let first = &self.banks[bank % BANKS];
        let Bank { commands, partial_write, .. } = *first;
        if self.used >> bank & 1 == 0 {
            // It is the oldest of all: no other row begins.
            self.waiting.pop(tick, &self.banks);
            self.used |= 1 << bank;
        }
        if partial_write && commands > 1 {
            return self.hold(tick, bank);
        }
        let candidates = self.candidates();
        let (gap, other) = self.follower(bank, candidates);
        let partner = &self.banks[other % BANKS];
        let turns = self.used >> other & 1 == 1
            && !partner.partial_write
            && (other == bank || self.follower(other, candidates) == (gap, bank));
        let most = match (turns, other == bank) {
            (false, _) => 1,
            (true, true) => commands,
            (true, false) => (2 * commands - 1).min(2 * partner.commands),
        };
        let mut count = u64::from(most);
        let end = |count: u64| tick + (count - 1) * gap;
        limit = limit.min(self.waiting.change_ticks);
        while end(count) >= limit {
            count -= 1;
        }
        let last = if count % 2 == 1 { bank } else { other };
        self.banks[other % BANKS].commands -= (count / 2) as u8;
        self.banks[bank % BANKS].commands -= count.div_ceil(2) as u8;
        self.issued(tick + (count - 1) * gap, last);
        let done = self.banks[last % BANKS].commands == 0;
        if done {
            self.leave(last, self.now - 1);
        }
        // The next command is certain, unless its unit is done. A command for a bank of another group has another unit.
        // Without other candidates, the next unit of the bank takes the turn of the unit that is done.
        let only = || turns && candidates == (1 << bank | 1 << other) && self.candidates() == candidates;
        if !done || other / HBM_BANKS != bank / HBM_BANKS || only() {
            let next = if last == bank { other } else { bank };
            self.commands.next = Some((self.commands.last_tick + gap, next));
        }
    }

    /// Issues the first command of a partial write. No other command goes until its last one.
    #[cold]
    fn hold(&mut self, tick: u64, bank: usize) {
        let rest = HBM_PARTIAL_WRITE_TICKS - HBM_CONTROLLER_CYCLE_TICKS;
        self.commands.held = Some((tick + rest, bank));
        self.banks[bank % BANKS].commands = 1;
        self.report.partial_writes += 1;
        self.issued(tick, bank);
    }

    /// Records that a command for a bank was issued.
    #[inline]
    fn issued(&mut self, tick: u64, bank: usize) {
        self.commands.next = None;
        self.now = tick + 1;
        self.commands.last_bank = bank;
        self.commands.allowed = [tick + GAPS[0], tick + GAPS[1], tick + GAPS[2]];
        self.commands.last_tick = tick;
    }

    /// Removes the first unit for the row of a bank, which is done.
    #[inline]
    fn leave(&mut self, index: usize, tick: u64) {
        self.commands.held = None;
        self.report.units += 1;
        let bank = &mut self.banks[index % BANKS];
        let place = bank.hits.first;
        self.queue.free |= 1 << place;
        bank.hits.first = self.queue.units[usize::from(place) % HBM_QUEUE_UNITS].next;
        bank.hits.len -= 1;
        if !bank.hits.is_empty() {
            bank.begin(index, &self.queue.units);
            return;
        }
        self.used &= !(1 << index);
        if !bank.others.is_empty() {
            self.go_on(index, tick);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { channel: 0, bank: 5, row: 7 };

    /// A queue takes 64 units and not 65. There is room after the last command of a unit, not in its tick.
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
