//! The Vector Engine at its limits: all units of a pass, five operands, eight sums, every kind of operand, both orders of the
//! reduces, two groups; calls in the vendor's spelling.

use furiosa_visa_std::prelude::*;

axes![N = 512, W = 4, L = 8, I = 2, G = 32, J = 8, X = 8, A = 2, V = 3];

type Cluster = m![1 # 2];
type In<D> = DmTensor<D, m![1], Cluster, m![N / 2], m![W, L]>;

/// All units of the integer clusters.
fn integers(ctx: &mut Context) {
    // SAFETY: nothing is read.
    let x = unsafe { In::<i32>::from_addr(0) };
    let _ = (ctx.main.begin(x.view()).fetch::<i32, m![W], m![L]>().collect::<m![W], m![L]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Comparison(
            [InputCmp::I32(InputCmpI32::Less { boundary: 3 }); 4],
        ))
        .vector_logic(LogicBinaryOpI32::BitAnd, 7)
        .vector_logic(LogicBinaryOpI32::BitOr, 1)
        .vector_logic(LogicBinaryOpI32::BitXor, 5)
        .vector_final();
}

/// All units of the fixed-point and clip clusters, with operands for groups.
fn fixed_point(ctx: &mut Context) {
    // SAFETY: nothing is read.
    let (x, b) = unsafe {
        (In::<i32>::from_addr(0), VrfTensor::<i32, m![1], Cluster, m![N / 2], m![L]>::from_addr(0))
    };
    let _ = (ctx.main.begin(x.view()).fetch::<i32, m![W], m![L]>().collect::<m![W], m![L]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::AxisToggle { axis: W::NAME })
        .vector_stash()
        .vector_fxp(FxpBinaryOp::AddFxpSat, &b)
        .vector_fxp(FxpBinaryOp::LeftShiftSat, (1, GroupId::Zero))
        .vector_fxp_with_mode(FxpBinaryOp::MulFxp, BinaryArgMode::Mode00, 0)
        .vector_fxp(
            FxpBinaryOp::ArithRightShiftRound,
            ArrayVec::new([VeBranchOperand::always(VeRhs::constant(4))]),
        )
        .vector_clip(ClipBinaryOpI32::AddFxp, VeBranchOperand::always(VeRhs::vrf(&b)))
        .vector_clip(ClipBinaryOpI32::Min, Stash)
        .vector_clip(
            ClipBinaryOpI32::Max,
            [
                VeBranchOperand::group(VeRhs::constant(7), GroupId::Zero),
                VeBranchOperand::stash_group(GroupId::One),
                VeBranchOperand::group(VeRhs::vrf(&b), GroupId::One),
                VeBranchOperand::group(VeRhs::Stash, GroupId::Zero),
                VeBranchOperand::stash_always(),
            ],
        )
        .vector_final();
}

/// Every stage once.
fn floats<'l>(
    x: CollectTensor<'l, { Tu::Main }, i32, m![1], Cluster, m![N / 2], m![W], m![L]>,
) -> VectorFinalTensor<'l, { Tu::Main }, i32, m![1], Cluster, m![N / 2], m![1], m![L]> {
    let narrow: VectorNarrowTensor<
        'l,
        { Tu::Main },
        f32,
        _,
        _,
        _,
        m![W, L / 4],
        m![L % 4],
        i32,
        NoTensor,
        { VeOrder::IntraFirst },
    > = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_logic(LogicBinaryOpI32::LeftShift, 4)
        .vector_fxp(FxpBinaryOp::SubFxp, 1)
        .vector_fxp_to_fp(31)
        .vector_split::<m![W, L / 4], m![L % 4]>();
    let reduced: VectorIntraSliceReduceTensor<
        'l,
        { Tu::Main },
        f32,
        _,
        _,
        _,
        m![L / 4],
        m![L % 4],
        _,
        _,
        { VeOrder::IntraFirst },
        stage::Standalone,
        { Way4 },
    > = narrow
        .vector_stash()
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_fp_unary_with_mode(FpUnaryOp::Sqrt, UnaryArgMode::Mode0)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), Stash)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), 0.5)
        .vector_fp_ternary(FpTernaryOp::FmaF, ((2.0, 1.0), GroupId::One))
        .vector_intra_slice_reduce::<W, m![L / 4], m![L % 4]>(IntraSliceReduceOpF32::Max);
    reduced
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode10), 1.0)
        .vector_concat::<m![1], m![L]>()
        .vector_fp_to_fxp(8)
        .vector_clip(ClipBinaryOpI32::AbsMax, 3)
        .vector_final()
}

/// Eight sums at once; reduces in both orders; packets of three elements.
fn reduces<'l, const T: Tu>(
    x: CollectTensor<'l, T, f32, m![1], Cluster, m![G, J], m![W, A, J], m![V # 8]>,
    y: CollectTensor<'l, T, i32, m![1], Cluster, m![G, J], m![W], m![L]>,
) {
    let _ = x
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![V # 4]>()
        .vector_intra_slice_reduce::<V, m![W, A, J], m![1 # 4]>(IntraSliceReduceOpF32::Min)
        .vector_pad_way8::<m![1 # 8]>();
    let _ = y
        .vector_init()
        .vector_inter_slice_reduce::<m![G, X], m![W]>(InterSliceReduceOpI32::AddSat)
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpI32::Max, 0)
        .vector_final();
}

/// Groups, and what may follow a zip.
fn groups<'l>(
    x: CollectTensor<'l, { Tu::Main }, f32, m![1], Cluster, m![N / 2], m![W, I], m![L]>,
) -> VectorFinalTensor<'l, { Tu::Main }, f32, m![1], Cluster, m![N / 2], m![W], m![L]> {
    x.vector_init()
        .vector_intra_slice_unzip::<I, m![W, 1 # 2], m![W]>()
        .vector_split::<m![W, L / 4], m![L % 4]>()
        .vector_fp_unary(FpUnaryOp::Sigmoid, true, false)
        .vector_fp_binary(FpBinaryOp::AddF, (), 1.0)
        .vector_fp_zip(FpBinaryOp::MulF(FpMulAlu::Mul1))
        .vector_concat::<m![W], m![L]>()
        .vector_clip(ClipBinaryOpF32::Max, 0.0)
        .vector_final()
}

fn main() {
    let _ = (floats, groups, reduces::<{ Tu::Sub }>);
    let mut ctx = Context::acquire();
    fixed_point(&mut ctx);
    integers(&mut ctx);
}
