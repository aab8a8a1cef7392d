//! A TRF read has whole bytes (E23).

use furiosa_visa_std::prelude::*;

axes![T = 4, N = 8, G = 64, K = 128];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, a: &HbmTensor<i4, m![1], m![T, K]>, b: &HbmTensor<i4, m![1], m![N, K, G]>) {
    let a = a.to_dm::<m![1 # 2], m![1 # 256], m![T, K]>(&mut ctx.tdma, 0);
    let b = b.to_dm::<m![1 # 2], m![1 # 256], m![N, K, G]>(&mut ctx.tdma, 1 << 18);
    let weights = (ctx.sub.begin(b.view()))
        .fetch::<i4, m![N, K], m![G]>()
        .collect::<m![N, K], m![G]>()
        .to_trf::<m![N], m![K, G]>(TrfAddress::Full);
    let _ = (ctx.main.begin(a.view()))
        .fetch::<i4, m![T], m![K]>()
        .collect::<m![T, K / 64], m![K % 64]>()
        .align::<m![T, G], m![K], _, _>(&weights);
}

fn main() {}
