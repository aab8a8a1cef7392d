//! A system has at most 8 chips.

use furiosa_visa_std::prelude::*;

axes![C = 9, A = 8];

fn main() {
    // SAFETY: nothing is read.
    let _ = unsafe { HbmTensor::<i8, m![C], m![A]>::from_addr(0) };
}
