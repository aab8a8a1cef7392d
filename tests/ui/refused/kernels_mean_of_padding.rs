//! A mean counts elements, so each part of the columns has as many.

use furiosa_visa_std::kernels::rms_norm;
use furiosa_visa_std::prelude::*;

axes![R = 2, C = 2041];

type X = DmTensor<f32, m![1], m![1 # 2], m![C # 2048 / 8], m![R, C # 2048 % 8]>;

fn kernel(ctx: &mut Context, x: &X) {
    let _: DmTensor<f32, _, _, _, _> = rms_norm(ctx, x, None, 1e-5);
}

fn main() {
    let _: fn(&mut Context, &X) = kernel;
}
