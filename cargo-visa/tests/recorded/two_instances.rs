//! A helper of the user's that is generic, a macro of the user's, and a constant.

use furiosa_visa_std::prelude::*;

axes![A = 13, B = 26, X = 12];

fn read<P: M>(ctx: &mut Context, x: &HbmTensor<i8, m![1], P>) {
    let x = x.to_dm::<m![1 # 2], m![1 # 256], P>(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(x.view()).fetch::<i8, P, m![A % 13]>();
}

macro_rules! read_all {
    ($x:expr, $ctx:expr) => {
        $ctx.main.begin($x.view()).fetch::<i8, m![1], m![A]>()
    };
}

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>, y: &HbmTensor<i8, m![1], m![B]>) {
    read(ctx, x);
    read(ctx, y);
    let x = x.to_dm::<m![1 # 2], m![1 # 256], m![A]>(&mut ctx.tdma, 0);
    let _ = read_all!(x, ctx);
    let _ = ctx.main.begin(x.view()).fetch::<i8, m![X / 5], m![A]>();
}

fn main() {}
