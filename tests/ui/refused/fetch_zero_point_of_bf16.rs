//! Zero points belong to quantised integers.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<bf16, m![1], m![A]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch_with_zero_point::<f32, m![1], m![A]>(bf16::from_f32(1.0));
}

fn main() {}
