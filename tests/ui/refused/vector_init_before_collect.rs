//! Packets are cut into flits before they enter the Vector Engine.

use furiosa_visa_std::prelude::*;

axes![W = 5, L = 8, Q = 256];

fn kernel(x: FetchTensor<'_, { Tu::Main }, f32, m![1], m![1 # 2], m![Q], m![W], m![L]>) {
    let _ = x.vector_init();
}

fn main() {
    let _ = kernel;
}
