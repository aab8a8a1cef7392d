//! Operands have the type of the stream.

use furiosa_visa_std::prelude::*;

axes![W = 5, L = 8, Q = 256];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![Q], m![W], m![L]>;

fn kernel(x: Stream<'_>) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpF32::Max, 1_i32)
        .vector_final();
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
