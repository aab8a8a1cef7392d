//! A transpose takes flits, also of packets that were exchanged.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 8, T = 8, X = 2];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, T, B]>) {
    let x = x.to_dm::<m![1 # 2], m![A], m![T, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i8, m![T], m![B]>()
        .switch_to::<m![A / 2, X], m![T, A % 2]>()
        .transpose::<m![T, B], m![A % 2 # 32]>();
}

fn main() {}
