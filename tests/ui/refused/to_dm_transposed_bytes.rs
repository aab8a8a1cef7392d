//! A transfer to DM keeps 8 bytes together.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    x.to_dm::<m![1 # 2], m![1 # 256], m![B, A]>(&mut ctx.tdma, 0);
}

fn main() {}
