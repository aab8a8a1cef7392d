//! Packets of 8 bytes, 256 slices, 8 sequencer entries, 65536 iterations, single bytes in the main context.

use furiosa_visa_std::chip::CheckOptions;
use furiosa_visa_std::prelude::*;

axes![A = 256, B = 8, X = 65536, C = 2, D = 2, E = 2, F = 2, G = 2, H = 2, I = 2];

#[device(chip = 1)]
fn slices(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch::<i8, m![1], m![B]>();
}

#[device(chip = 1)]
fn entries(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![C, D, E, F, G, H, I, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![C, D, E, F, G, H, I, B]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch::<i8, m![I, H, G, F, E, D, C], m![B]>();
}

#[device(chip = 1)]
fn iterations(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![B]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch::<i8, m![X], m![B]>();
}

#[device(chip = 1)]
fn part(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A % 2, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A % 2, B]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch::<i8, m![A % 2], m![B]>();
}

#[device(chip = 1)]
fn single_bytes(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A % 8, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A % 8, B]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch::<i8, m![B], m![A % 8]>();
}

#[device(chip = 1)]
fn sub_context(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A % 8, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A % 8, B]>(&mut ctx.tdma, 0);
    let _ = ctx.sub.begin(x.view()).fetch::<i8, m![A % 8], m![B]>();
}

#[device(chip = 1)]
fn pairs_of_i4(ctx: &mut Context, x: &HbmTensor<i4, m![1], m![A % 8, B, C]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A % 8, B, C]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch::<i4, m![B], m![A % 8, C]>();
}

fn main() {
    pollster::block_on(async {
        // Streams are begun for their types alone.
        let checks = CheckOptions { dropped_streams: false, ..CheckOptions::ALL };
        let mut ctx = Context::with(SimOptions { checks, ..SimOptions::default() });
        let x = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(slices, (&mut ctx, &x)).await;
        let x = HostTensor::<i8, m![C, D, E, F, G, H, I, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(entries, (&mut ctx, &x)).await;
        let x = HostTensor::<i8, m![B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(iterations, (&mut ctx, &x)).await;
        let x = HostTensor::<i8, m![A % 2, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(part, (&mut ctx, &x)).await;
        let x = HostTensor::<i8, m![A % 8, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(single_bytes, (&mut ctx, &x)).await;
        let x = HostTensor::<i8, m![A % 8, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(sub_context, (&mut ctx, &x)).await;
        let x = HostTensor::<i4, m![A % 8, B, C]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(pairs_of_i4, (&mut ctx, &x)).await;
    });
}
