//! Packets are exchanged after they are read.

use furiosa_visa_std::prelude::*;

axes![A = 256, T = 8, P = 32, X = 4];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, T, P]>) {
    let x = x.to_dm::<m![1 # 2], m![A], m![T, P]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).switch_to::<m![A / 32, X, A % 8], m![T, A / 8 % 4]>();
}

fn main() {}
