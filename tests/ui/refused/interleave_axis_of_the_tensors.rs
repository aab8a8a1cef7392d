//! The axis that tells the tensors apart is none of theirs.

use furiosa_visa_std::prelude::*;

axes![A = 2, B = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let lhs = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let rhs = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 1024);
    let begin = ctx.main.begin_interleaved::<A, _, _, _, _, _>(lhs.view(), rhs.view());
    let _ = begin.fetch::<i8, m![A], m![B]>();
}

fn main() {}
