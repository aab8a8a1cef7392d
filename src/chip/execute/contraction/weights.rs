//! The weights of a slice, laid out for the kernels.

use super::shape::{BLOCK, Kernel, Shape};
use super::tree::Lanes;
use super::widen::to_floats;
use crate::chip::live::{LiveRows, Liveness};
use crate::chip::memory::place::Coordinates;
use crate::chip::memory::row::{Line, Row, nibble};
use crate::chip::memory::{Block, trf};
use crate::command::TrfRegion;
use crate::scalar::ElementType;

/// Two cells of eight rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub(super) struct Pairs(pub(super) [[i16; 2]; 8]);

/// Eight cells of eight rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(super) struct Octets(pub(super) [[i8; 8]; 8]);

/// What sums of bytes start with, in the lower word of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(super) struct Bias(pub(super) [[i32; 2]; 8]);

/// The weights of a slice.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// Per cell of each tile, for [`Kernel::Float`].
    pub(super) floats: Vec<Lanes>,
    /// For [`Kernel::Integer`] without octets.
    pub(super) pairs: Vec<Pairs>,
    /// For [`Kernel::Integer`] with octets.
    pub(super) octets: Vec<Octets>,
    /// Per tile and column, what takes back the 128 that is added to each element of the stream.
    pub(super) biases: Vec<Bias>,
    /// Which tiles have no dead weight. Empty: all.
    pub(super) whole: Vec<bool>,
    /// Per element, for [`Kernel::General`]. Empty if no step needs them.
    pub(super) lanes: Vec<Lanes>,
    /// Per element. Empty if every weight is live.
    pub(super) mask: Vec<[u32; 8]>,
    /// Live weights that nobody wrote. Empty if there are none.
    pub(super) missing: Vec<[bool; 8]>,
    live: Vec<bool>,
    packed: Vec<Row>,
    row: Vec<f32>,
    wide: Vec<f32>,
    words: Vec<i8>,
}

/// The elements of a row of the register file. Dead rows have none.
type Rows<'a> = [Option<&'a [u8]>];

impl Weights {
    /// Reads the register file of a slice. `reach`: elements per row that steps reach. `general`: steps may have dead
    /// cells for other reasons than the weights.
    pub(super) fn load(
        &mut self,
        (trf, region): (&Block, &TrfRegion),
        guard: &LiveRows,
        at: Coordinates,
        kernel: &Kernel,
        (reach, general): (usize, bool),
    ) {
        let all = region.row_elements;
        self.lanes.clear();
        self.mask.clear();
        self.missing.clear();
        self.whole.clear();
        if reach > all {
            self.mask.resize(reach, [0; 8]);
            self.mask[..all].fill([u32::MAX; 8]);
        }
        let mut packed = core::mem::take(&mut self.packed);
        packed.resize_with(region.rows, || Row::new(region.element));
        let mut rows = [None; 8];
        for (row, (packed, bytes)) in packed.iter_mut().zip(&mut rows).enumerate() {
            let liveness = guard.row(&mut [at.chip, at.cluster, at.slice, row, 0], &mut self.live);
            if liveness == Liveness::Nothing {
                // The whole row is padding: nobody looks at its results.
                continue;
            }
            if liveness == Liveness::Some {
                if self.mask.is_empty() {
                    self.mask.resize(reach, [u32::MAX; 8]);
                }
                for (mask, &live) in self.mask.iter_mut().zip(&self.live) {
                    mask[row] = if live { u32::MAX } else { 0 };
                }
            }
            let mut pieces = trf::pieces(region, row, 0..trf::row_bytes(region));
            if let (Some(piece), None) = (pieces.next(), pieces.next())
                && trf.all_initialised(piece.clone())
            {
                *bytes = Some(&trf.bytes()[piece]);
                continue;
            }
            packed.clear(region.element);
            for run in trf::runs(region, row, 0..all) {
                let position = run.position as i64;
                packed.read(trf, Line { unit: 0, address: run.address, position, stride: 1, len: run.len });
            }
            if let Some(flags) = packed.flags() {
                for (element, &flag) in flags.iter().enumerate() {
                    if !flag && (liveness == Liveness::All || self.live[element]) {
                        self.missing.resize(reach, [false; 8]);
                        self.missing[element][row] = true;
                    }
                }
            }
            *bytes = Some(packed.bytes());
        }
        match kernel {
            Kernel::General => {}
            Kernel::Float(shape) => {
                self.lay_out_floats(shape, all, &rows);
                self.find_whole(shape.period);
            }
            Kernel::Integer(shape) => {
                self.lay_out_integers(shape, all, &rows);
                self.find_whole(shape.period);
            }
        }
        if general || *kernel == Kernel::General || !self.mask.is_empty() {
            self.lanes.resize(reach, [0.0; 8]);
            for (number, bytes) in rows.iter().enumerate().filter_map(|(row, bytes)| Some((row, (*bytes)?))) {
                to_floats(region.element, bytes, all, &mut self.row);
                for (lanes, &value) in self.lanes.iter_mut().zip(&self.row) {
                    lanes[number] = value;
                }
            }
        }
        self.packed = packed;
    }

