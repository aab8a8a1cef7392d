//! Padding that is summed together with elements.
//!
//! A cell of the computation is padding where the stream, the weights or the step holds no element. The chip does not
//! know it and multiplies the values that are there. So the product of a padding cell must be zero, or its sum must not
//! be used.
//!
//! ```text
//!   step        0   1   2   3   4          sum 0 = steps 0, 1, 2 and 3, 4: padding that is summed
//!   T # 5       e   e   e   .   .          sum 1 = padding alone: it is not used
//! ```

use super::general::Scratch;
use super::tree::{live_rows, masked_tree};
use super::widen::to_floats;
use super::{ContractionBuffers, ContractionPlan};
use crate::PaddingRule;
use crate::memory::row::Row;
use core::ops::{ControlFlow, Range};
use furiosa_visa_rules::command::Contraction;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::mapping::guard::rows::{LiveRows, Liveness, split_units};
use std::sync::Arc;

/// Rules for padding in the sums of a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaddingOptions {
    /// Elements per fetched packet. The lanes behind them are zeros that collect adds.
    pub(crate) packet: usize,
    /// Flits per fetched packet.
    pub(crate) flits: usize,
    /// The products of padding that are zero.
    pub(crate) rule: PaddingRule,
    /// True if padding that is not zero takes part in sums. Otherwise it has been refused, and adds nothing.
    pub(crate) computed: bool,
}

/// Places where padding is summed with elements, as far as the mappings decide it.
#[derive(Debug)]
pub(super) enum Summed {
    /// No place.
    Nowhere,
    /// The same places in every slice.
    Alike(Arc<Cells>),
    /// Places that differ between slices.
    BySlice,
}

/// The cells of a slice.
#[derive(Debug)]
pub(super) struct Cells {
    /// Per element of a row: the rows in which it is live, one bit each.
    weights: Vec<u8>,
    /// Per result: the rows that have a live cell.
    results: Vec<u8>,
    /// Per step: true if it has a padding cell in such a result.
    steps: Vec<bool>,
}

/// A padding cell that is summed with elements, and whose product is not zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SummedCell {
    pub(crate) step: usize,
    pub(crate) cell: usize,
    pub(crate) row: usize,
    /// The flit of the stream.
    pub(crate) flit: usize,
    /// The lane of the flit.
    pub(crate) lane: usize,
    /// True if the stream holds an element there.
    pub(crate) streamed: bool,
    /// The element of the row.
    pub(crate) element: usize,
    /// Values in the stream and in the register file. `None`: unwritten.
    pub(crate) operands: [Option<f32>; 2],
}

impl PaddingRule {
    /// Tells if the product of two operands is zero, for all values of unwritten operands.
    fn is_zero(self, operands: [Option<f32>; 2], floats: bool) -> bool {
        match operands {
            [Some(x), Some(w)] => (x == 0.0 || w == 0.0) && x * w == 0.0,
            [Some(known), None] | [None, Some(known)] => {
                known == 0.0 && (self == PaddingRule::ZeroWins || !floats)
            }
            [None, None] => false,
        }
    }
}

/// The numbers of the set bits of a byte.
fn bits(byte: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |bit| byte >> bit & 1 == 1)
}

impl ContractionPlan {
    /// Finds the places where padding is summed with elements.
    pub(super) fn find_summed(&self) -> Summed {
        let Contraction { trf, .. } = &self.command;
        let (_, weights) = split_units(&trf.guard);
        let is_dense = self.stream_live.is_always() && weights.is_always();
        if is_dense && self.padding.is_empty() && self.reach == trf.row_elements {
            return Summed::Nowhere;
        }
        if self.stream_live.differs_by_unit() || self.weights_live.differs_by_unit() {
            return Summed::BySlice;
        }
        let cells = self.cells(&LiveRows::new(&weights, 4, trf.row_elements), Coordinates::of_slice(0));
        cells.map_or(Summed::Nowhere, |cells| Summed::Alike(Arc::new(cells)))
    }

