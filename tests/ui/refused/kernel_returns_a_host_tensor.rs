//! Kernels return tensors in HBM.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(_: &mut Context) -> HostTensor<i8, m![A]> {
    HostTensor::zero()
}

fn main() {}
