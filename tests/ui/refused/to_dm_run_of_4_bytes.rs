//! A transfer to DM moves multiples of 8 bytes.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 4];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    x.to_dm::<m![1 # 2], m![1 # 256], m![A, B # 8]>(&mut ctx.tdma, 0);
}

fn main() {}
