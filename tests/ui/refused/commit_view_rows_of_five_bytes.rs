//! The packets of a commit into a tile start at multiples of 8 bytes.

use furiosa_visa_std::prelude::*;

axes![S = 256, T = 4, Q = 2, R = 5];

type Out<'l> = DmTensorViewMut<'l, i8, m![1], m![1 # 2], m![S], m![1 # 2, T, R]>;

fn kernel<'l>(ctx: &'l mut Context, x: &DmTensor<i8, m![1], m![1 # 2], m![S], m![T, R # 8]>, out: Out<'l>) {
    let stream = ctx.main.begin(x.view()).fetch::<i8, m![T], m![R # 8]>();
    stream.collect::<m![T], m![R # 32]>().commit_view(out);
}

fn main() {
    std::hint::black_box(kernel as fn(_, _, _));
}
