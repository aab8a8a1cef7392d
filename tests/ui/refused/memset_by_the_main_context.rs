//! The sub context sets tensors.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context) {
    let mut a = DmTensor::<i8, m![1], m![1 # 2], m![A], m![B]>::new(ctx);
    a.view_mut().memset(0, &mut ctx.main);
}

fn main() {}
