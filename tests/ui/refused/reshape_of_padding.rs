//! What was padding holds no element.

use furiosa_visa_std::prelude::*;

axes![A = 5, X = 8];

#[allow(unsafe_code)]
fn kernel(x: DmTensor<i8, m![1], m![1 # 2], m![1 # 256], m![A # 8]>) {
    unsafe { x.reshape::<m![1], m![1 # 2], m![1 # 256], m![X]>() };
}

fn main() {
    std::hint::black_box(kernel as fn(_));
}
