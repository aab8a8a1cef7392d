//! Rows of 8 bytes; rows that are padded, inside, in pages; keys in slices and elements; broadcasts; a permutation by an index
//! that has the axis of the table; every form of index.

use furiosa_visa_std::prelude::*;

axes![V = 100, W = 8, H = 64, S = 4, T = 2, R = 96, B = 3, C = 2];

type One = m![1];
type Ids = HbmTensor<i32, One, m![S]>;

#[device(chip = 1)]
fn gathers(ctx: &mut Context, table: &HbmTensor<i8, One, m![V, H]>, short: &HbmTensor<i8, One, m![V, W]>, ids: &Ids) {
    let _ = short.dma_gather_rows::<m![1 # 2], m![S # 256], m![W], _>(&mut ctx.tdma, ids, 0);
    // An index in clusters, slices and elements; broadcasts; rows in any order.
    let _ = table.dma_gather_rows::<m![C], m![B, S # 16], m![H], _>(&mut ctx.tdma, ids, 0);
    let _ = table.dma_gather_rows::<m![S / 2], m![1 # 256], m![S % 2, H], _>(&mut ctx.tdma, &ids.view(), 0);
    let offsets = table.dma_gather::<m![1 # 2], m![H / 8, S # 32], m![H % 8], _>(ids, 0);
    let in_dm = ids.to_dm::<m![1 # 2], m![1 # 256], m![S]>(&mut ctx.tdma, 4096);
    let mut rows = table.dma_gather_rows::<m![1 # 2], m![S # 256], m![H], _>(&mut ctx.tdma, &in_dm, 0);
    table.view().dma_gather_rows_view(&mut ctx.tdma, &in_dm.view(), rows.view_mut());
    table.view().dma_gather_view(&mut ctx.tdma, ids, rows.view_mut());
    let _ = offsets;
}

/// `R / 16` is indexed: 96 slots in pages of 16. Rows inside of the table, and padded ones. An index over the rows themselves.
#[device(chip = 1)]
fn tables(
    ctx: &mut Context,
    pages: &HbmTensor<i8, One, m![R, H]>,
    inside: &HbmTensor<i8, One, m![T, V, H]>,
    padded: &HbmTensor<i8, One, m![V, W # 16]>,
    ids: &Ids,
    order: &HbmTensor<i32, One, m![R]>,
) {
    let _ = pages.dma_gather_rows::<m![1 # 2], m![S # 256], m![R % 16, H], _>(&mut ctx.tdma, ids, 0);
    let _ = inside.dma_gather_rows::<m![1 # 2], m![S # 256], m![T, H], _>(&mut ctx.tdma, ids, 0);
    let _ = padded.dma_gather_rows::<m![1 # 2], m![S # 256], m![W], _>(&mut ctx.tdma, ids, 0);
    let _ = pages.dma_gather_rows::<m![1 # 2], m![R # 256], m![H], _>(&mut ctx.tdma, order, 0);
}

/// Single bytes, keys in any place, padded keys.
#[device(chip = 1)]
fn scatters(
    ctx: &mut Context,
    x: &HbmTensor<i8, One, m![S, T, H]>,
    ids: &HbmTensor<i32, One, m![S, T]>,
    few: &Ids,
    cache: &mut HbmTensor<i8, One, m![V, H]>,
    wide: &mut HbmTensor<i8, One, m![H, V, T # 3]>,
) {
    let x = x.to_dm::<m![1 # 2], m![S # 256], m![T, H]>(&mut ctx.tdma, 0);
    x.dma_scatter::<m![S, T], _, _>(ids, cache, false);
    x.dma_scatter::<m![S, T], _, _>(ids, cache, true);
    x.dma_scatter_rows(&mut ctx.tdma, ids, cache, Duplicates::LastWins);
    x.view().dma_scatter_rows_view(&mut ctx.tdma, few, wide.view_mut(), Duplicates::Equal);
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let zeros = HostTensor::<i32, m![S]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        let table = HostTensor::<i8, m![V, H]>::zero().to_hbm(&mut ctx.pdma, 1 << 20).await;
        let short = HostTensor::<i8, m![V, W]>::zero().to_hbm(&mut ctx.pdma, 2 << 20).await;
        launch(gathers, (&mut *ctx, &table, &short, &zeros)).await;
        let pages = HostTensor::<i8, m![R, H]>::zero().to_hbm(&mut ctx.pdma, 3 << 20).await;
        let inside = HostTensor::<i8, m![T, V, H]>::zero().to_hbm(&mut ctx.pdma, 4 << 20).await;
        let padded = HostTensor::<i8, m![V, W]>::zero().to_hbm(&mut ctx.pdma, 5 << 20).await;
        let order = HostTensor::<i32, m![R]>::zero().to_hbm(&mut ctx.pdma, 6 << 20).await;
        launch(tables, (&mut *ctx, &pages, &inside, &padded, &zeros, &order)).await;
        let x = HostTensor::<i8, m![S, T, H]>::zero().to_hbm(&mut ctx.pdma, 7 << 20).await;
        let ids = HostTensor::<i32, m![S, T]>::zero().to_hbm(&mut ctx.pdma, 8 << 20).await;
        let mut cache = HostTensor::<i8, m![V, H]>::zero().to_hbm(&mut ctx.pdma, 9 << 20).await;
        let mut wide = HostTensor::<i8, m![H, V, T]>::zero().to_hbm(&mut ctx.pdma, 10 << 20).await;
        launch(scatters, (&mut *ctx, &x, &ids, &zeros, &mut cache, &mut wide)).await;
    });
}
