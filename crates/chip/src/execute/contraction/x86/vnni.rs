//! Kernels for integers with AVX-512 VNNI.
//!
//! Sixteen bytes of a packet meet four rows at a time, and four neighbouring products are summed in a word. The words
//! of a row are added up only at the end of a chain:
//!
//! ```text
//!   packet    x0 … x15   x0 … x15   x0 … x15   x0 … x15
//!   weights   of row 0   of row 1   of row 2   of row 3
//!   sums      4 words    4 words    4 words    4 words
//! ```
//!
//! Eight chains with the same tiles are summed side by side, which takes sixteen registers.
//!
//! The instruction multiplies unsigned by signed bytes. So weights are laid out as unsigned: half of their range is
//! added. This adds a bias to the sum of any row: that half, times the sum of the packet's elements. Sums start at the
//! negative bias, which is computed once for all groups that meet a packet.

use super::super::chains::FamilyBlock;
use super::super::integer::Dots;
use super::super::job::IntegerJob;
use super::super::shape::Layout;
use super::super::weights::Vector;
use crate::execute::path::{Avx2, Avx512};
use crate::execute::prefetch;
use core::arch::x86_64::*;
use core::ops::Range;

/// Layout of the weights.
pub(in super::super) const LAYOUT: Layout = Layout { take: TAKE, is_wide: false, is_unsigned: true };

/// Largest number of chains that are summed side by side.
pub(in super::super) const SIDE: usize = 8;

/// Bytes of a part: the bytes of a packet that meet rows at a time.
const TAKE: usize = 16;

/// Bytes of a packet per word.
const WORD: usize = 4;

impl Avx512 {
    /// Adds the sums of the steps, wrapping.
    pub(in super::super) fn integer(self, job: IntegerJob<'_>) {
        // SAFETY: the function needs AVX-512 F, BW, DQ, VL and VNNI, which the machine has, as `self` exists.
        unsafe { integer_avx512(self, job) }
    }
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn integer_avx512(machine: Avx512, job: IntegerJob<'_>) {
    match (job.layout, job.shape.planes()) {
        (Avx2::LAYOUT, _) => machine.avx2().integer(job),
        (_, 1) => all::<1>(job),
        _ => all::<2>(job),
    }
}

/// Operands of the steps.
#[derive(Clone, Copy)]
struct Operands<'a> {
    /// The rows of each tile, for each part of a packet and each plane.
    weights: &'a [[Vector; 2]],
    /// Number of entries of `weights` per tile.
    per_tile: usize,
    /// The bytes that hold the packets.
    bytes: &'a [u8],
    /// The first part of each packet that is taken.
    first: usize,
    /// Number of parts that are taken.
    parts: usize,
}

/// Chains that are summed side by side.
#[derive(Clone, Copy)]
struct Side<'a> {
    /// The tile of each step.
    tiles: &'a [u32],
    /// Starts of packets, `side` per step. The first ones of each step belong to the chains.
    packets: &'a [u32],
    side: usize,
    /// Starts of the packets of the next block. Empty if its packets are not prefetched.
    behind: &'a [u32],
    /// The number of the group. Each group prefetches a part of the next packets.
    group: usize,
    /// Number of groups.
    groups: usize,
}

/// Destination of sums.
struct Ends<'a> {
    /// The first result of each chain.
    results: &'a [u32],
    /// The columns that are summed.
    columns: Range<usize>,
    /// Words of a part that belong to a column.
    words: usize,
}

/// Adds the sums of the steps, with elements in `PLANES` planes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn all<const PLANES: usize>(job: IntegerJob<'_>) {
    let IntegerJob { shape, layout, chains, bytes, vectors, sums } = job;
    debug_assert_eq!(layout, LAYOUT, "weights lie as these instructions take them");
    let (weights, per_tile) = (vectors.as_chunks().0, LAYOUT.tile_vectors(&shape) / 2);
    // A column consists of parts, or a part of columns.
    let parts = shape.column_bytes().div_ceil(TAKE);
    let words = shape.column_bytes().min(TAKE) / WORD;
    let per_part = TAKE / WORD / words;
    for block in chains.families().flat_map(|family| family.blocks()) {
        for (number, first) in (0..shape.packet_bytes() / TAKE).step_by(parts).enumerate() {
            let columns = number * per_part..shape.columns.min((number + 1) * per_part);
            if columns.is_empty() {
                break;
            }
            let operands = Operands { weights, per_tile, bytes, first, parts };
            sum::<PLANES>(operands, block, (columns, words), sums);
        }
    }
}

