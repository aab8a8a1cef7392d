//! A matrix of a transpose has 8, 16 or 32 columns.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 8, C = 3];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, C, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, C, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i8, m![A, C], m![B]>()
        .collect::<m![A, C], m![B # 32]>()
        .transpose::<m![C, B], m![A # 32]>();
}

fn main() {}
