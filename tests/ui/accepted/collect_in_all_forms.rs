//! Short packets are padded to a flit, long ones give several, the last one padded, also where the call names no mapping.

use furiosa_visa_std::chip::CheckOptions;
use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8, C = 48];

#[device(chip = 1)]
fn short(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch::<i8, m![A], m![B]>().collect::<m![A], m![B # 32]>();
    let _ = ctx.main.begin(x.view()).fetch::<i8, m![A], m![B]>().collect_flits();
}

#[device(chip = 1)]
fn long(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, C]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, C]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()).fetch::<i8, m![A], m![C]>())
        .collect::<m![A, C # 64 / 32], m![C # 64 % 32]>();
    let y: DmTensor<i8, m![1], m![1 # 2], m![1 # 256], m![A, C # 64]> =
        ctx.main.begin(x.view()).fetch::<i8, m![A], m![C]>().collect_flits().commit(AUTO);
    let _ = (ctx.sub.begin(y.view()).fetch::<i8, m![A], m![C]>())
        .collect_flits()
        .to_trf::<m![A], m![C # 64]>(TrfAddress::Full);
}

#[device(chip = 1)]
fn several_axes(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch::<i8, m![1], m![A, B]>().collect::<m![1], m![A, B]>();
    let _ = ctx.main.begin(x.view()).fetch::<i8, m![1], m![A, B]>().collect_flits();
}

fn main() {
    pollster::block_on(async {
        // Streams are begun for their types alone.
        let checks = CheckOptions { dropped_streams: false, ..CheckOptions::ALL };
        let mut ctx = Context::with(SimOptions { checks, ..SimOptions::default() });
        let x = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(short, (&mut ctx, &x)).await;
        let x = HostTensor::<i8, m![A, C]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(long, (&mut ctx, &x)).await;
        let x = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(several_axes, (&mut ctx, &x)).await;
    });
}
