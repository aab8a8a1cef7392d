//! A context works on one stream at a time.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A]>(&mut ctx.tdma, 0);
    let first = ctx.main.begin(x.view());
    let second = ctx.main.begin(x.view());
    let _ = (first, second);
}

fn main() {}
