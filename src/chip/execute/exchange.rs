//! The Switch Engine: slices get packets of other slices.
//!
//! All slices of a cluster are fetched before any of them is written; then each gathers the packets that it gets.
//!
//! ```text
//!   fetched      slice 0   p0 p1 p2 …        gathered   slice 0   p0 q0 p1 q1 …
//!                slice 1   q0 q1 q2 …
//! ```
//!
//! Packets are gathered source by source: what comes from one slice is read from one end to the other.

use super::Pass;
use super::fetch::{FetchBuffers, FetchPlan};
use crate::chip::memory::Unit;
use crate::chip::memory::place::Coordinates;
use crate::chip::memory::row::Row;
use crate::command::Switch;
use crate::scalar::ElementType;

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// A loop over the packets that a slice gets.
#[derive(Clone, Copy, Debug)]
struct Gather {
    size: usize,
    /// Source slices, source packets and gathered packets per iteration.
    slices: usize,
    time: usize,
    step: usize,
}

/// The exchange of a pass.
#[derive(Debug)]
pub(super) struct Exchange {
    switch: Switch,
    /// The loops over what a slice gets: over sources first, then over their packets.
    loops: Vec<Gather>,
    /// Packets that a slice gets.
    steps: usize,
    element: ElementType,
    /// Elements of a packet, and their bytes.
    lanes: usize,
    bytes: usize,
}

/// Bytes of packets for which the memory is kept until the next exchange.
const KEPT_BYTES: usize = 64 << 20;

/// The packets of all slices in the last exchange: the next one uses their memory again, as far as it is not large.
#[derive(Debug, Default)]
pub(crate) struct Exchanged(Vec<Row>);

impl Exchanged {
    /// The packets, to be fetched anew.
    pub(super) fn rows(&mut self) -> &mut Vec<Row> {
        &mut self.0
    }

    /// Gives large memory back.
    pub(super) fn trim(&mut self) {
        if self.0.iter().map(|row| row.bytes().len()).sum::<usize>() > KEPT_BYTES {
            self.0 = Vec::new();
        }
    }
}

/// What a slice gathers into: elements, and whether they were written if not all were.
struct Target<'a> {
    bytes: &'a mut [u8],
    flags: &'a mut [bool],
}

impl Exchange {
    /// The exchange of packets as they are fetched and collected.
    pub(super) fn new(switch: &Switch, fetch: &FetchPlan) -> Self {
        let mut step = 1;
        let mut loops: Vec<Gather> = (switch.time_digits.iter().rev())
            .map(|own| {
                let gather = Gather { size: own.size, slices: own.slices, time: own.time, step };
                step *= own.size;
                gather
            })
            .collect();
        loops.reverse();
        loops.sort_by_key(|own| own.slices == 0);
        let lanes = fetch.padded();
        let bytes = lanes * fetch.output().container_bits() / 8;
        Self { switch: *switch, loops, steps: step, element: fetch.output(), lanes, bytes }
    }

    /// Packets that a slice gets.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// Whether a slice gets packets.
    pub(super) fn reaches(&self, at: Coordinates) -> bool {
        self.switch.first_source(at.slice).is_some()
    }

    /// Whether a slice gets packets of none but these slices of the system.
    pub(super) fn gets_from(&self, at: Coordinates, slices: &[bool]) -> bool {
        let first = Coordinates { slice: 0, ..at }.slice_number();
        self.switch.snoop.sources(at.slice).into_iter().all(|slice| slices[first + slice])
    }

    /// Where a packet comes from: the slice, and its number there.
    pub(super) fn source(&self, at: Coordinates, step: usize) -> (Coordinates, usize) {
        match self.switch.source(at.slice, step) {
            Some((slice, step)) => (Coordinates { slice, ..at }, step),
            None => (at, step),
        }
    }

    /// Gathers the packets that a slice gets. `fetched` are those of all slices of the system; slices without any are empty.
    pub(super) fn gather(&self, at: Coordinates, fetched: &[Row], output: &mut Row) {
        output.clear(self.element);
        let first = Coordinates { slice: 0, ..at }.slice_number();
        let cluster = &fetched[first..];
        let source = self.switch.first_source(at.slice);
        let missing = source.is_none_or(|(slice, _)| self.any_missing(0, &cluster[slice..]));
        let (bytes, flags) = output.push_blank(self.steps * self.lanes, missing.then_some(&[]));
        if let Some((slice, time)) = source {
            let mut target = Target { bytes, flags };
            self.visit(&self.loops, &cluster[slice..], time, 0, &mut target);
        }
    }

