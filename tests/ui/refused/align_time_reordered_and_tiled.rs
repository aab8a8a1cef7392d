//! Time is not reordered, also where packets are repeated innermost.

use furiosa_visa_std::prelude::*;

axes![S = 2, T = 4, N = 8, G = 2, K = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, a: &HbmTensor<bf16, m![1], m![S, T, K]>, b: &HbmTensor<bf16, m![1], m![N, G, K]>) {
    let a = a.to_dm::<m![1 # 2], m![1 # 256], m![S, T, K]>(&mut ctx.tdma, 0);
    let b = b.to_dm::<m![1 # 2], m![1 # 256], m![N, G, K]>(&mut ctx.tdma, 1 << 18);
    let weights = (ctx.sub.begin(b.view()))
        .fetch::<bf16, m![N, G], m![K]>()
        .collect::<m![N, G, K / 16], m![K % 16]>()
        .to_trf::<m![N], m![G, K]>(TrfAddress::Full);
    let _ = (ctx.main.begin(a.view()))
        .fetch::<bf16, m![S, T], m![K]>()
        .collect::<m![S, T, K / 16], m![K % 16]>()
        .align::<m![T, S, G], m![K], _, _>(&weights);
}

fn main() {}
