//! An aligned packet holds 64 bytes: a longer one that is no multiple of them is padded first.

use furiosa_visa_std::prelude::*;

axes![T = 4, N = 8, K = 48];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, a: &HbmTensor<bf16, m![1], m![T, K]>, b: &HbmTensor<bf16, m![1], m![N, K]>) {
    let a = a.to_dm::<m![1 # 2], m![1 # 256], m![T, K]>(&mut ctx.tdma, 0);
    let b = b.to_dm::<m![1 # 2], m![1 # 256], m![N, K]>(&mut ctx.tdma, 1 << 18);
    let weights = (ctx.sub.begin(b.view()))
        .fetch::<bf16, m![N], m![K]>()
        .collect::<m![N, K / 16], m![K % 16]>()
        .to_trf::<m![N], m![K]>(TrfAddress::Full);
    let _ = (ctx.main.begin(a.view()))
        .fetch::<bf16, m![T], m![K]>()
        .collect::<m![T, K / 16], m![K % 16]>()
        .align::<m![T], m![K], _, _>(&weights);
}

fn main() {}