    /// Places in a slice where padding is summed with elements.
    pub(super) fn summed_in(&self, at: Coordinates) -> Option<Arc<Cells>> {
        let is_live = || {
            let unit = [at.chip, at.cluster, at.slice, 0, 0];
            self.slices_live.holds(&unit) && split_units(&self.command.trf.guard).0.holds(&unit)
        };
        match &self.summed {
            Summed::Nowhere => None,
            Summed::Alike(cells) => is_live().then(|| cells.clone()),
            Summed::BySlice if !is_live() => None,
            Summed::BySlice => self.cells(&self.weights_live, at).map(Arc::new),
        }
    }

    /// Tells if some slice may sum padding with elements.
    pub(crate) fn may_sum_padding(&self) -> bool {
        !matches!(self.summed, Summed::Nowhere)
    }

    /// Tells if the steps of `flits` flits from `flit` on sum padding. The weights of the slice have been loaded.
    pub(crate) fn sums_padding(&self, flit: usize, flits: usize, buffers: &ContractionBuffers) -> bool {
        buffers.summed.as_ref().is_some_and(|cells| cells.steps[self.steps(flit, flits)].contains(&true))
    }

    /// Finds the live lanes of a packet of the stream.
    fn packet_lanes(&self, packet: usize, at: Coordinates, lanes: &mut Vec<bool>, mask: &mut Vec<bool>) {
        let flits = self.command.collect_flits;
        lanes.clear();
        for time in packet * flits..(packet + 1) * flits {
            match self.stream_live.row(&mut [at.chip, at.cluster, at.slice, time, 0], mask) {
                Liveness::All => lanes.resize(lanes.len() + self.per_flit, true),
                Liveness::Nothing => lanes.resize(lanes.len() + self.per_flit, false),
                Liveness::Some => lanes.extend_from_slice(mask),
            }
        }
    }

