//! A transfer keeps all positions of an axis.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    x.to_dm::<m![1 # 2], m![1 # 256], m![A % 2, B]>(&mut ctx.tdma, 0);
}

fn main() {}
