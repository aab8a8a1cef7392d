//! Products with codes of 4 bits, of which each block of 32 has a scale and a minimum.
//!
//! ```text
//!   codes ─table─▶ bf16 ──▶ · x ──▶ sum of a block ──▶ · scale  ──┐
//!   ones  ─table─▶ bf16 ──▶ · x ──▶ sum of a block ──▶ · minimum ─+─▶ sum over blocks
//! ```
//!
//! Codes are exact in bf16, and so is a one. Beside the codes, the stream has as many ones: what they make of `x` is the sum of
//! it in a block, which the minimum multiplies. So a pass is exact but for the additions of f32.

use super::super::attention::{ChosenHalf, OfHeads};
use super::super::feed_forward::{Hidden, HiddenHalf};
use super::super::layout::*;
use super::super::vector::{Gathered, Norm};
use super::vector::Twice;
use furiosa_visa_std::prelude::*;

/// Codes of queries, keys and values of two layers.
pub type QCodes = m![L % 2, E / 8, D % 4, E % 8];
/// Their scales and minima.
pub type QScales = m![L % 2, I, E / 32, D % 4];
/// Codes of the output of the attention of two layers.
pub type OCodes = m![L % 2, N / 64, N / 4 % 8, X % 8, N % 4];
/// Their scales and minima.
pub type OScales = m![L % 2, I, N / 64, X % 8];
/// Codes of gate and up of two layers.
pub type GCodes = m![L % 2, E / 4, F / 384, F % 4, E % 4];
/// Their scales and minima.
pub type GScales = m![L % 2, I, E / 32, F / 384, F % 4];
/// Codes of down of two layers.
pub type DCodes = m![L % 2, F / 4 % 96, X % 8, F % 4];
/// Their scales and minima.
pub type DScales = m![L % 2, I, F / 32 % 12, X % 8];

