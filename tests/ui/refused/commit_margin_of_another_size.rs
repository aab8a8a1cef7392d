//! A commit writes the time of the stream, dead positions included: it adds none.

use furiosa_visa_std::prelude::*;

axes![A = 6, B = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 64);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i8, m![# 2 + A], m![B]>()
        .collect::<m![# 2 + A], m![B]>()
        .commit::<m![# 1 + A + # 1, B]>(1024);
}

fn main() {}
