//! Kernels for integers with vectors along the packet: the loops that all instructions have in common.
//!
//! A vector of a packet meets a vector of each row. Instructions sum the products of neighbouring bytes in words. The
//! words of a column are added up only at the end of a chain:
//!
//! ```text
//!   packet              row 0 of each tile            sums of row 0
//!   x0 x1 x2 x3 | x4 …  w0 w1 w2 w3 | w4 …     x0 w0 + … + x3 w3 | x4 w4 + … | … words
//! ```
//!
//! `ROWS` rows of two chains with the same tiles are summed at a time, as many as registers hold sums. A vector of
//! weights is loaded once for both chains, and a vector of a packet once for all these rows. Sizes are constants, so
//! that the compiler keeps every sum in a register.

use super::chains::Block;
use super::job::IntegerJob;
use super::shape::{Layout, Shape};
use super::weights::Vector;

/// Number of chains that are summed side by side.
pub(super) const SIDE: usize = 2;

/// Largest number of words in a vector.
pub(super) const WORDS: usize = 8;

/// Largest number of columns in a step.
const COLUMNS: usize = 32;

/// Distance between a step and the packet that is prefetched, in steps: about the latency of memory.
const AHEAD: usize = 64;

/// Instructions that sum products of neighbouring elements. A value exists only if the machine has them.
///
/// Everything is inlined into functions that are compiled for these instructions.
pub(super) trait Dots: Copy {
    /// Layout of the weights.
    const LAYOUT: Layout;
    /// Bytes of a packet per word.
    const WORD: usize;
    /// True if elements of the stream are made unsigned, by adding half of their range.
    const IS_UNSIGNED: bool;
    /// Vector of elements of a packet.
    type Stream: Copy;
    /// Vector of words.
    type Sums: Copy;

    /// Prefetches the packet that starts at a byte and is about to be read, where that pays.
    #[inline(always)]
    fn prefetch(self, _bytes: &[u8], _start: u32) {}

    /// Sums of zero.
    fn zero(self) -> Self::Sums;

    /// A plane of the first bytes of `packet`: its bytes, or the lower or the upper elements of its bytes.
    fn stream<const PLANES: usize>(self, packet: &[u8], plane: usize) -> Self::Stream;

    /// Adds the products with a row of `weights`, in which rows lie one behind the other.
    fn add(self, sums: Self::Sums, stream: Self::Stream, weights: &[Vector], row: usize) -> Self::Sums;

    /// The words of four rows: word after word.
    fn words(self, rows: [Self::Sums; 4]) -> [[i32; 4]; WORDS];

    /// The sum of all words of four rows.
    fn total(self, rows: [Self::Sums; 4]) -> [i32; 4];
}

/// Adds the sums of the steps, wrapping, `ROWS` rows at a time. `WHOLE` and `HALF`: number of vectors in a packet of
/// 64 bytes and of 32, the usual columns of bytes.
#[inline(always)]
pub(super) fn integer<D: Dots, const ROWS: usize, const WHOLE: usize, const HALF: usize>(
    dots: D,
    job: IntegerJob<'_>,
) {
    debug_assert_eq!(job.layout, D::LAYOUT, "weights lie as these instructions take them");
    match (job.shape.planes(), job.shape.column_bytes().div_ceil(D::LAYOUT.take)) {
        (1, vectors) if vectors == WHOLE => all::<D, ROWS, 1, WHOLE>(dots, job),
        // Nothing is less than one vector.
        (1, vectors) if vectors == HALF || HALF == 1 => all::<D, ROWS, 1, HALF>(dots, job),
        (1, _) => all::<D, ROWS, 1, 0>(dots, job),
        _ => all::<D, ROWS, 2, 0>(dots, job),
    }
}

