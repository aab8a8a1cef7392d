//! Aligner and Reducer: stream packets times register file rows, summed by the tree and over time.
//!
//! Steps whose packets and weights have no padding cell are handed to a kernel in blocks. The others are summed cell by
//! cell. Both add to the same results, in the order of the steps.

mod chains;
mod general;
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod integer;
mod job;
#[cfg(target_arch = "aarch64")]
mod neon;
mod padding;
mod path;
mod portable;
mod shape;
mod single_row;
#[cfg(test)]
mod tests;
mod tree;
mod weights;
mod widen;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::memory::Block;
use crate::memory::row::Row;
use chains::Chains;
use core::ops::Range;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::command::{AccumulationKind, Contraction};
use furiosa_visa_rules::mapping::Guard;
use furiosa_visa_rules::mapping::guard::rows::{LiveRows, Liveness, depends_on, split_units};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::sequencer::walk::Walk;
use furiosa_visa_rules::spec::{BEAT_LANES, FLIT_BYTES};
use general::Scratch;
use job::{FloatJob, IntegerJob, Step};
use padding::{Cells, Summed};
pub(crate) use padding::{PaddingOptions, SummedCell};
use path::Path;
use shape::Kernel;
use std::sync::Arc;
use tree::Lanes;
use weights::{Wanted, Weights};

/// The part of a contraction that is the same in all slices.
#[derive(Debug)]
pub(crate) struct ContractionPlan {
    command: Contraction,
    path: Path,
    kernel: Kernel,
    /// Elements per flit.
    per_flit: usize,
    /// The slices that have a live element in the stream.
    slices_live: Guard,
    /// The live lanes of each flit of the collected stream, as far as they do not depend on the slice.
    stream_live: LiveRows,
    /// The liveness of each flit of a slice. Empty if slices differ.
    flits_live: Vec<Liveness>,
    /// The live weights of each row of the register file.
    weights_live: LiveRows,
    /// The first element of each step's read.
    reads: Vec<usize>,
    /// The tile, the result and the packet of each step.
    steps: Vec<Step>,
    /// Per step: true if it is padding of the computation and adds nothing. Empty: none is.
    padding: Vec<bool>,
    /// All steps in an order that uses weights several times. Empty without a kernel.
    chains: Chains,
    /// True if the chains take their packets from DM, and not from a stream.
    is_in_place: bool,
    /// Elements per row that steps reach.
    reach: usize,
    /// Elements of a row that steps read, in their order.
    read: Vec<Range<usize>>,
    /// Places where padding is summed with elements.
    summed: Summed,
    options: PaddingOptions,
}

/// An unwritten element that is consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// An element of the stream.
    Stream { flit: usize, lane: usize },
    /// An element of the register file.
    Weight { row: usize, element: usize, step: usize },
}

/// Scratch of one slice.
#[derive(Debug, Default)]
pub(crate) struct ContractionBuffers {
    weights: Weights,
    sums: Sums,
    /// Liveness of each flit of a block.
    flit_live: Vec<Liveness>,
    /// Mask of each lane of a block: all ones for a live lane. Empty if all lanes of all flits are live.
    stream_mask: Vec<u32>,
    live: Vec<bool>,
    /// The steps of a part of the stream.
    chains: Chains,
    scratch: Scratch,
    /// Places in the slice where padding is summed with elements.
    summed: Option<Arc<Cells>>,
    /// Values of the current block, for the padding check.
    numbers: Vec<f32>,
    /// Padding of the current block that takes part in sums.
    computed: Vec<SummedCell>,
}

/// The accumulators of a slice: eight rows per slot and column.
#[derive(Debug, Default)]
struct Sums {
    /// Sums for `f32`. They start at -0, to which the first arrival adds itself, whatever its sign is.
    floats: Vec<Lanes>,
    /// Sums for `i32`.
    integers: Vec<[i32; 8]>,
    /// Marks of results with an unwritten operand. Empty if there are none.
    missing: Vec<[bool; 8]>,
}

