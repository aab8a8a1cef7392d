//! The TRF sequencer has 8 entries (E24).

use furiosa_visa_std::prelude::*;

axes![T = 4, K = 32, A = 2, B = 2, C = 2, D = 2, E = 2, F = 2, G = 2, H = 2, J = 2];

#[device(chip = 1)]
fn kernel(
    ctx: &mut Context,
    a: &HbmTensor<bf16, m![1], m![T, K]>,
    b: &HbmTensor<bf16, m![1], m![A, B, C, D, E, F, G, H, J, K]>,
) {
    let a = a.to_dm::<m![1 # 2], m![1 # 256], m![T, K]>(&mut ctx.tdma, 0);
    let b = b.to_dm::<m![1 # 2], m![1 # 256], m![A, B, C, D, E, F, G, H, J, K]>(&mut ctx.tdma, 1 << 18);
    let weights = (ctx.sub.begin(b.view()))
        .fetch::<bf16, m![A, B, C, D, E, F, G, H, J], m![K]>()
        .collect::<m![A, B, C, D, E, F, G, H, J, K / 16], m![K % 16]>()
        .to_trf::<m![1], m![A, B, C, D, E, F, G, H, J, K]>(TrfAddress::Full);
    let _ = (ctx.main.begin(a.view()))
        .fetch::<bf16, m![T], m![K]>()
        .collect::<m![T, K / 16], m![K % 16]>()
        .align::<m![T, J, H, G, F, E, D, C, B, A], m![K], _, _>(&weights);
}

fn main() {}
