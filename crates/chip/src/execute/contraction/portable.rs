//! The kernels in plain loops over arrays, which the compiler turns into vectors.
//!
//! The kernels are inlined into their callers, so that each caller's loops use the vectors that it may use.

use super::chains::{Block, Group};
use super::job::{FloatJob, IntegerJob};
use super::shape::{BLOCK, CELLS, Layout, Shape};
use super::tree::{Lanes, add, multiply};
use super::widen::{to_words, widen};
use furiosa_visa_rules::scalar::ElementType;

/// Number of chains of floats that are summed side by side. Rows of a matrix often lie a power of two apart, so that
/// their packets compete for one set of the first cache, which has eight ways.
pub(super) const SIDE: usize = 8;

/// Distance between a step and the packets that are prefetched, in steps.
const AHEAD: usize = 3;

/// The most cells of a packet of floats, in blocks.
pub(super) const BLOCKS: usize = CELLS / 2 / BLOCK;

/// A chain of floats that is summed beside others. No vector of it crosses a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Side {
    /// The cells of its packet.
    cells: [[f32; BLOCK]; BLOCKS],
    /// Sums of one block, of two, and so on, that wait for a sum of as many blocks.
    waiting: [Lanes; BLOCKS.ilog2() as usize + 1],
}

/// Reads of packets of floats by the instructions of a machine.
pub(super) trait Packets: Copy {
    /// Prefetches the packet that starts at a byte.
    fn prefetch(self, bytes: &[u8], start: u32);
    /// Has the effect of [`widen`].
    fn widen(self, element: ElementType, bytes: &[u8], cells: &mut [f32]);
}

/// Plain loops.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Packets for Plain {
    #[inline(always)]
    fn prefetch(self, _: &[u8], _: u32) {}

    #[inline(always)]
    fn widen(self, element: ElementType, bytes: &[u8], cells: &mut [f32]) {
        widen(element, bytes, cells);
    }
}

/// Adds the sums of the steps in the order of the tree, one lane per row.
#[inline(always)]
pub(super) fn float(machine: impl Packets, job: FloatJob<'_, Lanes>) {
    let FloatJob { shape, chains, bytes, weights, sums } = job;
    let mut sides = [Side { cells: [[0.0; BLOCK]; _], waiting: [[0.0; 8]; _] }; SIDE];
    for block in chains.groups().flat_map(Group::blocks) {
        side_by_side(machine, &shape, block, (bytes, weights), &mut sides, sums);
    }
}

/// Sums chains with the same tiles. The weights of a block of cells stay in registers while the packets of several
/// chains meet them.
#[inline(always)]
fn side_by_side(
    machine: impl Packets,
    shape: &Shape,
    Block { tiles, packets, results }: Block<'_>,
    (bytes, weights): (&[u8], &[Lanes]),
    sides: &mut [Side; SIDE],
    sums: &mut [Lanes],
) {
    let (tile, size) = (shape.tile(), shape.packet_bytes());
    let blocks = shape.part / BLOCK;
    let sides = &mut sides[..results.len()];
    let ahead = packets.get(AHEAD * results.len()..).unwrap_or(&[]);
    for (step, &number) in tiles.iter().enumerate() {
        let of_step = step * results.len()..(step + 1) * results.len();
        let starts = &packets[of_step.clone()];
        for (chain, side) in sides.iter_mut().enumerate() {
            let (start, cells) = (starts[chain], &mut side.cells.as_flattened_mut()[..shape.cells]);
            machine.widen(shape.element, &bytes[start as usize..][..size], cells);
        }
        for &start in ahead.get(of_step).unwrap_or(&[]) {
            machine.prefetch(bytes, start);
        }
        let weights = &weights[number as usize * tile..][..tile];
        if shape.part < BLOCK {
            for (&result, side) in results.iter().zip(&*sides) {
                let sums = &mut sums[result as usize..][..shape.columns];
                short_columns(shape.part, side.cells.as_flattened(), weights, sums);
            }
            continue;
        }
        for block in 0..shape.columns * blocks {
            let (column, number) = (block / blocks, block % blocks + 1);
            let weights = *block_at(weights, block * BLOCK);
            // Number of earlier sums that this block completes.
            let levels = number.trailing_zeros();
            match levels {
                0 => wait::<0>(sides, block, &weights),
                1 => wait::<1>(sides, block, &weights),
                2 => wait::<2>(sides, block, &weights),
                _ => wait::<3>(sides, block, &weights),
            }
            if number == blocks {
                for (&result, side) in results.iter().zip(&*sides) {
                    let sum = side.waiting[levels as usize];
                    let total = &mut sums[result as usize + column];
                    *total = add(*total, if shape.absent { add(sum, [0.0; 8]) } else { sum });
                }
            }
        }
    }
}

/// Sums a block of every chain. It completes `LEVELS` earlier sums, and the result waits for further blocks, or is that of the
/// column.
#[inline(always)]
fn wait<const LEVELS: usize>(sides: &mut [Side], block: usize, weights: &[Lanes; BLOCK]) {
    for side in sides {
        side.waiting[LEVELS] = joined::<LEVELS>(side, block, weights);
    }
}

