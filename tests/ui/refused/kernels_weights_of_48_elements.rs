//! The multipliers take packets of 64 bytes.

use furiosa_visa_std::kernels::load_weights;
use furiosa_visa_std::prelude::*;

axes![Q = 256, N = 8, K = 48];

fn kernel(ctx: &mut Context, w: &DmTensor<bf16, m![1], m![1 # 2], m![Q], m![N, K]>) {
    let _ = load_weights::<_, m![N], m![K]>(ctx, w, TrfAddress::Full);
}

fn main() {
    let _: fn(&mut Context, &DmTensor<bf16, m![1], m![1 # 2], m![Q], m![N, K]>) = kernel;
}
