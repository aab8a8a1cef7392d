//! A kernel that is refused is one error, also where it is launched.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
async fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) -> HbmTensor<i8, m![1], m![A]> {
    x.to_hbm(&mut ctx.tdma, 1 << 20)
}

async fn program(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    let y = launch(kernel, (&mut *ctx, x)).await;
    y.to_host::<m![A]>(&mut ctx.pdma).await;
}

fn main() {}
