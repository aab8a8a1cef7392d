//! Values: the effect of a command on the bytes of the memories.
//!
//! A pass through the Tensor Unit runs slice by slice, on several threads with the feature `parallel`. In a slice,
//! blocks of packets go through the stages; the end of the stream is written after everything was read. For passes through
//! the Switch Engine, see [`switch`].

mod adapter;
mod cast;
mod commit;
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "some of what kernels are told is for some vector instructions alone")
)]
mod contraction;
mod dma;
mod faults;
mod fetch;
mod host;
pub(crate) mod indexed;
mod load;
mod mask;
mod memset;
mod narrow;
mod operands;
mod packets;
pub(crate) mod path;
mod prefetch;
mod straight;
mod switch;
mod threads;
mod transpose;
mod vector;

pub(crate) use dma::{run as run_dma, run_unit_copy};
pub(crate) use host::{download, inspect, upload};
pub(crate) use memset::run as run_memset;

use super::commands::Beginning;
use super::memory::Unit;
use super::memory::fills::Origin;
use super::memory::row::Row;
use super::memory::separate::Placed;
use crate::PaddingRule;
use commit::SinkPlan;
use contraction::{ContractionBuffers, ContractionPlan, PaddingOptions};
use core::ops::Range;
use core::panic::Location;
use fetch::{FetchBuffers, FetchPlan};
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{Cast, CommitNarrowing, Place, Sink, TensorUnit, Vector};
use furiosa_visa_rules::mapping::{Guard, gcd};
use furiosa_visa_rules::scalar::ElementType;
use packets::Packets;
use path::Path;
pub(crate) use switch::Switched;
use switch::{Sent, SwitchPlan};
use threads::{LEAST_SLICES, each};
use transpose::TransposePlan;
use vector::{Input, LaneRow, VectorBuffers, VectorPlan};

/// Inputs of a pass besides its command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassOptions {
    /// The products of padding that are zero.
    pub(crate) rule: PaddingRule,
    /// True if sums include padding that is not zero.
    pub(crate) computed: bool,
    /// The host's instructions to use.
    pub(crate) path: Path,
    /// Relation of the pass to the tensor that it fills.
    pub(crate) beginning: Beginning,
}

/// A pass through the Tensor Unit, prepared for all slices.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    command: &'a TensorUnit,
    /// The same command, with tensors at the addresses of their bytes.
    placed: Placed<'a>,
    location: &'static Location<'static>,
    fetch: FetchPlan,
    /// Flits per fetched packet.
    flits: usize,
    /// Per slice: true if it fetches, because a source can hold an element there.
    senders: Vec<bool>,
    /// Per slice: true if it has a stream after the switch.
    receivers: Vec<bool>,
    /// Sources of the packets of a slice. `None`: the slice itself.
    switch: Option<SwitchPlan>,
    contraction: Option<ContractionPlan>,
    /// Packets of the first engine after fetch in DM, if they need not be fetched into a buffer. The engine is the
    /// Switch Engine, the contraction, or the Vector Engine.
    packets: Option<Packets>,
    vector: Option<VectorPlan>,
    cast: Option<Cast>,
    transpose: Option<TransposePlan>,
    narrowing: Option<CommitNarrowing>,
    sink: SinkPlan,
}

/// Gives the reason why an element is uninitialised, from its tensor, its slice and its first byte.
pub(crate) type OriginOf<'a> = dyn Fn(&Place, Coordinates, u64) -> Origin + Sync + 'a;

/// Buffers of a thread that runs slices. They are used again for the next slice.
#[derive(Debug)]
struct Buffers {
    fetch: FetchBuffers,
    contraction: ContractionBuffers,
    stream: Row,
    vector: VectorBuffers,
    /// The stream before and after the Vector Engine.
    whole: [Row; 2],
    converted: Row,
    cast: Row,
    transposed: Row,
    transposed_flags: Vec<bool>,
    output: Row,
    /// The output as the Commit Engine narrows it.
    narrowed: Row,
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
            narrowed: row(),
            mask: Vec::new(),
        }
    }
}

