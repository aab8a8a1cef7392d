//! A launch is awaited before its result is used.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) -> HbmTensor<i8, m![1], m![A]> {
    x.to_hbm(&mut ctx.tdma, 1 << 20)
}

async fn program(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    let y = launch(kernel, (&mut *ctx, x));
    y.to_host::<m![A]>(&mut ctx.pdma).await;
}

fn main() {}
