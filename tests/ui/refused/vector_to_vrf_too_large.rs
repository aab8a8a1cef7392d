//! The VRF has 8192 bytes per slice.

use furiosa_visa_std::prelude::*;

axes![L = 8, Q = 256, K = 64, A = 6];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![Q], m![K, A], m![L]>;

fn kernel(x: Stream<'_>) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_final()
        .to_vrf::<m![K, A, L]>(0);
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
