//! The loops of [`super::path`], compiled for instructions that not every x86-64 machine has.

#![allow(unsafe_code)]

use super::path::{Job, portable};
use super::stream::Lane;
use crate::execute::path::{Avx2, Avx512};

impl Avx2 {
    /// Runs [`portable`] with AVX2.
    pub(super) fn run(self, job: Job<'_>, lanes: &mut [Lane]) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { run_avx2(job, lanes) }
    }
}

impl Avx512 {
    /// Runs [`portable`] with AVX-512.
    pub(super) fn run(self, job: Job<'_>, lanes: &mut [Lane]) {
        // SAFETY: the function needs AVX2 and AVX-512 F, BW, DQ and VL, which the machine has, as `self` exists.
        unsafe { run_avx512(job, lanes) }
    }
}

#[target_feature(enable = "avx2")]
fn run_avx2(job: Job<'_>, lanes: &mut [Lane]) {
    portable(job, lanes);
}

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512(job: Job<'_>, lanes: &mut [Lane]) {
    portable(job, lanes);
}
