//! The embedding with codes of 8 bits: a token's row, and the logits.

use super::super::layout::*;
use super::super::vector::{Gathered, Norm, Vector};
use super::super::vocabulary::Logits;
use furiosa_visa_std::prelude::*;

/// The embedding: a row of codes for each token, and for each 8 of them the scale of their block.
pub struct Embedding {
    /// Codes.
    pub codes: Hbm<i8, m![B, X]>,
    /// Scales.
    pub scales: Hbm<f16, m![B, X / 8, 1 # 4]>,
}

/// Scales of the embedding, of 8 codes each, for tokens that come as a block. They are f32, so that what a slice gets of a row
/// is whole units of 8 bytes.
pub type RowScales = Hbm<f32, m![B, X / 8]>;

/// The same weights, as the product over the vocabulary reads them.
pub struct Vocabulary {
    /// Codes.
    pub codes: Hbm<i8, m![C, V / 8, E / 4, V % 8, E % 4]>,
    /// Scales of blocks.
    pub scales: Hbm<f16, m![C, V / 8, E / 32, V % 8]>,
}

/// Codes of the vocabulary in DM.
type Codes = Dm<i8, VSlice, m![V / 8 % 12, E / 4, V % 8, E % 4]>;
/// Scales of the vocabulary in DM.
type Scales = Dm<f16, VSlice, m![V / 8 % 12, E / 32, V % 8]>;

/// The vocabulary in DM: codes, and scales as soon as they are brought.
pub struct Rows {
    codes: Codes,
    scales: Option<Scales>,
}

impl Rows {
    /// A place for the codes.
    pub fn new(ctx: &mut Context) -> Self {
        Self { codes: Codes::new(ctx), scales: None }
    }
}

/// Parts of the codes that are brought one by one.
pub const PARTS: usize = 12;

/// Brings a part of the codes: of the 96 tokens of each slice, eight.
#[track_caller]
pub fn load(ctx: &mut Context, weights: &Vocabulary, part: usize, rows: &mut Rows) {
    let codes = weights.codes.view();
    let codes = codes.tile::<m![V / 8 % 12], 1, m![C, V / 96, 1 # 12, E / 4, V % 8, E % 4]>(part);
    let mut to = rows.codes.view_mut();
    let to = to.tile::<m![V / 8 % 12], 1, m![1 # 12, E / 4, V % 8, E % 4]>(part);
    codes.to_dm_view(&mut ctx.tdma, to);
}

/// Brings the scales.
#[track_caller]
pub fn load_scales(ctx: &mut Context, weights: &Vocabulary, rows: &mut Rows) {
    rows.scales = Some(weights.scales.to_dm(&mut ctx.tdma, AUTO));
}

/// The row of a token, in both clusters.
#[track_caller]
pub fn embedded(ctx: &mut Context, embedding: &Embedding, token: usize) -> Vector {
    let mut codes = Dm::<i8, XSlice, m![X % 8]>::new(ctx);
    let mut scales = Dm::<f16, XSlice, m![1 # 4]>::new(ctx);
    for cluster in 0..C::SIZE {
        let mut codes = codes.view_mut();
        let codes = codes.cluster_tile::<m![C], 1, m![1 # 2]>(cluster);
        embedding.codes.view().tile::<m![B], 1, m![1 # 49152, X]>(token).to_dm_view(&mut ctx.tdma, codes);
        let mut scales = scales.view_mut();
        let scales = scales.cluster_tile::<m![C], 1, m![1 # 2]>(cluster);
        let row = embedding.scales.view().tile::<m![B], 1, m![1 # 49152, X / 8, 1 # 4]>(token);
        row.to_dm_view(&mut ctx.tdma, scales);
    }
    let scale: Vrf<XSlice, m![1]> =
        (ctx.sub.begin(scales.view()).fetch::<f32, m![1], m![1 # 4]>().collect::<m![1], m![1 # 8]>())
            .to_vrf(AUTO);
    (ctx.main.begin(codes.view()).fetch::<i32, m![1], m![X % 8]>().collect::<m![1], m![X % 8]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp_to_fp(31)
        .vector_split::<m![X / 4 % 2], m![X % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &scale)
        .vector_concat::<m![1], m![X % 8]>()
        .vector_final()
        .commit(AUTO)
}

/// Logits of all tokens, a third of those of a slice at a time, whose scales are in the register file.
#[track_caller]
pub fn logits(ctx: &mut Context, rows: &Rows, x: &Gathered<VSlice>, norm: &Norm) -> Logits {
    let table = LookupTable::from_fn(|code: i8| bf16::from_f32(f32::from(code)));
    let scales = rows.scales.as_ref().expect("they were brought");
    let mut logits = Logits::new(ctx);
    // At the place of the last part's scales, the next ones would have to wait until they are used.
    let mut last = None;
    for part in 0..3 {
        type Time = m![V / 8 % 4];
        let scales = scales.view();
        let scales = scales.tile::<m![V / 32 % 3], 1, m![1 # 3, V / 8 % 4, E / 32, V % 8]>(part);
        let scales: Vrf<VSlice, m![V / 8 % 4, E / 32, V % 8]> =
            (ctx.sub.begin(scales).fetch::<f32, m![V / 8 % 4, E / 32], m![V % 8]>())
                .collect::<m![V / 8 % 4, E / 32], m![V % 8]>()
                .to_vrf(AUTO);
        let codes = rows.codes.view();
        let codes = codes.tile::<m![V / 32 % 3], 1, m![1 # 3, V / 8 % 4, E / 4, V % 8, E % 4]>(part);
        let mut logits = logits.view_mut();
        let logits = logits.tile::<m![V / 32 % 3], 1, m![1 # 3, V % 32]>(part);
        (ctx.main.begin(codes).fetch_with_table::<bf16, m![{ Time }, E / 4], m![V % 8, E % 4]>(&table))
            .collect::<m![{ Time }, E / 4, V / 4 % 2], m![V % 4, E % 4]>()
            .align::<m![{ Time }, E / 4, H], m![V % 8, E % 4], _, _>(&x.row)
            .contract::<m![V % 8]>()
            .accumulate::<m![{ Time }, E / 32], m![V % 8]>(AccumulationKind::Sequential)
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<m![{ Time }, E / 32, V / 4 % 2], m![V % 4]>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &scales)
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), &norm.reciprocal)
            .vector_intra_slice_reduce::<E, m![{ Time }, V / 4 % 2], m![V % 4]>(IntraSliceReduceOpF32::Add)
            .vector_concat::<Time, m![V % 8]>()
            .vector_final()
            .commit_view(logits);
        last.replace(scales);
    }
    logits
}
