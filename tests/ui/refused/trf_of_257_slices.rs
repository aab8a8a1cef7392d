//! A cluster has 256 slices.

use furiosa_visa_std::prelude::*;

axes![S = 257, N = 8, K = 32];

fn main() {
    // SAFETY: nothing is read.
    let _ = unsafe { TrfTensor::<bf16, m![1], m![1 # 2], m![S], m![N], m![K]>::from_addr(TrfAddress::Full) };
}
