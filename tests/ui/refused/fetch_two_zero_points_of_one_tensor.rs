//! Two zero points need two tensors, interleaved.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch_with_zero_points::<i32, m![1], m![A]>([1, 2]);
}

fn main() {}
