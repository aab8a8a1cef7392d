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
//! `ROWS` rows of `CHAINS` chains with the same tiles are summed at a time, as many as registers hold sums: a vector of
//! weights is loaded once for all chains, and a vector of a packet once for all rows. Sizes are constants, so that the
//! compiler keeps every sum in a register.

use super::job::{IntegerJob, Packets, Step};
use super::shape::{Layout, Shape};
use super::weights::Vector;

/// The most words of a vector.
pub(super) const WORDS: usize = 16;

/// The most columns of a step.
const COLUMNS: usize = 32;

/// Steps ahead of a packet that is asked for: about what a memory takes to answer.
const AHEAD: usize = 16;

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

    /// Asks for a byte that is about to be read.
    fn prefetch(self, byte: &u8);

    /// Zeros.
    fn zero(self) -> Self::Sums;

    /// A plane of the first bytes of `packet`: its elements, or of two elements per byte the lower or the upper ones.
    fn stream<const PLANES: usize>(self, packet: &[u8], plane: usize) -> Self::Stream;

    /// Adds the products with a row of `weights`, in which rows lie one behind the other.
    fn add(self, sums: Self::Sums, stream: Self::Stream, weights: &[Vector], row: usize) -> Self::Sums;

    /// The words of four rows: word after word.
    fn words(self, rows: [Self::Sums; 4]) -> [[i32; 4]; WORDS];
}

/// Adds the sums of the steps, wrapping: `CHAINS` chains and `ROWS` rows at a time.
#[inline(always)]
pub(super) fn integer<D: Dots, const CHAINS: usize, const ROWS: usize>(dots: D, job: IntegerJob<'_>) {
    debug_assert_eq!(job.layout, D::LAYOUT, "weights lie as these instructions take them");
    match (job.shape.planes(), job.shape.column_bytes() / D::LAYOUT.take) {
        (1, 4) => all::<D, CHAINS, ROWS, 1, 4>(dots, job),
        (1, 2) => all::<D, CHAINS, ROWS, 1, 2>(dots, job),
        (1, _) => all::<D, CHAINS, ROWS, 1, 1>(dots, job),
        (_, 4) => all::<D, CHAINS, ROWS, 2, 4>(dots, job),
        (_, 2) => all::<D, CHAINS, ROWS, 2, 2>(dots, job),
        _ => all::<D, CHAINS, ROWS, 2, 1>(dots, job),
    }
}

/// The same with vectors of so many planes, so many of which are of one column. Fewer are parts of a vector.
#[inline(always)]
fn all<D: Dots, const CHAINS: usize, const ROWS: usize, const PLANES: usize, const VECTORS: usize>(
    dots: D,
    job: IntegerJob<'_>,
) {
    let IntegerJob { shape, steps, chains, packets, vectors, sums, .. } = job;
    let Some(chains) = chains else {
        for chain in steps.chunk_by(|a, b| a.result == b.result) {
            group::<D, CHAINS, ROWS, PLANES, VECTORS>(
                dots,
                (&shape, vectors, &packets),
                chain,
                chain.len(),
                sums,
            );
        }
        return;
    };
    let mut steps = &chains.steps[..];
    for chains in &chains.groups {
        let (own, rest) = steps.split_at(chains.len * chains.count);
        group::<D, CHAINS, ROWS, PLANES, VECTORS>(dots, (&shape, vectors, &packets), own, chains.len, sums);
        steps = rest;
    }
}

/// What steps work on.
type Operands<'a> = (&'a Shape, &'a [Vector], &'a Packets<'a>);

/// Chains of so many steps with the same tiles.
#[inline(always)]
fn group<D: Dots, const CHAINS: usize, const ROWS: usize, const PLANES: usize, const VECTORS: usize>(
    dots: D,
    (shape, vectors, packets): Operands<'_>,
    steps: &[Step],
    len: usize,
    sums: &mut [[i32; 8]],
) {
    if D::IS_UNSIGNED {
        // What the halves of the range add to a sum depends on the tiles alone. It is what a packet of zeros gives.
        let zeros = Packets { bytes: &[0; 64], starts: &[0], first: 0, size: shape.packet_bytes() };
        let mut bias = [[0; 8]; COLUMNS];
        let first: ([&[Step]; 1], &[Step]) = ([&steps[..len]], &[]);
        sum::<D, 1, ROWS, PLANES, VECTORS>(dots, (shape, vectors), |_| zeros.get(0), first, [0], &mut bias);
        for chain in steps.chunks_exact(len) {
            let sums = &mut sums[chain[0].result as usize..][..shape.columns];
            for (sum, bias) in sums.as_flattened_mut().iter_mut().zip(bias.as_flattened()) {
                *sum = sum.wrapping_sub(*bias);
            }
        }
    }
    let packet = |number: u32| packets.get(number);
    let mut rest = steps;
    while let Some((steps, next)) = rest.split_at_checked(len * CHAINS) {
        let chains: [&[Step]; CHAINS] = core::array::from_fn(|chain| &steps[chain * len..][..len]);
        let results = chains.map(|chain| chain[0].result);
        sum::<D, CHAINS, ROWS, PLANES, VECTORS>(
            dots,
            (shape, vectors),
            packet,
            (chains, next),
            results,
            sums,
        );
        rest = next;
    }
    for chain in rest.chunks_exact(len) {
        let result = [chain[0].result];
        sum::<D, 1, ROWS, PLANES, VECTORS>(dots, (shape, vectors), packet, ([chain], &[]), result, sums);
    }
}

