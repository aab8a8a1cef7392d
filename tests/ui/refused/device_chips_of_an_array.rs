//! The tensors in an array span the chips of the kernel.

use furiosa_visa_std::prelude::*;

axes![G = 2, A = 8];

#[device(chip = 1)]
fn kernel(_: &mut Context, _: &[HbmTensor<i8, m![G], m![A]>; 2]) {}

fn main() {}
