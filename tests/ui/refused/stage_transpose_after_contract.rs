//! Columns that were not added over time are not transposed.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 8, L = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, L]>, w: &HbmTensor<i8, m![1], m![B, L]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, L]>(&mut ctx.tdma, 0);
    let w = w.to_dm::<m![1 # 2], m![1 # 256], m![B, L]>(&mut ctx.tdma, 1024);
    let w = (ctx.sub.begin(w.view()).fetch::<i8, m![B], m![L]>())
        .collect::<m![B, L / 32], m![L % 32]>()
        .to_trf::<m![B], m![L]>(TrfAddress::Full);
    let _ = (ctx.main.begin(x.view()).fetch::<i8, m![A], m![L]>())
        .collect::<m![A, L / 32], m![L % 32]>()
        .align::<m![A], m![L], _, _>(&w)
        .contract::<m![1]>()
        .transpose::<m![A / 2, B], m![A % 2 # 8]>();
}

fn main() {}
