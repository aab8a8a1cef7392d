//! Values: what a command does to the bytes of the memories.
//!
//! A pass through the Tensor Unit runs slice by slice, on several threads with the feature `parallel`. In a slice,
//! blocks of packets go through the stages; the end of the stream is written after everything was read. A pass that
//! exchanges packets between slices first fetches those of all slices.

mod adapter;
mod cast;
mod commit;
mod contraction;
mod dma;
mod exchange;
mod faults;
mod fetch;
mod host;
mod mask;
mod transpose;
mod vector;

pub(crate) use dma::{run as run_dma, run_unit_copy};
pub(crate) use host::{download, inspect, upload};

use super::checks::fault::{Fault, FaultKind};
use super::memory::fills::Origin;
use super::memory::place::Coordinates;
use super::memory::row::Row;
use super::memory::separate::Placed;
use super::memory::{Unit, trf};
use crate::chip::PaddingRule;
use crate::command::MemoryKind;
use crate::command::{Cast, Place, Sink, TensorUnit, Vector};
use crate::mapping::{Guard, gcd};
use crate::scalar::ElementType;
use crate::spec::BEAT_LANES;
use commit::{SinkPlan, find_missing};
use contraction::{ContractionBuffers, ContractionPlan, Missing, PaddingOptions};
use core::ops::{ControlFlow, Range};
use core::panic::Location;
use exchange::Exchange;
pub(crate) use exchange::Exchanged;
use fetch::{FetchBuffers, FetchPlan};
use transpose::TransposePlan;
use vector::{LaneRow, VectorBuffers, VectorPlan};

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// Slices that a thread takes at least.
#[cfg(feature = "parallel")]
const LEAST_SLICES: usize = 4;

/// A pass through the Tensor Unit, prepared for all slices.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    command: &'a TensorUnit,
    /// The same where its tensors have their bytes.
    placed: Placed<'a>,
    location: &'static Location<'static>,
    fetch: FetchPlan,
    /// Flits per fetched packet.
    flits: usize,
    /// Where the packets of a slice come from, if not from the slice itself.
    exchange: Option<Exchange>,
    contraction: Option<ContractionPlan>,
    /// Where the contraction finds its packets, if they need not be fetched into a buffer.
    packets: Option<Packets>,
    vector: Option<VectorPlan>,
    cast: Option<Cast>,
    transpose: Option<TransposePlan>,
    sink: SinkPlan,
}

/// Tells why an element is uninitialised: its tensor, its slice, its first byte.
pub(crate) type OriginOf<'a> = dyn Fn(&Place, Coordinates, u64) -> Origin + Sync + 'a;

/// Packets that the contraction takes from DM.
#[derive(Debug)]
struct Packets {
    /// The address of each.
    starts: Vec<u32>,
    /// All bytes of all packets, and what lies between them.
    range: Range<usize>,
}

impl Packets {
    fn new(fetch: &FetchPlan, contraction: &ContractionPlan, flits: usize) -> Option<Self> {
        let bytes = contraction.whole_packets(flits)?;
        let starts = fetch.addresses(bytes)?;
        let range = *starts.iter().min()? as usize..*starts.iter().max()? as usize + bytes;
        Some(Self { starts, range })
    }
}

/// What a thread needs to run slices; used again for the next slice.
#[derive(Debug)]
struct Buffers {
    fetch: FetchBuffers,
    contraction: ContractionBuffers,
    stream: Row,
    vector: VectorBuffers,
    /// What enters and what leaves the Vector Engine.
    whole: [Row; 2],
    converted: Row,
    cast: Row,
    transposed: Row,
    transposed_flags: Vec<bool>,
    output: Row,
    mask: Vec<bool>,
}

impl Default for Buffers {
    fn default() -> Self {
        let row = || Row::new(ElementType::I8);
        Self {
            fetch: FetchBuffers::default(),
            contraction: ContractionBuffers::default(),
            stream: row(),
            vector: VectorBuffers::default(),
            whole: [row(), row()],
            converted: row(),
            cast: row(),
            transposed: row(),
            transposed_flags: Vec::new(),
            output: row(),
            mask: Vec::new(),
        }
    }
}

