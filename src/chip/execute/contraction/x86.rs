//! The kernels with instructions that not every x86-64 machine has.
//!
//! The AVX2 kernels are the portable loops, compiled for AVX2. The AVX-512 kernels spell out two things that a
//! compiler does not find: how cells of the stream are spread over lanes, and sums of four products of bytes.

#![allow(unsafe_code)]

use super::job::{FloatJob, IntegerJob};
use super::portable;
use super::shape::CELLS;
use super::tree::Lanes;
use super::weights::{Bias, Octets, Sixteen};
use super::widen::{to_shifted_bytes, widen};
use core::arch::x86_64::*;

/// The machine has AVX2. Only [`Avx2::detect`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx2(());

/// The machine has AVX-512 with the extensions F, BW, DQ, VL and VNNI. Only [`Avx512::detect`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx512(());

impl Avx2 {
    /// Asks the machine.
    pub(super) fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

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
    /// Asks the machine.
    pub(super) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        all.then_some(Self(()))
    }

    /// The sums of [`portable::float`].
    pub(super) fn float(self, job: FloatJob<'_>) {
        // SAFETY: the function needs AVX-512 F, BW, DQ, VL and VNNI, which the machine has, as `self` exists.
        unsafe { float_avx512(job) }
    }

    /// The sums of [`portable::integer`], with octets of weights.
    pub(super) fn integer(self, job: IntegerJob<'_>) {
        // SAFETY: the function needs AVX-512 F, BW, DQ, VL and VNNI, which the machine has, as `self` exists.
        unsafe { integer_avx512(job) }
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
    match (job.shape.half, job.shape.repeats()) {
        (4, false) => float_halves::<4, false>(job),
        (8, false) => float_halves::<8, false>(job),
        (16, false) => float_halves::<16, false>(job),
        (_, false) => float_halves::<32, false>(job),
        (4, true) => float_halves::<4, true>(job),
        (8, true) => float_halves::<8, true>(job),
        (16, true) => float_halves::<16, true>(job),
        (_, true) => float_halves::<32, true>(job),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn float_halves<const HALF: usize, const REPEATS: bool>(job: FloatJob<'_>) {
    let FloatJob { shape, steps, packets, weights, sums } = job;
    let tile = shape.tile();
    let units = shape.columns.div_ceil(2);
    let mut cells = [0.0; CELLS];
    // With one column, the sum of the latest result stays in a register.
    let (mut current, mut sum) = (None, _mm256_setzero_ps());
    for (packet, steps) in packets.zip(steps) {
        widen(shape.element, packet, &mut cells[..shape.cells]);
        for step in steps {
            let first = step.tile as usize * tile;
            let weights = &weights[first..first + tile];
            let result = step.result as usize;
            if shape.joined {
                let both = unit::<HALF, REPEATS>(&cells, weights, shape.period);
                let [low, high] = sides(both);
                let mut arrival = _mm256_add_ps(low, high);
                if shape.absent {
                    arrival = _mm256_add_ps(arrival, _mm256_setzero_ps());
                }
                if current != Some(result) {
                    if let Some(current) = current.replace(result) {
                        store(&mut sums[current], sum);
                    }
                    sum = load8(&sums[result]);
                }
                sum = _mm256_add_ps(sum, arrival);
            } else {
                let sums = &mut sums[result..result + shape.columns];
                for number in 0..units {
                    let from = if REPEATS { 0 } else { number * HALF & (tile - 1) };
                    let cells = &cells[2 * HALF * number..];
                    let both = unit::<HALF, REPEATS>(cells, &weights[from..], shape.period);
                    for (sum, side) in sums[2 * number..].iter_mut().zip(sides(both)) {
                        let added = _mm256_add_ps(load8(sum), side);
                        store(sum, added);
                    }
                }
            }
        }
    }
    if let Some(current) = current {
        store(&mut sums[current], sum);
    }
}

/// The trees over both sides of a unit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn unit<const HALF: usize, const REPEATS: bool>(cells: &[f32], weights: &[Sixteen], period: usize) -> __m512 {
    let weights = if REPEATS { weights } else { &weights[..HALF] };
    let (low, high) = cells[..2 * HALF].split_at(HALF);
    let (low, high) = (low.as_chunks::<4>().0, high.as_chunks::<4>().0);
    let weight = |k: usize| {
        if REPEATS {
            let k = k & (period - 1);
            let lanes = _mm256_castps_pd(load8(&weights[k / 2].0[k % 2]));
            _mm512_castpd_ps(_mm512_broadcast_f64x4(lanes))
        } else {
            load16(&weights[k])
        }
    };
    let four = |k: usize| {
        let low = _mm512_broadcast_f32x4(load4(&low[k / 4]));
        let x = _mm512_mask_broadcast_f32x4(low, 0xff00, load4(&high[k / 4]));
        let product0 = _mm512_mul_ps(_mm512_permute_ps::<0b00_00_00_00>(x), weight(k));
        let product1 = _mm512_mul_ps(_mm512_permute_ps::<0b01_01_01_01>(x), weight(k + 1));
        let product2 = _mm512_mul_ps(_mm512_permute_ps::<0b10_10_10_10>(x), weight(k + 2));
        let product3 = _mm512_mul_ps(_mm512_permute_ps::<0b11_11_11_11>(x), weight(k + 3));
        _mm512_add_ps(_mm512_add_ps(product0, product1), _mm512_add_ps(product2, product3))
    };
    let eight = |k: usize| _mm512_add_ps(four(k), four(k + 4));
    let sixteen = |k: usize| _mm512_add_ps(eight(k), eight(k + 8));
    match HALF {
        4 => four(0),
        8 => eight(0),
        16 => sixteen(0),
        _ => _mm512_add_ps(sixteen(0), sixteen(16)),
    }
}

/// The instruction multiplies unsigned by signed bytes. The stream is made unsigned by adding 128; the biases take
/// 128 times the weights back.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn integer_avx512(job: IntegerJob<'_>) {
    match (job.shape.part / 8, job.shape.part / 8 > job.shape.tile()) {
        (1, _) => integer_parts::<1, false>(job),
        (2, false) => integer_parts::<2, false>(job),
        (4, false) => integer_parts::<4, false>(job),
        (8, false) => integer_parts::<8, false>(job),
        (_, false) => integer_parts::<16, false>(job),
        (2, true) => integer_parts::<2, true>(job),
        (4, true) => integer_parts::<4, true>(job),
        (8, true) => integer_parts::<8, true>(job),
        (_, true) => integer_parts::<16, true>(job),
    }
}