/// Adds the sums of a block of each group of a family to their results.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn sum<const PLANES: usize>(
    operands: Operands<'_>,
    block: FamilyBlock<'_>,
    (columns, words): (Range<usize>, usize),
    sums: &mut [[i32; 8]],
) {
    let mut starts = [_mm512_setzero_si512(); SIDE];
    let behind = if operands.first == 0 { block.behind() } else { &[] };
    let groups = block.groups().len();
    for (group, (tiles, results)) in block.groups().enumerate() {
        let mut chain = 0;
        while chain < results.len() {
            let behind = behind.get(chain..).unwrap_or(&[]);
            let packets = &block.packets[chain..];
            let chains = Side { tiles, packets, side: block.side, behind, group, groups };
            let ends = Ends { results: &results[chain..], columns: columns.clone(), words };
            let starts = &mut starts[chain..];
            chain += match results.len() - chain {
                8.. => side_by_side::<8, PLANES>(operands, chains, starts, ends, sums),
                4.. => side_by_side::<4, PLANES>(operands, chains, starts, ends, sums),
                2.. => side_by_side::<2, PLANES>(operands, chains, starts, ends, sums),
                _ => side_by_side::<1, PLANES>(operands, chains, starts, ends, sums),
            };
        }
    }
}

/// Adds the sums of `CHAINS` chains, and returns `CHAINS`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn side_by_side<const CHAINS: usize, const PLANES: usize>(
    operands: Operands<'_>,
    side: Side<'_>,
    starts: &mut [__m512i],
    Ends { results, columns, words }: Ends<'_>,
    sums: &mut [[i32; 8]],
) -> usize {
    let starts = starts.first_chunk_mut().expect("each chain has a start");
    let totals = match side.group {
        0 => multiply::<CHAINS, PLANES, true>(operands, side, starts),
        _ => multiply::<CHAINS, PLANES, false>(operands, side, starts),
    };
    if words * WORD == TAKE {
        for chain in 0..CHAINS {
            add_totals(totals[chain], &mut sums[results[chain] as usize + columns.start]);
        }
        return CHAINS;
    }
    for (rows, &result) in totals.into_iter().zip(results) {
        let sums = &mut sums[result as usize..][columns.clone()];
        for (half, rows) in rows.into_iter().enumerate() {
            for (sums, words) in sums.iter_mut().zip(words_of(rows).chunks_exact(words)) {
                let sums = &mut sums.as_chunks_mut::<4>().0[half];
                for word in words {
                    sums.iter_mut().zip(word).for_each(|(sum, word)| *sum = sum.wrapping_add(*word));
                }
            }
        }
    }
    CHAINS
}

