//! Stages of the fetch adapter at their limits, in the contexts that have them.

use furiosa_visa_std::chip::CheckOptions;
use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8, I = 2];
type Cluster = m![1 # 2];
type Slice = m![1 # 256];

#[device(chip = 1)]
fn tables(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, 0);
    let same = LookupTable::from_fn(|x: i8| x);
    let _ = ctx.main.begin(x.view()).fetch_with_table::<i8, m![A], m![B]>(&same);
    let _ = ctx.main.begin(x.view()).fetch_with_table::<i9, m![A], m![B]>(&same);
    let wide = LookupTable::from_fn(|x: i8| bf16::from_f32(f32::from(x)));
    let _ = ctx.main.begin(x.view()).fetch_with_table::<f32, m![A], m![B]>(&wide);
    let lhs = x.view();
    let _ = (ctx.main.begin_interleaved::<I, _, _, _, _, _>(lhs, x.view()))
        .fetch_with_table::<bf16, m![A, I], m![B]>(&wide);
}

#[device(chip = 1)]
fn zero_points(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch_with_zero_point::<i32, m![A], m![B]>(-128);
    let _ = ctx.main.begin(x.view()).fetch_with_zero_point::<i9, m![A], m![B]>(127);
    let _ = ctx.sub.begin(x.view()).fetch_with_zero_point::<i32, m![A], m![B]>(127);
    let _ = (ctx.sub.begin_interleaved::<I, _, _, _, _, _>(x.view(), x.view()))
        .fetch_with_zero_points::<i32, m![A, I], m![B]>([-128, 127]);
    let _ = (ctx.main.begin_interleaved::<I, _, _, _, _, _>(x.view(), x.view()))
        .fetch_with_zero_point::<i9, m![I, A], m![B]>(3);
}

#[device(chip = 1)]
fn masks(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).pad_value(-1).fetch::<i8, m![A], m![B # 16]>();
    let _ = ctx.main.begin(x.view()).pad_value(-1).fetch::<i8, m![A], m![B]>();
}

fn main() {
    pollster::block_on(async {
        // Streams are begun for their types alone.
        let checks = CheckOptions { dropped_streams: false, ..CheckOptions::ALL };
        let mut ctx = Context::with(SimOptions { checks, ..SimOptions::default() });
        let x = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(tables, (&mut ctx, &x)).await;
        launch(zero_points, (&mut ctx, &x)).await;
        launch(masks, (&mut ctx, &x)).await;
    });
}
