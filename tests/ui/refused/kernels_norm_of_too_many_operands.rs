//! The roots of rows and the scale of columns are in the register file together.

use furiosa_visa_std::kernels::rms_norm;
use furiosa_visa_std::prelude::*;

axes![Q = 256, R = 16, K = 2040];

type X = DmTensor<f32, m![1], m![1 # 2], m![Q], m![R, K]>;
type Scale = VrfTensor<f32, m![1], m![1 # 2], m![Q], m![K]>;

fn kernel(ctx: &mut Context, x: &X, scale: &Scale) {
    let _: DmTensor<f32, _, _, _, _> = rms_norm(ctx, x, Some(scale), 0.0);
}

fn main() {
    let _: fn(&mut Context, &X, &Scale) = kernel;
}
