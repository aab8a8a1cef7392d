//! The weights of a slice, laid out for the kernels.

use super::shape::{FloatShape, IntegerShape, Kernel};
use super::tree::Lanes;
use super::widen::to_floats;
use crate::chip::live::{LiveRows, Liveness};
use crate::chip::memory::place::Coordinates;
use crate::chip::memory::row::{Line, Row, nibble};
use crate::chip::memory::{Block, trf};
use crate::command::TrfRegion;
use crate::scalar::ElementType;

/// Two times eight lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub(super) struct Sixteen(pub(super) [Lanes; 2]);

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
    /// The elements of each row. Dead rows have none.
    rows: Vec<Row>,
    /// For [`FloatShape`].
    pub(super) floats: Vec<Sixteen>,
    /// For [`IntegerShape`] without octets.
    pub(super) pairs: Vec<Pairs>,
    /// For [`IntegerShape`] with octets.
    pub(super) octets: Vec<Octets>,
    /// Per tile and column, what takes back the 128 that is added to each element of the stream.
    pub(super) biases: Vec<Bias>,
    /// Which tiles have no dead weight. Empty: all.
    pub(super) whole: Vec<bool>,
    /// Per element, for [`Kernel::General`]. Empty until they are needed.
    lanes: Vec<Lanes>,
    /// Elements per row that steps reach.
    reach: usize,
    /// Per element. Empty if every weight is live.
    pub(super) mask: Vec<[u32; 8]>,
    /// Live weights that nobody wrote. Empty if there are none.
    pub(super) missing: Vec<[bool; 8]>,
    live: Vec<bool>,
    row: Vec<f32>,
    words: Vec<i8>,
}

impl Weights {
    /// Reads the register file of a slice. `reach`: elements per row that steps reach.
    pub(super) fn load(
        &mut self,
        (trf, region): (&Block, &TrfRegion),
        guard: &LiveRows,
        at: Coordinates,
        kernel: &Kernel,
        reach: usize,
    ) {
        let all = region.row_elements;
        self.reach = reach;
        self.lanes.clear();
        self.mask.clear();
        self.missing.clear();
        self.whole.clear();
        if reach > all {
            self.mask.resize(reach, [0; 8]);
            self.mask[..all].fill([u32::MAX; 8]);
        }
        self.rows.resize_with(region.rows, || Row::new(region.element));
        for (row, packed) in self.rows.iter_mut().enumerate() {
            packed.clear(region.element);
            let liveness = guard.row(&mut [at.chip, at.cluster, at.slice, row, 0], &mut self.live);
            if liveness == Liveness::Nothing {
                // The whole row is padding: nobody looks at its results.
                continue;
            }
            for run in trf::runs(region, row, 0..all) {
                let position = run.position as i64;
                packed.read(trf, Line { unit: 0, address: run.address, position, stride: 1, len: run.len });
            }
            if liveness == Liveness::Some {
                if self.mask.is_empty() {
                    self.mask.resize(reach, [u32::MAX; 8]);
                }
                for (mask, &live) in self.mask.iter_mut().zip(&self.live) {
                    mask[row] = if live { u32::MAX } else { 0 };
                }
            }
            if let Some(flags) = packed.flags() {
                for (element, &flag) in flags.iter().enumerate() {
                    if !flag && (liveness == Liveness::All || self.live[element]) {
                        self.missing.resize(reach, [false; 8]);
                        self.missing[element][row] = true;
                    }
                }
            }
        }
        match kernel {
            Kernel::General => {}
            Kernel::Float(shape) => {
                self.lay_out_floats(shape);
                self.find_whole(shape.period);
            }
            Kernel::Integer(shape) => {
                self.lay_out_integers(shape);
                self.find_whole(shape.period);
            }
        }
    }

    /// Finds the tiles without dead weights.
    fn find_whole(&mut self, period: usize) {
        let tiles = self.mask.chunks_exact(period);
        self.whole.extend(tiles.map(|tile| tile.iter().all(|mask| *mask == [u32::MAX; 8])));
    }

    fn lay_out_floats(&mut self, shape: &FloatShape) {
        self.floats.clear();
        self.floats.resize(self.reach / shape.period * shape.tile(), Sixteen([[0.0; 8]; 2]));
        for (number, packed) in self.rows.iter().enumerate().filter(|(_, packed)| packed.len() > 0) {
            to_floats(shape.element, packed.bytes(), self.reach, &mut self.row);
            if shape.repeats() {
                let tiles = self.floats.chunks_exact_mut(shape.tile());
                for (tile, weights) in tiles.zip(self.row.chunks_exact(shape.period)) {
                    for (vector, pair) in tile.iter_mut().zip(weights.chunks(2)) {
                        vector.0.iter_mut().zip(pair).for_each(|(lanes, &weight)| lanes[number] = weight);
                    }
                }
            } else {
                let units = self.floats.chunks_exact_mut(shape.half);
                for (unit, weights) in units.zip(self.row.chunks_exact(2 * shape.half)) {
                    let (low, high) = weights.split_at(shape.half);
                    for ((vector, &low), &high) in unit.iter_mut().zip(low).zip(high) {
                        vector.0[0][number] = low;
                        vector.0[1][number] = high;
                    }
                }
            }
        }
    }

    fn lay_out_integers(&mut self, shape: &IntegerShape) {
        let tiles = self.reach / shape.period;
        let (cells, columns) = (shape.tile_cells(), shape.column_period());
        self.octets.clear();
        self.pairs.clear();
        self.biases.clear();
        if shape.octets {
            self.octets.resize(tiles * shape.tile(), Octets([[0; 8]; 8]));
            self.biases.resize(tiles * columns, Bias([[0; 2]; 8]));
        } else {
            self.pairs.resize(tiles * shape.tile(), Pairs([[0; 2]; 8]));
        }
        let words = &mut self.words;
        for (number, packed) in self.rows.iter().enumerate().filter(|(_, packed)| packed.len() > 0) {
            words.clear();
            if shape.element == ElementType::I4 {
                words.extend((0..self.reach).map(|k| (nibble(packed.bytes(), k) << 4) as i8 >> 4));
            } else {
                words.extend(packed.bytes().iter().map(|&byte| byte as i8));
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

    /// The weights element by element.
    pub(super) fn lanes(&mut self) -> (&[Lanes], &[[u32; 8]]) {
        if self.lanes.is_empty() {
            self.lanes.resize(self.reach, [0.0; 8]);
            for (number, packed) in self.rows.iter().enumerate().filter(|(_, packed)| packed.len() > 0) {
                to_floats(packed.element(), packed.bytes(), packed.len(), &mut self.row);
                for (lanes, &value) in self.lanes.iter_mut().zip(&self.row) {
                    lanes[number] = value;
                }
            }
        }
        (&self.lanes, &self.mask)
    }
}
