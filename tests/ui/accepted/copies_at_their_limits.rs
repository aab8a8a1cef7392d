//! Eight chips, one chip, clusters and slices of padding, broadcasts, parts of axes anywhere, every context; handles and views.

use furiosa_visa_std::prelude::*;

axes![C = 2, G = 8, A = 256, V = 8, B = 64, N = 3];

#[device(chip = 8)]
fn chips(ctx: &mut Context, x: &HbmTensor<i8, m![G], m![V, B]>) -> HbmTensor<i8, m![G], m![V, B]> {
    let d = x.to_dm::<m![1 # 2], m![V # 256], m![B]>(&mut ctx.tdma, 0);
    let d = ctx.tdma.dm_chip_shuffle::<_, 8, _, _, _, _>(d.view(), &[7, 6, 5, 4, 3, 2, 1, 0]);
    let whole = x.to_dm::<m![1 # 2], m![1 # 256], m![V, B]>(&mut ctx.tdma, 4096);
    let _: DmTensor<i8, _, _, _, m![N, V % 2, B]> = ctx
        .sub
        .parallel_copy_chip_slice::<8, m![V / 2], m![1 # 4, V % 2, B], _, _, _, _, _, _>(whole.view(), &[3; 8]);
    let inner = [0, 1, 2, 3, 0, 1, 2, 3];
    let _: DmTensor<i8, _, _, _, m![V, B / 32, B % 8]> = ctx
        .sub
        .parallel_copy_chip_slice::<8, m![B / 8 % 4], m![V, B / 32, 1 # 4, B % 8], _, _, _, _, _, _>(whole.view(), &inner);
    let there = ctx.tdma.hbm_chip_shuffle(x, &[0; 8]);
    let _ = ctx.pdma.hbm_chip_shuffle(&there, &[1, 2, 3, 4, 5, 6, 7, 0]);
    d.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[device(chip = 1)]
fn clusters(ctx: &mut Context, x: &HbmTensor<bf16, m![1], m![C, A, B]>) {
    let d = x.to_dm::<m![C], m![A], m![B]>(&mut ctx.tdma, 0);
    let _ = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(d.view(), &[1, 0]);
    // A cluster of padding gets nothing, whatever its number is.
    let one = x.to_dm::<m![1 # 2], m![A], m![C, B]>(&mut ctx.tdma, 1024);
    let _ = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(one.view(), &[0, 1]);
    let _ = ctx.tdma.dm_chip_shuffle::<_, 1, _, _, _, _>(one.view(), &[0]);
    let _: DmTensor<bf16, _, _, _, m![1 # 4, B]> =
        ctx.sub.parallel_copy_cluster_slice::<2, m![C], m![1 # 2, B], _, _, _, _, _, _>(one.view(), &[1, 0]);
}

/// Any layout of 8 bytes; broadcasts; fewer bytes beside padding.
#[device(chip = 1)]
fn layouts(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>, y: &HbmTensor<i8, m![1], m![A, N, B]>) {
    let a = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0);
    let mut b = x.to_dm::<m![1 # 2], m![A % 2, A / 2], m![B]>(&mut ctx.tdma, 1024);
    a.to_dm_pcopy(&mut ctx.sub, &mut b);
    let spread = x.to_hbm::<{ Dma::Tensor }, m![A, B / 2, B % 2 # 8]>(&mut ctx.tdma, 1 << 20);
    let mut spread = spread.to_dm::<m![1 # 2], m![A], m![B / 2, B % 2 # 8]>(&mut ctx.tdma, 4096);
    a.to_dm_pcopy(&mut ctx.sub, &mut spread);
    let mut wide = y.to_dm::<m![1 # 2], m![A], m![N, B]>(&mut ctx.tdma, 2048);
    a.view().to_dm_view_pcopy(&mut ctx.sub, wide.view_mut());
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![G, V, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        let _ = launch(chips, (&mut *ctx, &x)).await;
    });
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<bf16, m![C, A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(clusters, (&mut *ctx, &x)).await;
        let x = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        let y = HostTensor::<i8, m![A, N, B]>::zero().to_hbm(&mut ctx.pdma, 1 << 21).await;
        launch(layouts, (&mut *ctx, &x, &y)).await;
    });
}
