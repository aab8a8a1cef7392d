//! A commit names the axes of its stream, not those of the slices.

use furiosa_visa_std::prelude::*;

axes![M = 256, N = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<f32, m![1], m![M, N]>) {
    let x = x.to_dm::<m![1 # 2], m![M], m![N]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<f32, m![1], m![N]>()
        .collect::<m![1], m![N]>()
        .commit::<m![M]>(1024);
}

fn main() {}
