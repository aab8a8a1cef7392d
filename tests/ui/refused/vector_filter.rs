//! Elements are not filtered: where what is left goes is not documented.

use furiosa_visa_std::prelude::*;

axes![W = 5, L = 8, Q = 256];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, i32, m![1], m![1 # 2], m![Q], m![W], m![L]>;

fn kernel(x: Stream<'_>) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_filter::<m![W]>(ValidBranchIds::ValidAlways);
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
