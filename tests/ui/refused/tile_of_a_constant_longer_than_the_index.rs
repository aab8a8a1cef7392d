//! A tile keeps at most what the index has, whatever height a call asks for.

use furiosa_visa_std::prelude::*;

axes![G = 2, K = 24];

fn part<const ROWS: usize>(x: HbmTensorView<'_, i8, m![1], m![G, K]>) {
    x.tile::<m![K], ROWS, m![G, K = { ROWS } # 24]>(0);
}

fn main() {
    std::hint::black_box((part::<24> as fn(_), part::<25> as fn(_)));
}
