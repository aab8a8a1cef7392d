//! Tiles side by side cover the index.

use furiosa_visa_std::prelude::*;

axes![G = 2, K = 24];

fn kernel(x: HbmTensorView<'_, i8, m![1], m![G, K]>) {
    let _ = x.tiles::<m![K], 5, m![G, K = 5 # 24]>();
}

fn main() {
    std::hint::black_box(kernel as fn(_));
}
