//! Aligner and Reducer: stream packets times register file rows, summed by the tree and over time.

use super::kernel::{Lanes, add, live_rows, masked_tree, tree};
use super::walk::Walk;
use crate::chip::live::{LiveRows, Liveness};
use crate::chip::memory::place::Coordinates;
use crate::chip::memory::row::{Line, Row, nibble};
use crate::chip::memory::{Block, planes, trf};
use crate::chip::spec::{BEAT_LANES, FLIT_BYTES};
use crate::command::{AccumulationKind, Contraction};
use crate::scalar::{ElementType, convert_block};
use core::ops::Range;

/// What does not differ between slices.
#[derive(Debug)]
pub(crate) struct ContractionPlan {
    command: Contraction,
    /// Elements per flit.
    per_flit: usize,
    /// Per flit of the collected stream.
    stream_live: LiveRows,
    /// Per row of the register file.
    weights_live: LiveRows,
    /// The first element of each step's read.
    reads: Vec<usize>,
    /// The slot of each step. `None`: the step is padding of the computation and adds nothing.
    slots: Vec<Option<usize>>,
    /// Elements per row that steps reach.
    reach: usize,
}

/// An element that was consumed although nobody wrote it.
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
    stream: Vec<f32>,
    stream_mask: Vec<u32>,
    flit_live: Vec<Liveness>,
    live: Vec<bool>,
    row: Vec<f32>,
    weights: Vec<Lanes>,
    /// Empty if every weight is live.
    weight_mask: Vec<[u32; 8]>,
    /// Live weights that nobody wrote. Empty if there are none.
    weight_missing: Vec<[bool; 8]>,
    ones: Vec<[u32; 8]>,
    repeated: Vec<Lanes>,
    repeated_mask: Vec<[u32; 8]>,
    floats: Vec<Lanes>,
    integers: Vec<[i32; 8]>,
    arrived: Vec<bool>,
    /// Results with an operand that nobody wrote. Empty if there are none.
    missing: Vec<[bool; 8]>,
}

impl ContractionPlan {
    /// Prepares a contraction.
    pub(crate) fn new(command: &Contraction) -> Self {
        let bits = command.trf.element.bits();
        let per_flit = FLIT_BYTES * 8 / bits;
        let bytes = Walk::new(&command.trf_config).positions(0..command.steps, 1);
        let reads: Vec<usize> = bytes.iter().map(|&byte| byte.max(0) as usize * 8 / bits).collect();
        let slots = Walk::new(&command.slots).positions(0..command.steps, 1);
        let packets = LiveRows::new(&command.step_guard, 1, 2 * per_flit);
        let mut mask = Vec::new();
        let slots = slots.iter().enumerate().map(|(step, &slot)| {
            let live = packets.row(&mut [step, 0], &mut mask) != Liveness::Nothing;
            live.then_some(slot.max(0) as usize)
        });
        let slots = slots.collect();
        let reach = reads.iter().max().map_or(0, |read| read + command.trf_config.packet_size);
        Self {
            command: command.clone(),
            per_flit,
            stream_live: LiveRows::new(&command.stream_guard, 4, per_flit),
            weights_live: LiveRows::new(&command.trf.guard, 4, command.trf.row_elements),
            reads,
            slots,
            reach: reach.max(command.trf.row_elements),
        }
    }

    /// Whether products of this type can be summed exactly as the chip does.
    pub(crate) fn supports(element: ElementType, output: ElementType) -> bool {
        use ElementType::{Bf16, F8e4m3, F8e5m2, F16, F32, I4, I5, I8, I9, I32, U8};
        match output {
            // Packets of these are sums below 2^24, which f32 holds exactly.
            I32 => matches!(element, I4 | I5 | I8 | I9 | U8),
            F32 => matches!(element, Bf16 | F8e4m3 | F8e5m2 | F16 | F32),
            _ => false,
        }
    }

