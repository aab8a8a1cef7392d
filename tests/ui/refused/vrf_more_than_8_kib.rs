//! A tensor in the VRF has at most 8192 bytes per slice.

use furiosa_visa_std::prelude::*;

axes![A = 2049];

fn main() {
    // SAFETY: nothing is read.
    let _ = unsafe { VrfTensor::<f32, m![1], m![1 # 2], m![1 # 256], m![A]>::from_addr(0) };
}
