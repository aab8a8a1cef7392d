//! The kernels with instructions that not every x86-64 machine has.
//!
//! The AVX2 kernels are the portable loops, compiled for AVX2. The AVX-512 kernels for floats have one lane per strand
//! instead of one per row, as there are sixteen; those for integers are in [`super::bytes`].

#![allow(unsafe_code)]

use super::bytes;
use super::job::{FloatJob, IntegerJob, Sixteen, Step};
use super::nest::Nest;
use super::portable;
use super::shape::{BLOCK, CELLS};
use super::tree::Lanes;
use crate::chip::execute::path::{Avx2, Avx512};
use crate::scalar::ElementType;
use core::arch::x86_64::*;

/// Strands per vector.
const LANES: usize = 16;

impl Avx2 {
    /// [`portable::float`].
    pub(super) fn float(self, job: FloatJob<'_>) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { float_avx2(job) }
    }

    /// [`portable::integer`].
    pub(super) fn integer(self, job: IntegerJob<'_>) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { integer_avx2(job) }
    }
}

impl Avx512 {
    /// The sums of [`portable::float`].
    pub(super) fn float(self, job: FloatJob<'_>) {
        // SAFETY: the function needs AVX-512 F, BW, DQ, VL and VNNI, which the machine has, as `self` exists.
        unsafe { float_avx512(job) }
    }

    /// The sums of [`portable::integer`], with vectors of weights: see [`bytes`].
    pub(super) fn integer(self, job: IntegerJob<'_>) {
        // SAFETY: the function needs AVX-512 F, BW, DQ, VL and VNNI, which the machine has, as `self` exists.
        unsafe { bytes::integer(job) }
    }
}

#[target_feature(enable = "avx2")]
fn float_avx2(job: FloatJob<'_>) {
    portable::float(job);
}

#[target_feature(enable = "avx2")]
fn integer_avx2(job: IntegerJob<'_>) {
    portable::integer(job);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn float_avx512(job: FloatJob<'_>) {
    match job.nest {
        Some(nest) if job.shape.part >= BLOCK => float_strands(nest, job),
        _ => portable::float(job),
    }
}

/// Sixteen strands side by side, one per lane.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn float_strands(nest: &Nest, job: FloatJob<'_>) {
    let FloatJob { shape, steps, packets, weights, sums, scratch, .. } = job;
    let (tile, columns) = (shape.tile(), shape.columns);
    let blocks = (columns * shape.part).div_ceil(BLOCK);
    let mut cells = [Sixteen([0.0; 16]); CELLS];
    let mut partial = [[Sixteen([0.0; 16]); 8]; CELLS / BLOCK];
    for first in (0..nest.strands).step_by(LANES) {
        let lanes = LANES.min(nest.strands - first);
        // Lanes without a strand repeat the last one; nobody looks at them.
        let mut strands = [0; LANES];
        for (lane, strand) in strands.iter_mut().enumerate() {
            *strand = (first + lane.min(lanes - 1)) * nest.inner;
        }
        collect(nest, columns, &strands, steps, sums, scratch);
        let mut numbers = [None; LANES];
        for outer in 0..nest.outer {
            for inner in 0..nest.inner {
                let from = outer * nest.strands * nest.inner + inner;
                let mut changed = false;
                for (number, strand) in numbers.iter_mut().zip(strands) {
                    let packet = Some(steps[from + strand].packet);
                    changed |= *number != packet;
                    *number = packet;
                }
                if changed {
                    let mut current = [&[][..]; LANES];
                    for (packet, number) in current.iter_mut().zip(numbers) {
                        let number = number.unwrap_or(packets.first);
                        *packet = packets.get(number);
                    }
                    spread(shape.element, &current, &mut cells);
                }
                let weights = &weights[steps[from + strands[0]].tile as usize * tile..][..tile];
                for (block, partial) in partial.iter_mut().take(blocks).enumerate() {
                    trees_of_block(
                        &cells[block * BLOCK..],
                        &weights[(block * BLOCK) & (tile - 1)..],
                        partial,
                    );
                }
                let place = nest.places[outer * nest.inner + inner] as usize * columns;
                let sums = &mut scratch[place * 8..][..columns * 8];
                for (column, sums) in sums.chunks_exact_mut(8).enumerate() {
                    let partial = &mut partial[column * shape.part / BLOCK..][..shape.part / BLOCK];
                    join(partial, shape.absent, sums);
                }
            }
        }
        hand_back(nest, columns, &strands[..lanes], steps, sums, scratch);
    }
}

/// The sums of strands, lane by lane: of each result and column, eight rows.
fn collect(
    nest: &Nest,
    columns: usize,
    strands: &[usize],
    steps: &[Step],
    sums: &[Lanes],
    scratch: &mut Vec<Sixteen>,
) {
    scratch.clear();
    scratch.resize(nest.results.len() * columns * 8, Sixteen([0.0; 16]));
    for (lane, &strand) in strands.iter().enumerate() {
        for (&offset, scratch) in nest.results.iter().zip(scratch.chunks_exact_mut(columns * 8)) {
            let sums = &sums[(steps[strand].result + offset) as usize..][..columns];
            scratch.iter_mut().zip(sums.as_flattened()).for_each(|(lanes, &sum)| lanes.0[lane] = sum);
        }
    }
}

