//! Calls of the Vector Engine that have two names, and what stands behind them.

use furiosa_visa_std::prelude::*;

axes![A = 256, B = 64, I = 2];

type Cluster = m![1 # 2];
type X<D> = DmTensor<D, m![1], Cluster, m![A], m![B]>;
type Flits = m![B / 8];
type Lanes = m![B % 8];

/// Halves of flits, a division, a cast behind the stream.
pub fn quotient(ctx: &mut Context, x: &X<bf16>, y: &VrfTensor<f32, m![1], Cluster, m![A], m![B]>) -> X<bf16> {
    (ctx.main.begin(x.view()))
        .fetch::<f32, Flits, Lanes>()
        .collect::<Flits, Lanes>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![B / 4], m![B % 4]>()
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode10), y)
        .vector_concat::<Flits, Lanes>()
        .vector_clip(ClipBinaryOpF32::Max, 0.0)
        .vector_final()
        .cast::<bf16, m![B % 8 # 16]>()
        .commit::<m![B]>(AUTO)
}

/// A sum in each slice, which leaves half of each flit empty.
pub fn sum(ctx: &mut Context, x: &X<f32>) -> DmTensor<f32, m![1], Cluster, m![A], m![1 # 8]> {
    (ctx.main.begin(x.view()).fetch::<f32, Flits, Lanes>().collect::<Flits, Lanes>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::AxisToggle { axis: B::NAME })
        .vector_split::<m![B / 4], m![B % 4]>()
        .vector_intra_slice_reduce::<B, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .commit(AUTO)
}

/// Groups by comparisons, and an operand for one of them.
pub fn clipped(ctx: &mut Context, x: &X<i32>) -> X<i32> {
    (ctx.main.begin(x.view()).fetch::<i32, Flits, Lanes>().collect::<Flits, Lanes>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Comparison([
            InputCmp::I32(InputCmpI32::True),
            InputCmp::I32(InputCmpI32::Equal { boundary: 3 }),
            InputCmp::I32(InputCmpI32::GreaterUnsigned { boundary: 1 << 8 }),
            InputCmp::I32(InputCmpI32::Less { boundary: -7 }),
        ]))
        .vector_clip(ClipBinaryOpI32::Max, (-7, GroupId::One))
        .vector_final()
        .commit(AUTO)
}

/// Half of a flit that is padding.
pub fn trimmed(ctx: &mut Context, x: &DmTensor<f32, m![1], Cluster, m![A], m![I # 8]>) {
    let y: DmTensor<f32, m![1], Cluster, m![A], m![I # 8]> =
        (ctx.main.begin(x.view()).fetch::<f32, m![1], m![I # 8]>().collect::<m![1], m![I # 8]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_trim_way4::<m![I # 4]>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), 2.0)
            .vector_pad_way8::<m![I # 8]>()
            .vector_final()
            .commit(AUTO);
    y.to_hbm::<m![A, I # 8]>(&mut ctx.tdma, AUTO);
}
