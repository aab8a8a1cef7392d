//! Results of f32 are left in DM as floating-point numbers.

use furiosa_visa_std::kernels::softmax;
use furiosa_visa_std::prelude::*;

axes![Q = 256, R = 2, K = 8];

fn kernel(ctx: &mut Context, x: &DmTensor<f32, m![1], m![1 # 2], m![Q], m![R, K]>) {
    let _: DmTensor<i32, _, _, _, _> = softmax(ctx, x, 1.0);
}

fn main() {
    let _: fn(&mut Context, &DmTensor<f32, m![1], m![1 # 2], m![Q], m![R, K]>) = kernel;
}
