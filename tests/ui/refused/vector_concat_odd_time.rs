//! A concatenation takes pairs.

use furiosa_visa_std::prelude::*;

axes![W = 5, Q = 256, V = 3];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![Q], m![W], m![V # 8]>;

fn kernel(x: Stream<'_>) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![V # 4]>()
        .vector_concat::<m![1], m![V # 8]>();
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
