//! Memsets of all of DM, of one element, of half bytes, of ragged parts, of several chips; values of the run.

use furiosa_visa_std::prelude::*;

axes![G = 8, C = 2, A = 256, L = 130048, B = 13, N = 3];

#[device(chip = 8)]
fn everywhere(ctx: &mut Context, value: i32) {
    let mut most = DmTensor::<i32, m![G], m![C], m![A], m![L]>::new(ctx);
    most.view_mut().memset(value, &mut ctx.sub);
}

#[device(chip = 1)]
fn shapes(ctx: &mut Context, value: f32) {
    let mut one = DmTensor::<f32, m![1], m![1 # 2], m![1 # 256], m![1]>::new(ctx);
    one.view_mut().memset(value, &mut ctx.sub);
    let mut halves = DmTensor::<i4, m![1], m![1 # 2], m![A], m![N, B # 16]>::new(ctx);
    halves.view_mut().memset(i4::from_i32(-8), &mut ctx.sub);
    let mut ragged = DmTensor::<i16, m![1], m![C], m![B # 16 / 4 # 256], m![N # 8, B # 16 % 4]>::new(ctx);
    ragged.view_mut().memset(i16::MIN, &mut ctx.sub);
    let mut cut = DmTensor::<bf16, m![1], m![1 # 2], m![A], m![B = 3 # 8]>::new(ctx);
    cut.view_mut().memset(bf16::from_f32(value), &mut ctx.sub);
    halves.view_mut().tile::<m![N], 1, m![1 # 3, B # 16]>(2).memset(i4::from_i32(7), &mut ctx.sub);
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::with(SimOptions { chips: Some(8), ..SimOptions::default() });
        launch(everywhere, (&mut *ctx, -1)).await;
        let mut ctx = Context::acquire();
        launch(shapes, (&mut *ctx, 0.5)).await;
    });
}
