//! Tensors of a generic kernel span its chips, which is seen where it is launched.

use furiosa_visa_std::prelude::*;

axes![G = 4, A = 8];

#[device(chip = 1)]
fn kernel<Chip: M>(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A]>) -> HbmTensor<i8, Chip, m![A]> {
    x.to_hbm(&mut ctx.tdma, 1 << 20)
}

fn main() {
    let mut ctx = Context::acquire();
    // SAFETY: nothing is read.
    let x = unsafe { HbmTensor::<i8, m![G], m![A]>::from_addr(0) };
    let _ = launch(kernel, (&mut *ctx, &x));
}
