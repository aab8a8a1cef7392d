//! A TRF sequencer starts at the first element of its tensor: the stream has no dead positions that it lacks.

use furiosa_visa_std::prelude::*;

axes![T = 4, N = 8, K = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, a: &HbmTensor<bf16, m![1], m![T, K]>, b: &HbmTensor<bf16, m![1], m![N, T, K]>) {
    let a = a.to_dm::<m![1 # 2], m![1 # 256], m![T, K]>(&mut ctx.tdma, 256);
    let b = b.to_dm::<m![1 # 2], m![1 # 256], m![N, T, K]>(&mut ctx.tdma, 1 << 18);
    let weights = (ctx.sub.begin(b.view()))
        .fetch::<bf16, m![N, T], m![K]>()
        .collect::<m![N, T, K / 16], m![K % 16]>()
        .to_trf::<m![N], m![T, K]>(TrfAddress::Full);
    let _ = (ctx.main.begin(a.view()))
        .fetch::<bf16, m![# 2 + T], m![K]>()
        .collect::<m![# 2 + T, K / 16], m![K % 16]>()
        .align::<m![# 2 + T], m![K], _, _>(&weights);
}

fn main() {}