/// The reverse of [`collect`].
fn hand_back(
    nest: &Nest,
    columns: usize,
    strands: &[usize],
    steps: &[Step],
    sums: &mut [Lanes],
    scratch: &[Sixteen],
) {
    for (lane, &strand) in strands.iter().enumerate() {
        for (&offset, scratch) in nest.results.iter().zip(scratch.chunks_exact(columns * 8)) {
            let sums = &mut sums[(steps[strand].result + offset) as usize..][..columns];
            sums.as_flattened_mut().iter_mut().zip(scratch).for_each(|(sum, lanes)| *sum = lanes.0[lane]);
        }
    }
}

/// Widens sixteen packets: lane `l` of `cells[k]` is cell `k` of packet `l`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn spread(element: ElementType, packets: &[&[u8]; LANES], cells: &mut [Sixteen; CELLS]) {
    let mut rows = [_mm512_setzero_ps(); LANES];
    for (row, packet) in rows.iter_mut().zip(packets) {
        *row = _mm512_castsi512_ps(load_packet(packet));
    }
    // A transpose of 16 x 16 words: pairs of rows, fours of rows, then quarters of vectors.
    let mut pairs = [_mm512_setzero_ps(); LANES];
    for k in 0..LANES / 2 {
        pairs[2 * k] = _mm512_unpacklo_ps(rows[2 * k], rows[2 * k + 1]);
        pairs[2 * k + 1] = _mm512_unpackhi_ps(rows[2 * k], rows[2 * k + 1]);
    }
    // `fours[4 * k + j]`: word `j` of each quarter, of rows 4 k to 4 k + 3.
    let mut fours = [_mm512_setzero_ps(); LANES];
    for k in 0..LANES / 4 {
        for half in 0..2 {
            let (a, b) = (_mm512_castps_pd(pairs[4 * k + half]), _mm512_castps_pd(pairs[4 * k + 2 + half]));
            fours[4 * k + 2 * half] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            fours[4 * k + 2 * half + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    }
    let mut words = [_mm512_setzero_si512(); LANES];
    for j in 0..4 {
        let low = [
            _mm512_shuffle_f32x4::<0b10_00_10_00>(fours[j], fours[4 + j]),
            _mm512_shuffle_f32x4::<0b11_01_11_01>(fours[j], fours[4 + j]),
        ];
        let high = [
            _mm512_shuffle_f32x4::<0b10_00_10_00>(fours[8 + j], fours[12 + j]),
            _mm512_shuffle_f32x4::<0b11_01_11_01>(fours[8 + j], fours[12 + j]),
        ];
        for parity in 0..2 {
            let even = _mm512_shuffle_f32x4::<0b10_00_10_00>(low[parity], high[parity]);
            let odd = _mm512_shuffle_f32x4::<0b11_01_11_01>(low[parity], high[parity]);
            words[4 * parity + j] = _mm512_castps_si512(even);
            words[4 * (parity + 2) + j] = _mm512_castps_si512(odd);
        }
    }
    let count = packets[0].len() / 4;
    match element {
        ElementType::Bf16 => {
            for (pair, word) in cells.as_chunks_mut::<2>().0.iter_mut().zip(words).take(count) {
                let low = _mm512_slli_epi32::<16>(word);
                let high = _mm512_and_si512(word, _mm512_set1_epi32(0xffff_0000_u32 as i32));
                store16(&mut pair[0], _mm512_castsi512_ps(low));
                store16(&mut pair[1], _mm512_castsi512_ps(high));
            }
        }
        _ => {
            for (four, word) in cells.as_chunks_mut::<4>().0.iter_mut().zip(words).take(count) {
                let codes = [
                    word,
                    _mm512_srli_epi32::<8>(word),
                    _mm512_srli_epi32::<16>(word),
                    _mm512_srli_epi32::<24>(word),
                ];
                for (cell, code) in four.iter_mut().zip(codes) {
                    store16(cell, widen_bytes(element, code));
                }
            }
        }
    }
}

/// Widens the lowest byte of each lane, `f8e4m3` or `f8e5m2`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn widen_bytes(element: ElementType, code: __m512i) -> __m512 {
    let magnitude = _mm512_and_si512(code, _mm512_set1_epi32(0x7f));
    let sign = _mm512_slli_epi32::<24>(_mm512_and_si512(code, _mm512_set1_epi32(0x80)));
    let (finite, special) = if element == ElementType::F8e4m3 {
        // See `widen`: another bias, and one code for NaN.
        let finite = _mm512_castsi512_ps(_mm512_slli_epi32::<20>(magnitude));
        let finite = _mm512_mul_ps(finite, _mm512_set1_ps(f32::from_bits((120 + 127) << 23)));
        let special = _mm512_cmpeq_epi32_mask(magnitude, _mm512_set1_epi32(0x7f));
        (finite, (special, _mm512_set1_epi32(f32::NAN.to_bits() as i32)))
    } else {
        let wide = _mm512_slli_epi32::<21>(magnitude);
        let finite = _mm512_castsi512_ps(wide);
        let finite = _mm512_mul_ps(finite, _mm512_set1_ps(f32::from_bits((112 + 127) << 23)));
        let special = _mm512_cmpge_epi32_mask(magnitude, _mm512_set1_epi32(0x7c));
        // A signalling NaN may stay one: the multiplication makes it quiet.
        (finite, (special, _mm512_or_si512(wide, _mm512_set1_epi32(f32::INFINITY.to_bits() as i32))))
    };
    let value = _mm512_mask_mov_epi32(_mm512_castps_si512(finite), special.0, special.1);
    _mm512_castsi512_ps(_mm512_or_si512(value, sign))
}

