//! Tensors have their bytes from their first to their last use.

use furiosa_opt_std::prelude::*;
use furiosa_opt_std::runtime::Compute;

axes![S = 256, T = 6, C = 131072];

type Rows = DmTensor<i8, m![1], m![1 # 2], m![S], m![C]>;

/// Shadowed tensors of 128 KiB: six in turn, of which three are live at once. By scope they would take 768 KiB of the
/// 512 KiB of a slice.
#[device]
fn shadowed(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![T, S, C]>) -> HbmTensor<i8, m![1], m![T, S, C]> {
    let mut result = HbmTensor::<i8, m![1], m![T, S, C]>::new();
    for t in 0..6 {
        let block = x.view().tile::<m![T], 1, m![1 # 6, S, C]>(t);
        let y: Rows = block.to_dm(&mut ctx.tdma);
        let y: Rows = y.to_dm(&mut ctx.tdma);
        let y: Rows = y.to_dm(&mut ctx.tdma);
        let y: Rows = y.to_dm(&mut ctx.tdma);
        let y: Rows = y.to_dm(&mut ctx.tdma);
        y.view().to_hbm_view(&mut ctx.tdma, result.view_mut().tile::<m![T], 1, m![1 # 6, S, C]>(t));
    }
    result
}

#[test]
fn shadowed_tensors_cost_nothing_after_their_last_use() {
    let mut ctx = context();
    pollster::block_on(async {
        let x = HbmTensor::<i8, m![1], m![T, S, C]>::new();
        let _ = launch(shadowed, (&mut *ctx, &x)).await;
    });
    assert!(ctx.report().totals.end > 0);
}

/// `N` tensors of 128 KiB are live at once.
fn at_once<const N: usize>(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![S, C]>,
    y: &mut HbmTensor<i8, m![1], m![T, S, C]>,
) {
    let all: [Rows; N] = core::array::from_fn(|_| x.to_dm(&mut ctx.tdma));
    for (t, one) in all.iter().enumerate() {
        one.view().to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![T], 1, m![1 # 6, S, C]>(t));
    }
}

#[device]
fn four(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, C]>, y: &mut HbmTensor<i8, m![1], m![T, S, C]>) {
    at_once::<4>(ctx, x, y);
}

#[device]
fn five(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, C]>, y: &mut HbmTensor<i8, m![1], m![T, S, C]>) {
    at_once::<5>(ctx, x, y);
}

fn context() -> Acquired {
    Context::with(SimOptions { compute: Compute::ShapesOnly, ..SimOptions::default() })
}

#[test]
fn as_much_as_a_slice_holds_is_alive_at_once() {
    let mut ctx = context();
    pollster::block_on(async {
        let x = HbmTensor::<i8, m![1], m![S, C]>::new();
        let mut y = HbmTensor::<i8, m![1], m![T, S, C]>::new();
        launch(four, (&mut *ctx, &x, &mut y)).await;
    });
    assert!(ctx.report().totals.end > 0);
}

#[test]
#[should_panic(expected = "fault: to_dm: capacity exceeded: 131072 bytes do not fit")]
fn too_much_alive_at_once_is_refused() {
    let mut ctx = context();
    pollster::block_on(async {
        let x = HbmTensor::<i8, m![1], m![S, C]>::new();
        let mut y = HbmTensor::<i8, m![1], m![T, S, C]>::new();
        launch(five, (&mut *ctx, &x, &mut y)).await;
    });
}
