//! The embedding with codes of 8 bits: a token's row, and the logits.

use super::super::layout::*;
use super::super::vector::{Gathered, Norm};
use super::super::vocabulary::Logits;
use super::vector::{Parts, Twice};
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
    /// Factors of the norm in front of it.
    pub norm: Hbm<f32, m![X]>,
}

/// Codes of the vocabulary in DM.
type Codes = Dm<i8, VSlice, m![V / 8 % 12, E / 4, V % 8, E % 4]>;
/// Scales of the vocabulary in DM.
type Scales = Dm<f16, VSlice, m![V / 8 % 12, E / 32, V % 8]>;

/// The vocabulary in DM: codes; and scales and factors of the norm as soon as they are brought.
pub struct Rows {
    codes: Codes,
    rest: Option<(Scales, Dm<f32, XSlice, m![X % 8]>)>,
}

impl Rows {
    /// A place for the codes.
    pub fn new(ctx: &mut Context) -> Self {
        Self { codes: Codes::new(ctx), rest: None }
    }

    fn rest(&self) -> &(Scales, Dm<f32, XSlice, m![X % 8]>) {
        self.rest.as_ref().expect("they were brought")
    }

    /// Factors of the norm in front of the product.
    pub fn norm(&self) -> &Dm<f32, XSlice, m![X % 8]> {
        &self.rest().1
    }
}

/// Parts of the codes that are brought one by one.
pub const PARTS: usize = 24;

/// Brings a part of the codes: of eight of the 96 tokens of each slice, a half.
#[track_caller]
pub fn load(ctx: &mut Context, weights: &Vocabulary, part: usize, rows: &mut Rows) {
    let codes = weights.codes.view();
    let codes = codes.tile::<m![V / 8 % 12], 1, m![C, V / 96, 1 # 12, E / 4, V % 8, E % 4]>(part / 2);
    let codes =
        codes.tile::<m![E / 288], 1, m![C, V / 96, 1 # 12, 1 # 2, E / 4 % 72, V % 8, E % 4]>(part % 2);
    let mut to = rows.codes.view_mut();
    let mut to = to.tile::<m![V / 8 % 12], 1, m![1 # 12, E / 4, V % 8, E % 4]>(part / 2);
    let to = to.tile::<m![E / 288], 1, m![1 # 12, 1 # 2, E / 4 % 72, V % 8, E % 4]>(part % 2);
    codes.to_dm_view(&mut ctx.tdma, to);
}

/// Brings scales and factors of the norm.
#[track_caller]
pub fn load_rest(ctx: &mut Context, weights: &Vocabulary, rows: &mut Rows) {
    // The factors are needed first.
    let norm = weights.norm.to_dm(&mut ctx.tdma, AUTO);
    rows.rest = Some((weights.scales.to_dm(&mut ctx.tdma, AUTO), norm));
}

/// The row of a token in DM.
///
/// It is kept: at its place, what comes next would have to wait until it is used.
pub struct Row {
    codes: Dm<i8, XSlice, m![X % 8]>,
    scales: Dm<f16, XSlice, m![1 # 4]>,
    /// The row, and zeros in the second slice of each pair: the sum is what the first one has, in both.
    values: Dm<f32, m![X / 72, X / 8 % 9 # 16, I], m![X % 8]>,
}

/// The row of a token, as the part that each cluster has of it.
#[track_caller]
pub fn embedded(ctx: &mut Context, embedding: &Embedding, token: usize) -> (Twice, Row) {
    let mut row = Row { codes: Dm::new(ctx), scales: Dm::new(ctx), values: Dm::new(ctx) };
    row.values.view_mut().memset(0.0, &mut ctx.sub);
    let codes = embedding.codes.view().tile::<m![B], 1, m![1 # 49152, X]>(token);
    codes.to_dm_view(&mut ctx.tdma, row.codes.view_mut());
    let scales = embedding.scales.view().tile::<m![B], 1, m![1 # 49152, X / 8, 1 # 4]>(token);
    scales.to_dm_view(&mut ctx.tdma, row.scales.view_mut());
    let scale: Vrf<XSlice, m![1]> =
        (ctx.sub.begin(row.scales.view()).fetch::<f32, m![1], m![1 # 4]>().collect::<m![1], m![1 # 8]>())
            .to_vrf(AUTO);
    (ctx.main.begin(row.codes.view()).fetch::<i32, m![1], m![X % 8]>().collect::<m![1], m![X % 8]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp_to_fp(31)
        .vector_split::<m![X / 4 % 2], m![X % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &scale)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), Parts::TIMES / 2.0)
        .vector_concat::<m![1], m![X % 8]>()
        .vector_final()
        .commit_view(row.values.view_mut().slice_tile::<m![I], 1, XSlice>(0));
    let x =
        (ctx.main.begin(row.values.view()).fetch::<f32, m![1], m![X % 8]>().collect::<m![1], m![X % 8]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_inter_slice_reduce::<XPair, m![1]>(InterSliceReduceOpF32::Add)
            .vector_final()
            .commit(AUTO);
    (x, row)
}

/// Parts of the logits: of the 96 of each slice, a third, whose scales are in the register file.
const THIRDS: usize = 3;

/// Scales of a third of the tokens, as an operand.
pub type Operand = Vrf<VSlice, m![V / 8 % 4, E / 32, V % 8]>;

/// Brings the scales of a third to the register file.
#[track_caller]
pub fn operand(ctx: &mut Context, rows: &Rows, third: usize) -> Operand {
    let (scales, _) = rows.rest();
    let scales = scales.view();
    let scales = scales.tile::<m![V / 32 % 3], 1, m![1 # 3, V / 8 % 4, E / 32, V % 8]>(third);
    (ctx.sub.begin(scales).fetch::<f32, m![V / 8 % 4, E / 32], m![V % 8]>())
        .collect::<m![V / 8 % 4, E / 32], m![V % 8]>()
        .to_vrf(AUTO)
}

/// Logits of all tokens, with the scales of the first third.
#[track_caller]
pub fn logits(
    ctx: &mut Context,
    (rows, first): (&Rows, Operand),
    x: &Gathered<VSlice>,
    norm: &Norm,
) -> Logits {
    type Time = m![V / 8 % 4];
    let table = LookupTable::from_fn(|code: i8| bf16::from_f32(f32::from(code)));
    let mut logits = Logits::new(ctx);
    let mut scales = first;
    for third in 0..THIRDS {
        let codes = rows.codes.view();
        let codes = codes.tile::<m![V / 32 % 3], 1, m![1 # 3, V / 8 % 4, E / 4, V % 8, E % 4]>(third);
        let mut logits = logits.view_mut();
        let logits = logits.tile::<m![V / 32 % 3], 1, m![1 # 3, V % 32]>(third);
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
        if third + 1 < THIRDS {
            // The scales of this third are held meanwhile: at their place, the next ones would have to wait until they are used.
            scales = operand(ctx, rows, third + 1);
        }
    }
    logits
}