    /// Finds the tiles without dead weights.
    fn find_whole(&mut self, period: usize) {
        let tiles = self.mask.chunks_exact(period);
        self.whole.extend(tiles.map(|tile| tile.iter().all(|mask| *mask == [u32::MAX; 8])));
    }

    fn lay_out_floats(&mut self, shape: &Shape, elements: usize, rows: &Rows<'_>) {
        // All rows, one after the other.
        self.wide.clear();
        for bytes in rows {
            match bytes {
                Some(bytes) => to_floats(shape.element, bytes, elements, &mut self.row),
                None => {
                    self.row.clear();
                    self.row.resize(elements, 0.0);
                }
            }
            self.wide.extend_from_slice(&self.row);
        }
        let rows: [&[f32]; 8] = core::array::from_fn(|row| &self.wide[row * elements..][..elements]);
        self.floats.clear();
        self.floats.reserve(elements / shape.period * shape.tile());
        if shape.period >= BLOCK {
            self.floats.extend((0..elements).map(|k| rows.map(|row| row[k])));
        } else {
            for tile in 0..elements / shape.period {
                let element = |k: usize| tile * shape.period + k % shape.period;
                self.floats.extend((0..BLOCK).map(|k| rows.map(|row| row[element(k)])));
            }
        }
    }

    fn lay_out_integers(&mut self, shape: &Shape, elements: usize, rows: &Rows<'_>) {
        let tiles = elements / shape.period;
        let (cells, columns) = (shape.tile(), shape.column_period());
        self.octets.clear();
        self.pairs.clear();
        self.biases.clear();
        if shape.octets {
            self.octets.resize(tiles * cells / 8, Octets([[0; 8]; 8]));
            self.biases.resize(tiles * columns, Bias([[0; 2]; 8]));
        } else {
            self.pairs.resize(tiles * cells / 2, Pairs([[0; 2]; 8]));
        }
        let words = &mut self.words;
        for (number, bytes) in rows.iter().enumerate().filter_map(|(row, bytes)| Some((row, (*bytes)?))) {
            words.clear();
            if shape.element == ElementType::I4 {
                words.extend((0..elements).map(|k| (nibble(bytes, k) << 4) as i8 >> 4));
            } else {
                words.extend(bytes.iter().map(|&byte| byte as i8));
            }
            if shape.period < cells {
                // Backwards, so that nothing is overwritten before it was copied.
                words.resize(tiles * cells, 0);
                for to in (0..words.len()).rev() {
                    words[to] = words[to / cells * shape.period + to % shape.period];
                }
            }
            for (octets, weights) in self.octets.iter_mut().zip(words.as_chunks().0) {
                octets.0[number] = *weights;
            }
            for (pairs, weights) in self.pairs.iter_mut().zip(words.as_chunks().0) {
                pairs.0[number] = weights.map(i16::from);
            }
            // Where a column is longer than the tile, it meets the tile several times.
            let times = (shape.part / cells).max(1) as i32;
            for (bias, weights) in self.biases.iter_mut().zip(words.chunks_exact(shape.part.min(cells))) {
                let sum: i32 = weights.iter().map(|&weight| i32::from(weight)).sum();
                bias.0[number][0] = -128 * sum * times;
            }
        }
    }
}
