//! A stream cuts an axis where the tensor cuts it.

use furiosa_visa_std::prelude::*;

axes![A = 12, B = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A % 4, A / 4, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A % 4, A / 4, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view())).fetch::<i8, m![A % 6, A / 6], m![B]>();
}

fn main() {}
