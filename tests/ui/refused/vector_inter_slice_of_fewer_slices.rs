//! A reduce leaves 256 slices.

use furiosa_visa_std::prelude::*;

axes![W = 5, L = 8, B = 8, G = 32, J = 8];

type Stream<'l> = CollectTensor<'l, { Tu::Main }, f32, m![1], m![1 # 2], m![G, J], m![W, B], m![L]>;

fn kernel(x: Stream<'_>) {
    let _ = x
        .vector_init()
        .vector_inter_slice_reduce::<m![G], m![W, B]>(InterSliceReduceOpF32::Add)
        .vector_final();
}

fn main() {
    let _: for<'l> fn(Stream<'l>) = kernel;
}
