//! The event-driven model of the `detailed` profile.

use super::address::Place;
use super::channel::{Channel, ChannelReport};
use super::period::Period;
use super::stream::{InTurn, Repeating, Strided, Transfer, Unknown};
use super::{ChannelUse, HbmMap, HbmServed, Request, core_cycles};
use furiosa_visa_rules::spec::{CORE_CYCLE_TICKS, HBM_CHANNELS};

/// The HBM of a chip with its queues, banks and command slots.
///
/// **Engines.** Each offers its next transfer in every core cycle. In cycle `c`, engine `c` modulo their number goes
/// first, then the next ones; a bank sees them one after another. A full queue blocks the engine until there is room in
/// it. A request across a boundary of 256 bytes is two transfers, one after the other.
///
/// **Channels.** In a queue of 64 units, a unit of 256 bytes is 4 column commands. A command may go in a slot of the
/// command clock if the row of its unit is open, tCCD has passed since the last command of the channel, and
/// * the row has served a command since it was opened, or
/// * the unit is the oldest of all whose rows have not.
///
/// The oldest such unit goes. That is first-ready, first-come first-served: open rows in use go on, others begin in the
/// order of arrival. (If any opened row could begin at once, random accesses would be as fast as a stream. Simulators
/// of HBM3 see 0.76 of it.)
///
/// **Banks.** As soon as no unit in the queue wants the open row of a bank, the bank switches to the row of the oldest
/// unit that waits for it, in 44 ns, or 20 ns if it was closed. Banks do this side by side, and beside the data.
///
/// **Partial writes** hold their channel from their first command for 50 times the time of a unit. Banks open rows
/// meanwhile.
///
/// A unit leaves the queue with its last command, whose data ends 4 ticks later. All rows are closed at first.
#[derive(Clone, Debug)]
pub struct Detailed {
    map: HbmMap,
    channels: Vec<Channel>,
}

/// Result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HbmReport {
    /// The tick in which the last data was moved.
    pub finish_ticks: u64,
    /// Work of each channel. Stack 0 comes first.
    pub channels: [ChannelReport; HBM_CHANNELS],
}

impl HbmReport {
    /// Core cycles until the last data was moved.
    pub const fn finish_cycles(&self) -> u64 {
        core_cycles(self.finish_ticks)
    }

    /// The part of it that a timeline shows.
    pub fn served(&self) -> HbmServed {
        HbmServed::new(self.finish_ticks, core::array::from_fn(|k| ChannelUse::of(&self.channels[k])))
    }

    /// Work of all channels together. It starts with the first command of any channel.
    pub fn total(&self) -> ChannelReport {
        let mut total = ChannelReport::default();
        let starts =
            self.channels.iter().filter(|channel| channel.units > 0).map(|channel| channel.start_ticks);
        total.start_ticks = starts.min().unwrap_or(0);
        for channel in &self.channels {
            total.units += channel.units;
            total.bytes += channel.bytes;
            total.busy_ticks += channel.busy_ticks;
            total.openings += channel.openings;
            total.row_switches += channel.row_switches;
            total.partial_writes += channel.partial_writes;
            total.finish_ticks = total.finish_ticks.max(channel.finish_ticks);
        }
        total
    }
}

/// The head of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Core cycle of the next offer. [`NEVER`] if nothing is left.
    next_cycle: u64,
    place: Place,
    bytes: u32,
    partial_write: bool,
    /// The second half of a request across a boundary.
    second: Option<Transfer>,
}

/// Cycle of an engine that has nothing left.
const NEVER: u64 = u64::MAX;

impl Head {
    const IDLE: Self = Self {
        next_cycle: 0,
        place: Place { channel: 0, bank: 0, row: 0 },
        bytes: 0,
        partial_write: false,
        second: None,
    };

    /// Takes the next transfer of the stream, to be offered in `cycle`.
    #[inline]
    fn take(&mut self, stream: &mut impl Iterator<Item = Request>, map: HbmMap, cycle: u64) {
        let transfer = match self.second.take() {
            Some(transfer) => transfer,
            None => {
                let Some(request) = stream.next() else {
                    self.next_cycle = NEVER;
                    return;
                };
                let (first, second) = request.transfers();
                self.second = second;
                first
            }
        };
        self.place = map.place(transfer.address);
        self.bytes = transfer.bytes;
        self.partial_write = transfer.partial_write;
        self.next_cycle = cycle;
    }

    /// The same head, with cycles counted from `cycle` on.
    pub fn after(self, cycle: u64) -> Self {
        let next_cycle = if self.next_cycle == NEVER { NEVER } else { self.next_cycle - cycle };
        Self { next_cycle, ..self }
    }

    /// Lets time pass.
    pub fn pass(&mut self, cycles: u64) {
        self.next_cycle = self.next_cycle.saturating_add(cycles);
    }
}

impl Detailed {
    /// HBM with addresses spread by `map`.
    pub fn new(map: HbmMap) -> Self {
        Self { map, channels: vec![Channel::new(); HBM_CHANNELS] }
    }

    /// Serves streams, one per engine, from tick 0 and from closed rows. An engine that reads and writes at the same
    /// time is two streams.
    ///
    /// # Panics
    ///
    /// If a request leaves HBM, or has no bytes or more than 256.
    pub fn run<S: Iterator<Item = Request>>(&mut self, streams: &mut [S]) -> HbmReport {
        self.serve(&mut streams.iter_mut().map(Unknown).collect::<Vec<_>>())
    }

    /// Serves nested loops. Their repetitions are passed at once as soon as the channels repeat, too.
    ///
    /// # Panics
    ///
    /// If a request leaves HBM.
    pub fn run_loops<I: Iterator<Item = Strided>>(&mut self, streams: &mut [InTurn<I>]) -> HbmReport {
        self.serve(streams)
    }

    fn serve<S: Repeating>(&mut self, streams: &mut [S]) -> HbmReport {
        self.channels.iter_mut().for_each(Channel::reset);
        let mut engines = vec![Head::IDLE; streams.len()];
        for (engine, stream) in engines.iter_mut().zip(streams.iter_mut()) {
            engine.take(stream, self.map, 0);
        }
        let mut period = Period::new();
        let mut cycle = 0;
        while cycle != NEVER {
            if period.is_due() {
                cycle += period.pass(cycle, streams, &mut engines, &mut self.channels);
            }
            let mut next_cycle = NEVER;
            let mut at = (cycle % engines.len().max(1) as u64) as usize;
            for _ in 0..engines.len() {
                let engine = &mut engines[at];
                if engine.next_cycle == cycle {
                    let channel = &mut self.channels[usize::from(engine.place.channel)];
                    match channel.offer(engine.place, engine.partial_write, cycle * CORE_CYCLE_TICKS) {
                        Ok(()) => {
                            channel.count_bytes(engine.bytes);
                            engine.take(&mut streams[at], self.map, cycle + 1);
                            period.taken(&mut streams[at]);
                        }
                        Err(room_from) => engine.next_cycle = core_cycles(room_from),
                    }
                }
                next_cycle = next_cycle.min(engine.next_cycle);
                at = if at + 1 == engines.len() { 0 } else { at + 1 };
            }
            cycle = next_cycle;
        }
        let mut report = HbmReport { finish_ticks: 0, channels: [ChannelReport::default(); HBM_CHANNELS] };
        for (channel, report) in self.channels.iter_mut().zip(&mut report.channels) {
            *report = channel.finish();
        }
        report.finish_ticks = report.total().finish_ticks;
        report
    }
}
