//! Exactly two tensors are interleaved.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8, I = 3];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let lhs = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let rhs = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 1024);
    let begin = ctx.main.begin_interleaved::<I, _, _, _, _, _>(lhs.view(), rhs.view());
    let _ = begin.fetch::<i8, m![A, I], m![B]>();
}

fn main() {}
