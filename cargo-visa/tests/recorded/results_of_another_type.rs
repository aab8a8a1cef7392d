//! A result of another type is the error of the commit: its stream lacks a call.

use furiosa_visa_std::prelude::*;

axes![M = 256, N = 8, K = 32];
type A = HbmTensor<bf16, m![1], m![M, K]>;

#[device(chip = 1)]
fn read(ctx: &mut Context, a: &A) -> HbmTensor<f32, m![1], m![M, K]> {
    let a = a.to_dm::<m![1 # 2], m![M], m![K]>(&mut ctx.tdma, AUTO);
    let c = (ctx.main.begin(a.view()).fetch::<bf16, m![K / 16], m![K % 16]>()).commit::<m![K]>(AUTO);
    c.to_hbm(&mut ctx.tdma, AUTO)
}

#[device(chip = 1)]
fn product(ctx: &mut Context, a: &A, b: &HbmTensor<bf16, m![1], m![N, K]>) -> HbmTensor<bf16, m![1], m![M, N]> {
    let a = a.to_dm::<m![1 # 2], m![M], m![K]>(&mut ctx.tdma, AUTO);
    let b = b.to_dm::<m![1 # 2], m![M], m![N, K]>(&mut ctx.tdma, AUTO);
    let weights = (ctx.sub.begin(b.view()).fetch::<bf16, m![N], m![K]>())
        .collect::<m![N, K / 16], m![K % 16]>()
        .to_trf::<m![N], m![K]>(TrfAddress::Full);
    let c = (ctx.main.begin(a.view()).fetch::<bf16, m![1], m![K]>())
        .collect::<m![K / 16], m![K % 16]>()
        .align::<m![1], m![K], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![N]>(AUTO);
    c.to_hbm(&mut ctx.tdma, AUTO)
}

fn main() {}
