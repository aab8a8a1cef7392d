//! A stream that does not end does nothing.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
#[deny(unused_must_use)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A]>(&mut ctx.tdma, 0);
    ctx.main.begin(x.view()).fetch::<i8, m![1], m![A]>();
}

fn main() {}
