//! Operators come before or after the reduce between slices, not on both sides.

use furiosa_visa_std::prelude::*;

axes![W = 5, L = 8, G = 32, J = 8];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![G, J], m![W], m![L]>;

fn kernel(x: Stream<'_>) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_inter_slice_reduce::<m![G, 1 # 8], m![W]>(InterSliceReduceOpF32::Add)
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_final();
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
