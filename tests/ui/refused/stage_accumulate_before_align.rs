//! A stream meets its weights before it is accumulated; the rest of the chain causes no more errors.

use furiosa_visa_std::prelude::*;

axes![T = 4, N = 8, K = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, a: &HbmTensor<bf16, m![1], m![T, K]>) -> HbmTensor<f32, m![1], m![T, N]> {
    let a = a.to_dm::<m![1 # 2], m![1 # 256], m![T, K]>(&mut ctx.tdma, 0);
    let y = (ctx.main.begin(a.view()))
        .fetch::<bf16, m![T], m![K]>()
        .collect::<m![T, K / 16], m![K % 16]>()
        .accumulate::<m![T], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![T, N]>(1 << 10);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

fn main() {}
