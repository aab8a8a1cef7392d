//! The transformer of `12_transformer` in int8: products of integers, and new integers of their sums, on the chip.
//!
//! ```text
//!   x as the i8 q = round(x / scale) + zero
//!
//!   DM i8 ──fetch──▶ i8 → i9, − zero ──▶ align ──▶ contract i9 · i9 → i32
//!                                                       │
//!   vector   i32 → f32 ──▶ · factor of the output ──▶ f32 → i32, rounded ──▶ + zero, max −128, min 127 ──▶ cast ──▶ i8
//! ```
//!
//! One pass goes from codes to codes. The factor is scale of the input times scale of the weights, one for each output,
//! over the scale of the result. Where a result is never negative its zero point is -128, so that the clip is ReLU, too.
//!
//! In i8 are all products, and pixels, norms, query, key, value, shares, heads and hidden units; in f32 are the sums that
//! all parts add to, norm and softmax.
//!
//! A packet of 64 bytes holds two tokens, so that every product takes half of the steps that it takes in bf16. A slice
//! has an image; four slices share a copy of the weights and hand it round, as in `12_transformer`.
//!
//! `data/quantize_transformer.py` chose the scales. See `data/README.md` for credit and licence.
//!
//! Run it: `cargo run --release --example 13_quantized`

use furiosa_visa_std::prelude::*;
use safetensors::SafeTensors;
use std::error::Error;
use std::time::Instant;

axes![N = 512, G = 128, I = 4, T = 8, U = 8, S = 18, O = 32, D = 32, FILE = 65, NORMS = 5, BLOCKS = 2];

type Cluster = m![G / 64];
/// An image per slice. The images of a group `G` stand side by side.
type Slice = m![G % 64, I];

/// The 32 outputs `O` of a product: flits of 8, and their halves. A flit is also a head of attention.
type Steps = m![T, O / 8];
type Lanes = m![O % 8];

/// Inputs `D` of a token: 8 pixels, then a one at the place that says which row it is; the rest is 0.
type Images = HbmTensor<i8, m![1], m![G, I, T, D]>;
/// `S = 18` sheets of weights, a copy for each group, and the factors of their sums.
type Sheets = HbmTensor<i8, m![1], m![G, O / 8, S, O % 8, D]>;
type Factors = HbmTensor<f32, m![1], m![G, O / 8, S, O % 8]>;
/// Ten scores; the other 22 are 0.
type Scores = HbmTensor<f32, m![1], m![G, I, O]>;

type Dm<E, Element> = DmTensor<E, m![1], Cluster, Slice, Element>;
type Vrf<Element> = VrfTensor<f32, m![1], Cluster, Slice, Element>;
type Sums<'l, Time> = AccumulationTensor<'l, { Tu::Main }, i32, m![1], Cluster, Slice, Time, Lanes>;
type Numbers<'l, Time> = VectorWidenTensor<
    'l,
    { Tu::Main },
    f32,
    m![1],
    Cluster,
    Slice,
    Time,
    Lanes,
    i32,
    NoTensor,
    { VeOrder::IntraFirst },
>;

/// The zero point of what is never negative.
const LOWEST: i8 = -128;
/// Added to mean squares.
const EPSILON: f32 = 1e-5;
/// One over the scale of shares of attention.
const SHARE_FACTOR: f32 = 255.0;
/// What `12_transformer` prints.
const BF16_RIGHT: usize = 510;

/// What the file says of activations.
#[derive(Clone, Copy)]
struct Constants {
    norm_factors: [f32; 5],
    norm_zeros: [i8; 5],
    score_factors: [f32; 2],
    head_factors: [f32; 2],
    head_zeros: [i8; 2],
}

impl DeviceSend for Constants {}

/// Codes and their zero point.
struct Codes<Element: M> {
    codes: Dm<i8, Element>,
    zero: i8,
}