impl<'a> Pass<'a> {
    /// Prepares a pass in `units` slices. `placed` holds the addresses of the bytes of its tensors.
    pub(crate) fn new(
        command: &'a TensorUnit,
        placed: Placed<'a>,
        units: usize,
        PassOptions { rule, computed, path, beginning }: PassOptions,
        location: &'static Location<'static>,
    ) -> Self {
        let flits = command.collect.map_or(1, |collect| collect.flits);
        let transpose = command.transpose.as_ref().map(TransposePlan::new);
        let fetch = FetchPlan::new(&placed.unit.fetch, command.collect.as_ref());
        let fetch = match &transpose {
            // Blocks hold whole matrices.
            Some(transpose) => fetch.in_groups(transpose.in_flits() / gcd(transpose.in_flits(), flits)),
            None => fetch,
        };
        let options = PaddingOptions { packet: command.fetch.packet, flits, rule, computed };
        let contraction = command
            .contraction
            .as_ref()
            .map(|contraction| ContractionPlan::new(contraction, command.fetch.output, path, options));
        let switch = command.switch.as_ref().map(|switch| SwitchPlan::new(switch, &fetch));
        let piece = match (&switch, &contraction) {
            (Some(_), _) => Some(fetch.packet_bytes()),
            (None, Some(contraction)) => contraction.whole_packets(command.fetch.time * flits),
            (None, None) => command.vector.is_some().then(|| command.fetch.time * fetch.packet_bytes()),
        };
        let packets = piece.and_then(|bytes| fetch.packets(bytes));
        let contraction = match (contraction, &packets, &switch) {
            (Some(contraction), Some(packets), None) => Some(contraction.in_place(&packets.starts)),
            (contraction, ..) => contraction,
        };
        let cast = command.cast.filter(|cast| cast.input != cast.output);
        let shapes = command.shapes();
        let vector =
            placed.unit.vector.as_ref().map(|vector| VectorPlan::new(vector, shapes.contracted, path));
        let end = match (&transpose, &cast) {
            (Some(_), _) => shapes.transposed,
            (None, Some(_)) => shapes.cast,
            (None, None) => shapes.vector,
        };
        let sink = SinkPlan::new(&placed.unit.sink, placed.files.written, end.time, end.lanes);
        let senders = senders(command, units);
        let receivers = match &switch {
            None => senders.clone(),
            Some(switch) => {
                // A sum between slices takes parts of slices that do not hold its result.
                let crosses = vector.as_ref().is_some_and(VectorPlan::crosses_slices);
                receivers(command, switch, crosses, units)
            }
        };
        // Slices without a stream write nothing.
        let misses = || (0..units).any(|unit| !receivers[unit] && sink.holds(Coordinates::of_slice(unit)));
        let sink = match beginning {
            Beginning::Part => sink.begins(),
            Beginning::Whole if misses() => sink.begins(),
            Beginning::Whole | Beginning::Earlier => sink,
        };
        Self {
            command,
            placed,
            location,
            fetch,
            flits,
            senders,
            receivers,
            switch,
            contraction,
            packets,
            vector,
            cast,
            transpose,
            narrowing: command.narrowing,
            sink,
        }
    }

    /// Number of packets of a stream after the switch.
    fn steps(&self) -> usize {
        self.switch.as_ref().map_or(self.command.fetch.time, SwitchPlan::steps)
    }

    /// Tells if the pass computes with its elements. If not, it copies them, uninitialised ones too.
    fn computes(&self) -> bool {
        let vector = self.command.vector.as_ref().is_some_and(Vector::computes);
        let converts = self.cast.is_some() || self.narrowing.is_some() || self.fetch.converts();
        self.contraction.is_some() || vector || converts
    }

