//! A look at a stream wants what the stream holds.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 16];

type X = DmTensor<i8, m![1], m![1 # 2], m![A], m![B]>;

fn kernel(ctx: &mut Context, x: &X) -> DmTensor<i8, m![1], m![1 # 2], m![A], m![B = 8 # 32]> {
    (ctx.main.begin(x.view()).fetch::<i8, m![1], m![B = 8]>())
        .collect::<m![1], m![B = 8 # 32]>()
        .inspect::<m![A, B]>(|packets| println!("{packets}"))
        .commit(AUTO)
}

fn main() {
    let _ = kernel as fn(_, _) -> _;
}
