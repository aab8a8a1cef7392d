//! Gate, up and down of a block.

use super::layout::*;
use super::vectors::added_over_slices;
use furiosa_visa_std::prelude::*;

/// Weights of gate and up, in two parts for the slices that share them.
pub type GWeights = Hbm<bf16, m![F / 4 % 3, E / 16 % 9, F / 2 % 2, I, F / 12, F % 2, E / 144, E % 16]>;
/// Parts of them in DM.
pub type GParts = Dm<bf16, m![I, F / 12], m![F / 4 % 3, E / 16 % 9, F % 4, E / 144, E % 16]>;
/// All of them in DM.
pub type GInDm = Dm<bf16, FSlice, m![I, F / 4 % 3, E / 16 % 9, F % 4, E / 144, E % 16]>;
/// The same in the register file.
pub type GInTrf = Trf<FSlice, m![I, F % 4], m![F / 4 % 3, E / 16 % 9, E / 144, E % 16]>;
/// Weights of down, in four parts for the slices that share them.
pub type DWeights = Hbm<bf16, m![F / 8 % 3, X / 64, X / 2 % 4, F / 24, F / 4 % 2, X % 2, X / 8 % 8, F % 4]>;
/// Parts of them in DM.
pub type DParts = Dm<bf16, m![X / 2 % 4, F / 24], m![F / 8 % 3, X / 64, F / 4 % 2, X % 2, X / 8 % 8, F % 4]>;
/// All of them in DM.
pub type DInDm = Dm<bf16, DSlice, m![X / 2 % 4, F / 8 % 3, X / 64, F / 4 % 2, X % 2, X / 8 % 8, F % 4]>;
/// The same in the register file.
pub type DInTrf = Trf<DSlice, m![X % 8], m![F / 8 % 3, X / 64, F / 4 % 2, X / 8 % 8, F % 4]>;

/// `silu(gate)` and `up`.
pub type Sums = Dm<f32, FSlice, m![W, R / 2, F / 4 % 3, I, R % 2, F % 4]>;
/// Hidden elements of 64 tokens in 128 slices.
pub type Hidden = Dm<bf16, FSlice, m![W, R / 8, F / 4 % 3, R % 8, F % 4]>;
/// Hidden elements of 32 tokens in 64 slices.
pub type DHidden = Dm<bf16, DSlice, m![R / 8, F / 4 % 6, R % 8, F % 4]>;

/// Parts of the weights of gate and up that are spread one by one.
#[derive(Clone, Copy, Debug)]
pub enum Spread {
    /// A third of gate.
    First,
    /// The rest of gate.
    Rest,
    /// Up.
    Up,
}

