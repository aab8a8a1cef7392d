//! A helper works on 8 numbers at a time.

use furiosa_visa_std::kernels::softmax;
use furiosa_visa_std::prelude::*;

axes![Q = 256, K = 12];

fn kernel(ctx: &mut Context, x: &DmTensor<f32, m![1], m![1 # 2], m![Q], m![1, K]>) {
    let _: DmTensor<f32, _, _, _, _> = softmax(ctx, x, 1.0);
}

fn main() {
    let _: fn(&mut Context, &DmTensor<f32, m![1], m![1 # 2], m![Q], m![1, K]>) = kernel;
}
