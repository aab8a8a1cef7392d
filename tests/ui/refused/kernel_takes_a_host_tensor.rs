//! Kernels take tensors in HBM, not host tensors.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(_: &mut Context, _: &HostTensor<i8, m![A]>) {}

fn main() {}
