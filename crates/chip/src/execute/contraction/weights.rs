//! Weights of a slice, laid out for the kernels.

use super::path::Path;
use super::shape::{BLOCK, Kernel, Layout, Shape};
use super::tree::Lanes;
use super::widen::{to_floats, widen};
use crate::memory::row::{Line, Row};
use crate::memory::{Block, planes, trf};
use core::ops::Range;
use core::slice::from_ref;
use furiosa_visa_rules::command::TrfRegion;
use furiosa_visa_rules::command::place::Coordinates;
use furiosa_visa_rules::mapping::guard::rows::{LiveRows, Liveness};
use furiosa_visa_rules::scalar::ElementType;

/// Bytes of rows that meet a packet: see [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(super) struct Vector(pub(super) [u8; 64]);

/// The weights of a slice.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// Weights per cell of each tile, for [`Kernel::Float`].
    pub(super) floats: Vec<Lanes>,
    /// The same, for [`Kernel::SingleRow`].
    pub(super) row: Vec<f32>,
    /// Weights for [`Kernel::Integer`].
    pub(super) vectors: Vec<Vector>,
    /// Per tile: true if no weight of it is padding. Empty: all are true.
    pub(super) whole: Vec<bool>,
    /// Weights per element, for [`Kernel::General`]. Empty if no step needs them.
    pub(super) lanes: Vec<Lanes>,
    /// Mask per element: all ones for a live weight. Empty if every weight is live.
    pub(super) mask: Vec<[u32; 8]>,
    /// Marks of live unwritten weights. Empty if there are none.
    pub(super) missing: Vec<[bool; 8]>,
    /// Marks of unwritten weights, live or not, if padding is checked. Empty if there are none.
    pub(super) unwritten: Vec<[bool; 8]>,
    live: Vec<bool>,
    packed: Vec<Row>,
    /// Elements of a row, widened.
    wide: Vec<f32>,
}

/// The part of a register file that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Elements of a row that steps read, in their order. What lies between them is never multiplied.
    pub(super) read: &'a [Range<usize>],
    /// Elements per row that steps reach.
    pub(super) reach: usize,
    /// True if steps may have padding cells for other reasons than the weights.
    pub(super) lanes: bool,
    /// True if padding is checked.
    pub(super) padding: bool,
    /// The host's instructions to use.
    pub(super) path: Path,
}

/// The elements of each row of the register file. Rows of padding have none.
pub(super) type Rows<'a> = [Option<&'a [u8]>; 8];