/// Where operands lie in the VRF.
const BEFORE_ATTENTION: Address = 0;
const BEFORE_HIDDEN: Address = 1024;
const SIZES: Address = 2048;
const GREATEST: Address = 2560;
const SUMS: Address = 2816;
const FACTORS: Address = 4096;

type Weights<Own> = TrfTensor<i9, m![1], Cluster, Slice, m![O % 8], m![{ Own }, O / 8, D]>;

/// All weights, a quarter in each of four slices.
struct Source {
    sheets: DmTensor<i8, m![1], Cluster, m![G % 64, O / 8], m![S, O % 8, D]>,
    factors: DmTensor<f32, m![1], Cluster, m![G % 64, O / 8], m![S, O % 8]>,
}

impl Source {
    /// `COUNT` sheets from `first` on; `Own` is `m![S = COUNT]`.
    fn sheets<Own: M, const COUNT: usize>(
        &self,
        ctx: &mut Context,
        first: usize,
        half: TrfAddress,
    ) -> Weights<Own> {
        let sheets = self.sheets.view().tile::<m![S], COUNT, m![{ Own } # 18, O % 8, D]>(first);
        (ctx.sub.begin(sheets).fetch::<i9, m![O % 8, { Own }], m![D]>())
            // What each of four slices has, one flit after the other, comes to all of them.
            .switch_to::<Slice, m![O % 8, { Own }, O / 8]>()
            .collect::<m![O % 8, { Own }, O / 8], m![D]>()
            .to_trf(half)
    }

    /// The factors of their outputs.
    fn factors<Own: M, const COUNT: usize>(&self, ctx: &mut Context, first: usize) -> Vrf<m![{ Own }, O]> {
        let factors = self.factors.view().tile::<m![S], COUNT, m![{ Own } # 18, O % 8]>(first);
        (ctx.sub.begin(factors).fetch::<f32, Own, Lanes>())
            .switch_to::<Slice, m![{ Own }, O / 8]>()
            .collect::<m![{ Own }, O / 8], Lanes>()
            .to_vrf(FACTORS + 128 * first as Address)
    }
}

/// `Σ (x[t, d] - zero) · w[o, d]`, for the outputs of one or two sheets.
fn product<'l, Own: M>(
    ctx: &'l mut Context,
    x: &'l Codes<m![T, D]>,
    weights: &Weights<Own>,
) -> Sums<'l, m![T / 2, { Own }, O / 8, T % 2]> {
    (ctx.main
        .begin(x.codes.view())
        .fetch_with_zero_point::<i9, m![T], m![D]>(x.zero)
        .collect::<m![T], m![D]>())
    // Two tokens are a packet, and stay apart as two columns.
    .align::<m![T / 2, { Own }, O / 8], m![T % 2, D], _, _>(weights)
    .contract::<m![T % 2]>()
    .accumulate::<m![T / 2, { Own }, O / 8, T % 2], Lanes>(AccumulationKind::Interleaved)
}

/// Sums as numbers: times the factors of their outputs.
fn numbers<'l, Time: M, Own: M>(sums: Sums<'l, Time>, factors: &Vrf<m![{ Own }, O]>) -> Numbers<'l, Time> {
    (sums.vector_init().vector_intra_slice_branch(BranchMode::Unconditional))
        .vector_fxp_to_fp(31)
        .vector_split::<m![{ Time }, O % 8 / 4], m![O % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), factors)
        .vector_concat::<Time, Lanes>()
}

