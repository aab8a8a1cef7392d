//! Digits that leave the slices keep their order.

use furiosa_visa_std::prelude::*;

axes![A = 256, T = 8, P = 32, X = 4, Y = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, T, P]>) {
    let x = x.to_dm::<m![1 # 2], m![A], m![T, P]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()).fetch::<i8, m![T], m![P]>())
        .switch_to::<m![A / 32, X, Y], m![T, A % 8, A / 8 % 4]>();
}

fn main() {}
