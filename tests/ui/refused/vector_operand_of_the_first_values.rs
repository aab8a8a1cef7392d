//! An operand has a value for every step of the stream along an axis that it names.

use furiosa_visa_std::prelude::*;

axes![A = 256, W = 16, L = 8];

type Cluster = m![1 # 2];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i32, m![1], m![A, W, L]>) {
    let dm = x.to_dm::<Cluster, m![A], m![W, L]>(&mut ctx.tdma, 0);
    let part = dm.view().tile::<m![W], 8, m![W = 8 # 16, L]>(0);
    let stream = ctx.sub.begin(part).fetch::<i32, m![W = 8], m![L]>();
    let operand = stream.collect::<m![W = 8], m![L]>().to_vrf::<m![W = 8, L]>(0);
    let stream = ctx.main.begin(dm.view()).fetch::<i32, m![W], m![L]>();
    (stream.collect::<m![W], m![L]>().vector_init())
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp(FxpBinaryOp::AddFxp, &operand)
        .vector_final()
        .commit::<m![W, L]>(1024);
}

fn main() {}
