//! A sequencer entry iterates 65536 times at most.

use furiosa_visa_std::prelude::*;

axes![X = 65537, P = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![P]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![P]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view())).fetch::<i8, m![X], m![P]>();
}

fn main() {}
