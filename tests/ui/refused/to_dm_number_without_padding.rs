//! What a run leaves of its last 8 bytes must be padding of the destination.

use furiosa_visa_std::prelude::*;

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![1]>) {
    x.to_dm::<m![1 # 2], m![1 # 256], m![1]>(&mut ctx.tdma, 0);
}

fn main() {}
