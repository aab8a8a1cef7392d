//! The loops of [`super::lanes`], compiled for instructions that not every x86-64 machine has.

#![allow(unsafe_code)]

use super::lanes::{self, Chunk, LaneOperator, Offsets, SIDE_BY_SIDE};
use super::stream::Lane;
use crate::execute::path::{Avx2, Avx512};
use furiosa_visa_rules::command::ReduceOperator;

impl Avx2 {
    /// Runs [`lanes::apply`] with AVX2.
    pub(super) fn apply(self, op: LaneOperator, first: &[Chunk], second: &[Chunk], to: &mut [Chunk]) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { apply_avx2(op, first, second, to) }
    }

    /// Runs [`lanes::fold_side_by_side`] with AVX2.
    pub(super) fn fold(
        self,
        op: ReduceOperator,
        from: (&[Lane], usize),
        offsets: &Offsets,
        to: &mut [[Lane; SIDE_BY_SIDE]],
    ) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { fold_avx2(op, from, offsets, to) }
    }
}

impl Avx512 {
    /// Runs [`lanes::apply`] with AVX-512.
    pub(super) fn apply(self, op: LaneOperator, first: &[Chunk], second: &[Chunk], to: &mut [Chunk]) {
        // SAFETY: the function needs AVX2 and AVX-512 F, BW, DQ and VL, which the machine has, as `self` exists.
        unsafe { apply_avx512(op, first, second, to) }
    }

    /// Runs [`lanes::fold_side_by_side`] with AVX-512.
    pub(super) fn fold(
        self,
        op: ReduceOperator,
        from: (&[Lane], usize),
        offsets: &Offsets,
        to: &mut [[Lane; SIDE_BY_SIDE]],
    ) {
        // SAFETY: the function needs AVX2 and AVX-512 F, BW, DQ and VL, which the machine has, as `self` exists.
        unsafe { fold_avx512(op, from, offsets, to) }
    }
}

#[target_feature(enable = "avx2")]
fn apply_avx2(op: LaneOperator, first: &[Chunk], second: &[Chunk], to: &mut [Chunk]) {
    lanes::apply(op, first, second, to);
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn apply_avx512(op: LaneOperator, first: &[Chunk], second: &[Chunk], to: &mut [Chunk]) {
    lanes::apply(op, first, second, to);
}

#[target_feature(enable = "avx2")]
fn fold_avx2(op: ReduceOperator, from: (&[Lane], usize), offsets: &Offsets, to: &mut [[Lane; SIDE_BY_SIDE]]) {
    lanes::fold_side_by_side(op, from, offsets, to);
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn fold_avx512(
    op: ReduceOperator,
    from: (&[Lane], usize),
    offsets: &Offsets,
    to: &mut [[Lane; SIDE_BY_SIDE]],
) {
    lanes::fold_side_by_side(op, from, offsets, to);
}
