//! The result of a kernel for two chips spans two chips.

use furiosa_visa_std::prelude::*;

axes![G = 2, A = 8];

#[device(chip = 2)]
fn kernel(_: &mut Context, _: &HbmTensor<i8, m![G], m![A]>) -> HbmTensor<i8, m![1], m![A]> {
    // SAFETY: nothing is read.
    unsafe { HbmTensor::from_addr(0) }
}

fn main() {}
