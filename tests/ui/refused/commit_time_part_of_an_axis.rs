//! A commit of a part of a time axis is to the same part of it.

use furiosa_visa_std::prelude::*;

axes![W = 16, L = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![W = 8, L]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![W = 8, L]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i8, m![W = 8], m![L]>()
        .collect::<m![W = 8], m![L]>()
        .commit::<m![W, L]>(1024);
}

fn main() {}
