//! The axis of copies is in one place of the slices of a custom switch.

use furiosa_visa_std::prelude::*;

axes![A = 256, T = 8, P = 32, X = 4, Y = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, T, P]>) {
    let x = x.to_dm::<m![1 # 2], m![A], m![T, P]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()).fetch::<i8, m![T], m![P]>())
        .switch_to::<m![A / 32, X % 2, A / 2 % 8, X / 2], m![T, A / 16 % 2, A % 2]>();
}

fn main() {}
