//! A chip has 2 clusters.

use furiosa_visa_std::prelude::*;

axes![C = 3, A = 8];

fn main() {
    // SAFETY: nothing is read.
    let _ = unsafe { DmTensor::<i8, m![1], m![C], m![1 # 256], m![A]>::from_addr(0) };
}
