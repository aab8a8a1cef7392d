//! The Switch Engine: slices receive packets of other slices.
//!
//! ```text
//!   sent         slice 0   p0 p1 p2 …        gathered   slice 0   p0 q0 p1 q1 …
//!                slice 1   q0 q1 q2 …
//! ```
//!
//! Packets are gathered source by source, so that the packets of one slice are read from one end to the other. There
//! are three ways:
//!
//! | the pass | packets go |
//! |---|---|
//! | reads, switches and writes whole packets | from DM to DM: [`direct`] |
//! | reads whole packets and computes | from DM to buffers of some slices at a time, which then commit theirs |
//! | computes before the switch, or writes over its sources | to buffers of all slices before any is written |

mod direct;
mod flits;

use super::fetch::{FetchBuffers, FetchPlan};
use super::threads::{LEAST_SLICES, each, threads};
use super::{Buffers, Packets, Pass};
use crate::memory::Unit;
use crate::memory::row::Row;
use flits::{Flit, Receiver};
use furiosa_visa_rules::command::Switch;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::SLICES;

/// A loop over the packets that a slice receives.
#[derive(Clone, Copy, Debug)]
struct Gather {
    size: usize,
    /// Source slices, source packets and gathered packets per iteration.
    slices: usize,
    time: usize,
    step: usize,
}

/// Source and place of a run of packets, relative to the first packet that a slice receives.
#[derive(Clone, Copy, Debug)]
struct Offset {
    slice: usize,
    time: usize,
    step: usize,
}

/// Positions of packets: the first byte of each.
#[derive(Debug)]
struct Spots<'a> {
    starts: &'a [u32],
    /// True if each packet follows the one before it without a gap.
    is_even: bool,
}

/// The switch of a pass.
#[derive(Debug)]
pub(super) struct SwitchPlan {
    switch: Switch,
    /// The slices from which a slice receives packets.
    sources: Vec<Offset>,
    /// The starts of the runs of packets from one source.
    runs: Vec<Offset>,
    /// A run: evenly spaced packets that go to evenly spaced places.
    run: Gather,
    /// Number of packets that a slice receives.
    steps: usize,
    element: ElementType,
    /// Elements of a packet.
    lanes: usize,
    /// Bytes of a packet.
    bytes: usize,
    /// Starts of the packets of a slice, both of fetched and of gathered ones.
    starts: Vec<u32>,
}

/// Bytes of packets whose memory is kept for the next switch.
const KEPT_BYTES: usize = 64 << 20;

/// Bytes of packets that a thread gathers before they are committed, for at most 16 slices. They stay in its cache.
const GATHERED_BYTES: usize = 256 << 10;

/// The packets of all slices that the last switch fetched. The next one uses their memory again, unless it is large.
#[derive(Debug, Default)]
pub(crate) struct Switched(Vec<Row>);

impl Switched {
    /// The rows, to be fetched again.
    pub(super) fn rows(&mut self) -> &mut Vec<Row> {
        &mut self.0
    }

    /// Frees the rows if they are large.
    pub(super) fn trim(&mut self) {
        if self.0.iter().map(|row| row.bytes().len()).sum::<usize>() > KEPT_BYTES {
            self.0 = Vec::new();
        }
    }
}

/// The packets of all slices before a switch, made by [`Sent::new`].
#[derive(Debug)]
pub(super) struct Sent<'a> {
    /// The bytes of each slice. Slices that send nothing have none.
    bytes: Vec<&'a [u8]>,
    /// Per slice, a flag per element: true if it is written. `None`: all are.
    flags: Vec<Option<&'a [bool]>>,
    /// Per slice: true if it sends, and all its packets are written.
    whole: Vec<bool>,
    /// Positions of the packets, the same in all slices.
    spots: Spots<'a>,
    /// The bytes as flits, from the first packet on.
    flits: Vec<&'a [Flit]>,
}

impl<'a> Sent<'a> {
    fn new(bytes: Vec<&'a [u8]>, flags: Vec<Option<&'a [bool]>>, whole: Vec<bool>, spots: Spots<'a>) -> Self {
        let flits = bytes.iter().map(|bytes| spots.flits(bytes)).collect();
        Self { bytes, flags, whole, spots, flits }
    }
}

impl SwitchPlan {
    /// Prepares the switch of packets that `fetch` reads and collects.
    pub(super) fn new(switch: &Switch, fetch: &FetchPlan) -> Self {
        let mut step = 1;
        let mut loops: Vec<Gather> = (switch.time_digits.iter().rev())
            .map(|digit| {
                let gather = Gather { size: digit.size, slices: digit.slices, time: digit.time, step };
                step *= digit.size;
                gather
            })
            .collect();
        loops.reverse();
        let (between, mut within): (Vec<Gather>, Vec<Gather>) =
            loops.iter().partition(|gather| gather.slices > 0);
        let run = within.pop().unwrap_or(Gather { size: 1, slices: 0, time: 1, step: 1 });
        let (lanes, bytes) = (fetch.padded(), fetch.packet_bytes());
        let starts = (0..switch.in_time.max(step)).map(|step| (step * bytes) as u32).collect();
        Self {
            switch: *switch,
            sources: offsets(&between),
            runs: offsets(&within),
            run,
            steps: step,
            element: fetch.output(),
            lanes,
            bytes,
            starts,
        }
    }

