//! Kernels take tensors in HBM, not in DM.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(_: &mut Context, _: &DmTensor<i8, m![1], m![1 # 2], m![1 # 256], m![A]>) {}

fn main() {}
