//! A tile keeps at most what the index has.

use furiosa_visa_std::prelude::*;

axes![G = 2, K = 24];

fn kernel(x: HbmTensorView<'_, i8, m![1], m![G, K]>) {
    x.tile::<m![K / 4], 7, m![G, K]>(0);
}

fn main() {
    std::hint::black_box(kernel as fn(_));
}
