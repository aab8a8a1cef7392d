//! Calls of the Vector Engine that have two names, and what stands behind them.

use furiosa_opt_std::prelude::*;

axes![A = 256, B = 64, I = 2];

type Cluster = m![1 # 2];
type X<D> = DmTensor<D, m![1], Cluster, m![A], m![B]>;
type Flits = m![B / 8];
type Lanes = m![B % 8];

/// Halves of flits, a division, a cast behind the stream.
pub fn quotient(ctx: &mut Context, x: &X<bf16>, y: &VrfTensor<f32, m![1], Cluster, m![A], m![B]>) -> X<bf16> {
    (ctx.main.begin(x.view()))
        .fetch::<Flits, Lanes>()
        .fetch_cast::<f32>()
        .collect::<Flits, Lanes>()
        .vector_init()
        .vector_intra_slice_tag(TagMode::Zero)
        .vector_narrow_split::<m![B / 4], m![B % 4]>()
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_fp_div_with_mode(BinaryArgMode::Mode10, y)
        .vector_widen_concat::<Flits, Lanes>()
        .vector_clip(ClipBinaryOpF32::Max, 0.0)
        .vector_final()
        .cast::<bf16, m![B % 8 # 16]>()
        .commit_trim::<m![B % 8]>()
        .commit::<m![B]>()
}

/// A sum in each slice, which leaves half of each flit empty.
pub fn sum(ctx: &mut Context, x: &X<f32>) -> DmTensor<f32, m![1], Cluster, m![A], m![1 # 8]> {
    (ctx.main.begin(x.view()).fetch::<Flits, Lanes>().collect::<Flits, Lanes>())
        .vector_init()
        .vector_intra_slice_tag(TagMode::AxisToggle { axis: B::NAME })
        .vector_narrow_split::<m![B / 4], m![B % 4]>()
        .vector_intra_slice_reduce::<B, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_widen_pad::<m![1 # 8]>()
        .vector_final()
        .commit_trim::<m![1 # 8]>()
        .commit()
}

/// Groups by comparisons, and an operand for one of them.
pub fn clipped(ctx: &mut Context, x: &X<i32>) -> X<i32> {
    (ctx.main.begin(x.view()).fetch::<Flits, Lanes>().collect::<Flits, Lanes>())
        .vector_init()
        .vector_intra_slice_tag(TagMode::Comparison([
            Cmp::True,
            Cmp::Equal(3),
            Cmp::GreaterUnsigned(1 << 8),
            Cmp::Less(-7),
        ]))
        .vector_clip(ClipBinaryOpI32::Max, Branched::imm(TagGuard::group(GroupId::One), -7))
        .vector_final()
        .commit_trim::<Lanes>()
        .commit()
}

/// Half of a flit that is padding.
pub fn trimmed(ctx: &mut Context, x: &DmTensor<f32, m![1], Cluster, m![A], m![I # 8]>) {
    let y: DmTensor<f32, m![1], Cluster, m![A], m![I # 8]> =
        (ctx.main.begin(x.view()).fetch::<m![1], m![I # 8]>().collect::<m![1], m![I # 8]>())
            .vector_init()
            .vector_intra_slice_tag(TagMode::Zero)
            .vector_narrow_trim::<m![I # 4]>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), 2.0)
            .vector_widen_pad::<m![I # 8]>()
            .vector_final()
            .commit_trim::<m![I # 8]>()
            .commit();
    y.to_hbm::<m![A, I # 8]>(&mut ctx.tdma);
}
