//! Dead positions before a group of axes are read where the group is one run of the tensor.

use furiosa_visa_std::prelude::*;

axes![A = 6, B = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![B, A # 8]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![B, A # 8]>(&mut ctx.tdma, 64);
    let _ = (ctx.main.begin(x.view())).fetch::<i8, m![1], m![# 2 + [A, B] + # 6]>();
}

fn main() {}
