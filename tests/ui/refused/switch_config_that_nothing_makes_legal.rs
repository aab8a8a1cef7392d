//! No configuration makes up for mappings that no variant connects.

use furiosa_visa_std::prelude::*;

axes![A = 256, T = 8, P = 32, X = 4, Y = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, T, P]>) {
    let x = x.to_dm::<m![1 # 2], m![A], m![T, P]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()).fetch::<i8, m![T], m![P]>())
        .switch::<m![A / 8, Y], m![T % 4, A % 8, T / 4]>(SwitchConfig::Broadcast1 { slice1: 8, slice0: 1 });
}

fn main() {}
