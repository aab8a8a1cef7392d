//! The elements of a row keep the order of the stream (E10).

use furiosa_visa_std::prelude::*;

axes![N = 4, P = 2, K = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, P, K]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![N, P, K]>(&mut ctx.tdma, 0);
    let _ = (ctx.sub.begin(x.view()))
        .fetch::<i8, m![N, P], m![K]>()
        .collect::<m![N, P], m![K]>()
        .to_trf::<m![N], m![K, P]>(TrfAddress::Full);
}

fn main() {}