/// Words of `CHAINS` chains: of the first four rows and of the last four. `IS_FIRST`: computes the starts of the sums.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn multiply<const CHAINS: usize, const PLANES: usize, const IS_FIRST: bool>(
    Operands { weights, per_tile, bytes, first, parts }: Operands<'_>,
    Side { tiles, packets, side, behind, group, groups }: Side<'_>,
    starts: &mut [__m512i; CHAINS],
) -> [[__m512i; 2]; CHAINS] {
    let half = _mm512_set1_epi8(if PLANES == 1 { i8::MIN } else { 8 });
    let mask = u64::MAX >> (64 - parts * TAKE);
    // Loops, because functions of arrays and `zip` are not inlined where a crate is compiled in parts.
    let mut sums = [[_mm512_setzero_si512(); 2]; CHAINS];
    for chain in 0..CHAINS {
        sums[chain] = [starts[chain]; 2];
    }
    let mut halves = [_mm512_setzero_si512(); CHAINS];
    // The planes of the packets of a step, if there are several.
    let mut planes = [[Vector([0; 64]); PLANES]; CHAINS];
    for (step, &tile) in tiles.iter().enumerate() {
        let weights = &weights[tile as usize * per_tile + first * PLANES..][..parts * PLANES];
        if let Some(starts) = behind.get(step * side..step * side + CHAINS) {
            let mut chain = group;
            while chain < CHAINS {
                prefetch::far(bytes, starts[chain] as usize);
                chain += groups;
            }
        }
        let mut packet_starts: [*const u8; CHAINS] = [core::ptr::null(); CHAINS];
        for (chain, &start) in packets[step * side..][..CHAINS].iter().enumerate() {
            let packet = &bytes[start as usize + first * TAKE..][..parts * TAKE];
            packet_starts[chain] = packet.as_ptr();
            if PLANES == 1 && !IS_FIRST {
                continue;
            }
            // SAFETY: the mask has a bit for each byte of the slice; the load touches no other bytes and needs no
            // alignment.
            let codes = unsafe { _mm512_maskz_loadu_epi8(mask, packet.as_ptr().cast()) };
            for (plane, vector) in planes[chain].iter_mut().enumerate() {
                let elements = plane_of::<PLANES>(codes, plane);
                if IS_FIRST {
                    halves[chain] = _mm512_dpbusd_epi32(halves[chain], half, elements);
                }
                if PLANES > 1 {
                    // SAFETY: the exclusive reference is valid for writes of its 64 bytes; the store needs no
                    // alignment.
                    unsafe { _mm512_storeu_si512(vector.0.as_mut_ptr().cast(), elements) };
                }
            }
        }
        if PLANES > 1 {
            for chain in 0..CHAINS {
                packet_starts[chain] = planes[chain].as_ptr().cast();
            }
        }
        // The number of iterations is not constant. Otherwise the compiler would load all packets of a step at once,
        // for which there are not enough registers.
        for (part, planes) in weights.as_chunks::<PLANES>().0.iter().enumerate() {
            for (plane, rows) in planes.iter().enumerate() {
                let rows = [load(&rows[0]), load(&rows[1])];
                for chain in 0..CHAINS {
                    let packet = packet_starts[chain];
                    // SAFETY: this is the start of `parts` parts of 16 bytes in a slice, or of `PLANES` vectors of 64
                    // bytes with as many parts each, and `part < parts`; the load needs no alignment.
                    let elements = unsafe { _mm_loadu_si128(packet.add(plane * 64 + part * TAKE).cast()) };
                    let stream = _mm512_broadcast_i32x4(elements);
                    for half in 0..2 {
                        sums[chain][half] = _mm512_dpbusd_epi32(sums[chain][half], rows[half], stream);
                    }
                }
            }
        }
    }
    if IS_FIRST {
        for chain in 0..CHAINS {
            let start = _mm512_sub_epi32(starts[chain], sum_of_parts(halves[chain]));
            starts[chain] = start;
            sums[chain] = [_mm512_add_epi32(sums[chain][0], start), _mm512_add_epi32(sums[chain][1], start)];
        }
    }
    sums
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(vector: &Vector) -> __m512i {
    // SAFETY: the reference is valid for reads of its 64 bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(vector.0.as_ptr().cast()) }
}

/// Elements of bytes in a plane: the bytes, or the lower or the upper elements of the bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn plane_of<const PLANES: usize>(codes: __m512i, plane: usize) -> __m512i {
    let (low, sign) = (_mm512_set1_epi8(15), _mm512_set1_epi8(8));
    let nibbles = match (PLANES, plane) {
        (1, _) => return codes,
        (_, 0) => _mm512_and_si512(codes, low),
        _ => _mm512_and_si512(_mm512_srli_epi16::<4>(codes), low),
    };
    _mm512_sub_epi8(_mm512_xor_si512(nibbles, sign), sign)
}

/// Sum of all parts of a vector, in each part.
#[inline]
#[target_feature(enable = "avx512f")]
fn sum_of_parts(words: __m512i) -> __m512i {
    let both = _mm512_add_epi32(words, _mm512_shuffle_i64x2::<0b01_00_11_10>(words, words));
    _mm512_add_epi32(both, _mm512_shuffle_i64x2::<0b10_11_00_01>(both, both))
}

/// Adds the sums of the words of eight rows to their results, wrapping.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_totals([a, b]: [__m512i; 2], results: &mut [i32; 8]) {
    // In each part: the halves of a row of `a` and of a row of `b`, side by side.
    let sum = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let sum = _mm512_add_epi32(sum, _mm512_shuffle_epi32::<0b01_00_11_10>(sum));
    let places = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0);
    let sum = _mm512_castsi512_si256(_mm512_permutexvar_epi32(places, sum));
    let place = results.as_mut_ptr().cast();
    // SAFETY: the exclusive reference is valid for reads and writes of its 32 bytes, which need no alignment.
    unsafe { _mm256_storeu_si256(place, _mm256_add_epi32(_mm256_loadu_si256(place), sum)) };
}

/// The words of four rows, word after word.
#[inline]
#[target_feature(enable = "avx512f")]
fn words_of(rows: __m512i) -> [[i32; 4]; 4] {
    let places = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let mut words = [[0; 4]; 4];
    // SAFETY: the exclusive reference is valid for writes of its 64 bytes; the store needs no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), _mm512_permutexvar_epi32(places, rows)) };
    words
}
