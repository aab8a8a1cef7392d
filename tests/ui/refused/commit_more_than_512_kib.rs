//! DM holds 524288 bytes per slice.

use furiosa_visa_std::prelude::*;

axes![X = 32769, B = 16];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i8, m![X], m![B]>()
        .collect::<m![X], m![B # 32]>()
        .commit::<m![X, B]>(0);
}

fn main() {}
