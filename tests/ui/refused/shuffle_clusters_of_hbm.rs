//! HBM has no clusters.

use furiosa_visa_std::prelude::*;

axes![A = 2, B = 64];

#[device(chip = 2)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![A], m![B]>) {
    let _ = ctx.tdma.hbm_cluster_shuffle(x, &[1, 0]);
}

fn main() {}
