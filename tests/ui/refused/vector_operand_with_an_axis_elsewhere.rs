//! An axis of the slices that the stream has, too, has the same coordinate in both.

use furiosa_visa_std::prelude::*;

axes![W = 5, L = 8, G = 16, J = 16];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![G # 256], m![W], m![L]>;
type Operand = VrfTensor<f32, m![1], m![1 # 2], m![G, J], m![L]>;

fn kernel(x: Stream<'_>, b: &Operand) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpF32::Max, b)
        .vector_final();
}

fn main() {
    let _: for<'l> fn(Stream<'l>, &Operand) = kernel;
}