    /// Runs all slices. Everything has been checked.
    pub(crate) fn run(&self, units: &mut [Unit], switched: &mut Switched) {
        let crossing = self.vector.as_ref().filter(|vector| vector.crosses_slices());
        // If the rest of a tensor becomes uninitialised, its slice must be read completely before anything is written.
        let plain = !self.sink.is_beginning();
        // What is narrowed on its way to DM is no move of bytes.
        let moves = plain && self.narrowing.is_none();
        match (crossing, &self.switch) {
            (Some(vector), _) => self.run_across(vector, units, switched.rows()),
            (None, Some(_)) if moves && (self.run_directly(units) || self.run_in_place(units)) => {}
            (None, None) if moves && (self.run_straight(units) || self.run_load(units)) => {}
            (None, _) => {
                let sent = self.sent_rows(units, switched.rows());
                self.for_each_slice(units, |at, unit, buffers| {
                    self.run_slice(at, unit, sent.as_ref(), buffers);
                });
            }
        }
        if !plain && crossing.is_none() {
            let others = units.iter_mut().enumerate().filter(|(number, _)| !self.receivers[*number]);
            others.for_each(|(number, unit)| self.sink.begin(Coordinates::of_slice(number), unit));
        }
        switched.trim();
    }

    /// Does some work with all slices that have a stream after the Switch Engine.
    fn for_each_slice(&self, units: &mut [Unit], work: impl Fn(Coordinates, &mut Unit, &mut Buffers) + Sync) {
        each(units, LEAST_SLICES, |buffers, number, unit| {
            if self.receivers[number] {
                work(Coordinates::of_slice(number), unit, buffers);
            }
        });
    }

