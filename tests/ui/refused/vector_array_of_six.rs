//! A list of five operands is not made of six.

use furiosa_visa_std::prelude::*;

axes![W = 5, L = 8, Q = 256];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![Q], m![W], m![L]>;

fn kernel(x: Stream<'_>) {
    let groups = std::array::from_fn::<_, 6, _>(|_| VeBranchOperand::group(VeRhs::constant(1.0), GroupId::One));
    let operands = ArrayVec::<_, 5>::new(groups);
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpF32::Max, operands)
        .vector_final();
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
