//! The index of a tile is a part of the dimension.

use furiosa_visa_std::prelude::*;

axes![G = 2, K = 24, H = 24];

fn kernel(x: HbmTensorView<'_, i8, m![1], m![G, K]>) {
    x.tile::<m![H], 1, m![G, 1 # 24]>(3);
}

fn main() {
    std::hint::black_box(kernel as fn(_));
}
