//! The sub context has immediates of seven types. `f4e2m1` is none of them.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context) {
    let mut a = DmTensor::<f4e2m1, m![1], m![1 # 2], m![A], m![B]>::new(ctx);
    a.view_mut().memset(f4e2m1::from_f32(1.0), &mut ctx.sub);
}

fn main() {}
