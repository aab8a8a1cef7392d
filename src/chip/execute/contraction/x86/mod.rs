//! The kernels with instructions that not every x86-64 machine has.
//!
//! Floats use the portable loops, compiled for AVX2 or for AVX-512. The latter multiplies by a number in memory as it is and
//! has twice the registers, which is worth more here than vectors of twice the size: two chains per vector were slower, as
//! each number then had to be put beside the other chain's before.

#![allow(unsafe_code)]

mod integer;

pub(super) use integer::HALF;

use super::job::FloatJob;
use super::portable;
use super::shape::BLOCK;
use super::tree::Lanes;
use super::weights::{Rows, lay_out_floats};
use crate::chip::execute::path::{Avx2, Avx512};
use crate::scalar::ElementType;
use core::arch::x86_64::*;

impl Avx2 {
    /// [`lay_out_floats`].
    pub(super) fn lay_out_floats(self, element: ElementType, rows: &Rows<'_>, floats: &mut [Lanes]) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { lay_out_floats_avx2(element, rows, floats) }
    }

    /// [`portable::float`].
    pub(super) fn float(self, job: FloatJob<'_>) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { float_avx2(job) }
    }
}

impl Avx512 {
    /// [`portable::float`].
    pub(super) fn float(self, job: FloatJob<'_>) {
        // SAFETY: the function needs AVX-512 F, BW, DQ, VL and VNNI, which the machine has, as `self` exists.
        unsafe { float_avx512(job) }
    }
}

#[target_feature(enable = "avx2")]
fn lay_out_floats_avx2(element: ElementType, rows: &Rows<'_>, floats: &mut [Lanes]) {
    lay_out_floats(element, rows, floats, |rows| transpose(rows));
}

/// [`portable::transpose`].
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

/// Asks for the packet that starts at a byte and is about to be read.
#[inline(always)]
fn prefetch(bytes: &[u8], start: u32) {
    let start = bytes.as_ptr().wrapping_add(start as usize);
    // SAFETY: the instruction is part of SSE, which every x86-64 machine has, and no address makes it fail.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(start.cast()) };
}

#[target_feature(enable = "avx2")]
fn float_avx2(job: FloatJob<'_>) {
    portable::float(job, prefetch);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn float_avx512(job: FloatJob<'_>) {
    portable::float(job, prefetch);
}
