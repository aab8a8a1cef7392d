//! Position k becomes position k in views, too.

use furiosa_visa_std::prelude::*;

axes![A = 5, B = 8, X = 16];

#[allow(unsafe_code)]
fn kernel(x: HbmTensorView<'_, i8, m![1], m![A, B]>) {
    unsafe { x.reshape::<m![1], m![X]>() };
}

fn main() {
    let _: for<'l> fn(HbmTensorView<'l, i8, m![1], m![A, B]>) = kernel;
}
