//! A parallel copy slices an axis of `Element`.

use furiosa_visa_std::prelude::*;

axes![C = 2, V = 8, B = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![C, V, B]>) {
    let x = x.to_dm::<m![C], m![V # 256], m![B]>(&mut ctx.tdma, 0);
    let _: DmTensor<i8, _, _, _, m![B]> =
        ctx.sub.parallel_copy_cluster_slice::<2, m![V], m![B], _, _, _, _, _, _>(x.view(), &[0, 1]);
}

fn main() {}
