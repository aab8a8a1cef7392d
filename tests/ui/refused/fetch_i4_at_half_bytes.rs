//! A fetch starts at a whole byte: packets may not step by one 4-bit element.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 16];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i4, m![1], m![B, A]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![B, A]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch::<i4, m![B, A], m![1 # 16]>();
}

fn main() {}