/// Columns of so many octets.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn integer_parts<const OCTETS: usize, const REPEATS: bool>(job: IntegerJob<'_>) {
    let IntegerJob { shape, steps, packets, octets, biases, sums, .. } = job;
    let (tile, column_period) = (shape.tile(), shape.column_period());
    let mut cells = [0; CELLS];
    // With one column, the sum of the latest result stays in a register.
    let (mut current, mut sum) = (None, _mm256_setzero_si256());
    for (packet, steps) in packets.zip(steps) {
        to_shifted_bytes(shape.element, packet, &mut cells);
        let cells = cells.as_chunks::<8>().0;
        for step in steps {
            let number = step.tile as usize;
            let weights = &octets[number * tile..][..tile];
            let biases = &biases[number * column_period..][..column_period];
            let result = step.result as usize;
            if shape.columns == 1 {
                let arrival = part::<OCTETS, REPEATS>(cells, weights, &biases[0]);
                if current != Some(result) {
                    if let Some(current) = current.replace(result) {
                        store_words(&mut sums[current], sum);
                    }
                    sum = load_words(&sums[result]);
                }
                sum = _mm256_add_epi32(sum, arrival);
            } else {
                let sums = &mut sums[result..result + shape.columns];
                for (column, sum) in sums.iter_mut().enumerate() {
                    let from = if REPEATS { 0 } else { column * OCTETS & (tile - 1) };
                    let bias = &biases[column & (column_period - 1)];
                    let arrival = part::<OCTETS, REPEATS>(&cells[column * OCTETS..], &weights[from..], bias);
                    let added = _mm256_add_epi32(load_words(sum), arrival);
                    store_words(sum, added);
                }
            }
        }
    }
    if let Some(current) = current {
        store_words(&mut sums[current], sum);
    }
}

/// The sums of one column.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn part<const OCTETS: usize, const REPEATS: bool>(
    cells: &[[u8; 8]],
    weights: &[Octets],
    bias: &Bias,
) -> __m256i {
    let cells = &cells[..OCTETS];
    let weights = if REPEATS { weights } else { &weights[..OCTETS] };
    // Several sums, so that one addition need not wait for the one before.
    let mut sums = [_mm512_setzero_si512(); 4];
    sums[0] = load_bias(bias);
    for k in 0..OCTETS {
        let weight = &weights[if REPEATS { k & (weights.len() - 1) } else { k }];
        let x = _mm512_set1_epi64(i64::from_le_bytes(cells[k]));
        sums[k % 4] = _mm512_dpbusd_epi32(sums[k % 4], x, load_octets(weight));
    }
    let [a, b, c, d] = sums;
    let both = _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d));
    // A row has two words.
    _mm512_cvtepi64_epi32(_mm512_add_epi32(both, _mm512_srli_epi64::<32>(both)))
}

/// Rows of the lower and of the upper cell.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn sides(both: __m512) -> [__m256; 2] {
    [_mm512_castps512_ps256(both), _mm512_extractf32x8_ps::<1>(both)]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load4(from: &[f32; 4]) -> __m128 {
    // SAFETY: the reference is valid for reads of its 16 bytes; the instruction needs no alignment.
    unsafe { _mm_loadu_ps(from.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load8(from: &Lanes) -> __m256 {
    // SAFETY: the reference is valid for reads of its 32 bytes; the instruction needs no alignment.
    unsafe { _mm256_loadu_ps(from.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load16(from: &Sixteen) -> __m512 {
    // SAFETY: the reference is valid for reads of its 64 bytes, which are 16 floats in a row; the instruction needs no
    // alignment.
    unsafe { _mm512_loadu_ps(from.0.as_flattened().as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(to: &mut Lanes, value: __m256) {
    // SAFETY: the exclusive reference is valid for writes of its 32 bytes; the instruction needs no alignment.
    unsafe { _mm256_storeu_ps(to.as_mut_ptr(), value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_words(from: &[i32; 8]) -> __m256i {
    // SAFETY: the reference is valid for reads of its 32 bytes; the instruction needs no alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_words(to: &mut [i32; 8], value: __m256i) {
    // SAFETY: the exclusive reference is valid for writes of its 32 bytes; the instruction needs no alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_octets(from: &Octets) -> __m512i {
    // SAFETY: the reference is valid for reads of its 64 bytes; the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(from.0.as_flattened().as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_bias(from: &Bias) -> __m512i {
    // SAFETY: the reference is valid for reads of its 64 bytes; the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(from.0.as_flattened().as_ptr().cast()) }
}
