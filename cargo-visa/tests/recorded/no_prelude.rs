//! A file without the prelude has one error.

axes![M = 256, N = 8, K = 32];
type Slice = m![M];

#[device(chip = 1)]
fn kernel(ctx: &mut Context, a: &HbmTensor<bf16, m![1], m![M, K]>) -> HbmTensor<bf16, m![1], m![M, K]> {
    let a = a.to_dm::<m![1 # 2], Slice, m![K]>(&mut ctx.tdma, AUTO);
    a.to_hbm(&mut ctx.tdma, AUTO)
}

fn main() {}
