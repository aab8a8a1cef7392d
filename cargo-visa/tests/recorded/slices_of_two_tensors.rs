//! More slices than there are: what comes behind the first call is no error of its own.

use furiosa_visa_std::prelude::*;

axes![S = 512, B = 64];

fn load(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, B]>) {
    let x: DmTensor<i8, m![1], m![1 # 2], m![S], m![B]> = x.to_dm(&mut ctx.tdma, AUTO);
    let _ = x.to_hbm::<m![S, B]>(&mut ctx.tdma, AUTO);
}

fn main() {
    let mut ctx = Context::acquire();
    let x = pollster::block_on(HostTensor::<i8, m![S, B]>::zero().to_hbm(&mut ctx.pdma, AUTO));
    load(&mut ctx, &x);
}
