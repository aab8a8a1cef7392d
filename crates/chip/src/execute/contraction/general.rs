//! Sums of steps cell by cell: any size, any padding.

use super::tree::{Lanes, live_rows, masked_tree, tree};
use super::widen::to_floats;
use super::{ContractionBuffers, ContractionPlan};
use crate::memory::row::Row;
use furiosa_visa_rules::command::Contraction;
use furiosa_visa_rules::mapping::guard::rows::Liveness;

/// Buffers of single steps of a block.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The widened block. Empty until a step needs it.
    stream: Vec<f32>,
    /// A mask of all ones.
    pub(super) ones: Vec<u32>,
    rows: Vec<[u32; 8]>,
    /// The weights of the cells of a step.
    pub(super) repeated: Vec<Lanes>,
    /// Masks of these weights, all ones for a live one.
    pub(super) repeated_mask: Vec<[u32; 8]>,
}

impl Scratch {
    /// Forgets the block.
    pub(super) fn clear(&mut self) {
        self.stream.clear();
    }
}

impl ContractionPlan {
    /// Multiplies and sums the packet of a step. `first`: the first step of the block.
    pub(super) fn run_general(
        &self,
        stream: &Row,
        step: usize,
        first: usize,
        buffers: &mut ContractionBuffers,
    ) {
        let ContractionBuffers { weights, sums, flit_live, stream_mask, scratch, .. } = buffers;
        let Scratch { stream: floats, ones, rows: all_rows, repeated, repeated_mask } = scratch;
        if floats.is_empty() {
            to_floats(stream.element(), stream.bytes(), stream.len(), floats);
        }
        let Contraction { collect_flits, tile, depth, columns, .. } = self.command;
        let (cells, group) = (collect_flits * self.per_flit, 1usize << depth);
        let period = self.command.trf_config.packet_size;
        // If the tree reaches into the absent half of the packet, it adds zero once.
        let (part, absent) = if group > cells { (cells, true) } else { (group, false) };
        let flit = (step - first) / tile * collect_flits;
        let (w, w_mask) = (&weights.lanes, &weights.mask[..]);
        let all =
            flit_live[flit..flit + collect_flits].iter().all(|&l| l == Liveness::All) && w_mask.is_empty();
        let lanes = flit * self.per_flit..flit * self.per_flit + cells;
        let x = &floats[lanes.clone()];
        let x_mask = match stream_mask.get(lanes) {
            Some(mask) => mask,
            None => {
                ones.resize(cells, u32::MAX);
                &ones[..]
            }
        };
        let read = self.reads[step];
        let mut w = &w[read..read + period];
        let mut w_mask = w_mask.get(read..read + period).unwrap_or(&[]);
        if !all && w_mask.is_empty() {
            all_rows.resize(period, [u32::MAX; 8]);
            w_mask = all_rows;
        }
        if part > period {
            repeated.clear();
            repeated_mask.clear();
            for _ in 0..part / period {
                repeated.extend_from_slice(w);
                repeated_mask.extend_from_slice(w_mask);
            }
            (w, w_mask) = (repeated, repeated_mask);
        }
        let period = period.max(part);
        let result = self.steps[step].result as usize;
        for column in 0..columns.min(cells.div_ceil(group)) {
            let from = column * group;
            let at = from % period;
            let (x, w) = (&x[from..from + part], &w[at..at + part]);
            let mut rows = [u32::MAX; 8];
            let sum = if all {
                tree(x, w)
            } else {
                let (x_mask, w_mask) = (&x_mask[from..from + part], &w_mask[at..at + part]);
                rows = live_rows(x_mask, w_mask);
                masked_tree(x, x_mask, w, w_mask)
            };
            sums.arrive(result + column, sum, absent, rows);
        }
    }
}
