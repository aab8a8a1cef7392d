//! Each slice reads its own register file.

use furiosa_visa_std::prelude::*;

axes![W = 5, L = 8, Q = 256, I = 2];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, f32, m![1], m![I], m![Q], m![W], m![L]>;

fn kernel(x: Stream<'_>, b: &VrfTensor<f32, m![1], m![1 # 2], m![Q], m![L]>) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpF32::Max, b)
        .vector_final();
}

fn main() {
    let _: for<'l> fn(Stream<'l>, &VrfTensor<f32, m![1], m![1 # 2], m![Q], m![L]>) = kernel;
}
