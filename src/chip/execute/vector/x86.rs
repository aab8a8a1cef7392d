//! The loops of [`super::path`], compiled for instructions that not every x86-64 machine has.

#![allow(unsafe_code)]

use super::path::{Job, portable};
use super::stream::Lane;
use crate::chip::execute::path::Avx2;

impl Avx2 {
    /// [`portable`].
    pub(super) fn run(self, job: Job<'_>, stream: &mut [Lane]) {
        // SAFETY: the function needs AVX2, which the machine has, as `self` exists.
        unsafe { run_avx2(job, stream) }
    }
}

#[target_feature(enable = "avx2")]
fn run_avx2(job: Job<'_>, stream: &mut [Lane]) {
    portable(job, stream);
}