    /// The cells of each column of a step.
    fn columns(&self) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let Contraction { depth, columns, collect_flits, .. } = self.command;
        let (cells, group) = (collect_flits * self.per_flit, 1usize << depth);
        let columns = columns.min(cells.div_ceil(group));
        (0..columns).map(move |column| (column, column * group..((column + 1) * group).min(cells)))
    }

    /// The cells of a slice. `None`: no padding is summed.
    fn cells(&self, live: &LiveRows, at: Coordinates) -> Option<Cells> {
        let Contraction { trf, tile, steps, slot_count, columns, .. } = &self.command;
        let (mut mask, mut lanes) = (Vec::new(), Vec::new());
        let mut weights = vec![0u8; self.reach];
        for row in 0..trf.rows.min(8) {
            let liveness = live.row(&mut [at.chip, at.cluster, at.slice, row, 0], &mut mask);
            for (element, rows) in weights[..trf.row_elements].iter_mut().enumerate() {
                let is_live = match liveness {
                    Liveness::All => true,
                    Liveness::Nothing => false,
                    Liveness::Some => mask[element],
                };
                *rows |= u8::from(is_live) << row;
            }
        }
        let all = weights.iter().fold(0, |all, rows| all | rows);
        let mut results = vec![0u8; slot_count * columns];
        for (packet, numbers) in self.packets(*steps, *tile) {
            self.packet_lanes(packet, at, &mut lanes, &mut mask);
            for step in numbers.filter(|&step| !self.is_padding(step)) {
                let result = self.steps[step].result as usize;
                for (column, cells) in self.columns() {
                    let rows = &mut results[result + column];
                    if *rows != all {
                        let live = cells.filter(|&cell| lanes[cell]);
                        *rows |= live.fold(0, |rows, cell| rows | weights[self.element(step, cell)]);
                    }
                }
            }
        }
        let mut found = vec![false; *steps];
        for (packet, numbers) in self.packets(*steps, *tile) {
            self.packet_lanes(packet, at, &mut lanes, &mut mask);
            for step in numbers {
                let result = self.steps[step].result as usize;
                let is_padding = self.is_padding(step);
                found[step] = self.columns().any(|(column, mut cells)| {
                    let rows = results[result + column];
                    let live = |cell: usize| {
                        if is_padding || !lanes[cell] { 0 } else { weights[self.element(step, cell)] }
                    };
                    rows != 0 && cells.any(|cell| rows & !live(cell) != 0)
                });
            }
        }
        found.contains(&true).then_some(Cells { weights, results, steps: found })
    }

    /// Packets of the stream with their steps.
    fn packets(&self, steps: usize, tile: usize) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let tile = tile.max(1);
        (0..steps.div_ceil(tile)).map(move |packet| (packet, packet * tile..((packet + 1) * tile).min(steps)))
    }

    /// The element of a row that meets a cell.
    fn element(&self, step: usize, cell: usize) -> usize {
        self.reads[step] + cell % self.command.trf_config.packet_size
    }

    /// Visits the padding of a block of flits that is summed with elements and whose products are not zero. The weights
    /// of the slice have been loaded.
    pub(crate) fn for_each_summed(
        &self,
        stream: &Row,
        flit: usize,
        at: Coordinates,
        buffers: &mut ContractionBuffers,
        visit: impl FnMut(SummedCell) -> ControlFlow<()>,
    ) {
        self.look(flit, stream.len() / self.per_flit, at, buffers);
        self.visit_summed(stream, flit, buffers, visit);
    }

    /// Visits the same padding, for a block whose live lanes are known.
    fn visit_summed(
        &self,
        stream: &Row,
        flit: usize,
        buffers: &mut ContractionBuffers,
        mut visit: impl FnMut(SummedCell) -> ControlFlow<()>,
    ) {
        let flits = stream.len() / self.per_flit;
        if !self.sums_padding(flit, flits, buffers) {
            return;
        }
        let Some(summed) = buffers.summed.clone() else { return };
        let Contraction { collect_flits, tile, output, .. } = &self.command;
        let PaddingOptions { packet, flits: per_packet, rule, .. } = self.options;
        let floats = *output != furiosa_visa_rules::scalar::ElementType::I32;
        let ContractionBuffers { weights, stream_mask, numbers, .. } = buffers;
        numbers.clear();
        to_floats(stream.element(), stream.bytes(), stream.len(), numbers);
        let flags = stream.flags();
        for step in self.steps(flit, flits).filter(|&step| summed.steps[step]) {
            let result = self.steps[step].result as usize;
            let first = (step / tile * collect_flits - flit) * self.per_flit;
            for (column, cells) in self.columns() {
                let rows = summed.results[result + column];
                for cell in if rows == 0 { 0..0 } else { cells } {
                    let (at, element) = (first + cell, self.element(step, cell));
                    let streamed = stream_mask.get(at).is_none_or(|&mask| mask != 0);
                    let live = if self.is_padding(step) || !streamed { 0 } else { summed.weights[element] };
                    if rows & !live == 0 {
                        continue;
                    }
                    let (flit, lane) = (flit + at / self.per_flit, at % self.per_flit);
                    // The lanes past the fetched elements are the zeros of collect.
                    let added = flit % per_packet * self.per_flit + lane >= packet;
                    let written = added || flags.is_none_or(|flags| flags[at]);
                    let x = written.then(|| numbers[at]);
                    for row in bits(rows & !live) {
                        let unwritten = weights.unwritten.get(element).is_some_and(|rows| rows[row]);
                        let w = (!unwritten).then(|| weights.lanes[element][row]);
                        let operands = [x, w];
                        if !rule.is_zero(operands, floats) {
                            let found =
                                SummedCell { step, cell, row, flit, lane, streamed, element, operands };
                            if visit(found).is_break() {
                                return;
                            }
                        }
                    }
                }
            }
        }
    }

    /// The first step and cell that are not padding, in the sum to which a cell belongs.
    pub(crate) fn first_live(
        &self,
        padded: &SummedCell,
        at: Coordinates,
        buffers: &ContractionBuffers,
    ) -> Option<[usize; 2]> {
        let summed = buffers.summed.as_ref()?;
        let Contraction { steps, tile, depth, .. } = &self.command;
        let column = padded.cell >> depth;
        let (_, cells) = self.columns().nth(column)?;
        let (mut lanes, mut mask) = (Vec::new(), Vec::new());
        for (packet, numbers) in self.packets(*steps, *tile) {
            let same = |&step: &usize| self.steps[step].result == self.steps[padded.step].result;
            for step in numbers.filter(|step| same(step) && !self.is_padding(*step)) {
                self.packet_lanes(packet, at, &mut lanes, &mut mask);
                let is_live = |&cell: &usize| {
                    lanes[cell] && summed.weights[self.element(step, cell)] >> padded.row & 1 == 1
                };
                if let Some(cell) = cells.clone().find(is_live) {
                    return Some([step, cell]);
                }
            }
        }
        None
    }

    /// Finds the padding of a block that takes part in sums, unless it was refused. The live lanes of the block are
    /// known.
    pub(super) fn collect_summed(&self, stream: &Row, flit: usize, buffers: &mut ContractionBuffers) {
        let mut computed = core::mem::take(&mut buffers.computed);
        computed.clear();
        if self.options.computed {
            // The visit is in the order of steps.
            self.visit_summed(stream, flit, buffers, |cell| {
                computed.push(cell);
                ControlFlow::Continue(())
            });
            debug_assert!(computed.is_sorted_by_key(|cell| cell.step));
        }
        buffers.computed = computed;
    }

    /// Multiplies and sums the packet of a step with padding that takes part in sums. `first`: the first step of the
    /// block.
    pub(super) fn run_summed(&self, step: usize, first: usize, buffers: &mut ContractionBuffers) {
        let ContractionBuffers { weights, sums, stream_mask, numbers, computed, summed, scratch, .. } =
            buffers;
        let Scratch { ones, repeated: w, repeated_mask: masks, .. } = scratch;
        let Some(summed) = summed else { return };
        let Contraction { collect_flits, tile, depth, .. } = self.command;
        let cells = collect_flits * self.per_flit;
        let start = (step - first) / tile * cells;
        let x = &numbers[start..start + cells];
        ones.resize(cells, u32::MAX);
        masks.clear();
        masks.resize(cells, [0; 8]);
        for (cell, mask) in masks.iter_mut().enumerate().filter(|_| !self.is_padding(step)) {
            if stream_mask.get(start + cell).is_none_or(|&mask| mask != 0) {
                bits(summed.weights[self.element(step, cell)]).for_each(|row| mask[row] = u32::MAX);
            }
        }
        let start_of_step = computed.partition_point(|cell| cell.step < step);
        for found in computed[start_of_step..].iter().take_while(|cell| cell.step == step) {
            masks[found.cell][found.row] = u32::MAX;
        }
        w.clear();
        w.extend((0..cells).map(|cell| weights.lanes[self.element(step, cell)]));
        let result = self.steps[step].result as usize;
        for (column, cells) in self.columns() {
            let absent = cells.len() < 1 << depth;
            let (masks, ones) = (&masks[cells.clone()], &ones[cells.clone()]);
            let sum = masked_tree(&x[cells.clone()], ones, &w[cells], masks);
            sums.arrive(result + column, sum, absent, live_rows(ones, masks));
        }
    }

    /// Marks the results of unwritten padding that took part in sums.
    pub(super) fn mark_summed(&self, buffers: &mut ContractionBuffers) {
        let ContractionBuffers { sums, computed, .. } = buffers;
        let Contraction { depth, columns, slot_count, .. } = self.command;
        for found in computed.iter().filter(|found| found.operands.contains(&None)) {
            sums.missing.resize(slot_count * columns, [false; 8]);
            let result = self.steps[found.step].result as usize + (found.cell >> depth);
            sums.missing[result][found.row] = true;
        }
    }
}