impl<'a> Pass<'a> {
    /// Prepares a pass. `placed` says where the bytes of its tensors are; `computed`, whether sums take in padding that is
    /// not zero.
    pub(crate) fn new(
        command: &'a TensorUnit,
        placed: Placed<'a>,
        (rule, computed): (PaddingRule, bool),
        location: &'static Location<'static>,
    ) -> Self {
        let flits = command.collect.map_or(1, |collect| collect.flits);
        let transpose = command.transpose.as_ref().map(TransposePlan::new);
        let fetch = FetchPlan::new(&placed.unit.fetch, command.collect.as_ref());
        let fetch = match &transpose {
            // Blocks of whole matrices.
            Some(own) => fetch.in_groups(own.in_flits() / gcd(own.in_flits(), flits)),
            None => fetch,
        };
        let options = PaddingOptions { packet: command.fetch.packet, flits, rule, computed };
        let contraction = command.contraction.as_ref().map(|own| ContractionPlan::new(own, options));
        let exchange = command.switch.as_ref().map(|switch| Exchange::new(switch, &fetch));
        let packets = (contraction.as_ref().filter(|_| exchange.is_none()))
            .and_then(|contraction| Packets::new(&fetch, contraction, command.fetch.time * flits));
        let cast = command.cast.filter(|cast| cast.input != cast.output);
        let shapes = command.shapes();
        let vector = placed.unit.vector.as_ref().map(|own| VectorPlan::new(own, shapes.contracted));
        let end = match (&transpose, &cast) {
            (Some(_), _) => shapes.transposed,
            (None, Some(_)) => shapes.cast,
            (None, None) => shapes.vector,
        };
        let sink = SinkPlan::new(&placed.unit.sink, placed.files.written, end.time, end.lanes);
        Self {
            command,
            placed,
            location,
            fetch,
            flits,
            exchange,
            contraction,
            packets,
            vector,
            cast,
            transpose,
            sink,
        }
    }

    /// Which of so many slices fetch: those in which a source can hold an element.
    fn slices(&self, units: usize) -> Vec<bool> {
        let takes_part = |at: Coordinates| {
            self.command.fetch.sources().any(|source| {
                let footprint = &source.footprint;
                let inside = at.chip < footprint.chips
                    && at.cluster < footprint.clusters
                    && at.slice < footprint.slices;
                inside && may_be_live(&footprint.guard, at)
            })
        };
        (0..units).map(|unit| takes_part(Coordinates::of_slice(unit))).collect()
    }

    /// Which of so many slices have a stream after the exchange: those that fetch, or those that get packets and in which
    /// the end of the stream can hold an element.
    fn receivers(&self, units: usize) -> Vec<bool> {
        let Some(exchange) = &self.exchange else { return self.slices(units) };
        let (Sink::Commit { guard, .. } | Sink::Trf { guard, .. } | Sink::Vrf { guard, .. }) =
            &self.command.sink;
        // A sum between slices takes parts of slices in which it does not end.
        let crosses = self.vector.as_ref().is_some_and(VectorPlan::crosses_slices);
        let receives = |at: Coordinates| {
            at.chip < self.command.chips() && exchange.reaches(at) && (crosses || may_be_live(guard, at))
        };
        (0..units).map(|unit| receives(Coordinates::of_slice(unit))).collect()
    }

    /// Packets of a stream after the exchange.
    fn steps(&self) -> usize {
        self.exchange.as_ref().map_or(self.command.fetch.time, Exchange::steps)
    }

    /// Whether the pass computes with what it reads. If not, it copies, uninitialised elements too.
    fn computes(&self) -> bool {
        let vector = self.command.vector.as_ref().is_some_and(Vector::computes);
        self.contraction.is_some() || vector || self.cast.is_some() || self.fetch.converts()
    }