/// Numbers, already over the scale, as codes.
fn codes<Time: M, Element: M>(numbers: Numbers<'_, Time>, zero: i8) -> Codes<Element> {
    let codes = (numbers.vector_fp_to_fxp(31))
        .vector_clip(ClipBinaryOpI32::AddFxp, i32::from(zero))
        .vector_clip(ClipBinaryOpI32::Max, -128)
        .vector_clip(ClipBinaryOpI32::Min, 127)
        .vector_final()
        .cast::<i8, m![O % 8 # 32]>()
        .commit(AUTO);
    Codes { codes, zero }
}

/// Numbers and what was there before.
fn added<Time: M>(numbers: Numbers<'_, Time>, before: &Vrf<m![T, O]>) -> Dm<f32, m![T, O]> {
    numbers.vector_clip(ClipBinaryOpF32::Add, before).vector_final().commit(AUTO)
}

/// A copy of `x` in the VRF, to be added to what a part of a block makes of `x`.
fn keep(ctx: &mut Context, x: &Dm<f32, m![T, O]>, address: Address) -> Vrf<m![T, O]> {
    (ctx.sub.begin(x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>()).to_vrf(address)
}

/// Each token divided by the root of its mean square, as codes.
fn norm(ctx: &mut Context, x: &Dm<f32, m![T, O]>, constants: &Constants, number: usize) -> Codes<m![T, D]> {
    let squares: Dm<f32, m![T, 1 # 2]> =
        (ctx.main.begin(x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<m![T, O / 4], m![O % 4]>()
            .vector_fp_binary_with_mode(FpBinaryOp::MulF(FpMulAlu::Mul0), BinaryArgMode::Mode00, 0.0)
            .vector_intra_slice_reduce::<O, m![T], m![1 # 4]>(IntraSliceReduceOpF32::Add)
            .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), O::SIZE as f32)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_final()
            .commit(AUTO);
    let sizes =
        (ctx.main.begin(squares.view()).fetch::<f32, m![T], m![1 # 2]>().collect::<m![T], m![1 # 8]>())
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_trim_way4::<m![1 # 4]>()
            .vector_fp_binary(FpBinaryOp::AddF, EPSILON)
            .vector_fp_unary(FpUnaryOp::Sqrt)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_final()
            .to_vrf::<m![T]>(SIZES);
    let zero = constants.norm_zeros[number];
    let codes = (ctx.main.begin(x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![T, O / 4], m![O % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), constants.norm_factors[number])
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), &sizes)
        .vector_concat::<Steps, Lanes>()
        .vector_fp_to_fxp(31)
        .vector_clip(ClipBinaryOpI32::AddFxp, i32::from(zero))
        .vector_clip(ClipBinaryOpI32::Max, -128)
        .vector_clip(ClipBinaryOpI32::Min, 127)
        .vector_final()
        .cast::<i8, m![O % 8 # 32]>()
        .commit::<m![T, O]>(AUTO)
        .relabel::<m![1], Cluster, Slice, m![T, D]>();
    Codes { codes, zero }
}

/// Codes of the shares of the keys `U`, for every token and head.
fn softmax(ctx: &mut Context, scores: &Dm<f32, m![{ Steps }, U]>) -> Dm<i8, m![{ Steps }, U]> {
    let greatest = (ctx.main.begin(scores.view()).fetch::<f32, Steps, m![U]>().collect::<Steps, m![U]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![{ Steps }, U / 4], m![U % 4]>()
        .vector_intra_slice_reduce::<U, Steps, m![1 # 4]>(IntraSliceReduceOpF32::Max)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf::<Steps>(GREATEST);
    let sums = (ctx.main.begin(scores.view()).fetch::<f32, Steps, m![U]>().collect::<Steps, m![U]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![{ Steps }, U / 4], m![U % 4]>()
        .vector_fp_binary(FpBinaryOp::SubF, &greatest)
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_intra_slice_reduce::<U, Steps, m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf::<Steps>(SUMS);
    (ctx.main.begin(scores.view()).fetch::<f32, Steps, m![U]>().collect::<Steps, m![U]>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![{ Steps }, U / 4], m![U % 4]>()
        .vector_fp_binary(FpBinaryOp::SubF, &greatest)
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), SHARE_FACTOR)
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), &sums)
        .vector_concat::<Steps, m![U]>()
        .vector_fp_to_fxp(31)
        .vector_clip(ClipBinaryOpI32::AddFxp, i32::from(LOWEST))
        .vector_final()
        .cast::<i8, m![U # 32]>()
        .commit(AUTO)
}

/// Attention of the tokens `T` to the tokens `U` of the same image. Query, key and value have the zero point 0.
fn attention(
    ctx: &mut Context,
    query: &Dm<i8, m![T, O]>,
    key_value: &Dm<i8, m![S = 2, U, O]>,
    constants: &Constants,
    block: usize,
    [first, second]: [TrfAddress; 2],
) -> Codes<m![T, D]> {
    let keys = key_value.view().tile::<m![S = 2], 1, m![1 # 2, U, O]>(0);
    let keys = (ctx.sub.begin(keys).fetch::<i8, m![U], m![O]>().collect::<m![U], m![O]>())
        .to_trf::<m![U], m![O]>(first);
    let scores = (ctx.main.begin(query.view()).fetch::<i8, m![T], m![O]>().collect::<m![T], m![O]>())
        .align::<m![T / 2], m![T % 2, O], _, _>(&keys)
        .contract::<m![T % 2, O / 8]>()
        .accumulate::<Steps, m![U]>(AccumulationKind::Interleaved)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp_to_fp(31)
        .vector_split::<m![{ Steps }, U / 4], m![U % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), constants.score_factors[block])
        .vector_concat::<Steps, m![U]>()
        .vector_final()
        .commit::<m![{ Steps }, U]>(AUTO);
    // Sums over `U` want it innermost: blocks of 8 tokens and 8 numbers change places.
    let values = key_value.view().tile::<m![S = 2], 1, m![1 # 2, U, O]>(1);
    let values = (ctx.main.begin(values).fetch::<i8, m![O / 8, U], Lanes>())
        .collect::<m![O / 8, U], m![O % 8 # 32]>()
        .transpose::<m![O / 8, O % 8], m![U # 32]>()
        .commit::<m![O % 8, O / 8, U]>(AUTO);
    let values = (ctx.sub.begin(values.view()).fetch::<i9, m![O % 8], m![O / 8, U]>())
        .collect::<m![O % 8], m![O / 8, U]>()
        .to_trf::<m![O % 8], m![O / 8, U]>(second);

    let shares = softmax(ctx, &scores);
    let zero = constants.head_zeros[block];
    let codes = (ctx.main.begin(shares.view()).fetch_with_zero_point::<i9, m![T], m![O / 8, U]>(LOWEST))
        .collect::<m![T], m![O / 8, U]>()
        .align::<m![T / 2], m![T % 2, O / 8, U], _, _>(&values)
        .contract::<m![T % 2, O / 8]>()
        .accumulate::<Steps, Lanes>(AccumulationKind::Interleaved)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp_to_fp(31)
        .vector_split::<m![T, O / 4], m![O % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), constants.head_factors[block])
        .vector_concat::<Steps, Lanes>()
        .vector_fp_to_fxp(31)
        .vector_clip(ClipBinaryOpI32::AddFxp, i32::from(zero))
        .vector_clip(ClipBinaryOpI32::Max, -128)
        .vector_clip(ClipBinaryOpI32::Min, 127)
        .vector_final()
        .cast::<i8, m![O % 8 # 32]>()
        .commit::<m![T, O]>(AUTO)
        .relabel::<m![1], Cluster, Slice, m![T, D]>();
    Codes { codes, zero }
}

/// One of the two blocks. Weights are loaded into the halves of the register file in turns, each while the other half
/// is used.
fn block(
    ctx: &mut Context,
    x: &Dm<f32, m![T, O]>,
    weights: &Source,
    constants: &Constants,
    block: usize,
) -> Dm<f32, m![T, O]> {
    let halves = match block {
        0 => [TrfAddress::FirstHalf, TrfAddress::SecondHalf],
        _ => [TrfAddress::SecondHalf, TrfAddress::FirstHalf],
    };

    let sheet = 1 + 8 * block;
    let query = weights.sheets::<m![S = 1], 1>(ctx, sheet, halves[0]);
    let query_factors = weights.factors::<m![S = 1], 1>(ctx, sheet);
    let key_value = weights.sheets::<m![S = 2], 2>(ctx, sheet + 1, halves[1]);
    let key_value_factors = weights.factors::<m![S = 2], 2>(ctx, sheet + 1);
    let before = keep(ctx, x, BEFORE_ATTENTION);
    let normed = norm(ctx, x, constants, 2 * block);
    let sums = product(ctx, &normed, &query);
    let query: Codes<m![T, O]> = codes(numbers(sums, &query_factors), 0);
    let sums = product(ctx, &normed, &key_value);
    let key_value: Codes<m![S = 2, T, O]> = codes(numbers(sums, &key_value_factors), 0);
    let key_value = key_value.codes.relabel::<m![1], Cluster, Slice, m![S = 2, U, O]>();
    let heads = attention(ctx, &query.codes, &key_value, constants, block, halves);
    let output = weights.sheets::<m![S = 1], 1>(ctx, sheet + 3, halves[0]);
    let output_factors = weights.factors::<m![S = 1], 1>(ctx, sheet + 3);
    let up = weights.sheets::<m![S = 2], 2>(ctx, sheet + 4, halves[1]);
    let up_factors = weights.factors::<m![S = 2], 2>(ctx, sheet + 4);
    let sums = product(ctx, &heads, &output);
    let x = added(numbers(sums, &output_factors), &before);

    let down = weights.sheets::<m![S = 2], 2>(ctx, sheet + 6, halves[0]);
    // Both sheets have the same.
    let down_factors = weights.factors::<m![S = 1], 1>(ctx, sheet + 6);
    let before = keep(ctx, &x, BEFORE_HIDDEN);
    let normed = norm(ctx, &x, constants, 2 * block + 1);
    let sums = product(ctx, &normed, &up);
    let hidden: Codes<m![S = 2, T, O]> = codes(numbers(sums, &up_factors), LOWEST);
    let hidden = hidden.codes.relabel::<m![1], Cluster, Slice, m![S = 2, T, D]>();
    let sums = (ctx.main.begin(hidden.view()))
        .fetch_with_zero_point::<i9, m![T / 2, S = 2, T % 2], m![D]>(LOWEST)
        .collect::<m![T / 2, S = 2, T % 2], m![D]>()
        .align::<m![T / 2, S = 2, O / 8], m![T % 2, D], _, _>(&down)
        .contract::<m![T % 2]>()
        .accumulate::<m![T / 2, O / 8, T % 2], Lanes>(AccumulationKind::Interleaved);
    added(numbers(sums, &down_factors), &before)
}

/// The scores of the image of each slice.
fn network(ctx: &mut Context, images: &Images, weights: &Source, constants: &Constants) -> Dm<f32, m![O]> {
    let codes = images.to_dm::<Cluster, Slice, m![T, D]>(&mut ctx.tdma, AUTO);
    let images = Codes { codes, zero: LOWEST };
    let embed = weights.sheets::<m![S = 1], 1>(ctx, 0, TrfAddress::SecondHalf);
    let embed_factors = weights.factors::<m![S = 1], 1>(ctx, 0);
    let sums = product(ctx, &images, &embed);
    let mut x: Dm<f32, m![T, O]> = numbers(sums, &embed_factors).vector_final().commit(AUTO);
    for number in 0..2 {
        x = block(ctx, &x, weights, constants, number);
    }
    let head = weights.sheets::<m![S = 1], 1>(ctx, 17, TrfAddress::FirstHalf);
    let head_factors = weights.factors::<m![S = 1], 1>(ctx, 17);
    let normed = norm(ctx, &x, constants, 4);
    // The accumulator adds the tokens, too; the division of their mean is in the weights. One token is a packet here.
    let stream = ctx.main.begin(normed.codes.view()).fetch_with_zero_point::<i9, m![T], m![D]>(normed.zero);
    let sums = (stream.collect::<m![T], m![D]>())
        .align::<m![T, O / 8], m![D # 64], _, _>(&head)
        .contract::<m![1]>()
        .accumulate::<m![O / 8], Lanes>(AccumulationKind::Interleaved);
    numbers(sums, &head_factors).vector_final().commit(AUTO)
}

/// Classifies an image in each slice.
#[device(chip = 1)]
fn classify(
    ctx: &mut Context,
    images: &Images,
    sheets: &Sheets,
    factors: &Factors,
    constants: Constants,
) -> Scores {
    let sheets = sheets.to_dm(&mut ctx.tdma, AUTO);
    let factors = factors.to_dm(&mut ctx.tdma, AUTO);
    let scores = network(ctx, images, &Source { sheets, factors }, &constants);
    // Two slices join their rows to 256 bytes.
    let pairs = (ctx.main.begin(scores.view()).fetch::<f32, m![O / 8], Lanes>())
        .switch_to::<m![G % 64, I / 2, 1 # 2], m![O / 8, I % 2]>()
        .collect::<m![O / 8, I % 2], Lanes>()
        .commit::<m![I % 2, O]>(AUTO);
    pairs.to_hbm(&mut ctx.tdma, AUTO)
}

/// The same on the host, with sums in i32 and every operation of f32 that the chip makes.
struct Reference {
    sheets: Vec<i8>,
    factors: Vec<f32>,
    constants: Constants,
}

/// A matrix of codes, or of what becomes codes.
type Rows<E> = Vec<Vec<E>>;

fn code(number: f32, zero: i8) -> i8 {
    (number.round() as i32 + i32::from(zero)).clamp(-128, 127) as i8
}

fn dot(x: impl Iterator<Item = i32>, w: &[i8]) -> i32 {
    x.zip(w).map(|(x, w)| x * i32::from(*w)).sum()
}

impl Reference {
    /// Numbers of the outputs of a sheet, from codes.
    fn product(&self, x: &Rows<i8>, zero: i8, sheet: usize) -> Rows<f32> {
        let number = |x: &[i8], o: usize| {
            let row = &self.sheets[(sheet * O::SIZE + o) * D::SIZE..][..D::SIZE];
            let sum = dot(x.iter().map(|x| i32::from(*x) - i32::from(zero)), row);
            sum as f32 * self.factors[sheet * O::SIZE + o]
        };
        x.iter().map(|x| (0..O::SIZE).map(|o| number(x, o)).collect()).collect()
    }

    fn norm(&self, x: &Rows<f32>, number: usize) -> (Rows<i8>, i8) {
        let (factor, zero) = (self.constants.norm_factors[number], self.constants.norm_zeros[number]);
        let normed = |x: &Vec<f32>| {
            let size = (x.iter().fold(0.0, |sum, x| sum + x * x) / 32.0 + EPSILON).sqrt();
            x.iter().map(|x| code(x * factor / size, zero)).collect()
        };
        (x.iter().map(normed).collect(), zero)
    }

    fn attention(&self, [query, key, value]: &[Rows<i8>; 3], block: usize) -> (Rows<i8>, i8) {
        let zero = self.constants.head_zeros[block];
        let head = |query: &[i8], o: usize| -> Vec<i8> {
            let scores: Vec<f32> = (key.iter())
                .map(|key| dot(query[o..][..8].iter().map(|x| i32::from(*x)), &key[o..][..8]))
                .map(|sum| sum as f32 * self.constants.score_factors[block])
                .collect();
            let greatest = scores.iter().copied().fold(f32::MIN, f32::max);
            // Rounded once, as on the chip.
            let parts: Vec<f32> = scores.iter().map(|s| f64::from(s - greatest).exp() as f32).collect();
            let sum = parts.iter().fold(0.0, |sum, part| sum + part);
            let shares = || parts.iter().map(|part| i32::from(code(part * SHARE_FACTOR / sum, LOWEST)) + 128);
            let column = |e: usize| value.iter().map(|value| value[o + e]).collect::<Vec<_>>();
            let number = |e: usize| dot(shares(), &column(e)) as f32 * self.constants.head_factors[block];
            (0..8).map(|e| code(number(e), zero)).collect()
        };
        let heads = |query: &Vec<i8>| (0..O::SIZE).step_by(8).flat_map(|o| head(query, o)).collect();
        (query.iter().map(heads).collect(), zero)
    }

    /// The scores of an image of 8 tokens.
    fn scores(&self, image: &[i8]) -> Vec<f32> {
        let codes = |numbers: Rows<f32>, zero: i8| -> Rows<i8> {
            numbers.iter().map(|row| row.iter().map(|x| code(*x, zero)).collect()).collect()
        };
        let image: Rows<i8> = image.chunks(D::SIZE).map(<[i8]>::to_vec).collect();
        let mut x = self.product(&image, LOWEST, 0);
        for block in 0..2 {
            let sheet = 1 + 8 * block;
            let (normed, zero) = self.norm(&x, 2 * block);
            let parts = [0, 1, 2].map(|part| codes(self.product(&normed, zero, sheet + part), 0));
            let (heads, zero) = self.attention(&parts, block);
            for (x, part) in x.iter_mut().zip(self.product(&heads, zero, sheet + 3)) {
                x.iter_mut().zip(part).for_each(|(x, part)| *x += part);
            }
            let (normed, zero) = self.norm(&x, 2 * block + 1);
            let hidden = [4, 5].map(|part| codes(self.product(&normed, zero, sheet + part), LOWEST));
            for (t, x) in x.iter_mut().enumerate() {
                for (o, x) in x.iter_mut().enumerate() {
                    let sum = |half: usize| {
                        let row = &self.sheets[((sheet + 6 + half) * O::SIZE + o) * D::SIZE..][..D::SIZE];
                        dot(hidden[half][t].iter().map(|x| i32::from(*x) + 128), row)
                    };
                    *x += (sum(0) + sum(1)) as f32 * self.factors[(sheet + 6) * O::SIZE + o];
                }
            }
        }
        let (normed, zero) = self.norm(&x, 4);
        let sums = |o: usize| -> i32 {
            let row = &self.sheets[(17 * O::SIZE + o) * D::SIZE..][..D::SIZE];
            normed.iter().map(|x| dot(x.iter().map(|x| i32::from(*x) - i32::from(zero)), row)).sum()
        };
        (0..O::SIZE).map(|o| sums(o) as f32 * self.factors[17 * O::SIZE + o]).collect()
    }
}

/// Runs the example. With `--small` the host computes fewer images.
pub fn main() -> Result<(), Box<dyn Error>> {
    let small = std::env::args().any(|argument| argument == "--small");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let digits = std::fs::read(format!("{folder}/digits.safetensors"))?;
    let digits = SafeTensors::deserialize(&digits)?;
    let labels = HostTensor::<i32, m![N]>::from_safetensors(&digits.tensor("labels")?)?.to_vec();
    let pixels = HostTensor::<bf16, m![N, FILE]>::from_safetensors(&digits.tensor("images")?)?.to_vec();
    let file = std::fs::read(format!("{folder}/transformer_int8.safetensors"))?;
    let file = SafeTensors::deserialize(&file)?;
    let sheets = HostTensor::<i8, m![S, O, D]>::from_safetensors(&file.tensor("sheets")?)?;
    let factors = HostTensor::<f32, m![S, O]>::from_safetensors(&file.tensor("factors")?)?;
    let norm_factors =
        HostTensor::<f32, m![NORMS]>::from_safetensors(&file.tensor("norm_factors")?)?.to_vec();
    let norm_zeros = HostTensor::<i32, m![NORMS]>::from_safetensors(&file.tensor("norm_zeros")?)?.to_vec();
    let score_factors =
        HostTensor::<f32, m![BLOCKS]>::from_safetensors(&file.tensor("score_factors")?)?.to_vec();
    let head_factors =
        HostTensor::<f32, m![BLOCKS]>::from_safetensors(&file.tensor("head_factors")?)?.to_vec();
    let head_zeros = HostTensor::<i32, m![BLOCKS]>::from_safetensors(&file.tensor("head_zeros")?)?.to_vec();
    let constants = Constants {
        norm_factors: std::array::from_fn(|k| norm_factors[k]),
        norm_zeros: std::array::from_fn(|k| norm_zeros[k] as i8),
        score_factors: std::array::from_fn(|k| score_factors[k]),
        head_factors: std::array::from_fn(|k| head_factors[k]),
        head_zeros: std::array::from_fn(|k| head_zeros[k] as i8),
    };

    // Tokens: 8 pixels, and a one that says which row they are. Pixels are multiples of 1/16, codes steps of 1/240.
    let mut tokens = vec![LOWEST; N::SIZE * T::SIZE * D::SIZE];
    for (image, tokens) in pixels.chunks(FILE::SIZE).zip(tokens.chunks_mut(T::SIZE * D::SIZE)) {
        for (t, (row, token)) in image.chunks_exact(8).zip(tokens.chunks_mut(D::SIZE)).enumerate() {
            token.iter_mut().zip(row).for_each(|(own, pixel)| *own = code(240.0 * f32::from(*pixel), LOWEST));
            token[8 + t] = code(240.0, LOWEST);
        }
    }
    let images = HostTensor::<i8, m![G, I, T, D]>::from_slice(&tokens);

    let start = Instant::now();
    let (scores, report) = pollster::block_on(async {
        let mut ctx = Context::acquire();
        let images: Images = images.to_hbm(&mut ctx.pdma, AUTO).await;
        let sheets: Sheets = sheets.to_hbm(&mut ctx.pdma, AUTO).await;
        let factors: Factors = factors.to_hbm(&mut ctx.pdma, AUTO).await;
        let scores = launch(classify, (&mut *ctx, &images, &sheets, &factors, constants)).await;
        (scores.to_host::<m![G, I, O]>(&mut ctx.pdma).await.to_vec(), ctx.report())
    });
    let seconds = start.elapsed().as_secs_f64();
    let kernel = &report.kernels[0];
    println!(
        "{} cycles for {} images; simulated in {:.1} ms per image",
        kernel.makespan(),
        N::SIZE,
        1e3 * seconds / N::SIZE as f64
    );
    let mut slowest = report.critical_path(kernel);
    slowest.sort_by_key(|record| std::cmp::Reverse(record.cycles()));
    for record in slowest.iter().take(4) {
        println!(
            "    {:7} {:6} cycles, bound by {}",
            record.operation,
            record.cycles(),
            record.timing.bottleneck()
        );
    }

    let reference = Reference { sheets: sheets.to_vec(), factors: factors.to_vec(), constants };
    let count = if small { 16 } else { N::SIZE };
    for (n, (image, found)) in
        tokens.chunks(T::SIZE * D::SIZE).zip(scores.chunks(O::SIZE)).take(count).enumerate()
    {
        assert_eq!(found, reference.scores(image), "image {n}");
    }
    println!("all {} scores of {count} images are those of the host, bit for bit", count * O::SIZE);

    let best = |row: &[f32]| (1..10).fold(0, |best, c| if row[c] > row[best] { c } else { best });
    let right =
        scores.chunks(O::SIZE).zip(&labels).filter(|(row, label)| best(row) == **label as usize).count();
    let percent = |right: usize| 100.0 * right as f64 / N::SIZE as f64;
    println!(
        "\nbf16  {} bytes of weights  {BF16_RIGHT} of {} right, {:.2} %, says 12_transformer",
        2 * S::SIZE * O::SIZE * D::SIZE,
        N::SIZE,
        percent(BF16_RIGHT)
    );
    println!(
        "int8  {} bytes of weights  {right} of {} right, {:.2} %",
        S::SIZE * O::SIZE * D::SIZE,
        N::SIZE,
        percent(right)
    );
    assert!(right * 100 >= N::SIZE * 97, "the network should get 97 % right");
    assert!(right + 5 >= BF16_RIGHT, "int8 should lose at most 1 %");
    Ok(())
}
