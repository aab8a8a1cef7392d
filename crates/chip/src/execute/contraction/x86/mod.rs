//! The kernels with instructions that not every x86-64 machine has.
//!
//! Floats use the portable loops, compiled for AVX2 or for AVX-512. AVX-512 can multiply by a broadcast number in
//! memory and has twice the registers. Here this is worth more than vectors of twice the size: two chains per vector
//! were slower, because each number had to be combined with the number of the other chain first.

#![allow(unsafe_code)]

mod integer;
pub(super) mod vnni;

use super::job::FloatJob;
use super::portable::{self, Packets};
use super::shape::BLOCK;
use super::single_row::single_row;
use super::tree::Lanes;
use super::weights::{Rows, lay_out_floats};
use super::widen::widen;
use crate::execute::path::{Avx2, Avx512};
use crate::execute::prefetch;
use core::arch::x86_64::*;
use furiosa_visa_rules::scalar::ElementType;

impl Avx2 {
    /// Lays out floats, see [`lay_out_floats`].
    pub(super) fn lay_out_floats(self, element: ElementType, rows: &Rows<'_>, floats: &mut [Lanes]) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { lay_out_floats_avx2(element, rows, floats) }
    }

    /// Sums floats, see [`portable::float`].
    pub(super) fn float(self, job: FloatJob<'_, Lanes>) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { float_avx2(self, job) }
    }

    /// Sums floats for one row, see [`single_row`].
    pub(super) fn single_row(self, job: FloatJob<'_, f32>) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { single_row_avx2(self, job) }
    }
}

impl Avx512 {
    /// Sums floats, see [`portable::float`].
    pub(super) fn float(self, job: FloatJob<'_, Lanes>) {
        // SAFETY: the function needs AVX-512 F, BW, DQ, VL and VNNI, which the machine has, as `self` exists.
        unsafe { float_avx512(self, job) }
    }

    /// Sums floats for one row, see [`single_row`].
    pub(super) fn single_row(self, job: FloatJob<'_, f32>) {
        // SAFETY: the function needs AVX-512 F, BW, DQ, VL and VNNI, which the machine has, as `self` exists.
        unsafe { single_row_avx512(self, job) }
    }
}

#[target_feature(enable = "avx2")]
fn lay_out_floats_avx2(element: ElementType, rows: &Rows<'_>, floats: &mut [Lanes]) {
    if let (ElementType::Bf16, [Some(a), Some(b), Some(c), Some(d), Some(e), Some(f), Some(g), Some(h)]) =
        (element, *rows)
    {
        return lay_out_halves([a, b, c, d, e, f, g, h], floats);
    }
    lay_out_floats(element, rows, floats, |rows| transpose(rows));
}

/// Lays out eight rows of `bf16`. They are transposed before they are widened, which halves the work.
#[inline]
#[target_feature(enable = "avx2")]
fn lay_out_halves(rows: [&[u8]; 8], floats: &mut [Lanes]) {
    let [a, b, c, d, e, f, g, h] = rows.map(|row| row.as_chunks::<{ 2 * BLOCK }>().0);
    for (k, cells) in floats.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
        let (a, b, c, d) = (load16(&a[k]), load16(&b[k]), load16(&c[k]), load16(&d[k]));
        let (e, f, g, h) = (load16(&e[k]), load16(&f[k]), load16(&g[k]), load16(&h[k]));
        let (first, last) = cells.split_at_mut(BLOCK / 2);
        // Elements of two rows side by side, for half of the cells.
        let (ab, cd) = (_mm_unpacklo_epi16(a, b), _mm_unpacklo_epi16(c, d));
        store_cells([ab, cd, _mm_unpacklo_epi16(e, f), _mm_unpacklo_epi16(g, h)], first);
        let (ab, cd) = (_mm_unpackhi_epi16(a, b), _mm_unpackhi_epi16(c, d));
        store_cells([ab, cd, _mm_unpackhi_epi16(e, f), _mm_unpackhi_epi16(g, h)], last);
    }
}

/// Stores the elements of four cells. Each vector holds two rows side by side.
#[inline]
#[target_feature(enable = "avx2")]
fn store_cells([ab, cd, ef, gh]: [__m128i; 4], cells: &mut [Lanes]) {
    let (two, rest) = (_mm_unpacklo_epi32(ab, cd), _mm_unpacklo_epi32(ef, gh));
    store_halves(_mm_unpacklo_epi64(two, rest), &mut cells[0]);
    store_halves(_mm_unpackhi_epi64(two, rest), &mut cells[1]);
    let (two, rest) = (_mm_unpackhi_epi32(ab, cd), _mm_unpackhi_epi32(ef, gh));
    store_halves(_mm_unpacklo_epi64(two, rest), &mut cells[2]);
    store_halves(_mm_unpackhi_epi64(two, rest), &mut cells[3]);
}

#[inline]
#[target_feature(enable = "avx2")]
fn load16(from: &[u8; 16]) -> __m128i {
    // SAFETY: the reference is valid for reads of its 16 bytes; the load needs no alignment.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

/// Widens eight elements of `bf16`, which are the upper halves of floats.
#[inline]
#[target_feature(enable = "avx2")]
fn store_halves(halves: __m128i, to: &mut Lanes) {
    let floats = _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves));
    // SAFETY: the exclusive reference is valid for writes of its 32 bytes; the store needs no alignment.
    unsafe { _mm256_storeu_ps(to.as_mut_ptr(), _mm256_castsi256_ps(floats)) }
}

