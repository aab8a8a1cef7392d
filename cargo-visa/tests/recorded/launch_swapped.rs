//! Uploads that name no mapping get those of the arguments of a launch: the error is the launch's.

use furiosa_visa_std::prelude::*;

axes![M = 256, N = 8, K = 32];

#[device(chip = 1)]
fn kernel(_: &mut Context, _: &HbmTensor<bf16, m![1], m![M, K]>, _: &HbmTensor<bf16, m![1], m![N, K]>) {}

async fn host(mut ctx: impl core::ops::DerefMut<Target = Context>) {
    let a = HostTensor::<bf16, m![M, K]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
    let b = HostTensor::<bf16, m![N, K]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
    launch(kernel, (&mut *ctx, &b, &a)).await;
    let c = HostTensor::<bf16, m![M, K]>::zero().to_hbm::<m![1], m![M, K]>(&mut ctx.pdma, AUTO).await;
    let d = HostTensor::<bf16, m![K, M]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
    launch(kernel, (&mut *ctx, &c, &d)).await;
}

fn main() {
    pollster::block_on(host(Context::acquire()));
}