    /// Runs all slices up to an exchange of the Vector Engine, exchanges, and runs the rest.
    fn run_across(&self, plan: &VectorPlan, units: &mut [Unit], rows: &mut Vec<Row>) {
        let before = |sent: Option<&Sent<'_>>, buffers: &mut Buffers, number: usize, unit: &Unit| {
            let at = Coordinates::of_slice(number);
            self.receivers[number].then(|| {
                self.begin(at, unit, buffers);
                self.fetch_and_compute(at, unit, sent, buffers);
                let Buffers { contraction: sums, vector, whole: [whole, _], .. } = buffers;
                plan.run_before(self.vector_input(unit, sums, whole), (unit, at), vector)
            })
        };
        let behind = |buffers: &mut Buffers, number: usize, unit: &mut Unit, stream: &mut Option<LaneRow>| {
            let at = Coordinates::of_slice(number);
            let Some(stream) = stream.take() else { return self.sink.begin(at, unit) };
            let Buffers { vector, whole: [_, whole], converted, cast: narrow, output, .. } = buffers;
            plan.run_behind(stream, (unit, at), vector, if self.is_end() { output } else { whole });
            self.narrow(whole, converted, narrow, output);
            self.write(at, unit, buffers);
        };
        let sent = self.sent(units, rows);
        let mut streams: Vec<Option<LaneRow>> = Vec::new();
        streams.resize_with(units.len(), || None);
        each(&mut streams, LEAST_SLICES, |buffers, number, stream| {
            *stream = before(sent.as_ref(), buffers, number, &units[number]);
        });
        let mut streams = plan.exchange(&streams);
        let mut slices: Vec<_> = units.iter_mut().zip(&mut streams).collect();
        each(&mut slices, LEAST_SLICES, |buffers, number, (unit, stream)| {
            behind(buffers, number, unit, stream)
        });
    }

    /// Runs a slice.
    ///
    /// ```text
    ///   fetch ──▶ switch ──▶ contract, cast … sink
    /// ```
    ///
    /// All slices are only read up to the switch. Without a switch, block after block goes through all phases.
    /// With one, a slice gathers all its packets at once.
    fn run_slice(&self, at: Coordinates, unit: &mut Unit, sent: Option<&Sent<'_>>, buffers: &mut Buffers) {
        self.begin(at, unit, buffers);
        self.fetch_and_compute(at, unit, sent, buffers);
        self.finish(at, unit, buffers);
    }

    /// Empties the buffers for a slice, and reads its weights.
    fn begin(&self, at: Coordinates, unit: &Unit, buffers: &mut Buffers) {
        // The Vector Engine replaces the whole output.
        if self.vector.is_none() || !self.is_end() {
            buffers.output.clear(self.cast.map_or(self.fetch.output(), |cast| cast.output));
        }
        buffers.whole[0].clear(self.fetch.output());
        if let Some(contraction) = &self.contraction {
            // Packets that are taken in place are prefetched while weights are laid out.
            if let (Some(packets), None) = (&self.packets, &self.switch) {
                prefetch::pages(unit.dm.bytes(), packets.range.clone());
                contraction.ask(unit.dm.bytes());
            }
            contraction.load(unit.trf(self.placed.files.read), at, &mut buffers.contraction);
            contraction.start(&mut buffers.contraction);
        }
    }

    /// Tells if packets go to the sink as they were fetched.
    fn copies(&self) -> bool {
        self.contraction.is_none() && self.vector.is_none() && self.is_end()
    }

    /// Tells if the output of the engines that compute goes to the sink unchanged.
    fn is_end(&self) -> bool {
        self.cast.is_none() && self.transpose.is_none()
    }

    /// Tells if packets go to the Vector Engine as they were fetched.
    fn gathers(&self) -> bool {
        self.contraction.is_none() && self.vector.is_some()
    }

    /// The time steps of each block. All of them form one block if `at_once` is set or if packets are switched.
    fn blocks(&self, at_once: bool) -> impl Iterator<Item = Range<usize>> + use<> {
        let at_once = at_once || self.switch.is_some();
        let whole = at_once.then_some(0..self.steps());
        let blocks = (!at_once).then(|| self.fetch.blocks());
        whole.into_iter().chain(blocks.into_iter().flatten())
    }

    /// First phase: loads the packets of some time steps of a slice.
    fn load(
        &self,
        at: Coordinates,
        unit: &Unit,
        sent: Option<&Sent<'_>>,
        block: Range<usize>,
        (buffers, stream): (&mut FetchBuffers, &mut Row),
    ) {
        match (sent, &self.switch) {
            (Some(sent), Some(switch)) => switch.gather(at, sent, stream),
            _ => self.fetch.run(&unit.dm, block, buffers, stream),
        }
    }

    /// Runs all phases before the end, block by block. All blocks run at once if packets go on unchanged or are taken
    /// from DM.
    fn fetch_and_compute(
        &self,
        at: Coordinates,
        unit: &Unit,
        sent: Option<&Sent<'_>>,
        buffers: &mut Buffers,
    ) {
        if self.contract_in_place(at, unit, buffers) || self.stream_in_place(unit).is_some() {
            return;
        }
        for block in self.blocks(self.copies() || self.gathers()) {
            let Buffers { fetch, stream, whole: [whole, _], output, .. } = buffers;
            let stream = match (self.copies(), self.gathers()) {
                (true, _) => output,
                (false, true) => whole,
                (false, false) => stream,
            };
            self.load(at, unit, sent, block.clone(), (fetch, stream));
            self.compute(at, block, buffers);
        }
    }

    /// Third phase, block by block: runs the engines on the fetched packets.
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
        if let Some(transpose) = &self.transpose {
            transpose.run(result, transposed);
            result = transposed;
        }
        output.push(result.bytes(), result.len(), result.flags());
    }

    /// The stream that enters the Vector Engine, if all of it lies in DM as it would be fetched.
    fn stream_in_place<'u>(&self, unit: &'u Unit) -> Option<&'u [u8]> {
        let range = self.packets.as_ref().filter(|_| self.gathers() && self.switch.is_none())?.range.clone();
        let whole = unit.dm.all_initialised(range.clone());
        whole.then(|| &unit.dm.bytes()[range])
    }

    /// The stream that enters the Vector Engine.
    fn vector_input<'u>(
        &self,
        unit: &'u Unit,
        sums: &mut ContractionBuffers,
        whole: &'u mut Row,
    ) -> Input<'u> {
        if let Some(contraction) = &self.contraction {
            contraction.finish(sums, whole);
        }
        self.stream_in_place(unit).map_or(Input::Row(whole), Input::Memory)
    }

    /// Runs all phases before the end at once, if a contraction may take its packets in place. Returns false otherwise.
    fn contract_in_place(&self, at: Coordinates, unit: &Unit, buffers: &mut Buffers) -> bool {
        let (Some(contraction), Some(packets), None) = (&self.contraction, &self.packets, &self.switch)
        else {
            return false;
        };
        let whole =
            contraction.is_whole(at, &buffers.contraction) && unit.dm.all_initialised(packets.range.clone());
        if whole {
            contraction.run_in_place(unit.dm.bytes(), &mut buffers.contraction);
        }
        whole
    }

    /// End of the third phase: results leave the accumulator, and the sink is written.
    fn finish(&self, at: Coordinates, unit: &mut Unit, buffers: &mut Buffers) {
        let Buffers {
            contraction: sums,
            stream,
            vector,
            whole: [before, behind],
            converted,
            cast: narrow,
            output,
            ..
        } = buffers;
        let is_end = self.is_end();
        if let Some(plan) = &self.vector {
            let input = self.vector_input(unit, sums, before);
            plan.run(input, (unit, at), vector, if is_end { output } else { behind });
            self.narrow(behind, converted, narrow, output);
        } else if let Some(contraction) = &self.contraction {
            contraction.finish(sums, if is_end { output } else { stream });
            self.narrow(stream, converted, narrow, output);
        }
        self.write(at, unit, buffers);
    }

    /// Writes the output of the engines to the sink, narrowed if the Commit Engine does so.
    fn write(&self, at: Coordinates, unit: &mut Unit, buffers: &mut Buffers) {
        let Buffers { output, narrowed, mask, .. } = buffers;
        let stream = match self.narrowing {
            Some(narrowing) => {
                narrow::run(narrowing, output, narrowed);
                &*narrowed
            }
            None => output,
        };
        self.sink.run(stream, at, unit, mask);
    }

    /// Runs the Cast and Transpose Engine, after the engines that compute. Without them, the output is there already.
    fn narrow(&self, stream: &Row, converted: &mut Row, narrow: &mut Row, output: &mut Row) {
        match (&self.cast, &self.transpose) {
            (None, None) => {}
            (Some(step), None) => cast::run(step, stream, converted, output),
            (None, Some(transpose)) => transpose.run(stream, output),
            (Some(step), Some(transpose)) => {
                cast::run(step, stream, converted, narrow);
                transpose.run(narrow, output);
            }
        }
    }
}

