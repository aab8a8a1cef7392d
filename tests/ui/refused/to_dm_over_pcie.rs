//! The PCIe link does not reach DM.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    x.to_dm::<m![1 # 2], m![1 # 256], m![A]>(&mut ctx.pdma, 0);
}

fn main() {}