/// Widens a packet, see [`widen`], with fewer instructions for two flits of `bf16`.
#[inline]
#[target_feature(enable = "avx2")]
fn widen_packet(element: ElementType, bytes: &[u8], floats: &mut [f32]) {
    let (Ok(packet), Some(cells), ElementType::Bf16) =
        (<&[u8; 64]>::try_from(bytes), floats.first_chunk_mut::<32>(), element)
    else {
        return widen(element, bytes, floats);
    };
    let (halves, cells) = (packet.as_chunks::<32>().0, cells.as_chunks_mut::<BLOCK>().0);
    widen_flit(&halves[0], &mut cells[..2]);
    widen_flit(&halves[1], &mut cells[2..]);
}

/// Widens sixteen elements of `bf16`.
#[inline]
#[target_feature(enable = "avx2")]
fn widen_flit(flit: &[u8; 32], cells: &mut [[f32; BLOCK]]) {
    let zeros = _mm256_setzero_si256();
    // SAFETY: the reference is valid for reads of its 32 bytes; the load needs no alignment.
    let elements = unsafe { _mm256_loadu_si256(flit.as_ptr().cast()) };
    // Unpacking works on each half of a vector: on its first four elements, or on its last four.
    let elements = _mm256_permute4x64_epi64::<0b11_01_10_00>(elements);
    let both = [_mm256_unpacklo_epi16(zeros, elements), _mm256_unpackhi_epi16(zeros, elements)];
    // SAFETY: the exclusive references are valid for writes of their 32 bytes; the stores need no alignment.
    unsafe {
        _mm256_storeu_ps(cells[0].as_mut_ptr(), _mm256_castsi256_ps(both[0]));
        _mm256_storeu_ps(cells[1].as_mut_ptr(), _mm256_castsi256_ps(both[1]));
    }
}

/// Converts eight rows to cells, see [`portable::transpose`].
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(rows: &[[f32; BLOCK]; 8]) -> [Lanes; BLOCK] {
    let [a, b, c, d, e, f, g, h] = rows;
    let (a, b, c, d) = (load8(a), load8(b), load8(c), load8(d));
    let (e, f, g, h) = (load8(e), load8(f), load8(g), load8(h));
    // Words 0 and 1, or 2 and 3, of each half of two rows.
    let low = [
        _mm256_unpacklo_ps(a, b),
        _mm256_unpacklo_ps(c, d),
        _mm256_unpacklo_ps(e, f),
        _mm256_unpacklo_ps(g, h),
    ];
    let high = [
        _mm256_unpackhi_ps(a, b),
        _mm256_unpackhi_ps(c, d),
        _mm256_unpackhi_ps(e, f),
        _mm256_unpackhi_ps(g, h),
    ];
    let mut cells = [[0.0; 8]; BLOCK];
    for (first, [ab, cd, ef, gh]) in [low, high].into_iter().enumerate() {
        // One word of each half of four rows.
        let words = [
            [_mm256_shuffle_ps::<0b01_00_01_00>(ab, cd), _mm256_shuffle_ps::<0b01_00_01_00>(ef, gh)],
            [_mm256_shuffle_ps::<0b11_10_11_10>(ab, cd), _mm256_shuffle_ps::<0b11_10_11_10>(ef, gh)],
        ];
        for (second, [abcd, efgh]) in words.into_iter().enumerate() {
            let cell = 2 * first + second;
            // SAFETY: each reference is valid for writes of its 32 bytes; stores need no alignment.
            unsafe {
                let halves =
                    [_mm256_permute2f128_ps::<0x20>(abcd, efgh), _mm256_permute2f128_ps::<0x31>(abcd, efgh)];
                _mm256_storeu_ps(cells[cell].as_mut_ptr(), halves[0]);
                _mm256_storeu_ps(cells[cell + 4].as_mut_ptr(), halves[1]);
            }
        }
    }
    cells
}

#[inline]
#[target_feature(enable = "avx2")]
fn load8(from: &[f32; 8]) -> __m256 {
    // SAFETY: the reference is valid for reads of its 32 bytes; the load needs no alignment.
    unsafe { _mm256_loadu_ps(from.as_ptr()) }
}

impl Packets for Avx2 {
    #[inline(always)]
    fn prefetch(self, bytes: &[u8], start: u32) {
        prefetch::near(bytes, start as usize);
    }

    #[inline(always)]
    fn widen(self, element: ElementType, bytes: &[u8], cells: &mut [f32]) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { widen_packet(element, bytes, cells) }
    }
}

impl Packets for Avx512 {
    #[inline(always)]
    fn prefetch(self, bytes: &[u8], start: u32) {
        prefetch::near(bytes, start as usize);
    }

    #[inline(always)]
    fn widen(self, element: ElementType, bytes: &[u8], cells: &mut [f32]) {
        widen(element, bytes, cells);
    }
}

#[target_feature(enable = "avx2")]
fn float_avx2(machine: Avx2, job: FloatJob<'_, Lanes>) {
    portable::float(machine, job);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn float_avx512(machine: Avx512, job: FloatJob<'_, Lanes>) {
    portable::float(machine, job);
}

#[target_feature(enable = "avx2")]
fn single_row_avx2(machine: Avx2, job: FloatJob<'_, f32>) {
    single_row(machine, job);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn single_row_avx512(machine: Avx512, job: FloatJob<'_, f32>) {
    single_row(machine, job);
}