impl Sums {
    /// Adds the sum of a column to a result. `absent`: the tree reaches into the absent half of the packet, which adds
    /// zero once. `rows`: 0 for a row without a live cell, which adds nothing.
    fn arrive(&mut self, result: usize, mut sum: Lanes, absent: bool, rows: [u32; 8]) {
        if absent {
            sum = tree::add(sum, [0.0; 8]);
        }
        // Adding -0 changes nothing.
        sum.iter_mut().zip(rows).filter(|(_, row)| *row == 0).for_each(|(sum, _)| *sum = -0.0);
        if let Some(floats) = self.floats.get_mut(result) {
            *floats = tree::add(*floats, sum);
        } else {
            let words = self.integers[result].iter_mut().zip(sum);
            words.for_each(|(word, sum)| *word = word.wrapping_add(sum as i32));
        }
    }
}

/// The elements of reads of `len` elements each, without overlaps, in their order.
fn joined(starts: &[usize], len: usize) -> Vec<Range<usize>> {
    let mut starts = starts.to_vec();
    starts.sort_unstable();
    starts.dedup();
    let mut joined: Vec<Range<usize>> = Vec::new();
    for start in starts {
        match joined.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(start + len),
            _ => joined.push(start..start + len),
        }
    }
    joined
}

impl ContractionPlan {
    /// Elements of a row of the register file that steps read.
    pub(crate) fn read(&self) -> &[Range<usize>] {
        &self.read
    }

    /// Prepares a contraction of a stream. Kernels take both sides in one type.
    pub(crate) fn new(
        command: &Contraction,
        stream: ElementType,
        path: Path,
        options: PaddingOptions,
    ) -> Self {
        let path = (stream == command.trf.element).then_some(path);
        Self::with_kernels(command, path, options)
    }

    /// The same plan. Without a path, it has no kernels and sums cell by cell.
    fn with_kernels(command: &Contraction, path: Option<Path>, options: PaddingOptions) -> Self {
        let bits = command.trf.element.bits();
        let per_flit = FLIT_BYTES * 8 / bits;
        let bytes = Walk::new(&command.trf_config).positions(0..command.steps, 1);
        let reads: Vec<usize> = bytes.iter().map(|&byte| byte.max(0) as usize * 8 / bits).collect();
        let slots = Walk::new(&command.slots).positions(0..command.steps, 1);
        let period = command.trf_config.packet_size;
        let reach = reads.iter().max().map_or(0, |read| read + period).max(command.trf.row_elements);
        let steps = reads.iter().zip(&slots).enumerate().map(|(step, (&read, &slot))| Step {
            tile: (read / period.max(1)) as u32,
            result: (slot.max(0) as usize * command.columns) as u32,
            packet: (step / command.tile.max(1)) as u32,
        });
        let steps: Vec<Step> = steps.collect();
        let padding = padding_steps(command, per_flit);
        let (slices_live, rest) = split_units(&command.stream_guard);
        let stream_live = LiveRows::new(&rest, 4, per_flit);
        let mut flits_live = Vec::new();
        if !stream_live.is_always() && (0..3).all(|variable| !depends_on(&rest, variable)) {
            let flits = command.steps.div_ceil(command.tile.max(1)) * command.collect_flits;
            let mut mask = Vec::new();
            flits_live.extend((0..flits).map(|time| stream_live.row(&mut [0, 0, 0, time, 0], &mut mask)));
        }
        let results = command.slot_count * command.columns;
        let kernel = path.map_or(Kernel::General, |path| Kernel::new(command, path, &reads, reach));
        let path = path.unwrap_or(Path::Portable);
        let size = command.collect_flits * FLIT_BYTES;
        let chains = match kernel {
            Kernel::General => Chains::default(),
            _ => Chains::sorted(&steps, results, path.side(&kernel), |packet| packet * size as u32),
        };
        let mut plan = Self {
            command: command.clone(),
            path,
            kernel,
            per_flit,
            slices_live,
            stream_live,
            flits_live,
            weights_live: LiveRows::new(&command.trf.guard, 4, command.trf.row_elements),
            chains,
            is_in_place: false,
            steps,
            padding,
            read: joined(&reads, period),
            reads,
            reach,
            summed: Summed::Nowhere,
            options,
        };
        plan.summed = plan.find_summed();
        plan
    }

