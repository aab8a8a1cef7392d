//! A tensor in the VRF has elements of `i32` or `f32`.

use furiosa_visa_std::prelude::*;

axes![A = 8];

fn main() {
    // SAFETY: nothing is read.
    let _ = unsafe { VrfTensor::<bf16, m![1], m![1 # 2], m![1 # 256], m![A]>::from_addr(0) };
}
