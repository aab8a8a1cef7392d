//! A tensor is loaded as the mapping that it has. A view may have its axes in another layout.

use furiosa_visa_std::kernels::load_weights;
use furiosa_visa_std::prelude::*;

axes![Q = 256, N = 8, K = 32];

fn kernel(ctx: &mut Context, w: &DmTensor<bf16, m![1], m![1 # 2], m![Q], m![K, N]>) {
    let _ = load_weights::<_, m![N], m![K]>(ctx, w, TrfAddress::Full);
}

fn main() {
    let _: fn(&mut Context, &DmTensor<bf16, m![1], m![1 # 2], m![Q], m![K, N]>) = kernel;
}