    /// Number of packets that a slice receives.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// Tells if a slice receives packets.
    pub(super) fn reaches(&self, at: Coordinates) -> bool {
        self.switch.first_source(at.slice).is_some()
    }

    /// Tells if all packets that a slice receives come from `slices` of the system.
    pub(super) fn gets_from(&self, at: Coordinates, slices: &[bool]) -> bool {
        let first = Coordinates { slice: 0, ..at }.slice_number();
        self.switch.snoop.sources(at.slice).into_iter().all(|slice| slices[first + slice])
    }

    /// Source of a packet: the slice, and the number of the packet there.
    pub(super) fn source(&self, at: Coordinates, step: usize) -> (Coordinates, usize) {
        match self.switch.source(at.slice, step) {
            Some((slice, step)) => (Coordinates { slice, ..at }, step),
            None => (at, step),
        }
    }

    /// Source of the first packet that a slice receives: the number of the slice, and the packet there.
    fn first_source(&self, at: Coordinates) -> Option<(usize, usize)> {
        let (slice, time) = self.switch.first_source(at.slice)?;
        Some((Coordinates { slice, ..at }.slice_number(), time))
    }

    /// Gathers the packets that a slice receives.
    pub(super) fn gather(&self, at: Coordinates, sent: &Sent<'_>, output: &mut Row) {
        let first = Coordinates { slice: 0, ..at }.slice_number();
        let source = self.first_source(at);
        let incomplete = sent.whole[first..first + SLICES].contains(&false);
        let missing = source.is_none_or(|(slice, _)| incomplete && self.any_missing(slice, &sent.whole));
        let (bytes, flags) = if missing {
            output.clear(self.element);
            output.push_blank(self.steps * self.lanes, Some(&[]))
        } else {
            (output.renew(self.element, self.steps * self.lanes), Default::default())
        };
        let places = Spots { starts: &self.starts, is_even: true };
        let Some(source) = source else { return };
        if flags.is_empty() && self.takes_flits(&sent.spots, &places) {
            self.copy_flits(&sent.flits, &mut [Receiver { source, output: places.flits_mut(bytes) }]);
        } else {
            self.for_each_run(source, |slice, packet, place| {
                if !sent.bytes[slice].is_empty() {
                    self.copy((sent.bytes[slice], &sent.spots, packet), (bytes, &places, place));
                    self.copy_flags((sent.flags[slice], packet), (flags, place));
                }
            });
        }
    }

    /// Tells if the sources of a slice may send an unwritten element. `first`: the first of these sources.
    fn any_missing(&self, first: usize, whole: &[bool]) -> bool {
        self.sources.iter().any(|source| !whole[first + source.slice])
    }

    /// Visits the runs of packets that a slice receives, source by source: source slice, first packet there, first
    /// place here.
    #[inline(always)]
    fn for_each_run(&self, (slice, time): (usize, usize), mut visit: impl FnMut(usize, usize, usize)) {
        for source in &self.sources {
            for run in &self.runs {
                visit(slice + source.slice, time + source.time + run.time, source.step + run.step);
            }
        }
    }

