//! Gate, up and down: each cluster has half of the hidden elements.
//!
//! The clusters make two parts of the same sums. They exchange them by DMA, and both add them.

use super::layout::*;
use super::vector::{Gathered, Norm, Vector, halves, halves_of_product};
use furiosa_visa_std::prelude::*;

/// Weights of gate and up of two layers.
pub type GWeights = Hbm<bf16, m![C, L % 2, G, E / 32, F / 4, E / 8 % 4, F % 4, E % 8]>;
/// The same in DM.
pub type GInDm = Dm<bf16, FSlice, m![L % 2, G, E / 8, F % 4, E % 8]>;
/// Weights of down of two layers.
pub type DWeights = Hbm<bf16, m![C, L % 2, F / 16, X / 72, X / 8 % 9, F / 4 % 4, X % 8, F % 4]>;
/// The same in DM.
pub type DInDm = Dm<bf16, XSlice, m![L % 2, F / 4, X % 8, F % 4]>;

/// Hidden elements, four in a slice.
pub type Hidden = Dm<f32, FSlice, m![F % 4]>;
/// Hidden elements in two bf16.
pub type HiddenHalves = Dm<bf16, FSlice, m![H, F % 4]>;

/// Sums of gate, 0, or of up, 1.
macro_rules! sums {
    ($ctx:ident, ($weights:ident, $layer:ident), $x:ident, $which:literal) => {{
        let weights = $weights.view();
        let weights = weights.tile::<m![L % 2], 1, m![1 # 2, G, E / 8, F % 4, E % 8]>($layer);
        let weights = weights.tile::<m![G], 1, m![1 # 2, 1 # 2, E / 8, F % 4, E % 8]>($which);
        ($ctx.main.begin(weights).fetch::<bf16, m![E / 8], m![F % 4, E % 8]>())
            .collect::<m![E / 8, F / 2 % 2], m![F % 2, E % 8]>()
            .align::<m![E / 8, H], m![F % 4, E % 8], _, _>(&$x.row)
            .contract::<m![F % 4]>()
            .accumulate::<m![1], m![F % 4 # 8]>(AccumulationKind::Sequential)
    }};
}

/// `silu(gate) · up` of a vector that is not yet divided by its norm, in two bf16.
#[track_caller]
pub fn hidden(
    ctx: &mut Context,
    (weights, layer): (&GInDm, usize),
    x: &Gathered<FSlice>,
    norm: &Norm,
) -> HiddenHalves {
    let up: Hidden = sums!(ctx, (weights, layer), x, 1).commit(AUTO);
    let up: Vrf<FSlice, m![F % 4]> =
        (ctx.sub.begin(up.view()).fetch::<f32, m![1], m![F % 4]>().collect::<m![1], m![F % 4 # 8]>())
            .to_vrf(AUTO);
    let gate: Hidden = sums!(ctx, (weights, layer), x, 0)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![F % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &norm.reciprocal)
        .vector_stash()
        .vector_fp_unary(FpUnaryOp::Sigmoid)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), Stash)
        // The norm of `up`: the pass behind this one has no multiplication for it.
        .vector_fp_ternary(FpTernaryOp::FmaF, (&norm.reciprocal, 0.0))
        .vector_pad_way8::<m![F % 4 # 8]>()
        .vector_final()
        .commit(AUTO);
    let product =
        (ctx.main.begin(gate.view()).fetch::<f32, m![H], m![F % 4]>().collect::<m![H], m![F % 4 # 8]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::AxisToggle { axis: H::NAME })
            .vector_trim_way4::<m![F % 4]>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &up);
    halves_of_product!(product)
        .vector_pad_way8::<m![F % 4 # 8]>()
        .vector_final()
        .cast::<bf16, m![F % 4 # 16]>()
        .commit(AUTO)
}

/// The part of the vector's sums that the hidden elements of each cluster make.
#[track_caller]
pub fn down(ctx: &mut Context, (weights, layer): (&DInDm, usize), hidden: &HiddenRow) -> Vector {
    let weights = weights.view();
    let weights = weights.tile::<m![L % 2], 1, m![1 # 2, F / 4, X % 8, F % 4]>(layer);
    (ctx.main.begin(weights).fetch::<bf16, m![F / 4], m![X % 8, F % 4]>())
        .collect::<m![F / 4, X / 4 % 2], m![X % 4, F % 4]>()
        .align::<m![F / 4, H], m![X % 8, F % 4], _, _>(hidden)
        .contract::<m![X % 8]>()
        .accumulate::<m![1], m![X % 8]>(AccumulationKind::Sequential)
        .commit(AUTO)
}

/// Hidden elements in two bf16.
#[track_caller]
fn split(ctx: &mut Context, hidden: &Hidden) -> HiddenHalves {
    let stream =
        (ctx.main.begin(hidden.view()).fetch::<f32, m![H], m![F % 4]>()).collect::<m![H], m![F % 4 # 8]>();
    halves!(stream).cast::<bf16, m![F % 4 # 16]>().commit(AUTO)
}

/// Hidden elements in two bf16, in the register file: those in slices `Sent`, in each slice of `Slice`.
pub type Row<Slice, Sent> = Trf<Slice, m![{ Sent }, [H, F % 4] # 16]>;

/// All hidden elements of a cluster, in every slice of a vector.
pub type HiddenRow = Row<XSlice, FSlice>;

/// Slices that have the same half of the hidden elements of a cluster.
type HalfOfSlices = m![F / 48 % 8, F / 4 % 12 # 16];

/// Half of the hidden elements of a cluster.
pub type HiddenHalf = Row<DSlice, HalfOfSlices>;

/// Sends hidden elements round slices.
macro_rules! send {
    ($ctx:ident, $hidden:ident, $half:ident, $slice:ty, $sent:ty) => {{
        ($ctx.sub.begin($hidden.view()).fetch::<bf16, m![1], m![H, F % 4]>())
            .switch_to::<$slice, $sent>()
            .collect::<$sent, m![[H, F % 4] # 16]>()
            .to_trf($half)
    }};
}

/// Sends the hidden elements of a cluster round its slices.
#[track_caller]
pub fn share(ctx: &mut Context, hidden: &HiddenHalves, half: TrfAddress) -> HiddenRow {
    send!(ctx, hidden, half, XSlice, FSlice)
}

/// Sends the hidden elements of a cluster round its slices, half of them to each, in two bf16.
#[track_caller]
pub fn share_halves(ctx: &mut Context, hidden: &Hidden, half: TrfAddress) -> HiddenHalf {
    let hidden = split(ctx, hidden);
    send!(ctx, hidden, half, DSlice, HalfOfSlices)
}

/// The sums of what both clusters have made, `times` a factor, if it is given.
macro_rules! sum_of_both {
    ($ctx:ident, $part:expr, $other:expr $(, times $factor:expr)?) => {
        ($ctx.main.begin_interleaved::<I, _, _, _, _, _>($part, $other))
            .fetch::<f32, m![I], m![X % 8]>()
            .collect::<m![I], m![X % 8]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<m![I, X / 4 % 2], m![X % 4]>()
            $(.vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), $factor))?
            // The clusters add their parts in two orders, and have the same sum.
            .vector_intra_slice_reduce::<I, m![X / 4 % 2], m![X % 4]>(IntraSliceReduceOpF32::Add)
            .vector_concat::<m![1], m![X % 8]>()
    };
}
pub(super) use sum_of_both;

/// The part of the other cluster.
#[track_caller]
pub fn of_other<Slice: M, Element: M>(
    ctx: &mut Context,
    part: &Dm<f32, Slice, Element>,
) -> Dm<f32, Slice, Element> {
    ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(part.view(), &[1, 0])
}

/// `before`, and what both clusters add to it.
#[track_caller]
pub fn both(ctx: &mut Context, part: &Vector, before: &Vrf<XSlice, m![X % 8]>) -> Vector {
    let other = of_other(ctx, part);
    sum_of_both!(ctx, part.view(), other.view())
        .vector_clip(ClipBinaryOpF32::Add, before)
        .vector_final()
        .commit(AUTO)
}
