//! A tensor is read before its packets are trimmed.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).commit_trim::<m![B]>();
}

fn main() {}
