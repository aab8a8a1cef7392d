//! Moves, views, tiles, and rows by an index.

use furiosa_opt_std::prelude::*;

axes![A = 256, B = 64, T = 4, R = 1024, N = 16];

type Chip = m![1];
type Cluster = m![1 # 2];
type Slice = m![A];
type Images = HbmTensor<i8, Chip, m![T, A, B]>;
type Buffer = DmTensor<i8, Chip, Cluster, Slice, m![T, B]>;

/// Images into the tiles of a tensor that starts empty.
#[device(chip = 1)]
pub fn blocks(ctx: &mut Context, x: &Images, y: &mut Images) {
    let mut buffer: Buffer = DmTensor::new();
    let mut other = HbmTensor::<i8, Chip, m![T, A, B]>::new();
    buffer.view_mut().memset(-1, &mut ctx.sub);
    for block in 0..T::SIZE {
        let own = x.view().tile::<m![T], 1, m![1 # 4, A, B]>(block);
        let there = buffer.view_mut().tile::<m![T], 1, m![1 #{!} 4, B]>(block);
        own.to_dm_view::<_, Cluster, Slice, m![1 # 4, B]>(&mut ctx.tdma, there);
    }
    let tail = buffer.view_mut().tile::<m![T], 2, m![T = 2 #{!} 4, B]>(2);
    x.view().tile::<m![T], 2, m![T = 2 # 4, A, B]>(0).to_dm_view(&mut ctx.tdma, tail);
    buffer.view().to_hbm_view::<_, m![T, A, B]>(&mut ctx.tdma, y.view_mut());
    x.view().to_hbm_view::<{ Dma::Tensor }, _, m![T, A, B]>(&mut ctx.tdma, other.view_mut());
    let copy: Buffer = buffer.to_dm::<Slice, m![T, B]>(&mut ctx.tdma);
    copy.view().to_dm_view::<_, _, Slice, m![T, B]>(&mut ctx.tdma, buffer.view_mut());
}

/// Rows out of a table, and into it.
#[device(chip = 1)]
pub fn rows(
    ctx: &mut Context,
    table: &mut HbmTensor<bf16, Chip, m![R, B]>,
    offsets: &HbmTensor<i32, Chip, m![N]>,
) {
    let own = table.dma_gather_scaled::<Cluster, m![N # 256], m![B], _>(offsets);
    own.dma_scatter::<m![N], _, _>(offsets, table);
    let index: DmTensor<i32, Chip, Cluster, m![1 # 256], m![N]> = offsets.to_dm(&mut ctx.tdma);
    let same = table.dma_gather_unscaled::<_, _, _, Cluster, m![N # 256], m![B]>(&index);
    same.dma_scatter::<m![N], _, _>(offsets, table);
}

/// What a commit writes into a tile.
pub fn into_tile(ctx: &mut Context, x: &DmTensor<i8, Chip, Cluster, Slice, m![B]>, y: &mut Buffer) {
    let there = y.view_mut().tile::<m![T], 1, m![1 #{!} 4, B]>(3);
    (ctx.main.begin(x.view()).fetch::<m![B / 32], m![B % 32]>())
        .collect::<m![B / 32], m![B % 32]>()
        .commit_trim::<m![B % 32]>()
        .commit_view(there);
}
