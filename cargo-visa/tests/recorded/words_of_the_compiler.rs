//! What the compiler says in its own words gets an edit.

use furiosa_visa_std::prelude::*;

axes![M = 256, N = 8, K = 32];
type Dm<D, Element> = DmTensor<D, m![1], m![1 # 2], m![M], Element>;
type Weights = TrfTensor<bf16, m![1], m![1 # 2], m![M], m![N], m![K]>;
type Operand = VrfTensor<f32, m![1], m![1 # 2], m![M], m![K]>;

fn parameters(ctx: &mut Context, a: &Dm<bf16, m![K]>, weights: &Weights) {
    let _ = (ctx.main.begin(a.view()).fetch::<bf16, m![1], m![K]>())
        .collect::<m![K / 16], m![K % 16]>()
        .align::<m![1], m![K]>(weights);
}

fn types(ctx: &mut Context, a: &Dm<f32, m![K]>, weights: &Weights) {
    let _ = (ctx.main.begin(a.view()).fetch::<f32, m![1], m![K]>())
        .collect::<m![K / 8], m![K % 8]>()
        .align::<m![1], m![K], _, _>(weights);
}

fn bare(ctx: &mut Context, a: &Dm<bf16, m![K]>) -> Dm<bf16, m![K]> {
    ctx.main.begin(a.view()).fetch::<bf16, m![1], m![K]>().collect().commit(AUTO)
}

fn names(ctx: &mut Context, a: &Dm<f32, m![K]>, v: &Operand) {
    let _ = (ctx.main.begin(a.view()).fetch::<f32, m![K / 8], m![K % 8]>())
        .collect::<m![K / 8], m![K % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::AxisToggle { axis: 0 })
        .vector_split::<m![K / 4], m![K % 4]>()
        .vector_fp_binary(
            FpBinaryOp::Ad,
            [VeBranchOperand::group(v, GroupId::Zero), VeBranchOperand::group(2.0, GroupId::One)],
        )
        .vector_fp_unary(FpUnaryOp::Gelu);
}

fn main() {
    let _ = (parameters, types, bare, names);
}
