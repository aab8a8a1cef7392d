//! What was transposed is not cast.

use furiosa_visa_std::prelude::*;

axes![A = 2, B = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i32, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i32, m![A], m![B]>()
        .collect::<m![A], m![B]>()
        .transpose::<m![B], m![A # 8]>()
        .cast::<i8, m![A # 32]>();
}

fn main() {}
