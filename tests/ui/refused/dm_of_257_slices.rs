//! A cluster has 256 slices.

use furiosa_visa_std::prelude::*;

axes![S = 257, A = 8];

fn main() {
    // SAFETY: nothing is read.
    let _ = unsafe { DmTensor::<i8, m![1], m![1 # 2], m![S], m![A]>::from_addr(0) };
}
