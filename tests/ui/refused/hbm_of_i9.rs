//! No memory holds i9.

use furiosa_visa_std::prelude::*;

axes![A = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i9, m![1], m![A]>) {
    let _ = (ctx, x);
}

fn main() {}
