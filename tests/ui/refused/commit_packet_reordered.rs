//! A commit keeps the order of the packet.

use furiosa_visa_std::prelude::*;

axes![A = 4, C = 4, D = 2];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, C, D]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, C, D]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i8, m![A], m![C, D]>()
        .collect::<m![A], m![[C, D] # 32]>()
        .commit::<m![A, D, C]>(1024);
}

fn main() {}
