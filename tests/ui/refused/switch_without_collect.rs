//! Packets that were exchanged are collected before they meet weights or are cast.

use furiosa_visa_std::prelude::*;

axes![A = 256, T = 8, P = 8, X = 4];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i32, m![1], m![A, T, P]>) {
    let x = x.to_dm::<m![1 # 2], m![A], m![T, P]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()).fetch::<i32, m![T], m![P]>())
        .switch_to::<m![A / 32, X, A % 8], m![T, A / 8 % 4]>()
        .cast::<i8, m![P # 32]>();
}

fn main() {}
