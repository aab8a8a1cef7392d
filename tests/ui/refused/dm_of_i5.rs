//! No memory holds i5.

use furiosa_visa_std::prelude::*;

axes![A = 64];

fn first(x: &DmTensor<i5, m![1], m![1 # 2], m![1 # 256], m![A]>) {
    let _ = x;
}

fn main() {}
