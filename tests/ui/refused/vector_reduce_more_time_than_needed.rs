//! Slices inside of time leave no step to spare.

use furiosa_visa_std::prelude::*;

axes![L = 8, S = 11];

type Stream<'l> =
    CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![S # 16 % 4 # 256], m![S # 16 / 4], m![L]>;

fn kernel(x: Stream<'_>) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![S # 16 / 4, L / 4], m![L % 4]>()
        .vector_intra_slice_reduce::<S, m![L / 4], m![L % 4]>(IntraSliceReduceOpF32::Add);
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
