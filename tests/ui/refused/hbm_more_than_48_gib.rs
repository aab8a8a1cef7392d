//! HBM holds 48 GiB per chip.

use furiosa_visa_std::prelude::*;

axes![X = 51539607553];

fn main() {
    // SAFETY: nothing is read.
    let _ = unsafe { HbmTensor::<i8, m![1], m![X]>::from_addr(0) };
}
