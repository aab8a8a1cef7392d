//! An upload is awaited before its tensor is used.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) -> HbmTensor<i8, m![1], m![A]> {
    x.to_hbm(&mut ctx.tdma, 1 << 20)
}

async fn program(ctx: &mut Context, x: &HostTensor<i8, m![A]>) {
    let x = x.to_hbm::<m![1], m![A]>(&mut ctx.pdma, 0);
    launch(kernel, (&mut *ctx, &x)).await;
}

fn main() {}
