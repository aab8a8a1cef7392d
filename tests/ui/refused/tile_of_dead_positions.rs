//! A block with dead positions before it is not counted in tiles.

use furiosa_visa_std::prelude::*;

axes![K = 24];

fn kernel(x: HbmTensorView<'_, i8, m![1], m![# 4 + K + # 4]>) {
    x.tile::<m![[# 4 + K + # 4] / 8], 1, m![1 # 4, [# 4 + K + # 4] % 8]>(1);
}

fn main() {
    std::hint::black_box(kernel as fn(_));
}
