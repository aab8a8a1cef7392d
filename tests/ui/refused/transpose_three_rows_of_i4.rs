//! The rows of a transpose are whole bytes.

use furiosa_visa_std::prelude::*;

axes![A = 3, B = 16];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i4, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i4, m![A], m![B]>()
        .collect::<m![A], m![B # 64]>()
        .transpose::<m![B], m![A # 64]>();
}

fn main() {}
