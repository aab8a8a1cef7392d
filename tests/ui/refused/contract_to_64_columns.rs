//! A contraction leaves at most 32 columns (E29).

use furiosa_visa_std::prelude::*;

axes![T = 4, N = 8, K = 64];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, a: &HbmTensor<i8, m![1], m![T, K]>, b: &HbmTensor<i8, m![1], m![N, K]>) {
    let a = a.to_dm::<m![1 # 2], m![1 # 256], m![T, K]>(&mut ctx.tdma, 0);
    let b = b.to_dm::<m![1 # 2], m![1 # 256], m![N, K]>(&mut ctx.tdma, 1 << 18);
    let weights = (ctx.sub.begin(b.view()))
        .fetch::<i8, m![N], m![K]>()
        .collect::<m![N, K / 32], m![K % 32]>()
        .to_trf::<m![N], m![K]>(TrfAddress::Full);
    let _ = (ctx.main.begin(a.view()))
        .fetch::<i8, m![T], m![K]>()
        .collect::<m![T, K / 32], m![K % 32]>()
        .align::<m![T], m![K], _, _>(&weights)
        .contract::<m![K]>();
}

fn main() {}
