//! The sub context does not commit behind the Transpose Engine, and trims nothing for it.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.sub.begin(x.view()))
        .fetch::<i8, m![A], m![B]>()
        .collect::<m![A], m![B # 32]>()
        .transpose::<m![B], m![A # 32]>()
        .commit_trim::<m![A]>();
}

fn main() {}
