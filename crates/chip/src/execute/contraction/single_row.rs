//! The kernel of floats for a register file with one row: lanes are cells instead of rows.

use super::chains::Group;
use super::job::FloatJob;
use super::portable::{BLOCKS, Packets};
use super::shape::BLOCK;

/// Adds the sums of the steps in the order of the tree, as lane 0 of the results.
///
/// Loops go over numbers, because iterators are not inlined where a crate is compiled in parts.
#[inline(always)]
pub(super) fn single_row(machine: impl Packets, job: FloatJob<'_, f32>) {
    let FloatJob { shape, chains, bytes, weights, sums } = job;
    let (tile, size) = (shape.tile(), shape.packet_bytes());
    let mut cells = [[0.0; BLOCK]; BLOCKS];
    for block in chains.groups().flat_map(Group::blocks) {
        let side = block.results.len();
        for step in 0..block.tiles.len() {
            let weights = weights[block.tiles[step] as usize * tile..][..tile].as_chunks::<BLOCK>().0;
            let packets = &block.packets[step * side..][..side];
            for chain in 0..side {
                machine.widen(
                    shape.element,
                    &bytes[packets[chain] as usize..][..size],
                    &mut cells.as_flattened_mut()[..shape.cells],
                );
                let cells = &mut cells[..shape.cells / BLOCK];
                // The weights of a tile repeat. A tile has a power of two of them.
                for k in 0..cells.len() {
                    multiply(&mut cells[k], &weights[k & (weights.len() - 1)]);
                }
                tree(shape.part, cells);
                let totals = &mut sums[block.results[chain] as usize..][..shape.columns];
                let sums = cells.as_flattened();
                for column in 0..shape.columns {
                    // The tree adds the absent half of a packet, which is zero.
                    totals[column][0] += if shape.absent { sums[column] + 0.0 } else { sums[column] };
                }
            }
        }
    }
}

#[inline(always)]
fn multiply(cells: &mut [f32; BLOCK], weights: &[f32; BLOCK]) {
    for k in 0..BLOCK {
        cells[k] *= weights[k];
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
            let second = if 2 * block + 1 < cells.len() { cells[2 * block + 1] } else { [0.0; BLOCK] };
            cells[block] = pairs(&cells[2 * block], &second);
        }
    }
}

/// Sums of neighbours.
#[inline(always)]
fn pairs(first: &[f32; BLOCK], second: &[f32; BLOCK]) -> [f32; BLOCK] {
    let mut sums = [0.0; BLOCK];
    for k in 0..BLOCK / 2 {
        sums[k] = first[2 * k] + first[2 * k + 1];
        sums[k + BLOCK / 2] = second[2 * k] + second[2 * k + 1];
    }
    sums
}