/// Ones as codes of queries, keys and values of a layer.
pub type QOnes = Dm<i4, ASlice, m![1 # 2, E / 8, D % 4, E % 8]>;
/// Steps of the output of the attention.
type OSteps = m![N / 64, N / 4 % 8];
/// Ones as codes of the output of the attention of a layer.
pub type OOnes = Dm<i4, OSlice, m![1 # 2, { OSteps }, X % 8, N % 4]>;
/// Ones as codes of gate and up of a layer.
pub type GOnes = Dm<i4, GSlice, m![1 # 2, E / 4, F / 384, F % 4, E % 4]>;

/// Quantised weights of two layers, in DM.
pub struct Blocks<Slice: M, Codes: M, Scales: M> {
    /// Codes.
    pub codes: Dm<i4, Slice, Codes>,
    /// Scales, and minima.
    pub scales: Dm<f16, Slice, Scales>,
}

/// Values of the codes of 4 bits.
pub fn values() -> LookupTable<i4, bf16> {
    LookupTable::<i4, bf16>::new(core::array::from_fn::<_, 16, _>(|code| bf16::from_f32(code as f32)))
}

/// Scales and minima of a layer, as operands.
pub struct Operands<Slice: M, Element: M> {
    scales: Vrf<Slice, Element>,
    minima: Vrf<Slice, Element>,
}

/// Scales, 0, or minima, 1, of a layer, as an operand.
macro_rules! operand {
    ($ctx:ident, $weights:ident, $layer:ident, $which:literal, $blocks:ty, $lanes:ty, $flit:ty, $address:expr) => {{
        let scales = $weights.scales.view();
        let scales = scales.tile::<m![L % 2], 1, m![1 # 2, I, { $blocks }, { $lanes }]>($layer);
        let scales = scales.tile::<m![I], 1, m![1 # 2, 1 # 2, { $blocks }, { $lanes }]>($which);
        ($ctx.sub.begin(scales).fetch::<f32, $blocks, $lanes>())
            .collect::<$blocks, $flit>()
            .to_vrf::<m![{ $blocks }, { $lanes }]>($address)
    }};
}

/// Declares the load of both operands of a layer. They have addresses of their own, so that no load has to wait until another
/// operand is used.
macro_rules! operands {
    ($(#[$doc:meta])* $name:ident, $slice:ty, $codes:ty, $scales:ty, $blocks:ty, $lanes:ty, $flit:ty, $address:expr) => {
        $(#[$doc])*
        #[track_caller]
        pub fn $name(
            ctx: &mut Context,
            (weights, layer): (&Blocks<$slice, $codes, $scales>, usize),
        ) -> Operands<$slice, m![{ $blocks }, { $lanes }]> {
            let behind = $address + (<m![{ $blocks }, { $lanes }]>::SIZE * size_of::<f32>()) as u64;
            let scales = operand!(ctx, weights, layer, 0, $blocks, $lanes, $flit, $address);
            Operands { scales, minima: operand!(ctx, weights, layer, 1, $blocks, $lanes, $flit, behind) }
        }
    };
}

operands! {
    /// Operands of queries, keys and values.
    queries_operands, ASlice, QCodes, QScales, m![E / 32], m![D % 4], m![D % 4 # 8], 64
}
operands! {
    /// Operands of the output of the attention.
    output_operands, OSlice, OCodes, OScales, m![N / 64], m![X % 8], m![X % 8], 640
}
operands! {
    /// Operands of gate and up.
    gate_up_operands, GSlice, GCodes, GScales, m![E / 32], m![F / 384, F % 4], m![F / 384, F % 4], 1216
}
operands! {
    /// Operands of down.
    down_operands, DSlice, DCodes, DScales, m![F / 32 % 12], m![X % 8], m![X % 8], 2368
}

/// A stream of a layer's codes and of ones, decoded.
macro_rules! codes {
    ($ctx:ident, ($weights:ident, $ones:ident, $layer:ident), $steps:ty, $packet:ty) => {{
        let codes = $weights.codes.view();
        let codes = codes.tile::<m![L % 2], 1, m![1 # 2, { $steps }, { $packet }]>($layer);
        ($ctx.main.begin_interleaved::<I, _, _, _, _, _>(codes, $ones.view()))
            .fetch_with_table::<bf16, m![{ $steps }, I], $packet>(&values())
    }};
}

/// A pass from a stream of codes and ones up to the sums.
macro_rules! sums {
    (
        $stream:expr, $operands:expr, $row:expr, axis $axis:ident, $steps:ty, $packet:ty, blocks $blocks:ty,
        collected ($rest:ty, $flit:ty), lanes $lanes:ty, padded $padded:ty, split ($halves:ty, $narrow:ty)
        $(, $op:ident $factor:expr)*
    ) => {
        $stream
            .collect::<m![{ $steps }, I, { $rest }], $flit>()
            .align::<m![{ $steps }, I, H], $packet, _, _>($row)
            .contract::<$lanes>()
            .accumulate::<m![{ $blocks }, I], $padded>(AccumulationKind::Sequential)
            .vector_init()
            .vector_intra_slice_unzip::<I, m![{ $blocks }, 1 # 2], $blocks>()
            .vector_split::<m![{ $blocks }, { $halves }], $narrow>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &$operands.scales, &$operands.minima)
            .vector_fp_zip(FpBinaryOp::AddF)
            $(.vector_fp_binary(sums!(@$op), $factor))*
            .vector_intra_slice_reduce::<$axis, $halves, $narrow>(IntraSliceReduceOpF32::Add)
    };
    (@times) => { FpBinaryOp::MulF(FpMulAlu::Mul1) };
    (@over) => { FpBinaryOp::DivF };
}

/// Queries, keys and values.
#[track_caller]
pub fn queries(
    ctx: &mut Context,
    (weights, ones, layer): (&Blocks<ASlice, QCodes, QScales>, &QOnes, usize),
    operands: &Operands<ASlice, m![E / 32, D % 4]>,
    x: &Gathered<ASlice>,
) -> Dm<f32, ASlice, m![D % 4]> {
    sums!(
        codes!(ctx, (weights, ones, layer), m![E / 8], m![D % 4, E % 8]),
        operands, &x.row, axis E, m![E / 8], m![D % 4, E % 8],
        blocks m![E / 32], collected (m![D / 2 % 2], m![D % 2, E % 8]), lanes m![D % 4], padded m![D % 4 # 8],
        split (m![1 # 2], m![D % 4])
    )
    .vector_concat::<m![1], m![D % 4 # 8]>()
    .vector_final()
    .commit(AUTO)
}

/// The double of `before` and of the output of the attention. `sums` divide what each head chooses.
#[track_caller]
pub fn output(
    ctx: &mut Context,
    (weights, ones, layer): (&Blocks<OSlice, OCodes, OScales>, &OOnes, usize),
    operands: &Operands<OSlice, m![N / 64, X % 8]>,
    (chosen, sums): &(ChosenHalf, OfHeads),
    before: &Vrf<XPair, m![X % 8]>,
) -> Twice {
    sums!(
        codes!(ctx, (weights, ones, layer), OSteps, m![X % 8, N % 4]),
        operands, chosen, axis N, OSteps, m![X % 8, N % 4],
        blocks m![N / 64], collected (m![X / 4 % 2], m![X % 4, N % 4]), lanes m![X % 8], padded m![X % 8],
        split (m![X / 4 % 2], m![X % 4]), over sums, times 2.0
    )
    .vector_concat::<m![1], m![X % 8]>()
    // Both slices of a pair add it.
    .vector_clip(ClipBinaryOpF32::Add, before)
    .vector_inter_slice_reduce::<XPair, m![1]>(InterSliceReduceOpF32::Add)
    .vector_final()
    .commit(AUTO)
}

/// 1 in slices of gate, 0 in those of up.
pub type IsGate = Vrf<GSlice, m![1]>;

/// Half of `silu(gate) · up`, of a vector that is not yet divided by its norm.
///
/// A slice of gate has `x · sigmoid(x)`. The slice of up behind it has `x · sigmoid(0)`, a half of `x`, by the same commands. Their
/// product is between slices.
#[track_caller]
pub fn hidden(
    ctx: &mut Context,
    (weights, ones, layer): (&Blocks<GSlice, GCodes, GScales>, &GOnes, usize),
    operands: &Operands<GSlice, m![E / 32, F / 384, F % 4]>,
    x: &Gathered<GSlice>,
    (norm, is_gate): (&Norm, &IsGate),
) -> Hidden {
    let sums: Dm<f32, GSlice, m![F / 384, F % 4]> = sums!(
        codes!(ctx, (weights, ones, layer), m![E / 4], m![F / 384, F % 4, E % 4]),
        operands, &x.row, axis E, m![E / 4], m![F / 384, F % 4, E % 4],
        blocks m![E / 32], collected (m![F / 384], m![F % 4, E % 4]), lanes m![F / 384, F % 4],
        padded m![F / 384, F % 4], split (m![F / 384], m![F % 4])
    )
    .vector_concat::<m![1], m![F / 384, F % 4]>()
    .vector_final()
    .commit(AUTO);
    (ctx.main.begin(sums.view()).fetch::<f32, m![F / 384], m![F % 4]>())
        .collect::<m![F / 384], m![F % 4 # 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![F % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &norm.reciprocal)
        .vector_stash()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), is_gate)
        .vector_fp_unary(FpUnaryOp::Sigmoid)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Fma), Stash)
        .vector_pad_way8::<m![F % 4 # 8]>()
        .vector_inter_slice_reduce::<FSlice, m![1]>(InterSliceReduceOpF32::Mul)
        .vector_final()
        .commit(AUTO)
}

/// Codes of down of a layer, decoded.
pub type Decoded = Dm<bf16, DSlice, m![F / 4 % 96, X % 8, F % 4]>;

/// Decodes the codes of down, while hidden elements go round the slices.
#[track_caller]
pub fn decoded(ctx: &mut Context, (weights, layer): (&Blocks<DSlice, DCodes, DScales>, usize)) -> Decoded {
    let codes = weights.codes.view();
    let codes = codes.tile::<m![L % 2], 1, m![1 # 2, F / 4 % 96, X % 8, F % 4]>(layer);
    (ctx.main.begin(codes).fetch_with_table::<bf16, m![F / 4 % 96], m![X % 8, F % 4]>(&values()))
        .collect::<m![F / 4 % 96, X / 4 % 2], m![X % 4, F % 4]>()
        .commit(AUTO)
}

/// Eight times the sum of half of the vector, whose double is given, and of the products of each cluster's hidden elements, of which
/// `halves` are the halves. Of the doubled ones, both slices of a pair add one.
#[track_caller]
pub fn down(
    ctx: &mut Context,
    (codes, ones): (&Decoded, &Decoded),
    operands: &Operands<DSlice, m![F / 32 % 12, X % 8]>,
    halves: &HiddenHalf,
    doubled: &Vrf<XPair, m![X % 8]>,
) -> Twice {
    sums!(
        ctx.main
            .begin_interleaved::<I, _, _, _, _, _>(codes.view(), ones.view())
            .fetch::<bf16, m![F / 4 % 96, I], m![X % 8, F % 4]>(),
        operands, halves, axis F, m![F / 4 % 96], m![X % 8, F % 4],
        blocks m![F / 32 % 12], collected (m![X / 4 % 2], m![X % 4, F % 4]), lanes m![X % 8], padded m![X % 8],
        split (m![X / 4 % 2], m![X % 4]), times 16.0
    )
    .vector_concat::<m![1], m![X % 8]>()
    .vector_clip(ClipBinaryOpF32::Add, doubled)
    .vector_inter_slice_reduce::<XPair, m![1]>(InterSliceReduceOpF32::Add)
    .vector_final()
    .commit(AUTO)
}
