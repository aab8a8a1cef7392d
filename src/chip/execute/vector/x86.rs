//! The loops of [`super::path`], compiled for instructions that not every x86-64 machine has.

#![allow(unsafe_code)]

use super::path::{Job, portable};
use super::stream::Lane;

/// The machine has AVX2. Only [`Avx2::detect`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx2(());

/// The machine has AVX-512 with the extensions F, BW, DQ and VL, and AVX2, FMA and F16C, which F implies. Only
/// [`Avx512::detect`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx512(());

impl Avx2 {
    /// Asks the machine.
    pub(super) fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    /// [`portable`].
    pub(super) fn run(self, job: Job<'_>, lanes: &mut [Lane]) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { run_avx2(job, lanes) }
    }
}

impl Avx512 {
    /// Asks the machine. The compiler uses what F implies, too, which a virtual machine may lack.
    pub(super) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        all.then_some(Self(()))
    }

    /// [`portable`].
    pub(super) fn run(self, job: Job<'_>, lanes: &mut [Lane]) {
        // SAFETY: the function needs AVX-512 F, BW, DQ and VL and what F implies, which the machine has, as `self` exists.
        unsafe { run_avx512(job, lanes) }
    }
}

#[target_feature(enable = "avx2")]
fn run_avx2(job: Job<'_>, lanes: &mut [Lane]) {
    portable(job, lanes);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512(job: Job<'_>, lanes: &mut [Lane]) {
    portable(job, lanes);
}
