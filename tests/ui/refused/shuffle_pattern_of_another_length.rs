//! A pattern over chips has one number per chip.

use furiosa_visa_std::prelude::*;

axes![A = 2, B = 64];

#[device(chip = 2)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![A], m![B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![B]>(&mut ctx.tdma, 0);
    let _ = ctx.tdma.dm_chip_shuffle::<_, 2, _, _, _, _>(x.view(), &[1, 0, 2]);
}

fn main() {}