    /// Refuses a pass that computes with live elements that nobody wrote, or commits lanes that hold nothing, before
    /// anything is written.
    pub(crate) fn check_initialised(&self, units: &[Unit], origin: &OriginOf<'_>) -> Result<(), Fault> {
        self.check_lanes(units.len())?;
        if !self.computes() {
            return Ok(());
        }
        let slices = self.receivers(units.len());
        let padding = self.may_take_padding();
        let (mut fetched, mut written) = (Vec::new(), false);
        if self.exchange.is_some() {
            let takes_part: Vec<bool> = self
                .slices(units.len())
                .iter()
                .zip(&slices)
                .map(|(sends, receives)| *sends || *receives)
                .collect();
            let used = units.iter().zip(takes_part).filter(|(_, takes_part)| *takes_part);
            written = !padding && used.clone().all(|(unit, _)| self.is_initialised(unit));
            if !written {
                self.fetch_all(units, &mut fetched);
            }
        }
        let find = |buffers: &mut Buffers, number: usize, unit: &Unit| {
            let at = Coordinates::of_slice(number);
            let operand =
                self.vector.as_ref().and_then(|own| own.find_missing_operand(unit, at, slices[number]));
            if let Some(missing) = operand {
                return Some(self.missing_operand(number, missing, origin));
            }
            if !slices[number] || written || self.exchange.is_none() && !padding && self.is_initialised(unit)
            {
                return None;
            }
            if let Some(contraction) = &self.contraction {
                contraction.load(unit.trf(self.placed.files.read), at, &mut buffers.contraction);
            }
            for block in self.blocks(false) {
                let flit = block.start * self.flits;
                self.load(at, unit, &fetched, block, (&mut buffers.fetch, &mut buffers.stream));
                let found = match &self.contraction {
                    Some(contraction) => {
                        contraction.find_missing(&buffers.stream, flit, at, &mut buffers.contraction)
                    }
                    None => self.find_missing_in_stream(flit, at, buffers),
                };
                if let Some(missing) = found {
                    return Some(self.missing(number, missing, origin));
                }
            }
            None
        };
        first_fault(units, find)
    }

    /// The first element of a block of flits from `first` on that the Vector Engine or the sink takes and nobody wrote.
    fn find_missing_in_stream(
        &self,
        first: usize,
        at: Coordinates,
        buffers: &mut Buffers,
    ) -> Option<Missing> {
        let Buffers { stream, transposed_flags, mask, .. } = buffers;
        let per_flit = self.fetch.padded() / self.flits.max(1);
        let flags = stream.flags()?;
        let (live, width, flits) = (self.sink.live(), self.sink.width(), (flags, first, per_flit));
        let (flit, lane) = match (&self.vector, &self.transpose) {
            (Some(own), _) => find_missing(own.live(), per_flit, flits, at, mask)?,
            (None, None) => find_missing(live, width, flits, at, mask)?,
            (None, Some(own)) => {
                own.run_flags(flags, per_flit, transposed_flags);
                let packets = (&transposed_flags[..], own.first_packet(first), own.rows());
                let (packet, row) = find_missing(live, width, packets, at, mask)?;
                own.source(packet, row)
            }
        };
        Some(Missing::Stream { flit, lane })
    }

    /// Refuses a pass that sums padding together with elements where its product is not zero, before anything is written.
    pub(crate) fn check_padding(&self, units: &[Unit]) -> Result<(), Fault> {
        let Some(contraction) = self.contraction.as_ref().filter(|own| own.may_sum_padding()) else {
            return Ok(());
        };
        let slices = self.receivers(units.len());
        let mut fetched = Vec::new();
        self.fetch_all(units, &mut fetched);
        first_fault(units, |buffers, number, unit| {
            if !slices[number] {
                return None;
            }
            let at = Coordinates::of_slice(number);
            let Buffers { fetch, contraction: sums, stream, .. } = buffers;
            contraction.load(unit.trf(self.placed.files.read), at, sums);
            let mut found = None;
            for block in self.blocks(false) {
                let (flit, flits) = (block.start * self.flits, block.len() * self.flits);
                if !contraction.sums_padding(flit, flits, sums) {
                    continue;
                }
                self.load(at, unit, &fetched, block, (fetch, stream));
                contraction.for_each_summed(stream, flit, at, sums, |cell| {
                    found = Some(cell);
                    ControlFlow::Break(())
                });
                if let Some(cell) = found {
                    let sum = contraction.first_live(&cell, at, sums);
                    return Some(self.summed(at, &cell, sum));
                }
            }
            None
        })
    }