    /// Takes packets in place in DM, at these addresses.
    pub(crate) fn in_place(mut self, addresses: &[u32]) -> Self {
        let size = self.packet_bytes() as u32;
        self.chains.move_packets(|start| addresses[(start / size) as usize]);
        self.is_in_place = true;
        self
    }

    /// Bytes of a packet.
    fn packet_bytes(&self) -> usize {
        self.command.collect_flits * FLIT_BYTES
    }

    /// Tells if some slice may take lanes past the leading ones of a flit as elements.
    pub(crate) fn may_take_padding(&self, flits: usize, leading: impl Fn(usize) -> usize) -> bool {
        self.stream_live.may_exceed(flits, self.per_flit, leading)
    }

    /// Reads the weights of a slice.
    pub(crate) fn load(&self, trf: &Block, at: Coordinates, buffers: &mut ContractionBuffers) {
        let region = &self.command.trf;
        buffers.summed = self.summed_in(at);
        let padding = buffers.summed.is_some();
        let wanted = Wanted {
            read: &self.read,
            reach: self.reach,
            lanes: !self.stream_live.is_always() || padding,
            padding,
            path: self.path,
        };
        buffers.weights.load((trf, region), &self.weights_live, at, &self.kernel, wanted);
    }

    /// Empties the accumulators.
    pub(crate) fn start(&self, buffers: &mut ContractionBuffers) {
        let results = self.command.slot_count * self.command.columns;
        let sums = &mut buffers.sums;
        sums.floats.clear();
        sums.integers.clear();
        match self.command.output {
            ElementType::I32 => sums.integers.resize(results, [0; 8]),
            _ => sums.floats.resize(results, [-0.0; 8]),
        }
        sums.missing.clear();
    }

    /// Tells if a step is padding of the computation.
    fn is_padding(&self, step: usize) -> bool {
        self.padding.get(step).is_some_and(|&padding| padding)
    }

    /// The steps that use the `flits` flits from `flit` on.
    fn steps(&self, flit: usize, flits: usize) -> Range<usize> {
        let Contraction { collect_flits, tile, steps, .. } = self.command;
        let first = flit / collect_flits * tile;
        first.min(steps)..(first + flits / collect_flits * tile).min(steps)
    }

    /// Finds the live lanes of the block's flits.
    fn look(&self, flit: usize, flits: usize, at: Coordinates, buffers: &mut ContractionBuffers) {
        buffers.flit_live.clear();
        buffers.stream_mask.clear();
        let slice = self.slices_live.holds(&[at.chip, at.cluster, at.slice, 0, 0]);
        if !slice {
            buffers.flit_live.resize(flits, Liveness::Nothing);
            buffers.stream_mask.resize(flits * self.per_flit, 0);
            return;
        }
        if self.stream_live.is_always() {
            buffers.flit_live.resize(flits, Liveness::All);
            return;
        }
        for time in flit..flit + flits {
            let liveness = match self.flits_live.get(time) {
                Some(&liveness) if liveness != Liveness::Some => liveness,
                _ => {
                    let variables = &mut [at.chip, at.cluster, at.slice, time, 0];
                    self.stream_live.row(variables, &mut buffers.live)
                }
            };
            buffers.flit_live.push(liveness);
            let rest = if liveness == Liveness::All { u32::MAX } else { 0 };
            let lanes = (time + 1 - flit) * self.per_flit;
            match liveness {
                Liveness::All if buffers.stream_mask.is_empty() => {}
                Liveness::Some => {
                    buffers.stream_mask.resize(lanes - self.per_flit, u32::MAX);
                    let mask = buffers.live.iter().map(|&live| if live { u32::MAX } else { 0 });
                    buffers.stream_mask.extend(mask);
                }
                Liveness::All | Liveness::Nothing => {
                    buffers.stream_mask.resize(lanes - self.per_flit, u32::MAX);
                    buffers.stream_mask.resize(lanes, rest);
                }
            }
        }
    }

