//! The multipliers have no f32; the rest of the chain causes no more errors.

use furiosa_visa_std::prelude::*;

axes![T = 4, N = 8, K = 32];

#[device(chip = 1)]
fn kernel(
    ctx: &mut Context,
    a: &HbmTensor<f32, m![1], m![T, K]>,
    b: &HbmTensor<f32, m![1], m![N, K]>,
) -> HbmTensor<f32, m![1], m![T, N]> {
    let a = a.to_dm::<m![1 # 2], m![1 # 256], m![T, K]>(&mut ctx.tdma, 0);
    let b = b.to_dm::<m![1 # 2], m![1 # 256], m![N, K]>(&mut ctx.tdma, 1 << 18);
    let weights = (ctx.sub.begin(b.view()))
        .fetch::<f32, m![N], m![K]>()
        .collect::<m![N, K / 8], m![K % 8]>()
        .to_trf::<m![N], m![K]>(TrfAddress::Full);
    let y = (ctx.main.begin(a.view()))
        .fetch::<f32, m![T], m![K]>()
        .collect::<m![T, K / 8], m![K % 8]>()
        .align::<m![T, K / 16], m![K % 16], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![T], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![T, N]>(1 << 10);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

fn main() {}
