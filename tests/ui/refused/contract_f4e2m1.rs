//! The engine does not multiply floats of four bits: a table decodes them first.

use furiosa_visa_std::prelude::*;

axes![T = 4, N = 8, K = 16];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, a: &HbmTensor<f4e2m1, m![1], m![T, K]>, b: &HbmTensor<f4e2m1, m![1], m![N, K]>) {
    let a = a.to_dm::<m![1 # 2], m![1 # 256], m![T, K]>(&mut ctx.tdma, 0);
    let b = b.to_dm::<m![1 # 2], m![1 # 256], m![N, K]>(&mut ctx.tdma, 1 << 18);
    let weights = (ctx.sub.begin(b.view()))
        .fetch::<f4e2m1, m![N], m![K]>()
        .collect::<m![N, K / 8], m![K % 8]>()
        .to_trf::<m![N], m![K]>(TrfAddress::Full);
    let _ = (ctx.main.begin(a.view()))
        .fetch::<f4e2m1, m![T], m![K]>()
        .collect::<m![T, K / 8], m![K % 8]>()
        .align::<m![T], m![K], _, _>(&weights)
        .contract::<m![1]>();
}

fn main() {}
