//! Whoever names an address vouches for what is there.

use furiosa_visa_std::prelude::*;

axes![A = 8];

fn main() {
    let _ = HbmTensor::<i8, m![1], m![A]>::from_addr(0);
}
