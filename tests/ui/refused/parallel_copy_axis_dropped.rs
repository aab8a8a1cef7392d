//! A parallel copy keeps every axis.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>, y: &HbmTensor<i8, m![1], m![A]>) {
    let a = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let mut b = y.to_dm::<m![1 # 2], m![1 # 256], m![A]>(&mut ctx.tdma, 1 << 16);
    a.view().to_dm_view_pcopy(&mut ctx.sub, b.view_mut());
}

fn main() {}
