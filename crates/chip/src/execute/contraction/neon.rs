//! Kernels for integers with NEON. Every AArch64 has the basic instructions; newer ones also have products of bytes,
//! which sum four products in a word.
//!
//! Floats use the portable loops, which the compiler turns into NEON.

#![allow(unsafe_code)]

use super::integer::{Dots, WORDS, integer};
use super::job::IntegerJob;
use super::shape::Layout;
use super::weights::Vector;
use crate::execute::path::{Neon, NeonDot};
use core::arch::aarch64::*;

impl Neon {
    /// Adds the sums of the steps, wrapping.
    pub(super) fn integer(self, job: IntegerJob<'_>) {
        integer::<_, 4, 4, 2>(self, job);
    }
}

impl NeonDot {
    /// Adds the sums of the steps, wrapping.
    pub(super) fn integer(self, job: IntegerJob<'_>) {
        // SAFETY: the function needs NEON with `dotprod`, which the machine has, as `self` exists.
        unsafe { integer_dot(self, job) }
    }
}

#[target_feature(enable = "neon,dotprod")]
fn integer_dot(machine: NeonDot, job: IntegerJob<'_>) {
    // Words of two bytes.
    match job.shape.column_bytes() {
        2 => integer::<_, 4, 4, 2>(machine.neon(), job),
        _ => integer::<_, 8, 4, 2>(machine, job),
    }
}

impl Dots for Neon {
    const LAYOUT: Layout = Layout { take: 16, is_wide: false, is_unsigned: false };
    const WORD: usize = 2;
    const IS_UNSIGNED: bool = false;
    type Stream = int8x16_t;
    /// Words of the first and of the second half.
    type Sums = [int32x4_t; 2];

    #[inline(always)]
    fn zero(self) -> [int32x4_t; 2] {
        // SAFETY: the machine has NEON, as `self` exists.
        unsafe { [vdupq_n_s32(0); 2] }
    }

    #[inline(always)]
    fn stream<const PLANES: usize>(self, packet: &[u8], plane: usize) -> int8x16_t {
        let packet: &[u8; 16] = packet.first_chunk().expect("packets are made of vectors");
        let codes = load(packet);
        // SAFETY: the machine has NEON, as `self` exists.
        unsafe {
            match (PLANES, plane) {
                (1, _) => codes,
                (_, 0) => vshrq_n_s8::<4>(vshlq_n_s8::<4>(codes)),
                _ => vshrq_n_s8::<4>(codes),
            }
        }
    }

    #[inline(always)]
    fn add(self, sums: [int32x4_t; 2], stream: int8x16_t, weights: &[Vector], row: usize) -> [int32x4_t; 2] {
        let weights = load(quarter_of(weights, row));
        // SAFETY: the machine has NEON, as `self` exists. Products of two bytes are at most 2^14, so that they fit 16
        // bits.
        unsafe {
            let low = vmull_s8(vget_low_s8(stream), vget_low_s8(weights));
            let high = vmull_high_s8(stream, weights);
            [vpadalq_s16(sums[0], low), vpadalq_s16(sums[1], high)]
        }
    }

    #[inline(always)]
    fn total(self, rows: [[int32x4_t; 2]; 4]) -> [i32; 4] {
        // SAFETY: the machine has NEON, as `self` exists.
        add_words(rows.map(|[low, high]| unsafe { vaddq_s32(low, high) }))
    }

    #[inline(always)]
    fn words(self, rows: [[int32x4_t; 2]; 4]) -> [[i32; 4]; WORDS] {
        let mut words = [[0; 4]; WORDS];
        for half in 0..2 {
            let half_words: &mut [[i32; 4]; 4] =
                words[4 * half..].first_chunk_mut().expect("words of two halves");
            store(rows.map(|row| row[half]), half_words);
        }
        words
    }
}

impl Dots for NeonDot {
    const LAYOUT: Layout = Neon::LAYOUT;
    const WORD: usize = 4;
    const IS_UNSIGNED: bool = false;
    type Stream = int8x16_t;
    type Sums = int32x4_t;

    #[inline(always)]
    fn zero(self) -> int32x4_t {
        // SAFETY: the machine has NEON, as `self` exists.
        unsafe { vdupq_n_s32(0) }
    }

    #[inline(always)]
    fn stream<const PLANES: usize>(self, packet: &[u8], plane: usize) -> int8x16_t {
        self.neon().stream::<PLANES>(packet, plane)
    }

    #[inline(always)]
    fn add(self, mut sums: int32x4_t, stream: int8x16_t, weights: &[Vector], row: usize) -> int32x4_t {
        let weights = load(quarter_of(weights, row));
        // SAFETY: the machine has `dotprod`, as `self` exists; `sdot` reads and writes only the registers that are
        // named as operands. The intrinsic `vdotq_s32` is not stable.
        unsafe {
            core::arch::asm!(
                ".arch_extension dotprod",
                "sdot {sums:v}.4s, {stream:v}.16b, {weights:v}.16b",
                sums = inout(vreg) sums,
                stream = in(vreg) stream,
                weights = in(vreg) weights,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        sums
    }

    #[inline(always)]
    fn total(self, rows: [int32x4_t; 4]) -> [i32; 4] {
        add_words(rows)
    }

    #[inline(always)]
    fn words(self, rows: [int32x4_t; 4]) -> [[i32; 4]; WORDS] {
        let mut words = [[0; 4]; WORDS];
        store(rows, words.first_chunk_mut().expect("four words"));
        words
    }
}

/// The weights of a row, if four rows share a vector.
#[inline(always)]
fn quarter_of(weights: &[Vector], row: usize) -> &[u8; 16] {
    &weights[row / 4].0.as_chunks().0[row % 4]
}

#[inline(always)]
fn load(bytes: &[u8; 16]) -> int8x16_t {
    // SAFETY: the reference is valid for reads of its 16 bytes; the load needs no alignment.
    unsafe { vld1q_s8(bytes.as_ptr().cast()) }
}

/// The sum of the words of each row.
#[inline(always)]
fn add_words([a, b, c, d]: [int32x4_t; 4]) -> [i32; 4] {
    let mut sums = [0; 4];
    // SAFETY: NEON is part of every program for AArch64; the exclusive reference is valid for writes of its 16 bytes,
    // and the store needs no alignment.
    unsafe { vst1q_s32(sums.as_mut_ptr(), vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d))) }
    sums
}

/// The words of four rows, word after word.
#[inline(always)]
fn store([a, b, c, d]: [int32x4_t; 4], words: &mut [[i32; 4]; 4]) {
    // SAFETY: the exclusive reference is valid for writes of its 64 bytes; the store needs no alignment.
    unsafe { vst4q_s32(words.as_mut_ptr().cast(), int32x4x4_t(a, b, c, d)) }
}
