//! A stream starts in DM.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    let _ = ctx.main.begin(x.view()).fetch::<i8, m![1], m![A]>();
}

fn main() {}
