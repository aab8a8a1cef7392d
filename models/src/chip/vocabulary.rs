//! The first and the last step: a token's row of the embedding, and a logit for each token.

use super::layout::*;
use super::vector::{Gathered, Vector};
use furiosa_visa_std::prelude::*;

/// The embedding, a row for each token.
pub type Embedding = Hbm<bf16, m![B, X]>;
/// The same weights, as the product over the vocabulary reads them.
pub type VWeights = Hbm<bf16, m![C, V / 4, E / 8, V % 4, E % 8]>;
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

/// Logits of all tokens.
#[track_caller]
pub fn logits(ctx: &mut Context, weights: &VInDm, x: &Gathered<VSlice>, norm: &Vrf<m![Y], m![1]>) -> Logits {
    (ctx.main.begin(weights.view()).fetch::<bf16, m![V / 4 % 24, E / 8], m![V % 4, E % 8]>())
        .collect::<m![V / 4 % 24, E / 8, V / 2 % 2], m![V % 2, E % 8]>()
        .align::<m![V / 4 % 24, E / 8, H], m![V % 4, E % 8], _, _>(x)
        .contract::<m![V % 4]>()
        .accumulate::<m![V / 4 % 24], m![V % 4 # 8]>(AccumulationKind::Sequential)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![V % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), norm)
        .vector_pad_way8::<m![V % 4 # 8]>()
        .vector_final()
        .commit(AUTO)
}
