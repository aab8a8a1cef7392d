//! The kernel of floats for a register file with one row: lanes are cells instead of rows.

use super::chains::Group;
use super::job::FloatJob;
use super::portable::{BLOCKS, Packets};
use super::shape::BLOCK;

/// Adds the sums of the steps in the order of the tree, as lane 0 of the results.
#[inline(always)]
pub(super) fn single_row(machine: impl Packets, job: FloatJob<'_, f32>) {
    let FloatJob { shape, chains, bytes, weights, sums } = job;
    let (tile, size) = (shape.tile(), shape.packet_bytes());
    let mut cells = [[0.0; BLOCK]; BLOCKS];
    for block in chains.groups().flat_map(Group::blocks) {
        for (&number, packets) in block.tiles.iter().zip(block.packets.chunks_exact(block.results.len())) {
            let weights = weights[number as usize * tile..][..tile].as_chunks().0;
            for (&start, &result) in packets.iter().zip(block.results) {
                machine.widen(
                    shape.element,
                    &bytes[start as usize..][..size],
                    &mut cells.as_flattened_mut()[..shape.cells],
                );
                let cells = &mut cells[..shape.cells / BLOCK];
                // The weights of a tile repeat.
                for (cells, weights) in cells.iter_mut().zip(weights.iter().cycle()) {
                    multiply(cells, weights);
                }
                tree(shape.part, cells);
                let totals = sums[result as usize..][..shape.columns].iter_mut();
                for (total, &sum) in totals.zip(cells.as_flattened()) {
                    // The tree adds the absent half of a packet, which is zero.
                    total[0] += if shape.absent { sum + 0.0 } else { sum };
                }
            }
        }
    }
}

#[inline(always)]
fn multiply(cells: &mut [f32; BLOCK], weights: &[f32; BLOCK]) {
    for (cell, weight) in cells.iter_mut().zip(weights) {
        *cell *= weight;
    }
}

/// Sums each `part` neighbouring cells, in the order of the tree. The sums are the first cells.
#[inline(always)]
fn tree(part: usize, cells: &mut [[f32; BLOCK]]) {
    let mut blocks = cells.len();
    for _ in 0..part.ilog2() {
        blocks = blocks.div_ceil(2);
        for block in 0..blocks {
            // Behind the last block, there is nothing that is used.
            let second = cells.get(2 * block + 1).copied().unwrap_or([0.0; BLOCK]);
            cells[block] = pairs(&cells[2 * block], &second);
        }
    }
}

/// Sums of neighbours.
#[inline(always)]
fn pairs(first: &[f32; BLOCK], second: &[f32; BLOCK]) -> [f32; BLOCK] {
    let mut sums = [0.0; BLOCK];
    let pairs = first.as_chunks().0.iter().chain(second.as_chunks().0);
    for (sum, [even, odd]) in sums.iter_mut().zip(pairs) {
        *sum = even + odd;
    }
    sums
}
