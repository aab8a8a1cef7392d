//! The sub context makes parallel copies.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let a = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0);
    let mut b = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 1024);
    a.to_dm_pcopy(&mut ctx.main, &mut b);
}

fn main() {}
