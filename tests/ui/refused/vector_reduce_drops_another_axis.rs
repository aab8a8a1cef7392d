//! Only the axis that is named is reduced.

use furiosa_visa_std::prelude::*;

axes![W = 5, L = 8, Q = 256, A = 6];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![Q], m![A, W], m![L]>;

fn kernel(x: Stream<'_>) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![A, W, L / 4], m![L % 4]>()
        .vector_intra_slice_reduce::<W, m![L / 4], m![L % 4]>(IntraSliceReduceOpF32::Add);
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
