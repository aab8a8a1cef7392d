//! The valid-count generator follows packets or slices.

use furiosa_visa_std::prelude::*;

axes![N = 21];

type Stream<'l> =
    CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![N # 32 / 4 # 256], m![1], m![N # 32 % 4 # 8]>;

fn kernel(x: Stream<'_>) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![N # 32 % 4]>()
        .vector_intra_slice_reduce::<N, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add);
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
