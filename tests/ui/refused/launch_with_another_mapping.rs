//! The arguments of a launch have the types of the kernel's arguments.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 8];

#[device(chip = 1)]
fn kernel(_: &mut Context, _: &HbmTensor<i8, m![1], m![A]>) {}

async fn host(mut ctx: impl core::ops::DerefMut<Target = Context>, x: HbmTensor<i8, m![1], m![B]>) {
    launch(kernel, (&mut *ctx, &x)).await;
}

fn main() {
    let _ = host(Context::acquire(), unsafe { HbmTensor::from_addr(0) });
}