/// The trees over the first eight cells, for each row.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn trees_of_block(cells: &[Sixteen], weights: &[Lanes], sums: &mut [Sixteen; 8]) {
    let cells: &[Sixteen; BLOCK] = cells.first_chunk().expect("a packet is made of blocks");
    let weights: &[Lanes; BLOCK] = weights.first_chunk().expect("a tile is made of blocks");
    let x0 = load16(&cells[0]);
    let x1 = load16(&cells[1]);
    let x2 = load16(&cells[2]);
    let x3 = load16(&cells[3]);
    let x4 = load16(&cells[4]);
    let x5 = load16(&cells[5]);
    let x6 = load16(&cells[6]);
    let x7 = load16(&cells[7]);
    for (row, sum) in sums.iter_mut().enumerate() {
        let pair0 = _mm512_add_ps(
            _mm512_mul_ps(x0, _mm512_set1_ps(weights[0][row])),
            _mm512_mul_ps(x1, _mm512_set1_ps(weights[1][row])),
        );
        let pair1 = _mm512_add_ps(
            _mm512_mul_ps(x2, _mm512_set1_ps(weights[2][row])),
            _mm512_mul_ps(x3, _mm512_set1_ps(weights[3][row])),
        );
        let pair2 = _mm512_add_ps(
            _mm512_mul_ps(x4, _mm512_set1_ps(weights[4][row])),
            _mm512_mul_ps(x5, _mm512_set1_ps(weights[5][row])),
        );
        let pair3 = _mm512_add_ps(
            _mm512_mul_ps(x6, _mm512_set1_ps(weights[6][row])),
            _mm512_mul_ps(x7, _mm512_set1_ps(weights[7][row])),
        );
        store16(sum, _mm512_add_ps(_mm512_add_ps(pair0, pair1), _mm512_add_ps(pair2, pair3)));
    }
}

/// The upper levels of the tree, and the sum over time.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[allow(clippy::needless_range_loop)] // Two elements of one slice are read, a third is written.
fn join(partial: &mut [[Sixteen; 8]], absent: bool, sums: &mut [Sixteen]) {
    let mut width = partial.len();
    while width > 1 {
        width /= 2;
        for k in 0..width {
            for row in 0..8 {
                let sum = _mm512_add_ps(load16(&partial[2 * k][row]), load16(&partial[2 * k + 1][row]));
                store16(&mut partial[k][row], sum);
            }
        }
    }
    for (sum, arrival) in sums.iter_mut().zip(&partial[0]) {
        let mut arrival = load16(arrival);
        if absent {
            arrival = _mm512_add_ps(arrival, _mm512_setzero_ps());
        }
        let added = _mm512_add_ps(load16(sum), arrival);
        store16(sum, added);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load16(from: &Sixteen) -> __m512 {
    // SAFETY: the reference is valid for reads of its 64 bytes; the instruction needs no alignment.
    unsafe { _mm512_loadu_ps(from.0.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store16(to: &mut Sixteen, value: __m512) {
    // SAFETY: the exclusive reference is valid for writes of its 64 bytes; the instruction needs no alignment.
    unsafe { _mm512_storeu_ps(to.0.as_mut_ptr(), value) }
}

/// A packet of 64 bytes, or one of 32 bytes and zeros.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_packet(from: &[u8]) -> __m512i {
    if let Ok(from) = <&[u8; 64]>::try_from(from) {
        // SAFETY: the reference is valid for reads of its 64 bytes; the instruction needs no alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    } else {
        let from: &[u8; 32] = from.try_into().expect("packets are one or two flits");
        // SAFETY: the reference is valid for reads of its 32 bytes; the instruction needs no alignment.
        let half = unsafe { _mm256_loadu_si256(from.as_ptr().cast()) };
        _mm512_zextsi256_si512(half)
    }
}
