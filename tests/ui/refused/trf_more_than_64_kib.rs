//! A TRF tensor has at most 65536 bytes.

use furiosa_visa_std::prelude::*;

axes![A = 65537];

fn main() {
    // SAFETY: nothing is read.
    let _ =
        unsafe { TrfTensor::<i8, m![1], m![1 # 2], m![1 # 256], m![1], m![A]>::from_addr(TrfAddress::Full) };
}
