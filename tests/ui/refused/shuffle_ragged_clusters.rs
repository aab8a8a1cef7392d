//! All clusters that hold elements hold them at the same positions.

use furiosa_visa_std::prelude::*;

axes![A = 40, B = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<m![A # 48 / 24], m![A # 48 % 24 # 256], m![B]>(&mut ctx.tdma, 0);
    let _ = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(x.view(), &[1, 0]);
}

fn main() {}
