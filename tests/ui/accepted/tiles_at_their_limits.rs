//! Tiles of every memory and dimension, at their first and last start; tiles of tiles; all values; relabeled tensors.

use furiosa_visa_std::prelude::*;

axes![C = 2, G = 4, S = 256, K = 24, B = 64, P = 7, X = 64];

#[device(chip = 4)]
fn chips(ctx: &mut Context, x: &HbmTensor<i8, m![G], m![K, B]>, out: &mut HbmTensor<i8, m![G], m![K, B]>) {
    for chip in 0..4 {
        let from = x.view().chip_tile::<m![G], 1, m![1 # 4]>(chip);
        from.to_hbm_view(&mut ctx.tdma, out.view_mut().chip_tile::<m![G], 1, m![1 # 4]>(3 - chip));
    }
    x.view().chip_tile::<m![G], 2, m![G = 2 # 4]>(2).tile::<m![K], 24, m![K, B]>(0);
}

#[device(chip = 1)]
fn units(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![C, S, B]>, out: &mut HbmTensor<i8, m![1], m![C, S, B]>) {
    let mut d = x.to_dm::<m![C], m![S], m![B]>(&mut ctx.tdma, 0);
    let view = d.view();
    let one = view.cluster_tile::<m![C], 1, m![1 # 2]>(1).slice_tile::<m![S / 64], 1, m![1 # 4, S % 64]>(3);
    let bytes = one.tile::<m![B / 8], 2, m![B / 8 = 2 # 8, B % 8]>(6);
    let there = out.view_mut().tile::<m![C], 1, m![1 # 2, S, B]>(0).tile::<m![S / 64], 1, m![1 # 2, 1 # 4, S % 64, B]>(0);
    let mut there = there;
    bytes.to_hbm_view(&mut ctx.tdma, there.tile::<m![B / 8], 2, m![1 # 2, 1 # 4, S % 64, B / 8 = 2 # 8, B % 8]>(6));
    let mut all = d.view_mut();
    all.slice_tile::<m![S], 256, m![S]>(0);
    all.chip_tile::<m![1], 1, m![1]>(0);
}

/// A ragged last tile, several at a time to write, and a view that was made from a tile to write.
#[device(chip = 1)]
fn split(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![P # 8, B]>, out: &mut HbmTensor<i8, m![1], m![P # 8, B]>) {
    x.view().tile::<m![P # 8 / 4], 1, m![1 # 2, P # 8 % 4, B]>(1);
    let rows = x.view().tiles::<m![P], 1, m![1 # 8, B]>();
    let mut there: Vec<_> = out.view_mut().split_tiles_mut::<m![P], 1, m![1 # 8, B]>().collect();
    assert_eq!((rows.len(), there.len()), (7, 7));
    for row in rows.rev() {
        row.to_hbm_view(&mut ctx.tdma, there.pop().expect("as many"));
    }
    let tile: HbmTensorView<'_, i8, m![1], m![1 # 8, B]> = out.view_mut().tile::<m![P], 1, m![1 # 8, B]>(6).into();
    tile.to_hbm::<{ Dma::Tensor }, m![B]>(&mut ctx.tdma, 1 << 30).relabel::<m![1], m![X / 8, X % 8]>();
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let host = HostTensor::<i8, m![G, K, B]>::zero();
        let x = host.to_hbm(&mut ctx.pdma, 0).await;
        let mut y = host.to_hbm(&mut ctx.pdma, 1 << 24).await;
        launch(chips, (&mut *ctx, &x, &mut y)).await;
    });
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let host = HostTensor::<i8, m![C, S, B]>::zero();
        let x = host.to_hbm(&mut ctx.pdma, 0).await;
        let mut y = host.to_hbm(&mut ctx.pdma, 1 << 24).await;
        launch(units, (&mut *ctx, &x, &mut y)).await;
        let host = HostTensor::<i8, m![P, B]>::zero();
        let x = host.to_hbm(&mut ctx.pdma, 0).await;
        let mut y = host.to_hbm(&mut ctx.pdma, 1 << 24).await;
        launch(split, (&mut *ctx, &x, &mut y)).await;
    });
}
