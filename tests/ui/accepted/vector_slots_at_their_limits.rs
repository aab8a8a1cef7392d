//! Three constants and one register file, each of them alone, of both types, and of operators of three arguments.

use furiosa_visa_std::prelude::*;

axes![S = 256, L = 8];

type Dm<D> = DmTensor<D, m![1], m![1 # 2], m![S], m![L]>;
type Vrf<D> = VrfTensor<D, m![1], m![1 # 2], m![S], m![L]>;

const LOW: TagGuard = TagGuard::matches([BitReq::One, BitReq::Ignore, BitReq::Ignore, BitReq::Ignore]);

fn floats(ctx: &mut Context, x: &Dm<f32>, b: &Vrf<f32>) -> Dm<f32> {
    let rest = TagGuard::not_matches([BitReq::One, BitReq::One, BitReq::Ignore, BitReq::Ignore]);
    (ctx.main.begin(x.view()).fetch::<f32, m![1], m![L]>().collect::<m![1], m![L]>())
        .vector_init()
        .vector_intra_slice_tag(TagMode::Comparison([Cmp::Less(0.0), Cmp::Equal(1.0), Cmp::True, Cmp::False]))
        .vector_stash()
        .vector_logic(LogicBinaryOpF32::BitXor, (-0.0, LOW))
        .vector_split::<m![L / 4], m![L % 4]>()
        .vector_fp_unary_for(LOW, FpUnaryOp::Exp)
        .vector_fp_ternary(FpTernaryOp::FmaF, Branched::imm(LOW, (1.0, 2.0)).imm(rest, (2.0, 1.0)).rf(TagGuard::all(), (b, 3.0)))
        .vector_concat::<m![1], m![L]>()
        .vector_clip(ClipBinaryOpF32::Add, Branched::imm(LOW, 1.0).imm(rest, 2.0).imm(rest, 3.0).rf(TagGuard::all(), b))
        .vector_clip(ClipBinaryOpF32::Max, Branched::rf(LOW, Stash))
        .vector_final()
        .commit(AUTO)
}

fn integers(ctx: &mut Context, x: &Dm<i32>, b: &Vrf<i32>) -> Dm<f32> {
    (ctx.main.begin(x.view()).fetch::<i32, m![1], m![L]>().collect::<m![1], m![L]>())
        .vector_init()
        .vector_intra_slice_tag(TagMode::Zero)
        .vector_fxp(FxpBinaryOp::AddFxp, Branched::imm(TagGuard::all(), 1))
        .vector_clip(ClipBinaryOpI32::Max, Branched::imm(LOW, 1).rf(GroupId::Zero.into(), b))
        .vector_reinterpret::<f32>()
        .vector_final()
        .commit(AUTO)
}

fn main() {
    std::hint::black_box((floats as fn(_, _, _) -> _, integers as fn(_, _, _) -> _));
    assert_eq!(ExecutionId::all().last(), Some(ExecutionId::new::<15>()));
}
