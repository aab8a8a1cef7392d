//! What was padding holds no element, in a view either.

use furiosa_visa_std::prelude::*;

axes![A = 5, X = 8];

#[allow(unsafe_code)]
fn kernel(x: HbmTensorView<'_, i8, m![1], m![A # 8]>) {
    unsafe { x.reshape::<m![1], m![X]>() };
}

fn main() {
    let _: for<'l> fn(HbmTensorView<'l, i8, m![1], m![A # 8]>) = kernel;
}
