//! The kernels in plain loops over arrays, which the compiler turns into vectors.
//!
//! They are inlined into their callers, so that each caller's loops use the vectors that it may use.

use super::job::{FloatJob, IntegerJob, Step};
use super::shape::{BLOCK, CELLS, Layout};
use super::tree::{Lanes, add, multiply};
use super::widen::{to_words, widen};

/// Chains of floats that are summed side by side.
const SIDE: usize = 16;

/// Steps ahead of the packets that are asked for.
const AHEAD: usize = 3;

/// The most cells of a packet of floats, in blocks.
const BLOCKS: usize = CELLS / 2 / BLOCK;

/// A chain of floats beside others.
#[derive(Clone, Copy)]
struct Side {
    /// The cells of its packet.
    cells: [[f32; BLOCK]; BLOCKS],
    /// Sums of one block, of two, and of four, that wait for as many more.
    waiting: [Lanes; BLOCKS.ilog2() as usize],
}

/// Adds the sums of the steps in the order of the tree, one lane per row. `prefetch` asks for a byte that is about to be
/// read.
#[inline(always)]
pub(super) fn float(mut job: FloatJob<'_>, prefetch: impl Fn(&u8) + Copy) {
    let mut sides = [Side { cells: [[0.0; BLOCK]; _], waiting: [[0.0; 8]; _] }; SIDE];
    let steps = job.steps;
    let Some(chains) = job.chains else {
        steps
            .chunk_by(|a, b| a.result == b.result)
            .for_each(|chain| group(&mut job, chain, chain.len(), &mut sides, prefetch));
        return;
    };
    let mut steps = &chains.steps[..];
    for chains in &chains.groups {
        let (own, rest) = steps.split_at(chains.len * chains.count);
        group(&mut job, own, chains.len, &mut sides, prefetch);
        steps = rest;
    }
}

/// Chains of so many steps with the same tiles. The weights of a block of cells stay in registers while the packets of
/// several chains meet them.
#[inline(always)]
fn group(
    job: &mut FloatJob<'_>,
    steps: &[Step],
    len: usize,
    sides: &mut [Side; SIDE],
    prefetch: impl Fn(&u8) + Copy,
) {
    let FloatJob { shape, packets, weights, sums, .. } = job;
    let (tile, blocks) = (shape.tile(), shape.part / BLOCK);
    for chains in steps.chunks(len * SIDE) {
        let sides = &mut sides[..chains.len() / len];
        for k in 0..len {
            let steps = chains[k..].iter().step_by(len);
            for (step, side) in steps.clone().zip(&mut *sides) {
                let cells = &mut side.cells.as_flattened_mut()[..shape.cells];
                widen(shape.element, packets.get(step.packet), cells);
            }
            if k + AHEAD < len {
                let soon = chains[k + AHEAD..].iter().step_by(len);
                soon.for_each(|step| packets.get(step.packet).first().into_iter().for_each(prefetch));
            }
            let weights = &weights[chains[k].tile as usize * tile..][..tile];
            if shape.part < BLOCK {
                for (step, side) in steps.zip(&*sides) {
                    let sums = &mut sums[step.result as usize..][..shape.columns];
                    short_columns(shape.part, side.cells.as_flattened(), weights, sums);
                }
                continue;
            }
            for block in 0..shape.columns * blocks {
                let (column, number) = (block / blocks, block % blocks + 1);
                let weights = *block_at(weights, block * BLOCK);
                // How many sums of earlier blocks this one completes.
                let levels = number.trailing_zeros() as usize;
                if number < blocks {
                    for side in &mut *sides {
                        let sum = tree_of_block(&side.cells[block], &weights);
                        side.waiting[levels] = joined(&side.waiting[..levels], sum);
                    }
                    continue;
                }
                for (step, side) in steps.clone().zip(&*sides) {
                    let mut sum = tree_of_block(&side.cells[block], &weights);
                    sum = joined(&side.waiting[..levels], sum);
                    if shape.absent {
                        sum = add(sum, [0.0; 8]);
                    }
                    let total = &mut sums[step.result as usize + column];
                    *total = add(*total, sum);
                }
            }
        }
    }
}

/// The sum of a block and of those that wait for it.
#[inline(always)]
fn joined(waiting: &[Lanes], sum: Lanes) -> Lanes {
    waiting.iter().fold(sum, |sum, waiting| add(*waiting, sum))
}

/// The weights of the block that starts at a cell. Those of a tile repeat.
#[inline(always)]
fn block_at(weights: &[Lanes], cell: usize) -> &[Lanes; BLOCK] {
    weights[cell & (weights.len() - 1)..].first_chunk().expect("a tile is made of blocks")
}

#[inline(always)]
fn tree_of_block(x: &[f32; BLOCK], w: &[Lanes; BLOCK]) -> Lanes {
    let product = |k: usize| multiply(x[k], &w[k]);
    let two = |k: usize| add(product(k), product(k + 1));
    add(add(two(0), two(2)), add(two(4), two(6)))
}

/// Columns of one, two or four cells.
#[inline(always)]
fn short_columns(part: usize, cells: &[f32], weights: &[Lanes], sums: &mut [Lanes]) {
    for (column, sum) in sums.iter_mut().enumerate() {
        let first = column * part;
        let product = |k: usize| multiply(cells[first + k], &weights[(first + k) & (weights.len() - 1)]);
        let arrival = match part {
            1 => product(0),
            2 => add(product(0), product(1)),
            _ => add(add(product(0), product(1)), add(product(2), product(3))),
        };
        *sum = add(*sum, arrival);
    }
}

/// The cells of eight rows.
#[inline(always)]
pub(super) fn transpose(rows: &[[f32; BLOCK]; 8]) -> [Lanes; BLOCK] {
    core::array::from_fn(|cell| rows.map(|row| row[cell]))
}

/// How weights of integers lie for [`integer`].
pub(super) const LAYOUT: Layout = Layout { take: 32, is_wide: true };

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

/// The same for columns, or parts of columns, of so many bytes of a plane.
#[inline(always)]
fn columns<const BYTES: usize>(job: IntegerJob<'_>) {
    let IntegerJob { shape, steps, packets, vectors, sums, .. } = job;
    let (planes, tile) = (shape.planes(), LAYOUT.tile_vectors(&shape));
    // The elements of a plane, vector after vector.
    let mut words = [[[0; 32]; 2]; 2];
    for steps in steps.chunk_by(|a, b| a.packet == b.packet) {
        let packet = packets.get(steps[0].packet);
        for (plane, words) in words.iter_mut().enumerate().take(planes) {
            to_words(planes, plane, packet, words.as_flattened_mut());
        }
        for step in steps {
            let weights = &vectors[step.tile as usize * tile..][..tile];
            let sums = &mut sums[step.result as usize..][..shape.columns];
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

/// The sum of products of 8 bits each, which does not overflow. Not inlined: inside of a loop over rows the compiler makes
/// vectors of rows, for which it gathers single weights.
#[inline(never)]
fn dot<const N: usize>(x: &[i16; N], w: &[[u8; 2]; N]) -> i32 {
    x.iter().zip(w).map(|(x, w)| i32::from(*x) * i32::from(i16::from_le_bytes(*w))).sum()
}
