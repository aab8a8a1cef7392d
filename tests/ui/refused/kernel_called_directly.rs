//! A kernel is launched, not called.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(_: &mut Context, _: &HbmTensor<i8, m![1], m![A]>) {}

fn program(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    kernel(ctx, x);
}

fn main() {}
