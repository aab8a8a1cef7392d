//! No memory holds i9, so a stream of it is not committed.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i9, m![A], m![B]>()
        .collect::<m![A], m![B]>()
        .commit::<m![A, B]>(4096);
}

fn main() {}
