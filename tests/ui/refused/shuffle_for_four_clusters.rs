//! The constant of a shuffle is the size of `Cluster`.

use furiosa_visa_std::prelude::*;

axes![C = 2, B = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![C, B]>) {
    let x = x.to_dm::<m![C], m![1 # 256], m![B]>(&mut ctx.tdma, 0);
    let _ = ctx.tdma.dm_cluster_shuffle::<_, 4, _, _, _, _>(x.view(), &[1, 0, 3, 2]);
}

fn main() {}