    /// The leading lanes of a flit that were fetched: collect adds the rest.
    fn fetched_lanes(&self, flit: usize) -> usize {
        let per_flit = self.fetch.padded() / self.flits.max(1);
        let before = flit % self.flits.max(1) * per_flit;
        self.command.fetch.packet.saturating_sub(before).min(per_flit)
    }

    /// Whether the pass may compute with lanes that collect adds: then it does not suffice that all was written that it
    /// reads.
    fn may_take_padding(&self) -> bool {
        let padded = self.fetch.padded() != self.command.fetch.packet;
        padded
            && match &self.contraction {
                Some(contraction) => {
                    let flits = self.steps() * self.flits;
                    contraction.may_take_padding(flits, |flit| self.fetched_lanes(flit))
                }
                None => match &self.vector {
                    Some(own) => {
                        let (flits, lanes) =
                            (self.steps() * self.flits, self.fetch.padded() / self.flits.max(1));
                        own.live().may_exceed(flits, lanes, |flit| self.fetched_lanes(flit))
                    }
                    None => self.sink.may_take_padding(|time| self.filled_lanes(time)),
                },
            }
    }

    /// The leading lanes of a packet that hold an element of the stream: the rest is what collect, cast and transpose add.
    fn filled_lanes(&self, time: usize) -> usize {
        let before = |flit: usize| match &self.command.contraction {
            // The engine knows of its lanes which of them hold something.
            _ if self.vector.is_some() => BEAT_LANES,
            None => self.fetched_lanes(flit),
            // Rows and columns that a contraction does not use are sums of nothing.
            Some(_) => BEAT_LANES,
        };
        match &self.transpose {
            None => before(time),
            Some(own) => {
                let is_filled = |&row: &usize| {
                    let (flit, lane) = own.source(time, row);
                    lane < before(flit)
                };
                (0..own.rows()).take_while(is_filled).count()
            }
        }
    }

    /// Refuses a commit of lanes as elements that hold no element of the stream.
    fn check_lanes(&self, units: usize) -> Result<(), Fault> {
        let Sink::Commit { destination, .. } = &self.command.sink else { return Ok(()) };
        // Without a transpose, the flits of all packets are alike.
        let different = if self.transpose.is_some() { self.sink.time() } else { self.flits };
        if (0..different).all(|time| self.filled_lanes(time) >= self.sink.width()) {
            return Ok(());
        }
        let slices = self.receivers(units);
        let at = |&unit: &usize| slices[unit];
        let units = (0..units).filter(at).map(Coordinates::of_slice);
        let Some((at, time, lane)) = self.sink.first_live_lane(units, |time| self.filled_lanes(time)) else {
            return Ok(());
        };
        let message = format!(
            "lane {lane} of time step {time} is committed as an element of the tensor in DM from {} on, but the stream \
             has only {} elements there",
            destination.address,
            self.filled_lanes(time)
        );
        let help = "make the lanes padding in the mapping of the packet (`# n`), or fetch larger packets";
        let fault = Fault::new(FaultKind::Uninitialised, "commit", self.location, message, help);
        let byte = destination.address;
        Err(fault.at(MemoryKind::Dm, at.slice_number(), byte..byte + destination.footprint.bytes() as u64))
    }

