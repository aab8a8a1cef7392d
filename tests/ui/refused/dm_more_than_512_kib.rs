//! DM holds 524288 bytes per slice.

use furiosa_visa_std::prelude::*;

axes![X = 524289];

fn main() {
    // SAFETY: nothing is read.
    let _ = unsafe { DmTensor::<i8, m![1], m![1 # 2], m![1 # 256], m![X]>::from_addr(0) };
}
