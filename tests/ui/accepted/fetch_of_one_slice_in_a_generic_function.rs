//! A rule is checked for the types that are used: this function never is.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[allow(dead_code)]
fn fetch<'l, const T: Tu>(
    ctx: &'l mut TuContext<T>,
    x: DmTensorView<'l, i8, m![1], m![1], m![1], m![A]>,
) -> FetchTensor<'l, T, i8, m![1], m![1], m![1], m![1], m![A]> {
    ctx.begin(x).fetch()
}

fn main() {}
