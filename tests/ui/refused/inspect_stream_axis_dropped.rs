//! A look at a stream names every axis, also that of the slices.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 32];

type X = DmTensor<i8, m![1], m![1 # 2], m![A], m![B]>;

fn kernel(ctx: &mut Context, x: &X) -> X {
    (ctx.main.begin(x.view()).fetch::<i8, m![1], m![B]>())
        .collect::<m![1], m![B]>()
        .inspect::<m![B]>(|packets| println!("{packets}"))
        .commit(AUTO)
}

fn main() {
    let _ = kernel as fn(_, _) -> _;
}
