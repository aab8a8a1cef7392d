//! Only the main context narrows what it commits.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.sub.begin(x.view()))
        .fetch::<f32, m![A], m![B]>()
        .collect::<m![A], m![B]>()
        .commit_trim::<m![B]>()
        .commit_cast::<bf16>();
}

fn main() {}
