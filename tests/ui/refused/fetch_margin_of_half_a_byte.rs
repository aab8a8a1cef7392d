//! A stream starts at a whole byte.

use furiosa_visa_std::prelude::*;

axes![A = 60];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i4, m![1], m![A # 64]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A # 64]>(&mut ctx.tdma, 64);
    let _ = (ctx.main.begin(x.view())).fetch::<i4, m![1], m![# 3 + A + # 1]>();
}

fn main() {}