/// Adds the sums of the steps, for elements in `PLANES` planes, and for columns of `VECTORS` vectors, or of any number
/// of them if that is 0.
#[inline(always)]
fn all<D: Dots, const ROWS: usize, const PLANES: usize, const VECTORS: usize>(dots: D, job: IntegerJob<'_>) {
    let IntegerJob { shape, chains, bytes, vectors, sums, .. } = job;
    // A column consists of whole vectors, or is a part of one.
    let per_column = if VECTORS > 0 { VECTORS } else { shape.column_bytes().div_ceil(D::LAYOUT.take) };
    let operands = Operands { shape: &shape, vectors, bytes, per_column };
    for group in chains.groups() {
        // The bias depends on the tiles only: it is the sum of a packet of zeros.
        let mut bias = [[0; 8]; COLUMNS];
        let zeros = D::IS_UNSIGNED.then(|| group.of_one_packet());
        let blocks =
            zeros.map(|block| (block, true)).into_iter().chain(group.blocks().map(|block| (block, false)));
        for (block, is_bias) in blocks {
            let (operands, sums) = match is_bias {
                true => (Operands { bytes: &[0; 64], ..operands }, &mut bias[..]),
                false => (operands, &mut *sums),
            };
            match *block.results {
                [first, second] => {
                    sum::<D, 2, ROWS, PLANES, VECTORS>(dots, operands, block, [first, second], sums)
                }
                [result] => sum::<D, 1, ROWS, PLANES, VECTORS>(dots, operands, block, [result], sums),
                _ => unreachable!("chains are summed in twos"),
            }
        }
        if D::IS_UNSIGNED {
            take_back(&bias[..shape.columns], group.results, sums);
        }
    }
}

/// Operands of the steps.
#[derive(Clone, Copy)]
struct Operands<'a> {
    shape: &'a Shape,
    vectors: &'a [Vector],
    bytes: &'a [u8],
    /// Number of vectors in a column.
    per_column: usize,
}

