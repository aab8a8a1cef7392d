//! Tensors of a generic kernel span its chips, which is seen where it is launched.

use furiosa_visa_std::prelude::*;

axes![G = 4, A = 8];

#[device(chip = 1)]
fn kernel<Chip: M>(_: &mut Context, _: &HbmTensor<i8, Chip, m![A]>) {}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        // SAFETY: nothing is read.
        let x = unsafe { HbmTensor::<i8, m![G], m![A]>::from_addr(0) };
        launch(kernel, (&mut *ctx, &x)).await;
    });
}