    /// Copies a run of packets: from a packet on, to the places from `place` on.
    #[inline(always)]
    fn copy(
        &self,
        (bytes, from, packet): (&[u8], &Spots<'_>, usize),
        (output, to, place): (&mut [u8], &Spots<'_>, usize),
    ) {
        let (size, Gather { size: count, time: every, step: apart, .. }) = (self.bytes, self.run);
        let (first, start) = (from.starts[packet] as usize, to.starts[place] as usize);
        if from.is_even && to.is_even && every == 1 && apart == 1 {
            output[start..start + count * size].copy_from_slice(&bytes[first..first + count * size]);
        } else {
            for (packet, place) in (0..count).map(|k| (packet + k * every, place + k * apart)) {
                let (first, start) = (from.starts[packet] as usize, to.starts[place] as usize);
                output[start..start + size].copy_from_slice(&bytes[first..first + size]);
            }
        }
    }

    /// Copies the flags of the packets of a run, unless all elements are written.
    fn copy_flags(&self, (flags, packet): (Option<&[bool]>, usize), (output, place): (&mut [bool], usize)) {
        if output.is_empty() {
            return;
        }
        let Gather { size: count, time: every, step: apart, .. } = self.run;
        for (packet, place) in (0..count).map(|k| (packet + k * every, place + k * apart)) {
            let marks = &mut output[place * self.lanes..(place + 1) * self.lanes];
            match flags {
                Some(flags) => marks.copy_from_slice(&flags[packet * self.lanes..(packet + 1) * self.lanes]),
                None => marks.fill(true),
            }
        }
    }
}

/// Offsets of all iterations of nested loops, in their order.
fn offsets(loops: &[Gather]) -> Vec<Offset> {
    let mut all = vec![Offset { slice: 0, time: 0, step: 0 }];
    for &Gather { size, slices, time, step } in loops {
        let inner = |outer: &Offset| {
            let outer = *outer;
            (0..size).map(move |k| Offset {
                slice: outer.slice + k * slices,
                time: outer.time + k * time,
                step: outer.step + k * step,
            })
        };
        all = all.iter().flat_map(inner).collect();
    }
    all
}

impl Pass<'_> {
    /// Tells if the packets of all slices can be gathered from DM.
    fn sends_in_place(&self, units: &[Unit]) -> bool {
        let Some(packets) = &self.packets else { return false };
        let mut senders = units.iter().zip(&self.senders).filter(|(_, sends)| **sends);
        senders.all(|(unit, _)| unit.dm.all_initialised(packets.range.clone()))
    }

    /// The packets of all slices: in DM if they can be gathered there, else fetched to `rows`. `None`: nothing is
    /// switched.
    pub(super) fn sent<'a>(&'a self, units: &'a [Unit], rows: &'a mut Vec<Row>) -> Option<Sent<'a>> {
        self.switch.as_ref()?;
        match &self.packets {
            Some(packets) if self.sends_in_place(units) => Some(self.sent_in_place(units, packets)),
            _ => self.sent_rows(units, rows),
        }
    }

    /// The packets of all slices, in DM.
    fn sent_in_place<'a>(&'a self, units: &'a [Unit], packets: &'a Packets) -> Sent<'a> {
        let bytes = |(unit, &sends): (&'a Unit, &bool)| if sends { unit.dm.bytes() } else { &[] };
        let bytes = units.iter().zip(&self.senders).map(bytes).collect();
        let spots = Spots { starts: &packets.starts, is_even: packets.is_even };
        Sent::new(bytes, vec![None; units.len()], self.senders.clone(), spots)
    }

    /// Fetches the packets of all slices.
    pub(super) fn sent_rows<'a>(&'a self, units: &[Unit], rows: &'a mut Vec<Row>) -> Option<Sent<'a>> {
        let switch = self.switch.as_ref()?;
        rows.resize_with(units.len(), || Row::new(self.fetch.output()));
        each(rows, LEAST_SLICES, |buffers: &mut FetchBuffers, number, row| {
            row.clear(self.fetch.output());
            if self.senders[number] {
                self.fetch.run(&units[number].dm, 0..self.command.fetch.time, buffers, row);
            }
        });
        Some(Sent::new(
            rows.iter().map(Row::bytes).collect(),
            rows.iter().map(Row::flags).collect(),
            rows.iter().map(|row| row.len() > 0 && row.flags().is_none()).collect(),
            Spots { starts: &switch.starts, is_even: true },
        ))
    }

    /// Runs all slices with packets gathered from DM, some slices at a time. Returns false if a packet would be
    /// overwritten, or cannot be gathered.
    pub(super) fn run_in_place(&self, units: &mut [Unit]) -> bool {
        let (Some(switch), Some(packets)) = (&self.switch, &self.packets) else { return false };
        if self.sink.writes(&packets.range) || !self.sends_in_place(units) {
            return false;
        }
        let threads = threads();
        let bytes = switch.steps * switch.bytes;
        let batch = (threads * GATHERED_BYTES / bytes.max(1)).clamp(threads, 16 * threads);
        let mut gathered: Vec<Buffers> = (0..batch).map(|_| Buffers::default()).collect();
        let mut all = || {
            for first in (0..units.len()).step_by(batch) {
                let numbers = first..units.len().min(first + batch);
                if !self.receivers[numbers.clone()].contains(&true) {
                    continue;
                }
                let sent = self.sent_in_place(units, packets);
                each(&mut gathered[..numbers.len()], 1, |(), k, buffers| {
                    let (number, unit) = (first + k, &units[first + k]);
                    if self.receivers[number] {
                        let at = Coordinates::of_slice(number);
                        self.begin(at, unit, buffers);
                        self.fetch_and_compute(at, unit, Some(&sent), buffers);
                    }
                });
                drop(sent);
                let mut slices: Vec<_> = units[numbers].iter_mut().zip(&mut gathered).collect();
                each(&mut slices, 1, |(), k, (unit, buffers)| {
                    if self.receivers[first + k] {
                        self.finish(Coordinates::of_slice(first + k), unit, buffers);
                    }
                });
            }
        };
        // Enters the thread pool once for the whole work.
        #[cfg(feature = "parallel")]
        rayon::scope(|_| all());
        #[cfg(not(feature = "parallel"))]
        all();
        true
    }
}
