//! Tensors of a kernel for two chips span two chips.

use furiosa_visa_std::prelude::*;

axes![G = 2, A = 8];

#[device(chip = 2)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![G], m![A]>, y: &mut HbmTensor<i8, m![1], m![A]>) {
    let _ = (ctx, x, y);
}

fn main() {}
