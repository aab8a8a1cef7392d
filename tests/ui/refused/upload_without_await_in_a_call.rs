//! An upload is awaited before a method of its tensor is called.

use furiosa_visa_std::prelude::*;

axes![A = 8];

async fn program(ctx: &mut Context, x: &HostTensor<i8, m![A]>) {
    let x = x.to_hbm::<m![1], m![A]>(&mut ctx.pdma, 0);
    let y = x.to_dm::<m![1 # 2], m![1 # 256], m![A]>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(y.view()).fetch::<i8, m![1], m![A # 32]>();
}

fn main() {}
