//! Integers in vectors that go along the packet: the loops that all instructions have in common.
//!
//! A vector of a packet meets a vector of each row. Instructions sum the products of neighbouring bytes in words; only
//! where a chain ends are the words of a column added up:
//!
//! ```text
//!   packet              row 0 of each tile            sums of row 0
//!   x0 x1 x2 x3 | x4 …  w0 w1 w2 w3 | w4 …     x0 w0 + … + x3 w3 | x4 w4 + … | … words
//! ```
//!
//! `ROWS` rows of two chains with the same tiles are summed at a time, as many as registers hold sums: a vector of weights
//! is loaded once for both chains, and a vector of a packet once for all these rows. Sizes are constants, so that the
//! compiler keeps every sum in a register.

use super::chains::{Block, Group};
use super::job::IntegerJob;
use super::shape::{Layout, Shape};
use super::weights::Vector;

/// Chains that are summed side by side.
pub(super) const SIDE: usize = 2;

/// The most words of a vector.
pub(super) const WORDS: usize = 8;

/// The most columns of a step.
const COLUMNS: usize = 32;

/// Steps ahead of a packet that is asked for: about what a memory takes to answer.
const AHEAD: usize = 64;

/// Instructions that sum products of neighbouring elements. A value stands for a machine that has them.
///
/// Everything is inlined into functions that are compiled for the instructions.
pub(super) trait Dots: Copy {
    /// How weights lie.
    const LAYOUT: Layout;
    /// Bytes of a packet per word.
    const WORD: usize;
    /// Whether elements of the stream are made unsigned, by adding half of their range.
    const IS_UNSIGNED: bool;
    /// Elements of a packet.
    type Stream: Copy;
    /// Words.
    type Sums: Copy;

    /// Asks for the packet that starts at a byte and is about to be read, where that pays.
    #[inline(always)]
    fn prefetch(self, _bytes: &[u8], _start: u32) {}

    /// Zeros.
    fn zero(self) -> Self::Sums;

    /// A plane of the first bytes of `packet`: its elements, or of two elements per byte the lower or the upper ones.
    fn stream<const PLANES: usize>(self, packet: &[u8], plane: usize) -> Self::Stream;

    /// Adds the products with a row of `weights`, in which rows lie one behind the other.
    fn add(self, sums: Self::Sums, stream: Self::Stream, weights: &[Vector], row: usize) -> Self::Sums;

    /// The words of four rows: word after word.
    fn words(self, rows: [Self::Sums; 4]) -> [[i32; 4]; WORDS];

    /// The sum of all words of four rows.
    fn total(self, rows: [Self::Sums; 4]) -> [i32; 4];
}

/// Adds the sums of the steps, wrapping, `ROWS` rows at a time.
#[inline(always)]
pub(super) fn integer<D: Dots, const ROWS: usize>(dots: D, job: IntegerJob<'_>) {
    debug_assert_eq!(job.layout, D::LAYOUT, "weights lie as these instructions take them");
    let take = D::LAYOUT.take;
    match (job.shape.planes(), job.shape.column_bytes().div_ceil(take)) {
        (1, 4) if 4 * take <= 64 => all::<D, ROWS, 1, 4>(dots, job),
        (1, 2) if 2 * take <= 64 => all::<D, ROWS, 1, 2>(dots, job),
        (1, _) => all::<D, ROWS, 1, 1>(dots, job),
        (_, 4) if 4 * take <= 64 => all::<D, ROWS, 2, 4>(dots, job),
        (_, 2) if 2 * take <= 64 => all::<D, ROWS, 2, 2>(dots, job),
        _ => all::<D, ROWS, 2, 1>(dots, job),
    }
}

/// The same for elements in so many planes, and for columns of so many vectors, or of parts of one.
#[inline(always)]
fn all<D: Dots, const ROWS: usize, const PLANES: usize, const VECTORS: usize>(dots: D, job: IntegerJob<'_>) {
    let IntegerJob { shape, chains, bytes, vectors, sums, .. } = job;
    let operands = Operands { shape: &shape, vectors, bytes };
    for group in chains.groups() {
        if D::IS_UNSIGNED {
            take_back::<D, ROWS, PLANES, VECTORS>(dots, operands, group, sums);
        }
        for block in group.blocks() {
            match *block.results {
                [first, second] => {
                    sum::<D, 2, ROWS, PLANES, VECTORS>(dots, operands, block, [first, second], sums)
                }
                [result] => sum::<D, 1, ROWS, PLANES, VECTORS>(dots, operands, block, [result], sums),
                _ => unreachable!("chains are summed in twos"),
            }
        }
    }
}

/// What steps work on.
#[derive(Clone, Copy)]
struct Operands<'a> {
    shape: &'a Shape,
    vectors: &'a [Vector],
    bytes: &'a [u8],
}

