//! Kernels whose tensors are placed by liveness.

#![allow(clippy::type_complexity)] // A mapping is a nested type, however short it is written.

mod launches;
mod programs;
mod register_file;

use furiosa_visa_std::prelude::*;

/// One cluster of two works.
type Cluster = m![1 # 2];

/// One slice of 256 works.
type Slice = m![1 # 256];

/// Runs a host program.
fn block_on<F: Future>(future: F) -> F::Output {
    pollster::block_on(future)
}

/// Repeatable codes that look random.
fn code(seed: u32, position: usize) -> u32 {
    let mut x = (position as u32).wrapping_mul(0x9e37_79b9).wrapping_add(seed.wrapping_mul(0x85eb_ca6b));
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// The values as elements.
fn init<D: Scalar>(values: &[D]) -> Vec<Opt<D>> {
    values.iter().copied().map(Opt::Init).collect()
}