/// Weights of gate or of up to all slices.
#[track_caller]
pub fn spread(ctx: &mut Context, parts: &GParts, which: Spread, all: &mut GInDm) {
    macro_rules! spread {
        ($i:literal, $count:literal, $first:literal, $part:ty) => {{
            let part = parts.view().slice_tile::<m![I], 1, m![1 # 2, F / 12]>($i);
            let mut all = all.view_mut();
            let mut all = all.tile::<m![I], 1, m![1 # 2, F / 4 % 3, E / 16 % 9, F % 4, E / 144, E % 16]>($i);
            let part = part.tile::<m![F / 4 % 3], $count, $part>($first);
            part.to_dm_view_pcopy(
                &mut ctx.sub,
                all.tile::<m![F / 4 % 3], $count, m![1 # 2, { $part }]>($first),
            );
        }};
    }
    match which {
        Spread::First => spread!(0, 1, 0, m![1 # 3, E / 16 % 9, F % 4, E / 144, E % 16]),
        Spread::Rest => spread!(0, 2, 1, m![F / 4 % 3 = 2 # 3, E / 16 % 9, F % 4, E / 144, E % 16]),
        Spread::Up => spread!(1, 3, 0, m![F / 4 % 3, E / 16 % 9, F % 4, E / 144, E % 16]),
    }
}

/// Weights of gate and up to the register file.
#[track_caller]
pub fn load_gate_up(ctx: &mut Context, weights: &GInDm, half: TrfAddress) -> GInTrf {
    (ctx.main.begin(weights.view()))
        .fetch::<bf16, m![I, F % 4, F / 4 % 3], m![E / 16 % 9, E / 144, E % 16]>()
        .collect::<m![I, F % 4, F / 4 % 3, E / 16 % 9, E / 144], m![E % 16]>()
        .to_trf(half)
}

/// Weights of down to all slices.
#[track_caller]
pub fn spread_down(ctx: &mut Context, parts: &DParts) -> DInDm {
    let mut all = DInDm::new(ctx);
    parts.to_dm_pcopy(&mut ctx.sub, &mut all);
    all
}

/// Weights of down to the register file.
#[track_caller]
pub fn load_down(ctx: &mut Context, weights: &DInDm, half: TrfAddress) -> DInTrf {
    (ctx.main.begin(weights.view()))
        .fetch::<bf16, m![X % 8], m![F / 8 % 3, X / 64, F / 4 % 2, X / 8 % 8, F % 4]>()
        .collect_flits()
        .to_trf(half)
}

/// `silu(gate)` and `up`.
#[track_caller]
pub fn gate_up(ctx: &mut Context, x: &Stream, weights: &GInTrf) -> Sums {
    (ctx.main.begin(x.view()).fetch::<bf16, m![R % 2, E / 16 % 9], m![E % 16]>())
        .switch_to::<FSlice, m![R % 2, E / 16 % 9, W, R / 2, E / 144]>()
        .collect::<m![R % 2, E / 16 % 9, W, R / 2, E / 144], m![E % 16]>()
        .align::<m![R % 2, E / 16 % 9, W, R / 2, E / 288, F / 4 % 3], m![E / 144 % 2, E % 16], _, _>(weights)
        .contract::<m![1]>()
        .accumulate::<m![R % 2, W, R / 2, F / 4 % 3], m![I, F % 4]>(AccumulationKind::Interleaved)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::AxisToggle { axis: I::NAME })
        .vector_split::<m![R % 2, W, R / 2, F / 4 % 3, I], m![F % 4]>()
        .vector_stash()
        .vector_fp_unary_for(GroupId::Zero, FpUnaryOp::Sigmoid)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), (Stash, GroupId::Zero))
        .vector_pad_way8::<m![F % 4 # 8]>()
        .vector_final()
        .commit(AUTO)
}

/// `silu(gate) · up`.
#[track_caller]
pub fn hidden(ctx: &mut Context, sums: &Sums) -> Hidden {
    (ctx.main.begin(sums.view()).fetch::<f32, m![W, R / 2, F / 4 % 3, I], m![R % 2, F % 4]>())
        .collect::<m![W, R / 2, F / 4 % 3, I], m![R % 2, F % 4]>()
        .vector_init()
        .vector_intra_slice_unzip::<I, m![W, R / 2, F / 4 % 3, 1 # 2], m![W, R / 2, F / 4 % 3]>()
        .vector_split::<m![W, R / 2, F / 4 % 3, R % 2], m![F % 4]>()
        .vector_fp_zip(FpBinaryOp::MulF(FpMulAlu::Mul0))
        .vector_concat::<m![W, R / 2, F / 4 % 3], m![R % 2, F % 4]>()
        .vector_final()
        .cast::<bf16, m![[R % 2, F % 4] # 16]>()
        .commit(AUTO)
}

/// Hidden elements in the slices in which down is summed over them: twice as many elements for half of the tokens, so that
/// half as many sums leave the accumulator.
#[track_caller]
pub fn gathered(ctx: &mut Context, hidden: &Hidden) -> DHidden {
    let mut all = DHidden::new(ctx);
    hidden.to_dm_pcopy(&mut ctx.sub, &mut all);
    all
}

/// `x`, and what down adds to it. A slice has products of its hidden elements, which are added over slices.
#[track_caller]
pub fn down(ctx: &mut Context, hidden: &DHidden, weights: &DInTrf, x: &Operand) -> Vectors {
    let products =
        (ctx.main.begin(hidden.view()).fetch::<bf16, m![X / 16, R / 8, F / 4 % 6], m![R % 8, F % 4]>())
            .collect::<m![X / 16, R / 8, F / 4 % 6, R / 4 % 2], m![R % 4, F % 4]>()
            .align::<m![X / 16, R / 8, F / 4 % 6, X / 8 % 2], m![R % 8, F % 4], _, _>(weights)
            .contract::<m![R % 8]>()
            .accumulate::<m![X / 16, R / 8, X / 8 % 2, R % 8], m![X % 8]>(AccumulationKind::Interleaved);
    added_over_slices!(products, x)
}
