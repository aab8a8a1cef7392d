//! A trim keeps 8, 16, 24 or 32 bytes.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 12];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B # 16]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B # 16]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i8, m![A], m![B # 16]>()
        .collect::<m![A], m![B # 32]>()
        .commit_trim::<m![B]>();
}

fn main() {}
