//! A zero point is a number of the stored type: 128 is no i8.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch_with_zero_point::<i32, m![1], m![A]>(128);
}

fn main() {}
