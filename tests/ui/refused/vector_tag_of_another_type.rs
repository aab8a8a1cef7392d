//! A comparison has the type of the stream.

use furiosa_visa_std::prelude::*;

axes![S = 256, L = 8];

type X = DmTensor<f32, m![1], m![1 # 2], m![S], m![L]>;

fn kernel(ctx: &mut Context, x: &X, b: &VrfTensor<f32, m![1], m![1 # 2], m![S], m![L]>) -> X {
    (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
        .vector_init()
        .vector_intra_slice_tag(TagMode::Comparison([Cmp::Less(0), Cmp::False, Cmp::False, Cmp::False]))
        .vector_clip(ClipBinaryOpF32::Add, b)
        .vector_final()
        .commit(AUTO)
}

fn main() {
    std::hint::black_box(kernel as fn(_, _, _) -> _);
}
