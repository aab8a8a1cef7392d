//! A tensor is read before it is committed.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) -> HbmTensor<i8, m![1], m![A, B]> {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let y = ctx.main.begin(x.view()).commit::<m![A, B]>(1024);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

fn main() {}
