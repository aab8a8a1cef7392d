//! All chips that hold elements hold them at the same positions.

use furiosa_visa_std::prelude::*;

axes![A = 7, B = 64];

#[device(chip = 2)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![A # 8 / 4], m![A # 8 % 4, B]>) {
    let _ = ctx.pdma.hbm_chip_shuffle(x, &[1, 0]);
}

fn main() {}
