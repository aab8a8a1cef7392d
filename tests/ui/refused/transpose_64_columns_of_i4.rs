//! A matrix of a transpose of 4-bit elements has 16 or 32 columns.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 16, C = 4];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i4, m![1], m![A, C, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, C, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i4, m![A, C], m![B]>()
        .collect::<m![A, C], m![B # 64]>()
        .transpose::<m![C, B], m![A # 64]>();
}

fn main() {}
