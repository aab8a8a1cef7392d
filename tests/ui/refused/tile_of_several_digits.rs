//! More than one value can be kept of one digit only.

use furiosa_visa_std::prelude::*;

axes![G = 2, K = 24];

fn kernel(x: HbmTensorView<'_, i8, m![1], m![K / 8, G, K % 8]>) {
    x.tile::<m![K], 5, m![K / 8, G, K % 8]>(3);
}

fn main() {
    std::hint::black_box(kernel as fn(_));
}
