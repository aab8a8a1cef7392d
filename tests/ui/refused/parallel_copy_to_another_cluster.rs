//! A parallel copy stays in its cluster.

use furiosa_visa_std::prelude::*;

axes![C = 2, A = 256, B = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![C, A, B]>) {
    let a = x.to_dm::<m![C], m![A], m![B]>(&mut ctx.tdma, 0);
    let mut b = x.to_dm::<m![1 # 2], m![A], m![C, B]>(&mut ctx.tdma, 1024);
    a.to_dm_pcopy(&mut ctx.sub, &mut b);
}

fn main() {}