    /// Multiplies and sums the packets of a block of flits. Its first flit has number `flit`.
    pub(crate) fn run(&self, stream: &Row, flit: usize, at: Coordinates, buffers: &mut ContractionBuffers) {
        let flits = stream.len() / self.per_flit;
        self.look(flit, flits, at, buffers);
        self.collect_summed(stream, flit, buffers);
        let steps = self.steps(flit, flits);
        buffers.scratch.clear();
        let live = buffers.stream_mask.is_empty() && buffers.weights.whole.is_empty();
        if live && self.padding.is_empty() && self.kernel != Kernel::General {
            self.run_block(stream, steps.clone(), steps.start, buffers);
            self.mark_missing(stream, steps, buffers);
            return;
        }
        let mut next = steps.start;
        while next < steps.end {
            let way = self.way(next, steps.start, buffers);
            let mut end = next + 1;
            while end < steps.end && self.way(end, steps.start, buffers) == way {
                end += 1;
            }
            match way {
                Way::Nothing => {}
                Way::Kernel => self.run_block(stream, next..end, steps.start, buffers),
                Way::General => {
                    (next..end).for_each(|step| self.run_general(stream, step, steps.start, buffers))
                }
                Way::Padding => (next..end).for_each(|step| self.run_summed(step, steps.start, buffers)),
            }
            next = end;
        }
        self.mark_missing(stream, steps, buffers);
    }

    /// Way in which a step is summed. `first`: the first step of the block.
    fn way(&self, step: usize, first: usize, buffers: &ContractionBuffers) -> Way {
        if buffers.computed.binary_search_by_key(&step, |cell| cell.step).is_ok() {
            return Way::Padding;
        }
        if self.is_padding(step) {
            return Way::Nothing;
        }
        let Contraction { collect_flits, tile, .. } = self.command;
        let flit = (step - first) / tile * collect_flits;
        let live = &buffers.flit_live[flit..flit + collect_flits];
        if live.iter().all(|&live| live == Liveness::Nothing) {
            return Way::Nothing;
        }
        let whole = buffers.weights.whole.get(self.steps[step].tile as usize).copied().unwrap_or(true);
        if self.kernel != Kernel::General && whole && live.iter().all(|&live| live == Liveness::All) {
            Way::Kernel
        } else {
            Way::General
        }
    }

    /// Sums steps of a block without padding cells. `first`: the first step of the block.
    fn run_block(&self, stream: &Row, steps: Range<usize>, first: usize, buffers: &mut ContractionBuffers) {
        if steps.is_empty() {
            return;
        }
        if steps.len() == self.steps.len() && !self.is_in_place {
            return self.run_kernel(&self.chains, stream.bytes(), buffers);
        }
        let (size, first) = (self.packet_bytes() as u32, self.steps[first].packet);
        let mut chains = core::mem::take(&mut buffers.chains);
        chains.replace(&self.steps[steps], |packet| (packet - first) * size);
        self.run_kernel(&chains, stream.bytes(), buffers);
        buffers.chains = chains;
    }

    /// Prefetches the packets that are summed first, after [`ContractionPlan::in_place`]. `bytes`: those of DM.
    pub(crate) fn ask(&self, bytes: &[u8]) {
        self.chains.first().iter().for_each(|&start| super::prefetch::far(bytes, start as usize));
    }

    /// Sums all steps with a kernel, after [`ContractionPlan::in_place`]. `bytes`: those of DM.
    pub(crate) fn run_in_place(&self, bytes: &[u8], buffers: &mut ContractionBuffers) {
        debug_assert!(self.is_in_place, "packets are looked for in DM");
        self.run_kernel(&self.chains, bytes, buffers);
    }

