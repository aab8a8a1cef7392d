//! Rows are the outermost part of time (E9).

use furiosa_visa_std::prelude::*;

axes![N = 4, P = 2, K = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, P, K]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![N, P, K]>(&mut ctx.tdma, 0);
    let _ = (ctx.sub.begin(x.view()))
        .fetch::<i8, m![P, N], m![K]>()
        .collect::<m![P, N], m![K]>()
        .to_trf::<m![N], m![P, K]>(TrfAddress::Full);
}

fn main() {}
