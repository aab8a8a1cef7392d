//! The TRF holds 65536 bytes, whoever chooses the part.

use furiosa_visa_std::prelude::*;

axes![N = 8, K = 8224];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![N, K]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![N, K]>(&mut ctx.tdma, 0);
    let _ = (ctx.sub.begin(x.view()))
        .fetch::<i8, m![N], m![K]>()
        .collect::<m![N, K / 32], m![K % 32]>()
        .to_trf_auto::<m![N], m![K]>();
}

fn main() {}
