//! A transfer to DM starts at a multiple of 8 bytes, also where dead positions come first.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    x.to_dm::<m![1 # 2], m![1 # 256], m![A, # 4 + B + # 4]>(&mut ctx.tdma, 0);
}

fn main() {}
