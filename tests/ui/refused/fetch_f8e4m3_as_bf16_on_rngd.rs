//! Only RNGD-S casts f8e4m3 to bf16.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 16];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<f8e4m3, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view())).fetch::<bf16, m![A], m![B]>();
}

fn main() {}
