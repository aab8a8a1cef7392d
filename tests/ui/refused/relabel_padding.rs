//! New names make no elements of padding.

use furiosa_visa_std::prelude::*;

axes![A = 5, X = 8];

fn kernel(x: DmTensor<i8, m![1], m![1 # 2], m![1 # 256], m![A # 8]>) {
    x.relabel::<m![1], m![1 # 2], m![1 # 256], m![X]>();
}

fn main() {
    std::hint::black_box(kernel as fn(_));
}