    /// Sums steps without padding cells. `bytes`: the bytes that hold the packets.
    fn run_kernel(&self, chains: &Chains, bytes: &[u8], buffers: &mut ContractionBuffers) {
        let ContractionBuffers { weights, sums, .. } = buffers;
        match self.kernel {
            Kernel::General => {}
            Kernel::Float(shape) => {
                let (weights, sums) = (&weights.floats[..], &mut sums.floats[..]);
                self.path.float(FloatJob { shape, chains, bytes, weights, sums });
            }
            Kernel::SingleRow(shape) => {
                let (weights, sums) = (&weights.row[..], &mut sums.floats[..]);
                self.path.single_row(FloatJob { shape, chains, bytes, weights, sums });
            }
            Kernel::Integer(shape, layout) => {
                let (vectors, sums) = (&weights.vectors[..], &mut sums.integers[..]);
                self.path.integer(IntegerJob { shape, layout, chains, bytes, vectors, sums });
            }
        }
    }

    /// Bytes per packet, if a kernel can sum all steps of `flits` flits.
    pub(crate) fn whole_packets(&self, flits: usize) -> Option<usize> {
        let Contraction { collect_flits, tile, steps, .. } = self.command;
        let all = self.kernel != Kernel::General && self.stream_live.is_always() && self.padding.is_empty();
        let whole = flits.is_multiple_of(collect_flits) && flits / collect_flits * tile == steps;
        (all && whole).then_some(self.packet_bytes())
    }

    /// Tells if no operand of a slice is padding or unwritten, as far as it depends on the weights and the slice.
    pub(crate) fn is_whole(&self, at: Coordinates, buffers: &ContractionBuffers) -> bool {
        let weights = &buffers.weights;
        weights.whole.is_empty()
            && weights.missing.is_empty()
            && self.slices_live.holds(&[at.chip, at.cluster, at.slice, 0, 0])
    }

    /// Marks the results of steps with unwritten operands.
    fn mark_missing(&self, stream: &Row, steps: Range<usize>, buffers: &mut ContractionBuffers) {
        self.mark_summed(buffers);
        let ContractionBuffers { weights, sums, stream_mask, .. } = buffers;
        let live = |lane: usize| stream_mask.get(lane).is_none_or(|&mask| mask != 0);
        let flags = stream.flags().unwrap_or(&[]);
        let some = flags.iter().enumerate().any(|(lane, &flag)| !flag && live(lane));
        if !some && weights.missing.is_empty() {
            return;
        }
        let Contraction { collect_flits, tile, depth, columns, slot_count, .. } = self.command;
        let cells = collect_flits * self.per_flit;
        for step in steps.clone().filter(|&step| !self.is_padding(step)) {
            let first = (step - steps.start) / tile * cells;
            let result = self.steps[step].result as usize;
            for cell in (0..cells).filter(|cell| live(first + cell)) {
                let column = cell >> depth;
                if column >= columns {
                    break;
                }
                let weight = self.reads[step] + cell % self.command.trf_config.packet_size;
                let whole = flags.get(first + cell).is_some_and(|&flag| !flag);
                let rows = weights.missing.get(weight).copied().unwrap_or([false; 8]);
                if whole || rows.contains(&true) {
                    sums.missing.resize(slot_count * columns, [false; 8]);
                    let marks = sums.missing[result + column].iter_mut().zip(rows);
                    marks.for_each(|(mark, row)| *mark |= whole || row);
                }
            }
        }
    }

    /// The first live unwritten element of a block of flits, or else the first live unwritten weight that the block
    /// meets.
    pub(crate) fn find_missing(
        &self,
        stream: &Row,
        flit: usize,
        at: Coordinates,
        buffers: &mut ContractionBuffers,
    ) -> Option<Missing> {
        if stream.flags().is_none() && buffers.weights.missing.is_empty() {
            return None;
        }
        let flits = stream.len() / self.per_flit;
        self.look(flit, flits, at, buffers);
        let live = |lane: usize| buffers.stream_mask.get(lane).is_none_or(|&mask| mask != 0);
        if let Some(flags) = stream.flags() {
            let found = (0..flags.len()).find(|&k| !flags[k] && live(k));
            if let Some(k) = found {
                return Some(Missing::Stream { flit: flit + k / self.per_flit, lane: k % self.per_flit });
            }
        }
        let missing = &buffers.weights.missing;
        if missing.is_empty() {
            return None;
        }
        let Contraction { collect_flits, tile, .. } = self.command;
        for step in self.steps(flit, flits).filter(|&step| !self.is_padding(step)) {
            let packet = (step / tile) * collect_flits - flit;
            for cell in 0..collect_flits * self.per_flit {
                let element = self.reads[step] + cell % self.command.trf_config.packet_size;
                let live = live(packet * self.per_flit + cell);
                if let Some(row) = missing[element].iter().position(|&missing| missing && live) {
                    return Some(Missing::Weight { row, element, step });
                }
            }
        }
        None
    }

