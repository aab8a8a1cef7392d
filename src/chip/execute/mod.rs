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
pub(crate) mod indexed;
mod mask;
mod operands;
mod transpose;
mod vector;

pub(crate) use dma::{run as run_dma, run_unit_copy};
pub(crate) use host::{download, inspect, upload};

use super::memory::Unit;
use super::memory::fills::Origin;
use super::memory::place::Coordinates;
use super::memory::row::Row;
use super::memory::separate::Placed;
use crate::chip::PaddingRule;
use crate::command::{Cast, Place, Sink, TensorUnit, Vector};
use crate::mapping::{Guard, gcd};
use crate::scalar::ElementType;
use commit::SinkPlan;
use contraction::{ContractionBuffers, ContractionPlan, PaddingOptions};
use core::ops::Range;
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

/// Whether a unit can hold an element.
fn may_be_live(guard: &Guard, at: Coordinates) -> bool {
    guard.may_hold(&[at.chip, at.cluster, at.slice])
}

#[cfg(test)]
mod tests;
