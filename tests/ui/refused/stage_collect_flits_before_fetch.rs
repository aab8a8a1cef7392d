//! A stream is fetched before it is collected, also where the call names no mapping.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 32];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let _ = (ctx.main.begin(x.view())).collect_flits();
}

fn main() {}
