//! The elements of a time step are whole digits of the tensor.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 4, N = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B, N]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B, N]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view()))
        .fetch::<i8, m![A, B], m![N]>()
        .collect::<m![A, B], m![N # 32]>()
        .commit::<m![A, 1 # 3, N]>(1024);
}

fn main() {}
