//! The kernels in plain loops over arrays of lanes: one lane per row.
//!
//! They are inlined into their callers, so that each caller's loops use the vectors that it may use.

use super::job::{FloatJob, IntegerJob};
use super::shape::{BLOCK, CELLS};
use super::tree::{Lanes, add, multiply};
use super::widen::{to_words, widen};

/// Adds the sums of the steps in the order of the tree.
#[inline(always)]
pub(super) fn float(job: FloatJob<'_>) {
    let FloatJob { shape, steps, packets, weights, sums, .. } = job;
    let tile = shape.tile();
    let mut cells = [0.0; CELLS];
    let mut partial = [[0.0; 8]; CELLS / BLOCK];
    for steps in steps.chunk_by(|a, b| a.packet == b.packet) {
        widen(shape.element, packets.get(steps[0].packet), &mut cells[..shape.cells]);
        for step in steps {
            let weights = &weights[step.tile as usize * tile..][..tile];
            let sums = &mut sums[step.result as usize..][..shape.columns];
            if shape.part < BLOCK {
                short_columns(shape.part, &cells, weights, sums);
                continue;
            }
            let blocks = shape.part / BLOCK;
            for (column, sum) in sums.iter_mut().enumerate() {
                let partial = &mut partial[..blocks];
                for (block, partial) in partial.iter_mut().enumerate() {
                    let first = column * shape.part + block * BLOCK;
                    let x = cells[first..].first_chunk().expect("a packet is made of blocks");
                    *partial = tree_of_block(x, block_at(weights, first));
                }
                let mut width = blocks;
                while width > 1 {
                    width /= 2;
                    for k in 0..width {
                        partial[k] = add(partial[2 * k], partial[2 * k + 1]);
                    }
                }
                let arrival = if shape.absent { add(partial[0], [0.0; 8]) } else { partial[0] };
                *sum = add(*sum, arrival);
            }
        }
    }
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
fn short_columns(part: usize, cells: &[f32; CELLS], weights: &[Lanes], sums: &mut [Lanes]) {
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

/// Adds the sums of the steps, wrapping.
#[inline(always)]
pub(super) fn integer(job: IntegerJob<'_>) {
    let IntegerJob { shape, steps, packets, pairs, sums, .. } = job;
    let (tile, part) = (shape.tile() / 2, shape.part / 2);
    let mut words = [0; CELLS];
    for steps in steps.chunk_by(|a, b| a.packet == b.packet) {
        to_words(shape.element, packets.get(steps[0].packet), &mut words);
        let cells = words.as_chunks::<2>().0;
        for step in steps {
            let weights = &pairs[step.tile as usize * tile..][..tile];
            let sums = &mut sums[step.result as usize..][..shape.columns];
            for (column, sum) in sums.iter_mut().enumerate() {
                let mut total = *sum;
                let first = column * part;
                // As far as the weights go before they repeat.
                for cells in cells[first..first + part].chunks(tile) {
                    for (weight, &[x, y]) in weights[first & (tile - 1)..].iter().zip(cells) {
                        for (lane, [v, w]) in total.iter_mut().zip(weight.0) {
                            // Two products of 8 bits each do not overflow.
                            let pair = i32::from(v) * i32::from(x) + i32::from(w) * i32::from(y);
                            *lane = lane.wrapping_add(pair);
                        }
                    }
                }
                *sum = total;
            }
        }
    }
}
