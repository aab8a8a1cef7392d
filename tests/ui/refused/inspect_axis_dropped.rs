//! A look at a tensor names every axis, also that of its copies.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 8];

fn kernel(ctx: &mut Context, x: &DmTensor<i8, m![1], m![1 # 2], m![A], m![B]>) {
    x.inspect::<m![B]>(ctx);
}

fn main() {
    let _ = kernel as fn(_, _);
}
