//! The VRF of a slice has 8192 bytes (E13).

use furiosa_visa_std::prelude::*;

axes![A = 257, B = 8];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i32, m![1], m![A, B]>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    (ctx.sub.begin(x.view()).fetch::<i32, m![A], m![B]>()).collect::<m![A], m![B]>().to_vrf::<m![A, B]>(0);
}

fn main() {}
