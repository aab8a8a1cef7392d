//! Tables alone convert floats of four bits.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<f4e2m1, m![1], m![A # 16]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A # 16]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch::<f32, m![1], m![A]>();
}

fn main() {}
