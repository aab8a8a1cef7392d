//! The largest that helpers take: rows, weights, and operands of a norm.

use furiosa_visa_std::kernels::{load_operand, load_weights, product, rms_norm, softmax};
use furiosa_visa_std::prelude::*;

axes![R = 1024, K = 8, N = 1024, C = 32, L = 8, J = 2040];

type Slice = m![1 # 256];

#[device(chip = 1)]
fn rows(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![R, K]>) {
    let x = x.to_dm::<m![1 # 2], Slice, m![R, K]>(&mut ctx.tdma, AUTO);
    let _: DmTensor<f32, _, _, _, _> = softmax(ctx, &x, 1.0);
}

#[device(chip = 1)]
fn weights(ctx: &mut Context, w: &HbmTensor<bf16, m![1], m![N, C]>) {
    let w = w.to_dm::<m![1 # 2], Slice, m![N, C]>(&mut ctx.tdma, AUTO);
    let x = w.view().tile::<m![N], 1, m![1 # 1024, C]>(0);
    let x = (ctx.main.begin(x).fetch::<bf16, m![1], m![C]>())
        .collect::<m![C / 16], m![C % 16]>()
        .commit::<m![1, C]>(AUTO);
    let w = load_weights::<_, m![N], m![C]>(ctx, &w, TrfAddress::Full);
    let _: DmTensor<f32, _, _, _, _> = product(ctx, &x, &w);
}

#[device(chip = 1)]
fn norm(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![L, J]>, scale: &HbmTensor<f32, m![1], m![J]>) {
    let x = x.to_dm::<m![1 # 2], Slice, m![L, J]>(&mut ctx.tdma, AUTO);
    let scale = scale.to_dm::<m![1 # 2], Slice, m![J]>(&mut ctx.tdma, AUTO);
    let scale = load_operand(ctx, &scale);
    let _: DmTensor<f32, _, _, _, _> = rms_norm(ctx, &x, Some(&scale), 1.0);
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<f32, m![R, K]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        launch(rows, (&mut *ctx, &x)).await;
        let w = HostTensor::<bf16, m![N, C]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        launch(weights, (&mut *ctx, &w)).await;
        let x = HostTensor::<f32, m![L, J]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        let scale = HostTensor::<f32, m![J]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        launch(norm, (&mut *ctx, &x, &scale)).await;
    });
}
