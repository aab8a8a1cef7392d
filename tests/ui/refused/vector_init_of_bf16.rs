//! The engine takes 32-bit types.

use furiosa_visa_std::prelude::*;

axes![W = 5, L = 8, Q = 256];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, bf16, m![1], m![1 # 2], m![Q], m![W], m![L # 16]>;

fn kernel(x: Stream<'_>) {
    let _ = x.vector_init();
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