    /// Whether everything that the sequencers read was written, padding and what lies behind a tensor in DM too.
    fn is_initialised(&self, unit: &Unit) -> bool {
        let weights = self.command.contraction.as_ref().is_none_or(|contraction| {
            let (region, config) = (&contraction.trf, &contraction.trf_config);
            let read_bytes = (config.packet_size * region.element.bits()).div_ceil(8);
            let Ok(first) = usize::try_from(config.first()) else { return false };
            // What lies behind a row is padding.
            let end = (config.last() as usize + read_bytes).min(trf::row_bytes(region));
            let bytes = first.min(end)..end;
            let file = unit.trf(self.placed.files.read);
            (0..region.rows)
                .all(|row| trf::pieces(region, row, bytes.clone()).all(|piece| file.all_initialised(piece)))
        });
        let config = &self.command.fetch.config;
        let Ok(first) = usize::try_from(config.first()) else { return false };
        let end = config.last() as usize + config.packet_size;
        weights
            && self.placed.unit.fetch.sources().all(|source| {
                let (start, bits) = (source.address as usize, source.footprint.element.bits());
                unit.dm.all_initialised(start + first * bits / 8..start + (end * bits).div_ceil(8))
            })
    }

    /// Runs all slices. Everything has been checked.
    pub(crate) fn run(&self, units: &mut [Unit], exchanged: &mut Exchanged) {
        let slices = self.receivers(units.len());
        let fetched = exchanged.rows();
        self.fetch_all(units, fetched);
        match self.vector.as_ref().filter(|own| own.crosses_slices()) {
            Some(own) => self.run_across(own, (&slices, fetched), units),
            None => self.run_slices((&slices, fetched), units),
        }
        exchanged.trim();
    }

    /// Runs slices that exchange nothing behind the Switch Engine.
    fn run_slices(&self, (slices, fetched): (&[bool], &[Row]), units: &mut [Unit]) {
        let run = |buffers: &mut Buffers, number: usize, unit: &mut Unit| {
            if slices[number] {
                self.run_slice(Coordinates::of_slice(number), unit, fetched, buffers);
            }
        };
        #[cfg(feature = "parallel")]
        units
            .par_iter_mut()
            .enumerate()
            .with_min_len(LEAST_SLICES)
            .for_each_init(Buffers::default, |buffers, (number, unit)| run(buffers, number, unit));
        #[cfg(not(feature = "parallel"))]
        {
            let mut buffers = Buffers::default();
            units.iter_mut().enumerate().for_each(|(number, unit)| run(&mut buffers, number, unit));
        }
    }

    /// Runs all slices up to an exchange of the Vector Engine, exchanges, and goes on behind it.
    fn run_across(&self, own: &VectorPlan, (slices, fetched): (&[bool], &[Row]), units: &mut [Unit]) {
        let before = |buffers: &mut Buffers, number: usize, unit: &Unit| {
            let at = Coordinates::of_slice(number);
            slices[number].then(|| {
                self.begin(at, unit, buffers);
                if !self.contract_in_place(at, unit, buffers) {
                    self.fetch_and_compute(at, unit, fetched, buffers);
                }
                let Buffers { contraction: sums, vector, whole: [whole, _], .. } = buffers;
                if let Some(contraction) = &self.contraction {
                    contraction.finish(sums, whole);
                }
                own.run_before(whole, (unit, at), vector)
            })
        };
        let behind = |buffers: &mut Buffers, number: usize, unit: &mut Unit, stream: &mut Option<LaneRow>| {
            let Some(stream) = stream.take() else { return };
            let at = Coordinates::of_slice(number);
            let Buffers { vector, whole: [_, whole], converted, cast: narrow, output, mask, .. } = buffers;
            own.run_behind(stream, (unit, at), vector, if self.is_end() { output } else { whole });
            self.narrow(whole, converted, narrow, output);
            self.sink.run(output, at, unit, mask);
        };
        #[cfg(feature = "parallel")]
        {
            let streams: Vec<Option<LaneRow>> = units
                .par_iter()
                .enumerate()
                .with_min_len(LEAST_SLICES)
                .map_init(Buffers::default, |buffers, (number, unit)| before(buffers, number, unit))
                .collect();
            let mut streams = own.exchange(&streams);
            units.par_iter_mut().zip(&mut streams).enumerate().with_min_len(LEAST_SLICES).for_each_init(
                Buffers::default,
                |buffers, (number, (unit, stream))| {
                    behind(buffers, number, unit, stream);
                },
            );
        }
        #[cfg(not(feature = "parallel"))]
        {
            let mut buffers = Buffers::default();
            let streams: Vec<Option<LaneRow>> =
                units.iter().enumerate().map(|(number, unit)| before(&mut buffers, number, unit)).collect();
            let mut streams = own.exchange(&streams);
            let all = units.iter_mut().zip(&mut streams).enumerate();
            all.for_each(|(number, (unit, stream))| behind(&mut buffers, number, unit, stream));
        }
    }