impl Weights {
    /// Reads the register file of a slice.
    pub(super) fn load(
        &mut self,
        (trf, region): (&Block, &TrfRegion),
        guard: &LiveRows,
        at: Coordinates,
        kernel: &Kernel,
        Wanted { read, reach, lanes, padding, path }: Wanted<'_>,
    ) {
        let all = region.row_elements;
        self.lanes.clear();
        self.mask.clear();
        self.missing.clear();
        self.unwritten.clear();
        self.whole.clear();
        if reach > all {
            self.mask.resize(reach, [0; 8]);
            self.mask[..all].fill([u32::MAX; 8]);
        }
        // A row continues behind the tensor, to the end of its part of the register file.
        let held = region.address.capacity() / region.rows * 8 / region.element.bits();
        let read_elements = if padding { reach.min(held).max(all) } else { all };
        if padding && reach > read_elements {
            self.unwritten.resize(reach, [true; 8]);
            self.unwritten[..read_elements].fill([false; 8]);
        }
        let whole = 0..read_elements;
        let mut packed = core::mem::take(&mut self.packed);
        packed.resize_with(region.rows, || Row::new(region.element));
        let mut rows = [None; 8];
        for (row, (packed, bytes)) in packed.iter_mut().zip(&mut rows).enumerate() {
            let mut liveness = guard.row(&mut [at.chip, at.cluster, at.slice, row, 0], &mut self.live);
            let all_read_are_live =
                || read.iter().all(|read| self.live[read.clone()].iter().all(|&live| live));
            if liveness == Liveness::Some
                && !padding
                && read_elements == all
                && reach == all
                && all_read_are_live()
            {
                liveness = Liveness::All;
            }
            if liveness == Liveness::Nothing {
                // The whole row is padding, so its results are not used.
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
            let plane = planes::plane_type(region.element);
            let row_bytes = (read_elements * region.element.bits()).div_ceil(8);
            let mut pieces = region.pieces(row, 0..row_bytes);
            if let (None, Some(piece), None) = (plane, pieces.next(), pieces.next())
                && let Some(all_bytes) = trf.bytes().get(piece.clone())
                && match padding {
                    true => trf.all_initialised(piece),
                    false => read.iter().all(|read| {
                        let [start, end] = [read.start, read.end.min(all)].map(|k| k * region.element.bits());
                        trf.all_initialised(piece.start + start / 8..piece.start + end.div_ceil(8))
                    }),
                }
            {
                *bytes = Some(all_bytes);
                continue;
            }
            let parts = if padding { from_ref(&whole) } else { read };
            let read = |element: ElementType, offset: u64, packed: &mut Row| {
                packed.clear(element);
                for part in parts {
                    let (start, end) = (part.start.min(read_elements), part.end.min(read_elements));
                    // Nobody reads what lies between the parts.
                    packed.lengthen(start - packed.len());
                    for run in trf::runs(region, row, start..end) {
                        let (position, address) = (run.position as i64, run.address + offset);
                        packed.read(trf, Line { unit: 0, address, position, stride: 1, len: run.len });
                    }
                }
                packed.lengthen(read_elements - packed.len());
            };
            match plane {
                None => read(region.element, 0, packed),
                Some(plane) => {
                    let mut parts = [Row::new(plane), Row::new(plane)];
                    read(plane, 0, &mut parts[0]);
                    read(plane, planes::PLANE_BYTES, &mut parts[1]);
                    planes::join(region.element, &parts, trf.fresh(), packed);
                }
            }
            if let Some(flags) = packed.flags() {
                for (element, &flag) in flags.iter().enumerate() {
                    if flag {
                        continue;
                    }
                    if padding {
                        self.unwritten.resize(reach, [false; 8]);
                        self.unwritten[element][row] = true;
                    }
                    if element < all && (liveness == Liveness::All || self.live[element]) {
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
                self.lay_out_floats(path, shape, all, &rows, read);
                self.find_whole(shape.period);
            }
            Kernel::SingleRow(shape) => {
                self.lay_out_row(shape, all, rows[0], read);
                self.find_whole(shape.period);
            }
            Kernel::Integer(shape, layout) => {
                self.lay_out_integers((shape, *layout), all, &rows);
                self.find_whole(shape.period);
            }
        }
        if lanes || *kernel == Kernel::General || !self.mask.is_empty() {
            self.lanes.resize(reach, [0.0; 8]);
            for (number, bytes) in rows.iter().enumerate().filter_map(|(row, bytes)| Some((row, (*bytes)?))) {
                to_floats(region.element, bytes, read_elements, &mut self.wide);
                for (lanes, &value) in self.lanes.iter_mut().zip(&self.wide) {
                    lanes[number] = value;
                }
            }
        }
        self.packed = packed;
    }

    /// Finds the tiles without padding.
    fn find_whole(&mut self, period: usize) {
        let tiles = self.mask.chunks_exact(period);
        self.whole.extend(tiles.map(|tile| tile.iter().all(|mask| *mask == [u32::MAX; 8])));
    }

    fn lay_out_floats(
        &mut self,
        path: Path,
        shape: &Shape,
        elements: usize,
        rows: &Rows<'_>,
        read: &[Range<usize>],
    ) {
        self.floats.resize(elements / shape.period * shape.tile(), [0.0; 8]);
        for read in read {
            let unit = shape.tile();
            let Range { start: first, end } = whole_tiles(shape, read, elements);
            let floats = &mut self.floats[first * unit..end * unit];
            if rows.contains(&None) {
                floats.fill([0.0; 8]);
            }
            let bytes = shape.element.bits() / 8;
            let part = first * shape.period * bytes..end * shape.period * bytes;
            let rows = rows.map(|row| row.map(|row| &row[part.clone()]));
            if shape.period >= BLOCK {
                path.lay_out_floats(shape.element, &rows, floats);
                continue;
            }
            let elements = (end - first) * shape.period;
            for (number, bytes) in rows.iter().enumerate().filter_map(|(row, bytes)| Some((row, (*bytes)?))) {
                to_floats(shape.element, bytes, elements, &mut self.wide);
                let tiles = floats.as_chunks_mut::<BLOCK>().0.iter_mut();
                for (tile, weights) in tiles.zip(self.wide.chunks_exact(shape.period)) {
                    let weights = weights.iter().cycle();
                    tile.iter_mut().zip(weights).for_each(|(lanes, &weight)| lanes[number] = weight);
                }
            }
        }
    }

    /// Widens a row. Tiles of less than a block are repeated.
    fn lay_out_row(&mut self, shape: &Shape, elements: usize, bytes: Option<&[u8]>, read: &[Range<usize>]) {
        self.row.resize(elements / shape.period * shape.tile(), 0.0);
        let Some(bytes) = bytes else { return self.row.fill(0.0) };
        for read in read {
            let Range { start: first, end } = whole_tiles(shape, read, elements);
            let tiles = &mut self.row[first * shape.tile()..end * shape.tile()];
            let size = shape.element.bits() / 8;
            let bytes = &bytes[first * shape.period * size..end * shape.period * size];
            if shape.period >= BLOCK {
                widen(shape.element, bytes, tiles);
                continue;
            }
            to_floats(shape.element, bytes, (end - first) * shape.period, &mut self.wide);
            for (tile, weights) in tiles.chunks_exact_mut(BLOCK).zip(self.wide.chunks_exact(shape.period)) {
                tile.chunks_exact_mut(shape.period).for_each(|part| part.copy_from_slice(weights));
            }
        }
    }

    fn lay_out_integers(&mut self, (shape, layout): (&Shape, Layout), elements: usize, rows: &Rows<'_>) {
        let (tiles, per_tile) = (elements / shape.period, layout.tile_vectors(shape));
        self.vectors.resize(tiles * per_tile, Vector([0; 64]));
        if rows.contains(&None) {
            let nothing = if layout.is_unsigned { unsigned_element(0, (shape.planes(), 0)) } else { 0 };
            self.vectors.fill(Vector([nothing; 64]));
        }
        // The compiler vectorises the copies because the sizes are constant.
        let Layout { take, is_wide, is_unsigned } = layout;
        let lay_out = match (take, is_wide, is_unsigned, shape.planes()) {
            (32, false, _, 1) => lay_out_integers::<32, false, false, 1>,
            (32, false, ..) => lay_out_integers::<32, false, false, 2>,
            (16, false, true, 1) => lay_out_integers::<16, false, true, 1>,
            (16, false, true, _) => lay_out_integers::<16, false, true, 2>,
            (16, false, false, 1) => lay_out_integers::<16, false, false, 1>,
            (16, false, false, _) => lay_out_integers::<16, false, false, 2>,
            (32, true, _, 1) => lay_out_integers::<32, true, false, 1>,
            (32, true, ..) => lay_out_integers::<32, true, false, 2>,
            (.., 1) => lay_out_integers::<16, true, false, 1>,
            _ => lay_out_integers::<16, true, false, 2>,
        };
        lay_out(shape, rows, per_tile, &mut self.vectors);
    }
}

/// The tiles that have elements of a read, of `elements` of a row.
fn whole_tiles(shape: &Shape, read: &Range<usize>, elements: usize) -> Range<usize> {
    read.start / shape.period..read.end.min(elements).div_ceil(shape.period)
}

/// Widens rows, eight cells at a time. `transpose` converts rows to cells.
#[inline(always)]
pub(super) fn lay_out_floats(
    element: ElementType,
    rows: &Rows<'_>,
    floats: &mut [Lanes],
    transpose: impl Fn(&[[f32; BLOCK]; 8]) -> [Lanes; BLOCK],
) {
    /// Number of blocks of a row that are widened at a time: a loop over a single one would take as long as its start.
    const BLOCKS: usize = 8;
    let size = element.bits() / 8 * BLOCK;
    let mut wide = [[[0.0; BLOCK]; BLOCKS]; 8];
    for (number, cells) in floats.as_chunks_mut::<BLOCK>().0.chunks_mut(BLOCKS).enumerate() {
        for (row, floats) in wide.iter_mut().enumerate() {
            if let Some(bytes) = rows[row] {
                let bytes = &bytes[number * BLOCKS * size..][..cells.len() * size];
                widen(element, bytes, floats[..cells.len()].as_flattened_mut());
            }
        }
        for (k, cells) in cells.iter_mut().enumerate() {
            let mut block = [[0.0; BLOCK]; 8];
            for row in 0..8 {
                block[row] = wide[row][k];
            }
            *cells = transpose(&block);
        }
    }
}

/// Writes each part of `TAKE` bytes of each row to its place, in `PLANES` planes. Elements have 16 bits if `WIDE`, else
/// 8, and are made unsigned if `UNSIGNED`.
fn lay_out_integers<const TAKE: usize, const WIDE: bool, const UNSIGNED: bool, const PLANES: usize>(
    shape: &Shape,
    rows: &Rows<'_>,
    per_tile: usize,
    vectors: &mut [Vector],
) {
    // Bytes of the register file in a row of a tile. Short reads are repeated.
    let (stored, packet) = (shape.period / PLANES, shape.packet_bytes());
    let row_bytes = if WIDE { 2 * TAKE } else { TAKE };
    let mut repeated = [0; 64];
    for (number, tile) in vectors.chunks_exact_mut(per_tile).enumerate() {
        for (row, bytes) in rows.iter().enumerate().filter_map(|(row, bytes)| Some((row, (*bytes)?))) {
            let mut bytes = &bytes[number * stored..][..stored];
            if stored < packet {
                repeat(bytes, &mut repeated);
                bytes = &repeated[..packet];
            }
            // The eight rows of each plane of each part of the packet.
            for (part, bytes) in bytes.as_chunks::<TAKE>().0.iter().enumerate() {
                for plane in 0..PLANES {
                    let place = ((part * PLANES + plane) * 8 + row) * row_bytes;
                    let place = &mut tile[place / 64].0[place % 64..][..row_bytes];
                    // Loops over numbers: `zip` is not inlined where a crate is compiled in parts.
                    if WIDE {
                        let places = place.as_chunks_mut().0.first_chunk_mut().expect("two bytes for each");
                        let places: &mut [[u8; 2]; TAKE] = places;
                        for k in 0..TAKE {
                            places[k] = i16::from(element(bytes[k], (PLANES, plane))).to_le_bytes();
                        }
                    } else {
                        let places: &mut [u8; TAKE] = place.first_chunk_mut().expect("a byte for each");
                        for k in 0..TAKE {
                            places[k] = if UNSIGNED {
                                unsigned_element(bytes[k], (PLANES, plane))
                            } else {
                                element(bytes[k], (PLANES, plane)) as u8
                            };
                        }
                    }
                }
            }
        }
    }
}

/// Element of a byte in a plane. With two planes, plane 0 has the lower element and comes first.
#[inline(always)]
fn element(byte: u8, plane: (usize, usize)) -> i8 {
    match plane {
        (1, _) => byte as i8,
        (_, 0) => (byte << 4) as i8 >> 4,
        _ => byte as i8 >> 4,
    }
}

/// The same element plus half of its range, which flips the sign bit.
#[inline(always)]
fn unsigned_element(byte: u8, plane: (usize, usize)) -> u8 {
    match plane {
        (1, _) => byte ^ 128,
        (_, 0) => byte & 15 ^ 8,
        _ => byte >> 4 ^ 8,
    }
}

/// Repeats bytes. Their number is a power of two.
fn repeat(bytes: &[u8], output: &mut [u8; 64]) {
    let pattern = match *bytes {
        [a] => [a; 8],
        [a, b] => [a, b, a, b, a, b, a, b],
        [a, b, c, d] => [a, b, c, d, a, b, c, d],
        _ => {
            output.chunks_exact_mut(bytes.len()).for_each(|output| output.copy_from_slice(bytes));
            return;
        }
    };
    output.as_chunks_mut::<8>().0.fill(pattern);
}
