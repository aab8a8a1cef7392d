//! A launch gives every argument of the kernel.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(_: &mut Context, _: &HbmTensor<i8, m![1], m![A]>) {}

async fn host() {
    let mut ctx = Context::acquire();
    launch(kernel, (&mut ctx,)).await;
}

fn main() {
    let _ = host();
}