    /// Reads the weights of a slice.
    pub(crate) fn load(&self, trf: &Block, at: Coordinates, buffers: &mut ContractionBuffers) {
        let region = &self.command.trf;
        let all = region.row_elements;
        buffers.weights.clear();
        buffers.weights.resize(self.reach, [0.0; 8]);
        buffers.weight_mask.clear();
        buffers.weight_missing.clear();
        if self.reach > all {
            buffers.weight_mask.resize(self.reach, [0; 8]);
            buffers.weight_mask[..all].fill([u32::MAX; 8]);
        }
        let mut packed = Row::new(region.element);
        for row in 0..region.rows {
            let liveness =
                self.weights_live.row(&mut [at.chip, at.cluster, at.slice, row, 0], &mut buffers.live);
            if liveness == Liveness::Nothing {
                // The whole row is padding: nobody looks at its results.
                continue;
            }
            let read = |element: ElementType, plane: u64, packed: &mut Row| {
                packed.clear(element);
                for run in trf::runs(region, row, 0..all) {
                    let (position, address) = (run.position as i64, run.address + plane);
                    packed.read(trf, Line { unit: 0, address, position, stride: 1, len: run.len });
                }
            };
            match planes::plane_type(region.element) {
                None => read(region.element, 0, &mut packed),
                Some(plane) => {
                    let mut parts = [Row::new(plane), Row::new(plane)];
                    read(plane, 0, &mut parts[0]);
                    read(plane, planes::PLANE_BYTES, &mut parts[1]);
                    planes::join(region.element, &parts, &mut packed);
                }
            }
            to_floats(region.element, packed.bytes(), all, &mut buffers.row);
            for (lanes, &value) in buffers.weights.iter_mut().zip(&buffers.row) {
                lanes[row] = value;
            }
            if liveness == Liveness::Some {
                if buffers.weight_mask.is_empty() {
                    buffers.weight_mask.resize(self.reach, [u32::MAX; 8]);
                }
                for (mask, &live) in buffers.weight_mask.iter_mut().zip(&buffers.live) {
                    mask[row] = if live { u32::MAX } else { 0 };
                }
            }
            if let Some(flags) = packed.flags() {
                for (element, &flag) in flags.iter().enumerate() {
                    if !flag && (liveness == Liveness::All || buffers.live[element]) {
                        buffers.weight_missing.resize(self.reach, [false; 8]);
                        buffers.weight_missing[element][row] = true;
                    }
                }
            }
        }
    }

    /// Empties the accumulators.
    pub(crate) fn start(&self, buffers: &mut ContractionBuffers) {
        let results = self.command.slot_count * self.command.columns;
        buffers.floats.clear();
        buffers.integers.clear();
        match self.command.output {
            ElementType::I32 => buffers.integers.resize(results, [0; 8]),
            _ => buffers.floats.resize(results, [0.0; 8]),
        }
        buffers.arrived.clear();
        buffers.arrived.resize(results, false);
        buffers.missing.clear();
    }

    /// The steps that use the flits from `flit` on, so many of them.
    fn steps(&self, flit: usize, flits: usize) -> Range<usize> {
        let Contraction { collect_flits, tile, steps, .. } = self.command;
        let first = flit / collect_flits * tile;
        first.min(steps)..(first + flits / collect_flits * tile).min(steps)
    }

    /// Which lanes of the block's flits are live.
    fn look(&self, flit: usize, flits: usize, at: Coordinates, buffers: &mut ContractionBuffers) {
        buffers.flit_live.clear();
        buffers.stream_mask.clear();
        if self.stream_live.is_always() {
            buffers.flit_live.resize(flits, Liveness::All);
        } else {
            for time in flit..flit + flits {
                let variables = &mut [at.chip, at.cluster, at.slice, time, 0];
                buffers.flit_live.push(self.stream_live.row(variables, &mut buffers.live));
                let liveness = buffers.flit_live[time - flit];
                let masked = liveness == Liveness::Some;
                let rest = if liveness == Liveness::All { u32::MAX } else { 0 };
                buffers.stream_mask.extend(
                    (0..self.per_flit).map(|lane| {
                        if masked { if buffers.live[lane] { u32::MAX } else { 0 } } else { rest }
                    }),
                );
            }
        }
        buffers.stream_mask.resize(flits * self.per_flit, u32::MAX);
    }

