//! Padding of a view is added outermost.

use furiosa_visa_std::prelude::*;

axes![A = 6, B = 8];

fn kernel(x: DmTensorView<'_, i8, m![1], m![1 # 2], m![1 # 256], m![A, B]>) {
    x.pad::<m![A, B # 16]>();
}

fn main() {
    std::hint::black_box(kernel as fn(_));
}
