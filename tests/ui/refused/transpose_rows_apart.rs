//! The rows of a transpose follow each other in Time.

use furiosa_visa_std::prelude::*;

axes![A = 2, B = 8, C = 2, D = 2];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, D, C, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, D, C, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i8, m![A, D, C], m![B]>()
        .collect::<m![A, D, C], m![B # 32]>()
        .transpose::<m![D, B], m![[A, C] # 32]>();
}

fn main() {}