    /// Writes the results as a stream of eight lanes. All NaN get the same code, because the code of a sum of several
    /// NaN depends on the order of an addition's operands.
    pub(crate) fn finish(&self, buffers: &ContractionBuffers, output: &mut Row) {
        let Contraction { columns, slot_count, kind, trf, output: element, .. } = &self.command;
        output.clear(*element);
        let sums = &buffers.sums;
        let groups = columns.div_ceil(BEAT_LANES);
        let results = slot_count * self.command.beats() * BEAT_LANES;
        let known: Option<&[bool]> = if sums.missing.is_empty() { None } else { Some(&[]) };
        let (bytes, flags) = output.push_blank(results, known);
        let words = bytes.as_chunks_mut::<4>().0;
        // Number of rows of a result that are written, and distance between their places.
        let (rows, step) = match kind {
            AccumulationKind::Interleaved => (BEAT_LANES, 1),
            AccumulationKind::Sequential => (trf.rows, groups * BEAT_LANES),
        };
        let start = |result: usize| match kind {
            AccumulationKind::Interleaved => result * BEAT_LANES,
            AccumulationKind::Sequential => result / columns * rows * step + result % columns,
        };
        let integer = |sum: i32| sum.to_le_bytes();
        let float = |sum: f32| (if sum.is_nan() { f32::NAN } else { sum }).to_le_bytes();
        match *element {
            ElementType::I32 => place_all(&sums.integers, words, (rows, step), start, integer),
            _ => place_all(&sums.floats, words, (rows, step), start, float),
        }
        if !flags.is_empty() {
            place_all(&sums.missing, flags, (rows, step), start, |missing: bool| !missing);
        }
    }
}

/// Writes the leading rows of each result to their places.
#[inline(always)]
fn place_all<T: Copy, U>(
    results: &[[T; 8]],
    output: &mut [U],
    (rows, step): (usize, usize),
    start: impl Fn(usize) -> usize,
    convert: impl Fn(T) -> U,
) {
    if (rows, step) == (8, 1) {
        // The compiler vectorises the conversions because the size is constant.
        for (places, lanes) in output.as_chunks_mut::<8>().0.iter_mut().zip(results) {
            for k in 0..8 {
                places[k] = convert(lanes[k]);
            }
        }
        return;
    }
    for (result, lanes) in results.iter().enumerate() {
        let places = &mut output[start(result)..];
        for (row, &lane) in lanes[..rows].iter().enumerate() {
            places[row * step] = convert(lane);
        }
    }
}

/// Marks the steps that are padding of the computation. Empty: none is.
fn padding_steps(command: &Contraction, per_flit: usize) -> Vec<bool> {
    if command.step_guard.is_always() {
        return Vec::new();
    }
    let packets = LiveRows::new(&command.step_guard, 1, 2 * per_flit);
    let mut mask = Vec::new();
    let nothing = |step| packets.row(&mut [step, 0], &mut mask) == Liveness::Nothing;
    let padding: Vec<bool> = (0..command.steps).map(nothing).collect();
    if padding.contains(&true) { padding } else { Vec::new() }
}

/// Way in which a step is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The step adds nothing: its packet is padding, or the step is.
    Nothing,
    /// A kernel sums the step.
    Kernel,
    /// The step is summed cell by cell.
    General,
    /// The step is summed cell by cell, with padding that is not zero.
    Padding,
}