    /// Runs a slice in three phases.
    ///
    /// ```text
    ///   fetch ──▶ exchange ──▶ contract, cast … sink
    /// ```
    ///
    /// Up to the exchange a slice is only read. Where each keeps its packets, block after block goes through all phases.
    /// Where packets are exchanged, those of all slices were `fetched`, and a slice gathers all of its own at once.
    fn run_slice(&self, at: Coordinates, unit: &mut Unit, fetched: &[Row], buffers: &mut Buffers) {
        self.begin(at, unit, buffers);
        if !self.contract_in_place(at, unit, buffers) {
            self.fetch_and_compute(at, unit, fetched, buffers);
        }
        self.finish(at, unit, buffers);
    }

    /// Empties the buffers for a slice, and reads its weights.
    fn begin(&self, at: Coordinates, unit: &Unit, buffers: &mut Buffers) {
        buffers.output.clear(self.cast.map_or(self.fetch.output(), |cast| cast.output));
        buffers.whole[0].clear(self.fetch.output());
        if let Some(contraction) = &self.contraction {
            contraction.load(unit.trf(self.placed.files.read), at, &mut buffers.contraction);
            contraction.start(&mut buffers.contraction);
        }
    }

    /// Whether packets go to the sink as they were fetched.
    fn copies(&self) -> bool {
        self.contraction.is_none() && self.vector.is_none() && self.is_end()
    }

    /// Whether what leaves the engines that compute goes to the sink as it is.
    fn is_end(&self) -> bool {
        self.cast.is_none() && self.transpose.is_none()
    }

    /// Whether packets go to the Vector Engine as they were fetched.
    fn gathers(&self) -> bool {
        self.contraction.is_none() && self.vector.is_some()
    }

    /// The time steps that are there at a time: all of them where it is said so, and where packets are exchanged.
    fn blocks(&self, at_once: bool) -> impl Iterator<Item = Range<usize>> + use<> {
        let at_once = at_once || self.exchange.is_some();
        let whole = at_once.then_some(0..self.steps());
        let blocks = (!at_once).then(|| self.fetch.blocks());
        whole.into_iter().chain(blocks.into_iter().flatten())
    }

    /// First phase: the packets of some time steps of a slice, from its memory or from what was fetched in all slices.
    fn load(
        &self,
        at: Coordinates,
        unit: &Unit,
        fetched: &[Row],
        block: Range<usize>,
        (buffers, stream): (&mut FetchBuffers, &mut Row),
    ) {
        match &self.exchange {
            None => self.fetch.run(&unit.dm, block, buffers, stream),
            Some(exchange) => exchange.gather(at, fetched, stream),
        }
    }

    /// All phases before the end, block by block; all at once where packets go on as they are.
    fn fetch_and_compute(&self, at: Coordinates, unit: &Unit, fetched: &[Row], buffers: &mut Buffers) {
        for block in self.blocks(self.copies() || self.gathers()) {
            let Buffers { fetch, stream, whole: [whole, _], output, .. } = buffers;
            let stream = match (self.copies(), self.gathers()) {
                (true, _) => output,
                (false, true) => whole,
                (false, false) => stream,
            };
            self.load(at, unit, fetched, block.clone(), (fetch, stream));
            self.compute(at, block, buffers);
        }
    }

