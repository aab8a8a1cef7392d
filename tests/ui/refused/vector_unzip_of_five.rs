//! There are two groups.

use furiosa_visa_std::prelude::*;

axes![W = 5, L = 8, Q = 256, I = 2];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![Q], m![W, I], m![L]>;

fn kernel(x: Stream<'_>) {
    let _ = x.vector_init().vector_intra_slice_unzip::<W, m![1 # 5, I], m![I]>();
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
