//! The constant of a copy of parts is the size of `Cluster`.

use furiosa_visa_std::prelude::*;

axes![C = 2, V = 8, B = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![C, V, B]>) {
    let x = x.to_dm::<m![C], m![1 # 256], m![V, B]>(&mut ctx.tdma, 0);
    let _: DmTensor<i8, _, _, _, m![B]> =
        ctx.sub.parallel_copy_cluster_slice::<4, m![V], m![1 # 8, B], _, _, _, _, _, _>(x.view(), &[0, 1, 2, 3]);
}

fn main() {}