/// Subtracts from each result of a group what half of the range, added to each element of the stream, will add to it. That
/// depends on the tiles alone: it is what a packet of zeros gives.
#[inline(always)]
fn take_back<D: Dots, const ROWS: usize, const PLANES: usize, const VECTORS: usize>(
    dots: D,
    operands: Operands<'_>,
    group: Group<'_>,
    sums: &mut [[i32; 8]],
) {
    let mut bias = [[0; 8]; COLUMNS];
    let zeros = Operands { bytes: &[0; 64], ..operands };
    sum::<D, 1, ROWS, PLANES, VECTORS>(dots, zeros, group.of_one_packet(), [0], &mut bias);
    for &result in group.results {
        let sums = &mut sums[result as usize..][..operands.shape.columns];
        for (sum, bias) in sums.as_flattened_mut().iter_mut().zip(bias.as_flattened()) {
            *sum = sum.wrapping_sub(*bias);
        }
    }
}

/// Adds the sums of chains with the same tiles to their results.
#[inline(always)]
fn sum<D: Dots, const CHAINS: usize, const ROWS: usize, const PLANES: usize, const VECTORS: usize>(
    dots: D,
    operands: Operands<'_>,
    block: Block<'_>,
    results: [u32; CHAINS],
    sums: &mut [[i32; 8]],
) {
    let (shape, take) = (operands.shape, D::LAYOUT.take);
    // Words of a vector that belong to a column, and how many columns a vector has.
    let words = shape.column_bytes().min(take) / D::WORD;
    let per_vector = take / D::WORD / words;
    for (number, first) in (0..shape.packet_bytes() / take).step_by(VECTORS).enumerate() {
        let columns = number * per_vector..shape.columns.min((number + 1) * per_vector);
        if columns.is_empty() {
            return;
        }
        for row in (0..8).step_by(ROWS) {
            let totals = multiply::<D, CHAINS, ROWS, PLANES, VECTORS>(dots, operands, block, [first, row]);
            for (totals, result) in totals.iter().zip(results) {
                let sums = &mut sums[result as usize..][columns.clone()];
                for (four, totals) in totals.as_chunks::<4>().0.iter().enumerate() {
                    let first = row + 4 * four;
                    if per_vector == 1 {
                        add(&mut sums[0], first, &dots.total(*totals));
                        continue;
                    }
                    let all = dots.words(*totals);
                    for (sum, words) in sums.iter_mut().zip(all.chunks_exact(words)) {
                        words.iter().for_each(|word| add(sum, first, word));
                    }
                }
            }
        }
    }
}

/// Adds to the sums of four rows, from the first one on.
#[inline(always)]
fn add(sums: &mut [i32; 8], first: usize, more: &[i32; 4]) {
    sums[first..first + 4].iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
}

/// The words of chains with the same tiles, from a vector of the packets and from a row on.
#[inline(always)]
fn multiply<D: Dots, const CHAINS: usize, const ROWS: usize, const PLANES: usize, const VECTORS: usize>(
    dots: D,
    Operands { shape, vectors, bytes }: Operands<'_>,
    Block { tiles, packets, .. }: Block<'_>,
    [first, row]: [usize; 2],
) -> [[D::Sums; ROWS]; CHAINS] {
    let take = D::LAYOUT.take;
    // Vectors of weights of a plane, of the rows in it, and of a tile.
    let per_plane = 8 * D::LAYOUT.row_bytes() / 64;
    let (before, rows) = (row * D::LAYOUT.row_bytes() / 64, ROWS * D::LAYOUT.row_bytes() / 64);
    let per_tile = D::LAYOUT.tile_vectors(shape);
    let asks = [first, row] == [0, 0];
    let (packets, ahead) = (packets.as_chunks::<CHAINS>().0, packets.get(AHEAD * CHAINS..).unwrap_or(&[]));
    let ahead = ahead.as_chunks::<CHAINS>().0;
    let mut sums = [[dots.zero(); ROWS]; CHAINS];
    for (step, (&tile, starts)) in tiles.iter().zip(packets).enumerate() {
        let tile =
            &vectors[tile as usize * per_tile + first * PLANES * per_plane..][..VECTORS * PLANES * per_plane];
        let mut packets = [&[][..]; CHAINS];
        for (packet, &start) in packets.iter_mut().zip(starts) {
            *packet = &bytes[start as usize + first * take..][..VECTORS * take];
        }
        if let Some(starts) = ahead.get(step).filter(|_| asks) {
            starts.iter().for_each(|&start| dots.prefetch(bytes, start));
        }
        for vector in 0..VECTORS {
            for plane in 0..PLANES {
                let weights = &tile[(vector * PLANES + plane) * per_plane + before..][..rows];
                // Loops, as closures of array functions would not be compiled for the instructions.
                let mut stream = [dots.stream::<PLANES>(&packets[0][vector * take..], plane); CHAINS];
                for (stream, packet) in stream.iter_mut().zip(&packets) {
                    *stream = dots.stream::<PLANES>(&packet[vector * take..], plane);
                }
                for row in 0..ROWS {
                    for (sums, &stream) in sums.iter_mut().zip(&stream) {
                        sums[row] = dots.add(sums[row], stream, weights, row);
                    }
                }
            }
        }
    }
    sums
}
