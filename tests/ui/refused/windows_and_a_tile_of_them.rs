//! A tile is taken before the windows.

use furiosa_visa_std::prelude::*;

axes![N = 256, H = 8, W = 16, OH = 6, KH = 3];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, H, W]>) {
    let x = x.to_dm::<m![1 # 2], m![N], m![H, W]>(&mut ctx.tdma, 0);
    let view = x.view().windows::<m![H], m![OH], m![KH], 1, 1>();
    let half = view.tile::<m![W / 8], 1, m![H, 1 # 2, W % 8]>(1);
    view.tiles::<m![W / 8], 1, m![H, 1 # 2, W % 8]>();
    view.slice_tile::<m![N / 128], 1, m![1 # 2, N % 128]>(0);
    view.cluster_tile::<m![1], 1, m![1 # 2]>(0);
    view.chip_tile::<m![1], 1, m![1]>(0);
    ctx.main.begin(half).fetch::<i8, m![OH, KH], m![W % 8]>();
}

fn main() {}
