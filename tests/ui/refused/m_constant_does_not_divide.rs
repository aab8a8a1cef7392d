//! The height of a tile that a call asks for must divide the axis.

use furiosa_visa_std::prelude::*;

axes![H = 960, W = 32];

fn part<const ROWS: usize>(x: HbmTensorView<'_, i8, m![1], m![H, W]>, start: usize) {
    x.tile::<m![H / { ROWS }], 1, m![1 # 16, H % { ROWS }, W]>(start);
}

fn main() {
    std::hint::black_box((part::<60> as fn(_, _), part::<7> as fn(_, _)));
}