    /// Multiplies and sums the packets of a block of flits, the first of which has number `flit`.
    pub(crate) fn run(&self, stream: &Row, flit: usize, at: Coordinates, buffers: &mut ContractionBuffers) {
        let flits = stream.len() / self.per_flit;
        to_floats(stream.element(), stream.bytes(), stream.len(), &mut buffers.stream);
        self.look(flit, flits, at, buffers);
        let Contraction { collect_flits, tile, depth, columns, .. } = self.command;
        let (cells, group) = (collect_flits * self.per_flit, 1usize << depth);
        let period = self.command.trf_config.packet_size;
        let steps = self.steps(flit, flits);
        let first_step = flit / collect_flits * tile;
        let missing = stream.flags().is_some() || !buffers.weight_missing.is_empty();
        // Where the tree reaches into the absent half of the packet, it adds zero once.
        let (part, absent) = if group > cells { (cells, true) } else { (group, false) };
        for step in steps {
            let Some(slot) = self.slots[step] else { continue };
            let packet = (step - first_step) / tile * collect_flits;
            let liveness = &buffers.flit_live[packet..packet + collect_flits];
            if liveness.iter().all(|&l| l == Liveness::Nothing) {
                continue;
            }
            let all = liveness.iter().all(|&l| l == Liveness::All) && buffers.weight_mask.is_empty();
            let lanes = packet * self.per_flit..packet * self.per_flit + cells;
            let x = &buffers.stream[lanes.clone()];
            let x_mask = &buffers.stream_mask[lanes.clone()];
            let read = self.reads[step];
            let mut w = &buffers.weights[read..read + period];
            let mut w_mask = buffers.weight_mask.get(read..read + period).unwrap_or(&[]);
            if !all && w_mask.is_empty() {
                buffers.ones.resize(period, [u32::MAX; 8]);
                w_mask = &buffers.ones;
            }
            if part > period {
                buffers.repeated.clear();
                buffers.repeated_mask.clear();
                for _ in 0..part / period {
                    buffers.repeated.extend_from_slice(w);
                    buffers.repeated_mask.extend_from_slice(w_mask);
                }
                (w, w_mask) = (&buffers.repeated, &buffers.repeated_mask);
            }
            let period = period.max(part);
            let first = slot * columns;
            for column in 0..columns.min(cells.div_ceil(group)) {
                let from = column * group;
                let at_w = from % period;
                let x = &x[from..from + part];
                let mut rows = [u32::MAX; 8];
                let mut sum = if all {
                    tree(x, &w[at_w..at_w + part])
                } else {
                    let (x_mask, w_mask) = (&x_mask[from..from + part], &w_mask[at_w..at_w + part]);
                    rows = live_rows(x_mask, w_mask);
                    if rows == [0; 8] {
                        continue;
                    }
                    masked_tree(x, x_mask, &w[at_w..at_w + part], w_mask)
                };
                if absent {
                    sum = add(sum, [0.0; 8]);
                }
                // Nothing arrives for a row without a live cell, and -0 is what adds nothing.
                sum.iter_mut().zip(rows).filter(|(_, row)| *row == 0).for_each(|(sum, _)| *sum = -0.0);
                accumulate(
                    buffers_of(&mut buffers.floats, &mut buffers.integers, &mut buffers.arrived),
                    first + column,
                    sum,
                );
            }
            if missing {
                self.mark_missing(
                    stream,
                    step,
                    lanes,
                    first,
                    (&buffers.stream_mask, &buffers.weight_missing),
                    &mut buffers.missing,
                );
            }
        }
    }

    /// Marks the results of a step whose operands nobody wrote.
    fn mark_missing(
        &self,
        stream: &Row,
        step: usize,
        lanes: Range<usize>,
        first: usize,
        (stream_mask, weight_missing): (&[u32], &[[bool; 8]]),
        missing: &mut Vec<[bool; 8]>,
    ) {
        let Contraction { depth, columns, slot_count, .. } = self.command;
        for (cell, lane) in lanes.enumerate().filter(|&(_, lane)| stream_mask[lane] != 0) {
            let column = cell >> depth;
            if column >= columns {
                break;
            }
            let weight = self.reads[step] + cell % self.command.trf_config.packet_size;
            let whole = stream.flags().is_some_and(|flags| !flags[lane]);
            let rows = weight_missing.get(weight).copied().unwrap_or([false; 8]);
            if whole || rows.contains(&true) {
                missing.resize(slot_count * columns, [false; 8]);
                missing[first + column].iter_mut().zip(rows).for_each(|(m, row)| *m |= whole || row);
            }
        }
    }

    /// The first live element of a block of flits that nobody wrote, or a live weight that it meets.
    pub(crate) fn find_missing(
        &self,
        stream: &Row,
        flit: usize,
        at: Coordinates,
        buffers: &mut ContractionBuffers,
    ) -> Option<Missing> {
        if stream.flags().is_none() && buffers.weight_missing.is_empty() {
            return None;
        }
        let flits = stream.len() / self.per_flit;
        self.look(flit, flits, at, buffers);
        if let Some(flags) = stream.flags() {
            let found = (0..flags.len()).find(|&k| !flags[k] && buffers.stream_mask[k] != 0);
            if let Some(k) = found {
                return Some(Missing::Stream { flit: flit + k / self.per_flit, lane: k % self.per_flit });
            }
        }
        if buffers.weight_missing.is_empty() {
            return None;
        }
        let Contraction { collect_flits, tile, .. } = self.command;
        for step in self.steps(flit, flits).filter(|&step| self.slots[step].is_some()) {
            let packet = (step / tile) * collect_flits - flit;
            for cell in 0..collect_flits * self.per_flit {
                let element = self.reads[step] + cell % self.command.trf_config.packet_size;
                let live = buffers.stream_mask[packet * self.per_flit + cell] != 0;
                let missing = buffers.weight_missing[element];
                if let Some(row) = missing.iter().position(|&missing| missing && live) {
                    return Some(Missing::Weight { row, element, step });
                }
            }
        }
        None
    }