    /// Whether a packet of a source may have an element that nobody wrote.
    fn any_missing(&self, k: usize, sources: &[Row]) -> bool {
        match self.loops.get(k).filter(|own| own.slices > 0) {
            Some(own) => (0..own.size).any(|index| self.any_missing(k + 1, &sources[index * own.slices..])),
            None => sources[0].flags().is_some() || sources[0].len() == 0,
        }
    }

    fn visit(&self, loops: &[Gather], sources: &[Row], time: usize, step: usize, target: &mut Target<'_>) {
        match loops {
            [] => self.copy(&sources[0], (time, 1), (step, 1), 1, target),
            [own] if own.slices == 0 => {
                self.copy(&sources[0], (time, own.time), (step, own.step), own.size, target)
            }
            [own, inner @ ..] => {
                for index in 0..own.size {
                    let sources = &sources[index * own.slices..];
                    self.visit(inner, sources, time + index * own.time, step + index * own.step, target);
                }
            }
        }
    }

    /// Copies evenly spaced packets of a slice to evenly spaced places.
    fn copy(
        &self,
        from: &Row,
        (first, every): (usize, usize),
        (place, apart): (usize, usize),
        count: usize,
        Target { bytes, flags }: &mut Target<'_>,
    ) {
        if from.len() == 0 {
            return;
        }
        let (read, written) = ((first, every), (place, apart));
        match self.bytes {
            // What is copied most, with its size known.
            32 => copy_units::<u8>(from.bytes(), bytes, (32, 32), read, written, count),
            size => copy_units::<u8>(from.bytes(), bytes, (size, 0), read, written, count),
        }
        if flags.is_empty() {
            return;
        }
        match from.flags() {
            Some(own) => copy_units::<bool>(own, flags, (self.lanes, 0), read, written, count),
            None => {
                for k in 0..count {
                    let start = (place + k * apart) * self.lanes;
                    flags[start..start + self.lanes].fill(true);
                }
            }
        }
    }
}

/// Copies `count` units of so many items. `known`: 32 where that is the size, so that the compiler knows it.
#[inline(always)]
fn copy_units<T: Copy>(
    from: &[T],
    to: &mut [T],
    (size, known): (usize, usize),
    (first, every): (usize, usize),
    (place, apart): (usize, usize),
    count: usize,
) {
    if every == 1 && apart == 1 {
        to[place * size..(place + count) * size].copy_from_slice(&from[first * size..(first + count) * size]);
    } else if known == 32 {
        let (from, to) = (from.as_chunks::<32>().0, to.as_chunks_mut::<32>().0);
        for k in 0..count {
            to[place + k * apart] = from[first + k * every];
        }
    } else {
        for k in 0..count {
            let (read, written) = ((first + k * every) * size, (place + k * apart) * size);
            to[written..written + size].copy_from_slice(&from[read..read + size]);
        }
    }
}

impl Pass<'_> {
    /// First phase of a pass that exchanges packets: those of all slices, before any is written. Of a pass that does not
    /// exchange any, nothing.
    pub(super) fn fetch_all(&self, units: &[Unit], fetched: &mut Vec<Row>) {
        if self.exchange.is_none() {
            return;
        }
        let sends = self.slices(units.len());
        let fetch = |buffers: &mut FetchBuffers, number: usize, unit: &Unit, row: &mut Row| {
            row.clear(self.fetch.output());
            if sends[number] {
                self.fetch.run(&unit.dm, 0..self.command.fetch.time, buffers, row);
            }
        };
        fetched.resize_with(units.len(), || Row::new(self.fetch.output()));
        #[cfg(feature = "parallel")]
        (units.par_iter().zip(fetched).enumerate())
            .with_min_len(super::LEAST_SLICES)
            .for_each_init(FetchBuffers::default, |buffers, (number, (unit, row))| {
                fetch(buffers, number, unit, row)
            });
        #[cfg(not(feature = "parallel"))]
        {
            let mut buffers = FetchBuffers::default();
            let rows = units.iter().zip(fetched).enumerate();
            rows.for_each(|(number, (unit, row))| fetch(&mut buffers, number, unit, row));
        }
    }
}
