//! A parallel copy writes 8 bytes at a time.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>, y: &HbmTensor<i8, m![1], m![A, B]>) {
    let a = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0);
    let turned = y.to_hbm::<{ Dma::Tensor }, m![A, B % 8, B / 8]>(&mut ctx.tdma, 1 << 20);
    let mut b = turned.to_dm::<m![1 # 2], m![A], m![B % 8, B / 8]>(&mut ctx.tdma, 1 << 16);
    a.view().to_dm_view_pcopy(&mut ctx.sub, b.view_mut());
}

fn main() {}
