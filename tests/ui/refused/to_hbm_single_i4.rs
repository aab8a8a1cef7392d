//! A transfer moves whole bytes.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 16];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i4, m![1], m![A, B]>) {
    x.to_hbm::<{ Dma::Tensor }, m![B, A]>(&mut ctx.tdma, 1024);
}

fn main() {}
