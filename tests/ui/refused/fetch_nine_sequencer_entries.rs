//! A sequencer has 8 entries.

use furiosa_visa_std::prelude::*;

axes![A = 2, B = 2, C = 2, D = 2, E = 2, F = 2, G = 2, H = 2, P = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B, C, D, E, F, G, H, P]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B, C, D, E, F, G, H, P]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view())).fetch::<i8, m![H, G, F, E, D, C, B, A], m![P]>();
}

fn main() {}
