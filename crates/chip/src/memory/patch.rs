//! Short runs that lie close together on both sides, moved without a check of each: see [`Patch`].
//!
//! ```text
//!   source pieces ──▶ gathered ──▶ turned ──▶ destination pieces
//! ```
//!
//! Both buffers fit the nearest cache. Without the second one, every cache line of the destination would be written in
//! parts, and each part would occupy an entry of the store queue until the line has arrived.

use super::copy::Elements;
use super::{Space, SpaceMut, words};
use furiosa_visa_rules::command::moves::Patch;

/// Bytes of a patch while it moves. The buffers are used again for the next patch.
#[derive(Debug, Default)]
pub(crate) struct PatchBuffers {
    /// The pieces of the source, one after another.
    gathered: Vec<u8>,
    /// The pieces of the destination, one after another.
    turned: Vec<u8>,
}

impl PatchBuffers {
    /// Reads the pieces of the source, all of which are written. `address`: that of element 0.
    pub(crate) fn read(&mut self, space: &impl Space, patch: Patch<'_>, address: u64, bits: usize) {
        let size = bits / 8;
        let (run, pieces) = (patch.run * size, patch.sources.len());
        let len = patch.destinations.len() * run;
        for buffer in [&mut self.gathered, &mut self.turned] {
            buffer.resize(pieces * len, 0);
        }
        for ((unit, position), output) in patch.sources.iter().zip(self.gathered.chunks_exact_mut(len)) {
            read_piece(space, unit, address + (position * size) as u64, output);
        }
        turn(&self.gathered, &mut self.turned, (pieces, run));
    }

    /// Writes the pieces of the destination. `address`: that of element 0.
    pub(crate) fn write(
        &self,
        space: &mut impl SpaceMut,
        patch: Patch<'_>,
        address: u64,
        elements: Elements,
    ) {
        let size = elements.bits / 8;
        let len = patch.sources.len() * patch.run * size;
        for ((unit, position), input) in patch.destinations.iter().zip(self.turned.chunks_exact(len)) {
            write_piece(space, unit, address + (position * size) as u64, input, elements);
        }
    }
}

/// Copies bytes out, all of which are written.
fn read_piece(space: &impl Space, unit: usize, mut address: u64, mut output: &mut [u8]) {
    while !output.is_empty() {
        let piece = space.piece(unit, address).expect("bytes that somebody wrote are there");
        let (first, behind) = output.split_at_mut(piece.len.min(output.len()));
        piece.block.expect("bytes that somebody wrote have a block").read(piece.start, first);
        address += first.len() as u64;
        output = behind;
    }
}

/// Writes bytes, up to the end of the memory.
fn write_piece(
    space: &mut impl SpaceMut,
    unit: usize,
    mut address: u64,
    mut input: &[u8],
    elements: Elements,
) {
    while !input.is_empty() {
        let Some(piece) = space.piece_mut(unit, address, elements.end) else { return };
        let (first, behind) = input.split_at(piece.len.min(input.len()));
        let range = piece.start..piece.start + first.len();
        piece.block.grow(range.end);
        let (bytes, initialised) = piece.block.parts_mut();
        bytes[range.clone()].copy_from_slice(first);
        if !elements.marked {
            initialised.set(range);
        }
        address += first.len() as u64;
        input = behind;
    }
}

/// Transposes `count` rows of runs of `run` bytes: run `c` of row `r` becomes run `r` of column `c`. Rows lie one after
/// another, and so do columns.
fn turn(rows: &[u8], columns: &mut [u8], (count, run): (usize, usize)) {
    match run {
        1 => turn_words::<1, 8>(rows, columns, count),
        2 => turn_words::<2, 4>(rows, columns, count),
        4 => turn_words::<4, 2>(rows, columns, count),
        8 => turn_runs::<8>(rows, columns, count),
        16 => turn_runs::<16>(rows, columns, count),
        32 => turn_runs::<32>(rows, columns, count),
        _ => turn_any(rows, columns, (count, run)),
    }
}

/// Transposes as [`turn`] does, with runs of any length.
fn turn_any(rows: &[u8], columns: &mut [u8], (count, run): (usize, usize)) {
    let row = rows.len() / count;
    for (c, column) in columns.chunks_exact_mut(count * run).enumerate() {
        for (place, row) in column.chunks_exact_mut(run).zip(rows.chunks_exact(row)) {
            place.copy_from_slice(&row[c * run..][..run]);
        }
    }
}

/// Transposes as [`turn`] does, with runs of `RUN` bytes.
fn turn_runs<const RUN: usize>(rows: &[u8], columns: &mut [u8], count: usize) {
    let row = rows.len() / count;
    for (c, column) in columns.chunks_exact_mut(count * RUN).enumerate() {
        // Numbers and arrays, because `chunks_exact` and `copy_from_slice` are calls where a crate is compiled in parts.
        for (r, place) in column.as_chunks_mut::<RUN>().0.iter_mut().enumerate() {
            *place = *rows[r * row + c * RUN..].first_chunk().expect("a run of a row");
        }
    }
}

/// Transposes as [`turn`] does, with runs of `RUN` bytes. `SIDE` runs make a word.
fn turn_words<const RUN: usize, const SIDE: usize>(rows: &[u8], columns: &mut [u8], count: usize) {
    let (row, column) = (rows.len() / count, count * RUN);
    let one = |columns: &mut [u8], r: usize, c: usize| {
        columns[c * column + r * RUN..][..RUN].copy_from_slice(&rows[r * row + c * RUN..][..RUN]);
    };
    // Runs outside of the squares of words are moved one by one.
    let (whole_rows, all) = (count / SIDE * SIDE, row / RUN);
    let whole = all / SIDE * SIDE;
    for r in (0..whole_rows).step_by(SIDE) {
        for c in (0..whole).step_by(SIDE) {
            let mut square = [&[0; 8]; SIDE];
            for (k, word) in square.iter_mut().enumerate() {
                *word = rows[(r + k) * row + c * RUN..].first_chunk().expect("a word of a row");
            }
            let square = words::transpose::<RUN, SIDE>(square);
            for (k, word) in square.iter().enumerate() {
                let place = columns[(c + k) * column + r * RUN..].first_chunk_mut();
                *place.expect("a word of a column") = word.to_le_bytes();
            }
        }
        (r..r + SIDE).for_each(|r| (whole..all).for_each(|c| one(columns, r, c)));
    }
    (whole_rows..count).for_each(|r| (0..all).for_each(|c| one(columns, r, c)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn runs_are_turned() {
        let mut random = SmallRng::seed_from_u64(37);
        for run in [1, 2, 3, 4, 8, 12, 16, 32] {
            for _ in 0..50 {
                let (count, each) = (random.random_range(1..20), random.random_range(1..20));
                let rows: Vec<u8> = (0..count * each * run).map(|_| random.random()).collect();
                let mut columns = vec![0; rows.len()];
                turn(&rows, &mut columns, (count, run));
                for (r, c) in (0..count).flat_map(|r| (0..each).map(move |c| (r, c))) {
                    let found = &columns[(c * count + r) * run..][..run];
                    assert_eq!(found, &rows[(r * each + c) * run..][..run], "{count} x {each} runs of {run}");
                }
            }
        }
    }
}
