//! An axis with the same name stays where it is.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8];

fn kernel(x: HbmTensor<i8, m![1], m![A, B]>) {
    x.relabel::<m![1], m![B, A]>();
}

fn main() {
    std::hint::black_box(kernel as fn(_));
}
