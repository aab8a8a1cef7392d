//! Two fetches in the same wrong number of slices are one error.

use furiosa_visa_std::prelude::*;

axes![S = 128, T = 4, K = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<bf16, m![1], m![S, T, K]>) -> HbmTensor<bf16, m![1], m![S, T, K]> {
    let x = x.to_dm::<m![1 # 2], m![S], m![T, K]>(&mut ctx.tdma, 0);
    let y = (ctx.main.begin(x.view()))
        .fetch::<bf16, m![T], m![K]>()
        .collect::<m![T, K / 16], m![K % 16]>()
        .commit::<m![T, K]>(1 << 12);
    let z = (ctx.main.begin(y.view()))
        .fetch::<bf16, m![T], m![K]>()
        .collect::<m![T, K / 16], m![K % 16]>()
        .commit::<m![T, K]>(1 << 13);
    z.to_hbm(&mut ctx.tdma, 1 << 20)
}

fn main() {}
