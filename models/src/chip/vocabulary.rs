//! The first and the last step: a token's row of the embedding, and a logit for each token.
//!
//! Both have the weights as the file has them, whatever those of the layers are: codes of 8 bits with a scale for each 32.
//! None is rounded: codes are exact in bf16, scales are applied behind the products, and the factors of the norm multiply the vector.

use super::layout::*;
use super::vector::{Vector, VectorViewMut, scaled_input};
use crate::matrix::{BLOCK, BlockQ8_0};
use furiosa_visa_std::prelude::*;

/// The embedding: a row of codes for each token, and for each 8 of them the scale of their block.
pub struct Embedding {
    /// Codes.
    pub codes: Hbm<i8, m![B, X]>,
    /// Scales.
    pub scales: Hbm<f16, m![B, X / 8, 1 # 4]>,
    /// The same scales for tokens that come as a block. They are f32, so that what a slice gets of a row is whole units of 8 bytes.
    pub block_scales: Hbm<f32, m![B, X / 8]>,
}

/// The same weights, as the product over the vocabulary reads them.
pub struct Vocabulary {
    /// Codes.
    pub codes: Hbm<i8, m![C, V / 8 % 12, E / 32, V / 96, E / 4 % 8, V % 8, E % 4]>,
    /// Scales of blocks.
    pub scales: Hbm<f16, m![C, V / 8, E / 32, V % 8]>,
    /// Factors of the norm in front of it.
    pub norm: Hbm<f32, m![X]>,
    /// Numbers of tokens.
    pub numbers: Numbers,
}

impl Vocabulary {
    /// Brings the numbers of tokens.
    #[track_caller]
    pub fn numbers_to_dm(&self, ctx: &mut Context) -> Logits {
        self.numbers.to_dm(&mut ctx.tdma, AUTO)
    }
}

/// Bytes of a number of these weights.
pub fn bytes(weights: usize) -> usize {
    weights / BLOCK * BlockQ8_0::BYTES
}

/// The row of a token in DM.
pub struct Row {
    codes: Dm<i8, XSlice, m![X % 8]>,
    scales: Dm<f16, XSlice, m![1 # 4]>,
}

/// Brings the row of a token, and writes `times` its values, in both clusters.
///
/// The tensors that were brought are returned: at their places, the next ones would have to wait until they are used.
#[track_caller]
pub fn embedded(
    ctx: &mut Context,
    embedding: &Embedding,
    token: usize,
    times: f32,
    to: VectorViewMut<'_>,
) -> Row {
    let mut row = Row { codes: Dm::new(ctx), scales: Dm::new(ctx) };
    let codes = embedding.codes.view().tile::<m![B], 1, m![1 # 49152, X]>(token);
    // One by one: users report that what a single move copies to both clusters does not go around rings.
    for cluster in 0..C::SIZE {
        let mut to = row.codes.view_mut();
        codes.clone().to_dm_view(&mut ctx.tdma, to.cluster_tile::<m![C], 1, m![1 # 2]>(cluster));
    }
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
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), times)
        .vector_concat::<m![1], m![X % 8]>()
        .vector_final()
        .commit_view(to);
    row
}

/// A logit for each token.
pub type Logits = Dm<f32, VSlice, m![V % 96]>;

/// Codes of the vocabulary in DM.
type Codes = Dm<i8, VSlice, m![V / 8 % 12, E / 4, V % 8, E % 4]>;
/// Scales of the vocabulary in DM.
type Scales = Dm<f16, VSlice, m![V / 8 % 12, E / 32, V % 8]>;

/// The vocabulary in DM: codes; and scales and factors of the norm as soon as they are brought.
pub struct Rows {
    codes: Codes,
    rest: Option<(Scales, Vector)>,
}

impl Rows {
    /// A place for the codes.
    pub fn new(ctx: &mut Context) -> Self {
        Self { codes: Codes::new(ctx), rest: None }
    }
}

/// Parts of the codes that are brought one by one.
const PARTS: usize = 24;

/// Brings a part of the codes: of eight of the 96 tokens of each slice, a half.
#[track_caller]
fn load_part(ctx: &mut Context, weights: &Vocabulary, part: usize, rows: &mut Rows) {
    let codes = weights.codes.view();
    let codes =
        codes.tile::<m![V / 8 % 12], 1, m![C, 1 # 12, E / 32, V / 96, E / 4 % 8, V % 8, E % 4]>(part / 2);
    let codes = codes
        .tile::<m![E / 288], 1, m![C, 1 # 12, 1 # 2, E / 32 % 9, V / 96, E / 4 % 8, V % 8, E % 4]>(part % 2);
    let mut to = rows.codes.view_mut();
    let mut to = to.tile::<m![V / 8 % 12], 1, m![1 # 12, E / 4, V % 8, E % 4]>(part / 2);
    let to = to.tile::<m![E / 288], 1, m![1 # 12, 1 # 2, E / 4 % 72, V % 8, E % 4]>(part % 2);
    codes.to_dm_view(&mut ctx.tdma, to);
}

/// Brings what a layer has time for, if it `brings` any. The layer is its number, with that of all layers. Behind the last one,
/// all weights were brought.
#[track_caller]
pub fn load(
    ctx: &mut Context,
    weights: &Vocabulary,
    (number, layers): (usize, usize),
    brings: impl Fn(usize) -> bool,
    rows: &mut Rows,
) {
    for part in parts((number, layers), PARTS, brings) {
        load_part(ctx, weights, part, rows);
    }
    if number + 1 == layers {
        // The factors are needed first.
        let norm = weights.norm.to_dm(&mut ctx.tdma, AUTO);
        rows.rest = Some((weights.scales.to_dm(&mut ctx.tdma, AUTO), norm));
    }
}

/// Parts of `all` that a layer brings: the next one, if it `brings` any, and in the last layer all that are left. The layer is its
/// number, with that of all layers.
fn parts(
    (number, layers): (usize, usize),
    all: usize,
    brings: impl Fn(usize) -> bool,
) -> core::ops::Range<usize> {
    let before = (0..number).filter(|layer| brings(*layer)).count().min(all);
    let here = if number + 1 == layers { all } else { usize::from(brings(number)) };
    before..(before + here).min(all)
}

/// Places of operands in the vector register file, in bytes: where the passes before have none that they still read.
mod place {
    /// Factors of the norm.
    pub const FACTORS: u64 = 0;
    /// Scales.
    pub const SCALES: u64 = 64;
}

/// Logits of all tokens.
#[track_caller]
pub fn logits(ctx: &mut Context, rows: &Rows, x: &Vector) -> Logits {
    type Time = m![V / 8 % 12];
    let table = LookupTable::from_fn(|code: i8| bf16::from_f32(f32::from(code)));
    let (scales, factors) = rows.rest.as_ref().expect("they were brought");
    // Operands are loaded first, so that nothing waits for them.
    let factors: Vrf<XSlice, m![X % 8]> =
        (ctx.sub.begin(factors.view()).fetch::<f32, m![1], m![X % 8]>().collect::<m![1], m![X % 8]>())
            .to_vrf(place::FACTORS);
    let scales: Vrf<VSlice, m![{ Time }, E / 32, V % 8]> =
        (ctx.sub.begin(scales.view()).fetch::<f32, m![{ Time }, E / 32], m![V % 8]>())
            .collect::<m![{ Time }, E / 32], m![V % 8]>()
            .to_vrf(place::SCALES);
    let (x, norm) = scaled_input(ctx, (x.view(), 1.0), &factors);
    (ctx.main
        .begin(rows.codes.view())
        .fetch_with_table::<bf16, m![{ Time }, E / 4], m![V % 8, E % 4]>(&table))
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

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn layers_bring_each_part_once_and_in_order() {
        let rules: [fn(usize) -> bool; 5] = [
            |layer| layer > 0,
            |layer| layer % 2 == 1,
            |layer| layer > 0 && layer % 2 == 0,
            |layer| layer % 2 == 1 || layer > 16,
            |_| false,
        ];
        for layers in [1, 2, 3, 30] {
            for all in [1, 12, 15, 24, 40] {
                for brings in rules {
                    let brought = (0..layers).map(|number| parts((number, layers), all, brings));
                    let brought: Vec<usize> = brought.flatten().collect();
                    assert_eq!(brought, (0..all).collect::<Vec<_>>(), "{layers} layers");
                }
            }
        }
        // Only layers that bring any have a part, and the last one has what is left.
        let of_four = |number| parts((number, 4), 5, |layer| layer % 2 == 1);
        assert_eq!([0, 1, 2, 3].map(of_four), [0..0, 0..1, 1..1, 1..5]);
    }
}
