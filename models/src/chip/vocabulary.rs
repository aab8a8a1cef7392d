//! The first and the last step: a token's row of the embedding, and a logit for each token.

use super::layout::*;
use super::vector::{Gathered, Norm, Vector};
use furiosa_visa_std::prelude::*;

/// The embedding, a row for each token.
pub type Embedding = Hbm<bf16, m![B, X]>;
/// The same weights, as the product over the vocabulary reads them.
pub type VWeights = Hbm<bf16, m![C, V / 4 % 24, E / 32, V / 96, E / 8 % 4, V % 4, E % 8]>;
/// The same in DM: a part of them.
pub type VInDm = Dm<bf16, VSlice, m![V / 4 % 24, E / 8, V % 4, E % 8]>;
/// A logit for each token.
pub type Logits = Dm<f32, VSlice, m![V % 96]>;

/// The row of a token, in both clusters.
#[track_caller]
pub fn embedded(ctx: &mut Context, embedding: &Embedding, token: usize) -> Vector {
    let mut row = Dm::<bf16, XSlice, m![X % 8]>::new(ctx);
    for cluster in 0..C::SIZE {
        let mut row = row.view_mut();
        let row = row.cluster_tile::<m![C], 1, m![1 # 2]>(cluster);
        embedding.view().tile::<m![B], 1, m![1 # 49152, X]>(token).to_dm_view(&mut ctx.tdma, row);
    }
    (ctx.main.begin(row.view()).fetch::<f32, m![1], m![X % 8]>().collect::<m![1], m![X % 8]>()).commit(AUTO)
}

/// Small parts of the weights.
pub const PARTS: usize = 24;

/// Halves of small parts that are brought one by one beside layers with less time. They are the last ones of the weights.
pub const HALVES: usize = 12;

/// Small parts that are brought at once beside the last layer.
const AT_ONCE: usize = 3;

/// Small parts that are brought one by one beside the layers of a token: what the others leave.
pub const SMALL_PARTS: usize = PARTS - AT_ONCE - HALVES / 2;

const _: () = {
    assert!(HALVES.is_multiple_of(2), "halves are of whole small parts");
    assert!(<m![V / 4 % 3]>::SIZE == AT_ONCE, "the tile of parts that are brought at once has all of them");
    assert!(
        SMALL_PARTS.is_multiple_of(AT_ONCE),
        "parts that are brought at once begin at a multiple of their number"
    );
};

/// Brings a small part of the weights: of the 96 tokens of each slice, four.
#[track_caller]
pub fn load(ctx: &mut Context, weights: &VWeights, part: usize, to: &mut VInDm) {
    let weights = weights.view();
    let weights =
        weights.tile::<m![V / 4 % 24], 1, m![C, 1 # 24, E / 32, V / 96, E / 8 % 4, V % 4, E % 8]>(part);
    let mut to = to.view_mut();
    let to = to.tile::<m![V / 4 % 24], 1, m![1 # 24, E / 8, V % 4, E % 8]>(part);
    weights.to_dm_view(&mut ctx.tdma, to);
}

/// Brings a half of a small part: of four tokens of each slice, half of the elements.
#[track_caller]
pub fn load_half(ctx: &mut Context, weights: &VWeights, half: usize, to: &mut VInDm) {
    let part = PARTS - HALVES / 2 + half / 2;
    let weights = weights.view();
    let weights =
        weights.tile::<m![V / 4 % 24], 1, m![C, 1 # 24, E / 32, V / 96, E / 8 % 4, V % 4, E % 8]>(part);
    let weights = weights
        .tile::<m![E / 288], 1, m![C, 1 # 24, 1 # 2, E / 32 % 9, V / 96, E / 8 % 4, V % 4, E % 8]>(half % 2);
    let mut to = to.view_mut();
    let mut to = to.tile::<m![V / 4 % 24], 1, m![1 # 24, E / 8, V % 4, E % 8]>(part);
    let to = to.tile::<m![E / 288], 1, m![1 # 24, 1 # 2, E / 8 % 36, V % 4, E % 8]>(half % 2);
    weights.to_dm_view(&mut ctx.tdma, to);
}

/// Brings what is between the small parts and the halves, at once.
#[track_caller]
pub fn load_beside_the_last_layer(ctx: &mut Context, weights: &VWeights, to: &mut VInDm) {
    type Blocks = m![V / 12 % 8 = 1 # 8, V / 4 % 3];
    let weights = weights.view();
    let weights = weights
        .tile::<m![V / 12 % 8], 1, m![C, { Blocks }, E / 32, V / 96, E / 8 % 4, V % 4, E % 8]>(
            SMALL_PARTS / AT_ONCE,
        );
    let mut to = to.view_mut();
    let to = to.tile::<m![V / 12 % 8], 1, m![{ Blocks }, E / 8, V % 4, E % 8]>(SMALL_PARTS / AT_ONCE);
    weights.to_dm_view(&mut ctx.tdma, to);
}

/// Logits of all tokens.
#[track_caller]
pub fn logits(ctx: &mut Context, weights: &VInDm, x: &Gathered<VSlice>, norm: &Norm) -> Logits {
    (ctx.main.begin(weights.view()).fetch::<bf16, m![V / 4 % 24, E / 8], m![V % 4, E % 8]>())
        .collect::<m![V / 4 % 24, E / 8, V / 2 % 2], m![V % 2, E % 8]>()
        .align::<m![V / 4 % 24, E / 8, H], m![V % 4, E % 8], _, _>(&x.row)
        .contract::<m![V % 4]>()
        .accumulate::<m![V / 4 % 24], m![V % 4 # 8]>(AccumulationKind::Sequential)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![V % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &norm.reciprocal)
        .vector_pad_way8::<m![V % 4 # 8]>()
        .vector_final()
        .commit(AUTO)
}

/// The number of each token, as f32.
pub type Numbers = Hbm<f32, m![C, V]>;
/// A number in every slice of both clusters.
type Everywhere = Dm<f32, m![Y], m![1 # 2]>;

/// The greatest or the least of what the clusters have, in both of them.
#[track_caller]
fn of_both(ctx: &mut Context, own: &Everywhere, which: IntraSliceReduceOpF32) -> Everywhere {
    let other = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(own.view(), &[1, 0]);
    (ctx.main.begin_interleaved::<I, _, _, _, _, _>(own.view(), other.view()))
        .fetch::<f32, m![I], m![1 # 2]>()
        .collect::<m![I], m![1 # 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![1 # 4]>()
        .vector_intra_slice_reduce::<I, m![1], m![1 # 4]>(which)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .commit(AUTO)
}

/// The number of the token with the greatest logit, the least one of those that are equal. It is stored to `choice`.
#[track_caller]
pub fn choose(ctx: &mut Context, logits: &Logits, numbers: &Logits, choice: &mut Hbm<f32, m![I]>) {
    let numbers: Vrf<VSlice, m![V % 96]> =
        (ctx.sub.begin(numbers.view()).fetch::<f32, m![V / 8 % 12], m![V % 8]>())
            .collect::<m![V / 8 % 12], m![V % 8]>()
            .to_vrf(AUTO);
    let greatest: Everywhere = (ctx.main.begin(logits.view()).fetch::<f32, m![V / 8 % 12], m![V % 8]>())
        .collect::<m![V / 8 % 12], m![V % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![V / 4 % 24], m![V % 4]>()
        .vector_intra_slice_reduce::<V, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Max)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_inter_slice_reduce::<m![Y], m![1]>(InterSliceReduceOpF32::Max)
        .vector_final()
        .commit(AUTO);
    let greatest = of_both(ctx, &greatest, IntraSliceReduceOpF32::Max);
    let greatest: Vrf<m![Y], m![1]> =
        (ctx.sub.begin(greatest.view()).fetch::<f32, m![1], m![1 # 2]>().collect::<m![1], m![1 # 8]>())
            .to_vrf(AUTO);
    // Bits that differ from those of the greatest logit, as a number: 0, or at least 1 when squared.
    let least: Everywhere = (ctx.main.begin(logits.view()).fetch::<f32, m![V / 8 % 12], m![V % 8]>())
        .collect::<m![V / 8 % 12], m![V % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_logic(LogicBinaryOpF32::BitXor, &greatest)
        .vector_reinterpret::<i32>()
        .vector_fxp_to_fp(31)
        .vector_split::<m![V / 4 % 24], m![V % 4]>()
        .vector_fp_binary_with_mode(FpBinaryOp::MulF(FpMulAlu::Mul0), BinaryArgMode::Mode00, 0.0)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), 1e9)
        .vector_fp_binary(FpBinaryOp::AddF, &numbers)
        .vector_intra_slice_reduce::<V, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Min)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_inter_slice_reduce::<m![Y], m![1]>(InterSliceReduceOpF32::Min)
        .vector_final()
        .commit(AUTO);
    let least = of_both(ctx, &least, IntraSliceReduceOpF32::Min);
    let least = least.view();
    let least = least.cluster_tile::<m![C], 1, m![1 # 2]>(0);
    let least = least.slice_tile::<m![Y], 1, m![1 # 256]>(0);
    let mut choice = choice.view_mut();
    least.to_hbm_view(&mut ctx.tdma, choice.tile::<m![I], 1, m![1 # 2]>(0));
}