    /// The results as a stream of eight lanes.
    pub(crate) fn finish(&self, buffers: &ContractionBuffers, output: &mut Row) {
        let Contraction { columns, slot_count, kind, trf, output: element, .. } = &self.command;
        output.clear(*element);
        let groups = columns.div_ceil(BEAT_LANES);
        let results = match kind {
            AccumulationKind::Interleaved => slot_count * columns * BEAT_LANES,
            AccumulationKind::Sequential => slot_count * trf.rows * groups * BEAT_LANES,
        };
        let known: Option<&[bool]> = if buffers.missing.is_empty() { None } else { Some(&[]) };
        let integers = *element == ElementType::I32;
        let word = |result: usize, row: usize| match integers {
            true => buffers.integers[result][row].to_le_bytes(),
            false => buffers.floats[result][row].to_le_bytes(),
        };
        let (bytes, flags) = output.push_blank(results, known);
        let words = bytes.as_chunks_mut::<4>().0;
        let mut set = |to: usize, result: usize, row: usize| {
            words[to] = word(result, row);
            if let Some(flag) = flags.get_mut(to) {
                *flag = !buffers.missing[result][row];
            }
        };
        match kind {
            AccumulationKind::Interleaved => (0..results).for_each(|k| set(k, k / 8, k % 8)),
            AccumulationKind::Sequential => {
                for (slot, row) in (0..*slot_count).flat_map(|slot| (0..trf.rows).map(move |row| (slot, row)))
                {
                    let beat = (slot * trf.rows + row) * groups * BEAT_LANES;
                    (0..*columns).for_each(|column| set(beat + column, slot * columns + column, row));
                }
            }
        }
    }
}

/// The accumulators of a slice; one of the first two is in use.
struct Accumulators<'a> {
    floats: &'a mut [Lanes],
    integers: &'a mut [[i32; 8]],
    arrived: &'a mut [bool],
}

#[inline(always)]
fn buffers_of<'a>(
    floats: &'a mut [Lanes],
    integers: &'a mut [[i32; 8]],
    arrived: &'a mut [bool],
) -> Accumulators<'a> {
    Accumulators { floats, integers, arrived }
}

/// Stores the first arrival, adds the later ones.
#[inline(always)]
fn accumulate(to: Accumulators<'_>, result: usize, sum: Lanes) {
    let first = !core::mem::replace(&mut to.arrived[result], true);
    if let Some(floats) = to.floats.get_mut(result) {
        *floats = if first { sum } else { add(*floats, sum) };
    } else {
        let sum = sum.map(|lane| lane as i32);
        let integers = &mut to.integers[result];
        if first {
            *integers = sum;
        } else {
            integers.iter_mut().zip(sum).for_each(|(lane, sum)| *lane = lane.wrapping_add(sum));
        }
    }
}

/// Widens packed elements.
fn to_floats(element: ElementType, bytes: &[u8], len: usize, floats: &mut Vec<f32>) {
    floats.clear();
    match element {
        ElementType::I4 => floats.extend((0..len).map(|k| f32::from((nibble(bytes, k) << 4) as i8 >> 4))),
        ElementType::I5 | ElementType::I8 => floats.extend(bytes.iter().map(|&byte| f32::from(byte as i8))),
        ElementType::I9 => {
            floats.extend(bytes.as_chunks().0.iter().map(|&code| f32::from(i16::from_le_bytes(code))));
        }
        ElementType::U8 => floats.extend(bytes.iter().map(|&byte| f32::from(byte))),
        ElementType::Bf16 => {
            let codes = bytes.as_chunks().0.iter();
            floats.extend(codes.map(|&code| f32::from_bits(u32::from(u16::from_le_bytes(code)) << 16)));
        }
        ElementType::F32 => floats.extend(bytes.as_chunks().0.iter().map(|&code| f32::from_le_bytes(code))),
        _ => {
            let mut wide = vec![0; len * 4];
            convert_block(element, ElementType::F32, bytes, &mut wide);
            floats.extend(wide.as_chunks().0.iter().map(|&code| f32::from_le_bytes(code)));
        }
    }
}