/// Sum of a block and of the `LEVELS` sums that wait for it.
#[inline(always)]
fn joined<const LEVELS: usize>(side: &Side, block: usize, weights: &[Lanes; BLOCK]) -> Lanes {
    let mut sum = tree_of_block(&side.cells[block], weights);
    for waiting in &side.waiting[..LEVELS] {
        sum = add(*waiting, sum);
    }
    sum
}

/// The weights of the block that starts at a cell. The weights of a tile repeat.
#[inline(always)]
fn block_at(weights: &[Lanes], cell: usize) -> &[Lanes; BLOCK] {
    weights[cell & (weights.len() - 1)..].first_chunk().expect("a tile is made of blocks")
}

#[inline(always)]
fn tree_of_block(x: &[f32; BLOCK], w: &[Lanes; BLOCK]) -> Lanes {
    let four = add(two_of_block::<0>(x, w), two_of_block::<2>(x, w));
    add(four, add(two_of_block::<4>(x, w), two_of_block::<6>(x, w)))
}

/// Sum of two products of a block, the first of which is that of cell `K`.
#[inline(always)]
fn two_of_block<const K: usize>(x: &[f32; BLOCK], w: &[Lanes; BLOCK]) -> Lanes {
    add(multiply(x[K], &w[K]), multiply(x[K + 1], &w[K + 1]))
}

/// Columns of one, two or four cells.
#[inline(always)]
fn short_columns(part: usize, cells: &[f32], weights: &[Lanes], sums: &mut [Lanes]) {
    for (column, sum) in sums.iter_mut().enumerate() {
        let mut products = [[0.0; 8]; 4];
        for (k, product) in (column * part..).zip(&mut products[..part]) {
            *product = multiply(cells[k], &weights[k & (weights.len() - 1)]);
        }
        let [a, b, c, d] = products;
        let arrival = match part {
            1 => a,
            2 => add(a, b),
            _ => add(add(a, b), add(c, d)),
        };
        *sum = add(*sum, arrival);
    }
}

/// Converts eight rows to cells.
#[inline(always)]
pub(super) fn transpose(rows: &[[f32; BLOCK]; 8]) -> [Lanes; BLOCK] {
    let mut cells = [[0.0; 8]; BLOCK];
    for (number, row) in rows.iter().enumerate() {
        for (cell, value) in cells.iter_mut().zip(row) {
            cell[number] = *value;
        }
    }
    cells
}

/// Layout of the weights of integers for [`integer`].
pub(super) const LAYOUT: Layout = Layout { take: 32, is_wide: true, is_unsigned: false };

/// Adds the sums of the steps, wrapping: a dot product per row and column.
#[inline(always)]
pub(super) fn integer(job: IntegerJob<'_>) {
    match job.shape.column_bytes() {
        2 => columns::<2>(job),
        4 => columns::<4>(job),
        8 => columns::<8>(job),
        16 => columns::<16>(job),
        _ => columns::<32>(job),
    }
}

/// Adds the sums of the steps, for columns or parts of columns of `BYTES` bytes of a plane.
#[inline(always)]
fn columns<const BYTES: usize>(job: IntegerJob<'_>) {
    let IntegerJob { shape, chains, bytes, vectors, sums, .. } = job;
    let (planes, tile) = (shape.planes(), LAYOUT.tile_vectors(&shape));
    // The elements of a plane, vector after vector.
    let mut words = [[[0; 32]; 2]; 2];
    for Block { tiles, packets, results } in chains.groups().flat_map(Group::blocks) {
        for (&number, starts) in tiles.iter().zip(packets.chunks_exact(results.len())) {
            let weights = &vectors[number as usize * tile..][..tile];
            for (&start, &result) in starts.iter().zip(results) {
                let packet = &bytes[start as usize..][..shape.packet_bytes()];
                for (plane, words) in words.iter_mut().enumerate().take(planes) {
                    to_words(planes, plane, packet, words.as_flattened_mut());
                }
                let sums = &mut sums[result as usize..][..shape.columns];
                for (number, weights) in weights.as_chunks::<8>().0.iter().enumerate() {
                    let (vector, plane) = (number / planes, number % planes);
                    let parts = words[plane][vector].as_chunks::<BYTES>().0;
                    for (part, words) in parts.iter().enumerate() {
                        let column = (vector * LAYOUT.take + part * BYTES) / shape.column_bytes();
                        let Some(sum) = sums.get_mut(column) else { break };
                        for (sum, weights) in sum.iter_mut().zip(weights) {
                            let weights = &weights.0.as_chunks::<2>().0.as_chunks::<BYTES>().0[part];
                            *sum = sum.wrapping_add(dot(words, weights));
                        }
                    }
                }
            }
        }
    }
}

/// Sum of products of 8-bit elements, which does not overflow. It is not inlined: inside of a loop over rows, the
/// compiler would vectorise over rows and gather single weights.
#[inline(never)]
fn dot<const N: usize>(x: &[i16; N], w: &[[u8; 2]; N]) -> i32 {
    x.iter().zip(w).map(|(x, w)| i32::from(*x) * i32::from(i16::from_le_bytes(*w))).sum()
}