/// Adds the sums of chains with the same tiles to their results. `next`: the steps behind them.
#[inline(always)]
fn sum<'a, D: Dots, const CHAINS: usize, const ROWS: usize, const PLANES: usize, const VECTORS: usize>(
    dots: D,
    (shape, vectors): (&Shape, &[Vector]),
    packet: impl Fn(u32) -> &'a [u8] + Copy,
    (chains, next): ([&[Step]; CHAINS], &[Step]),
    results: [u32; CHAINS],
    sums: &mut [[i32; 8]],
) {
    let take = D::LAYOUT.take;
    // Words of a vector that belong to a column, and how many columns a vector has.
    let words = shape.column_bytes().min(take) / D::WORD;
    let columns = take / D::WORD / words;
    for (number, first) in (0..shape.packet_bytes() / take).step_by(VECTORS).enumerate() {
        let columns = number * columns..shape.columns.min((number + 1) * columns);
        if columns.is_empty() {
            return;
        }
        for row in (0..8).step_by(ROWS) {
            let totals = multiply::<D, CHAINS, ROWS, PLANES, VECTORS>(
                dots,
                (shape, vectors),
                packet,
                (chains, next),
                [first, row],
            );
            for (totals, result) in totals.iter().zip(results) {
                let sums = &mut sums[result as usize..][columns.clone()];
                for (four, totals) in totals.as_chunks::<4>().0.iter().enumerate() {
                    let all = dots.words(*totals);
                    for (sum, words) in sums.iter_mut().zip(all.chunks_exact(words)) {
                        let sum: &mut [i32; 4] = sum[row + 4 * four..].first_chunk_mut().expect("eight rows");
                        for word in words {
                            sum.iter_mut().zip(word).for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
                        }
                    }
                }
            }
        }
    }
}

/// The words of chains with the same tiles, from a vector of the packet and from a row on.
#[inline(always)]
fn multiply<
    'a,
    D: Dots,
    const CHAINS: usize,
    const ROWS: usize,
    const PLANES: usize,
    const VECTORS: usize,
>(
    dots: D,
    (shape, vectors): (&Shape, &[Vector]),
    packet: impl Fn(u32) -> &'a [u8],
    (chains, next): ([&[Step]; CHAINS], &[Step]),
    [first, row]: [usize; 2],
) -> [[D::Sums; ROWS]; CHAINS] {
    let take = D::LAYOUT.take;
    // Vectors of weights of a plane, of the rows in it, and of a tile.
    let per_plane = 8 * D::LAYOUT.row_bytes() / 64;
    let (before, own) = (row * D::LAYOUT.row_bytes() / 64, ROWS * D::LAYOUT.row_bytes() / 64);
    let per_tile = D::LAYOUT.tile_vectors(shape);
    let len = chains[0].len();
    let chains = chains.map(|chain| &chain[..len]);
    let mut sums = [[dots.zero(); ROWS]; CHAINS];
    for step in 0..len {
        let tile = chains[0][step].tile as usize * per_tile + first * PLANES * per_plane;
        let tile = &vectors[tile..][..VECTORS * PLANES * per_plane];
        let mut packets = [&[][..]; CHAINS];
        for (own, chain) in packets.iter_mut().zip(&chains) {
            *own = &packet(chain[step].packet)[first * take..][..VECTORS * take];
        }
        if [first, row] == [0, 0] {
            for (number, chain) in chains.iter().enumerate() {
                let soon = step + AHEAD;
                let soon = if soon < len { chain.get(soon) } else { next.get(number * len + soon - len) };
                if let Some(byte) = soon.and_then(|step| packet(step.packet).first()) {
                    dots.prefetch(byte);
                }
            }
        }
        for vector in 0..VECTORS {
            for plane in 0..PLANES {
                let weights = &tile[(vector * PLANES + plane) * per_plane + before..][..own];
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