/// Subtracts from each result of a group the bias that the unsigned stream adds: half of the range, times the weights.
#[inline(always)]
fn take_back(bias: &[[i32; 8]], results: &[u32], sums: &mut [[i32; 8]]) {
    for &result in results {
        let sums = &mut sums[result as usize..][..bias.len()];
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
    // Number of words of a vector in a column, and number of columns in a vector.
    let words = shape.column_bytes().min(take) / D::WORD;
    let per_vector = take / D::WORD / words;
    for (number, first) in (0..shape.packet_bytes() / take).step_by(operands.per_column).enumerate() {
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

/// Adds words to the sums of four rows, from row `first` on.
#[inline(always)]
fn add(sums: &mut [i32; 8], first: usize, more: &[i32; 4]) {
    sums[first..first + 4].iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
}

/// Words of chains with the same tiles, from vector `first` of the packets and from row `row` on.
#[inline(always)]
fn multiply<D: Dots, const CHAINS: usize, const ROWS: usize, const PLANES: usize, const VECTORS: usize>(
    dots: D,
    Operands { shape, vectors, bytes, per_column }: Operands<'_>,
    Block { tiles, packets, .. }: Block<'_>,
    [first, row]: [usize; 2],
) -> [[D::Sums; ROWS]; CHAINS] {
    let take = D::LAYOUT.take;
    // A constant is known here, too.
    let per_column = if VECTORS > 0 { VECTORS } else { per_column };
    // Number of weight vectors in a plane, before the rows, in the rows, and in a tile.
    let per_plane = 8 * D::LAYOUT.row_bytes() / 64;
    let (before, rows) = (row * D::LAYOUT.row_bytes() / 64, ROWS * D::LAYOUT.row_bytes() / 64);
    let per_tile = D::LAYOUT.tile_vectors(shape);
    let asks = [first, row] == [0, 0];
    let (packets, ahead) = (packets.as_chunks::<CHAINS>().0, packets.get(AHEAD * CHAINS..).unwrap_or(&[]));
    let ahead = ahead.as_chunks::<CHAINS>().0;
    let mut sums = [[dots.zero(); ROWS]; CHAINS];
    for (step, (&tile, starts)) in tiles.iter().zip(packets).enumerate() {
        let tile = &vectors[tile as usize * per_tile + first * PLANES * per_plane..]
            [..per_column * PLANES * per_plane];
        let mut packets = [&[][..]; CHAINS];
        for (packet, &start) in packets.iter_mut().zip(starts) {
            *packet = &bytes[start as usize + first * take..][..per_column * take];
        }
        if let Some(starts) = ahead.get(step).filter(|_| asks) {
            starts.iter().for_each(|&start| dots.prefetch(bytes, start));
        }
        for vector in 0..per_column {
            for plane in 0..PLANES {
                let weights = &tile[(vector * PLANES + plane) * per_plane + before..][..rows];
                // Loops, because closures of array functions would not be compiled for these instructions.
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

#[cfg(test)]
mod tests {
    use super::super::chains::Chains;
    use super::super::job::Step;
    use super::*;
    use furiosa_visa_rules::scalar::ElementType;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    /// Products of four bytes, element by element: of signed ones, or of a stream that is made unsigned.
    #[derive(Clone, Copy)]
    struct ByElement<const IS_UNSIGNED: bool>;

    impl<const IS_UNSIGNED: bool> Dots for ByElement<IS_UNSIGNED> {
        const LAYOUT: Layout = Layout { take: 32, is_wide: false, is_unsigned: false };
        const WORD: usize = 4;
        const IS_UNSIGNED: bool = IS_UNSIGNED;
        type Stream = [i32; 32];
        type Sums = [i32; WORDS];

        fn zero(self) -> Self::Sums {
            [0; WORDS]
        }

        fn stream<const PLANES: usize>(self, packet: &[u8], plane: usize) -> Self::Stream {
            core::array::from_fn(|k| {
                let signed = match PLANES {
                    1 => i32::from(packet[k] as i8),
                    _ => i32::from((packet[k] >> (4 * plane) << 4) as i8 >> 4),
                };
                signed + i32::from(IS_UNSIGNED) * (128 >> (4 * (PLANES - 1)))
            })
        }

        fn add(
            self,
            mut sums: Self::Sums,
            stream: Self::Stream,
            weights: &[Vector],
            row: usize,
        ) -> Self::Sums {
            for (k, element) in stream.iter().enumerate() {
                let weight = weights[row / 2].0[row % 2 * 32 + k] as i8;
                sums[k / 4] = sums[k / 4].wrapping_add(element * i32::from(weight));
            }
            sums
        }

        fn words(self, rows: [Self::Sums; 4]) -> [[i32; 4]; WORDS] {
            core::array::from_fn(|word| rows.map(|row| row[word]))
        }

        fn total(self, rows: [Self::Sums; 4]) -> [i32; 4] {
            rows.map(|row| row.iter().fold(0, |sum: i32, word| sum.wrapping_add(*word)))
        }
    }

    /// A stream that is made unsigned has the sums of the signed one, for all sizes of columns.
    #[test]
    fn the_bias_of_an_unsigned_stream_is_taken_back() {
        let mut random = SmallRng::seed_from_u64(620);
        for (element, part_bytes) in [ElementType::I8, ElementType::I4]
            .into_iter()
            .flat_map(|element| [4, 8, 16, 32, 64].map(|bytes| (element, bytes)))
        {
            let cells = 64 * 8 / element.bits();
            let part = part_bytes * 8 / element.bits();
            let shape = Shape { element, cells, part, columns: cells / part, absent: false, period: cells };
            let layout = ByElement::<true>::LAYOUT;
            let (tiles, packets, results) = (3, 5, 7);
            let vectors: Vec<Vector> = (0..tiles as usize * layout.tile_vectors(&shape))
                .map(|_| Vector(core::array::from_fn(|_| random.random())))
                .collect();
            let bytes: Vec<u8> = (0..packets as usize * 64).map(|_| random.random()).collect();
            let steps: Vec<Step> = (0..40)
                .map(|_| Step {
                    tile: random.random_range(0..tiles),
                    result: random.random_range(0..results) * shape.columns as u32,
                    packet: random.random_range(0..packets),
                })
                .collect();
            let all = results as usize * shape.columns;
            let chains = Chains::sorted(&steps, all, SIDE, |packet| packet * 64);
            let [mut sums, mut expected] = [(); 2].map(|()| vec![[5; 8]; all]);
            let (chains, bytes, vectors) = (&chains, &bytes[..], &vectors[..]);
            integer::<_, 4, 2, 1>(
                ByElement::<true>,
                IntegerJob { shape, layout, chains, bytes, vectors, sums: &mut sums },
            );
            integer::<_, 4, 2, 1>(
                ByElement::<false>,
                IntegerJob { shape, layout, chains, bytes, vectors, sums: &mut expected },
            );
            assert_eq!(sums, expected, "{element}, columns of {part_bytes} bytes");
            assert!(expected.iter().any(|sums| *sums != [5; 8]));
        }
    }
}
