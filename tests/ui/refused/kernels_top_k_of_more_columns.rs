//! A row has as many columns as are asked for; padding is none.

use furiosa_visa_std::kernels::{Greatest, load_operand, top_k};
use furiosa_visa_std::prelude::*;

axes![R = 256, K = 5];
type Dm<Element> = DmTensor<f32, m![1], m![1 # 2], m![R], Element>;

fn kernel(ctx: &mut Context, x: &Dm<m![1, K # 8]>, places: &Dm<m![K # 8]>) {
    let places = load_operand(ctx, places);
    let _: [Greatest<_, _, _, _>; 6] = top_k(ctx, x, &places);
}

fn main() {
    let _ = kernel as fn(&mut _, &_, &_);
}
