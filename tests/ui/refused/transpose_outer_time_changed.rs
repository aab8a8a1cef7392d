//! Time outside of the rows stays as it is.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 8, S = 2, T = 3];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, T, A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![S, T, A, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i8, m![S, T, A], m![B]>()
        .collect::<m![S, T, A], m![B # 32]>()
        .transpose::<m![T, S, B], m![A # 32]>();
}

fn main() {}
