//! A constant of a slot has the type of the stream.

use furiosa_visa_std::prelude::*;

axes![S = 256, L = 8];

type X = DmTensor<f32, m![1], m![1 # 2], m![S], m![L]>;

fn kernel(ctx: &mut Context, x: &X) -> X {
    let low = TagGuard::group(GroupId::Zero);
    (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
        .vector_init()
        .vector_intra_slice_tag(TagMode::Zero)
        .vector_clip(ClipBinaryOpF32::Add, Branched::imm(low, 1))
        .vector_final()
        .commit(AUTO)
}

fn main() {
    std::hint::black_box(kernel as fn(_, _) -> _);
}