/// Per slice of `units`: true if it fetches, because a source can hold an element there.
fn senders(command: &TensorUnit, units: usize) -> Vec<bool> {
    let takes_part = |at: Coordinates| {
        command.fetch.sources().any(|source| {
            let footprint = &source.footprint;
            let inside =
                at.chip < footprint.chips && at.cluster < footprint.clusters && at.slice < footprint.slices;
            inside && may_be_live(&footprint.guard, at)
        })
    };
    (0..units).map(|unit| takes_part(Coordinates::of_slice(unit))).collect()
}

/// Per slice of `units`: true if it has a stream after a switch. It receives packets, and the end of the stream can
/// hold an element there. `crosses`: another slice may use its stream.
fn receivers(command: &TensorUnit, switch: &SwitchPlan, crosses: bool, units: usize) -> Vec<bool> {
    let (Sink::Commit { guard, .. } | Sink::Trf { guard, .. } | Sink::Vrf { guard, .. }) = &command.sink;
    let receives = |at: Coordinates| {
        at.chip < command.chips() && switch.reaches(at) && (crosses || may_be_live(guard, at))
    };
    (0..units).map(|unit| receives(Coordinates::of_slice(unit))).collect()
}

/// Tells if a unit can hold an element.
fn may_be_live(guard: &Guard, at: Coordinates) -> bool {
    guard.may_hold(&[at.chip, at.cluster, at.slice])
}

#[cfg(test)]
mod tests;
