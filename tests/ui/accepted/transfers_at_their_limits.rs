//! Runs of 8 bytes to DM, shorter ones with 8 bytes to themselves, single bytes to HBM; re-layout, padding and broadcast.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8, C = 3];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let dma = &mut ctx.tdma;
    let y = x.to_dm::<m![1 # 2], m![1 # 256], m![C, A # 6, B # 16]>(dma, 0);
    y.to_dm::<m![A # 256], m![B, C]>(dma, 4096);
    y.to_hbm::<m![C, B, A]>(dma, 4096);
    x.to_dm::<m![1 # 2], m![A / 2 # 256], m![A % 2, B]>(dma, 8192);
    x.to_hbm::<{ Dma::Tensor }, m![B, A # 5]>(dma, 8192);
}

#[device(chip = 1)]
fn scalar(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![1]>, y: &HbmTensor<i8, m![1], m![C]>) {
    x.to_dm::<m![1 # 2], m![A # 256], m![1 # 2]>(&mut ctx.tdma, 0);
    y.to_dm::<m![1 # 2], m![1 # 256], m![C # 8]>(&mut ctx.tdma, 8);
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(kernel, (&mut ctx, &x)).await;
        let x = HostTensor::<f32, m![1]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        let y = HostTensor::<i8, m![C]>::zero().to_hbm(&mut ctx.pdma, 8).await;
        launch(scalar, (&mut ctx, &x, &y)).await;
    });
}
