//! All of an axis is reduced.

use furiosa_visa_std::prelude::*;

axes![L = 8, Q = 256, B = 8];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![Q], m![B], m![L]>;

fn kernel(x: Stream<'_>) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![B, L / 4], m![L % 4]>()
        .vector_intra_slice_reduce::<B, m![B / 2, L / 4], m![L % 4]>(IntraSliceReduceOpF32::Add);
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
