//! A TRF tensor has 1, 2, 4 or 8 rows.

use furiosa_visa_std::prelude::*;

axes![R = 3, A = 8];

fn main() {
    // SAFETY: nothing is read.
    let _ =
        unsafe { TrfTensor::<i8, m![1], m![1 # 2], m![1 # 256], m![R], m![A]>::from_addr(TrfAddress::Full) };
}