    /// Third phase, block by block: what the engines make of packets that were fetched.
    fn compute(&self, at: Coordinates, block: Range<usize>, buffers: &mut Buffers) {
        let Buffers { contraction: sums, stream, converted, cast: narrow, transposed, output, .. } = buffers;
        if let Some(contraction) = &self.contraction {
            return contraction.run(stream, block.start * self.flits, at, sums);
        }
        if self.copies() || self.gathers() {
            return;
        }
        let mut result = &*stream;
        if let Some(step) = &self.cast {
            cast::run(step, result, converted, narrow);
            result = narrow;
        }
        if let Some(own) = &self.transpose {
            own.run(result, transposed);
            result = transposed;
        }
        output.push(result.bytes(), result.len(), result.flags());
    }

    /// All phases before the end at once, where a contraction may take its packets where they lie. Whether it has.
    fn contract_in_place(&self, at: Coordinates, unit: &Unit, buffers: &mut Buffers) -> bool {
        let (Some(contraction), Some(packets)) = (&self.contraction, &self.packets) else { return false };
        let whole =
            contraction.is_whole(at, &buffers.contraction) && unit.dm.all_initialised(packets.range.clone());
        if whole {
            contraction.run_whole(unit.dm.bytes(), &packets.starts, &mut buffers.contraction);
        }
        whole
    }

    /// The end of the third phase: results leave the accumulator, and the sink is written.
    fn finish(&self, at: Coordinates, unit: &mut Unit, buffers: &mut Buffers) {
        let Buffers {
            contraction: sums,
            stream,
            vector,
            whole: [before, behind],
            converted,
            cast: narrow,
            output,
            mask,
            ..
        } = buffers;
        let is_end = self.is_end();
        if let Some(own) = &self.vector {
            if let Some(contraction) = &self.contraction {
                contraction.finish(sums, before);
            }
            own.run(before, (unit, at), vector, if is_end { output } else { behind });
            self.narrow(behind, converted, narrow, output);
        } else if let Some(contraction) = &self.contraction {
            contraction.finish(sums, if is_end { output } else { stream });
            self.narrow(stream, converted, narrow, output);
        }
        self.sink.run(output, at, unit, mask);
    }

    /// Cast and Transpose Engine, behind the engines that compute. Where there are none, the output is there already.
    fn narrow(&self, stream: &Row, converted: &mut Row, narrow: &mut Row, output: &mut Row) {
        match (&self.cast, &self.transpose) {
            (None, None) => {}
            (Some(step), None) => cast::run(step, stream, converted, output),
            (None, Some(own)) => own.run(stream, output),
            (Some(step), Some(own)) => {
                cast::run(step, stream, converted, narrow);
                own.run(narrow, output);
            }
        }
    }
}

/// The fault of the first unit that has one.
fn first_fault(
    units: &[Unit],
    find: impl Fn(&mut Buffers, usize, &Unit) -> Option<Fault> + Sync,
) -> Result<(), Fault> {
    #[cfg(feature = "parallel")]
    let fault = units
        .par_iter()
        .enumerate()
        .with_min_len(LEAST_SLICES)
        .map_init(Buffers::default, |buffers, (number, unit)| find(buffers, number, unit))
        .find_map_first(|found| found);
    #[cfg(not(feature = "parallel"))]
    let fault = {
        let mut buffers = Buffers::default();
        units.iter().enumerate().find_map(|(number, unit)| find(&mut buffers, number, unit))
    };
    fault.map_or(Ok(()), Err)
}

/// Whether a unit can hold an element.
fn may_be_live(guard: &Guard, at: Coordinates) -> bool {
    guard.may_hold(&[at.chip, at.cluster, at.slice])
}

#[cfg(test)]
mod tests;
