//! The kernels with instructions that not every x86-64 machine has.
//!
//! Floats use the portable loops, compiled for AVX2, and with AVX-512 two chains per vector.

#![allow(unsafe_code)]

mod integer;
mod pairs;

use super::job::FloatJob;
use super::portable;
use super::shape::BLOCK;
use crate::chip::execute::path::{Avx2, Avx512};

impl Avx2 {
    /// [`portable::float`].
    pub(super) fn float(self, job: FloatJob<'_>) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { float_avx2(job) }
    }
}

impl Avx512 {
    /// The sums of [`portable::float`].
    pub(super) fn float(self, job: FloatJob<'_>) {
        // SAFETY: the function needs AVX-512 F, BW, DQ, VL and VNNI, which the machine has, as `self` exists.
        unsafe { float_avx512(job) }
    }
}

#[target_feature(enable = "avx2")]
fn float_avx2(job: FloatJob<'_>) {
    portable::float(job);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn float_avx512(job: FloatJob<'_>) {
    if job.shape.part < BLOCK { portable::float(job) } else { pairs::float(job) }
}
