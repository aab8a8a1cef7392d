//! Each dimension has a call of its own.

use furiosa_visa_std::prelude::*;

axes![S = 256, K = 24];

fn kernel(x: DmTensorView<'_, i8, m![1], m![1 # 2], m![S], m![K]>) {
    x.tile::<m![S / 16], 1, m![K]>(3);
}

fn main() {
    std::hint::black_box(kernel as fn(_));
}
