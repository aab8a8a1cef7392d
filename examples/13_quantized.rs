//! The transformer of `12_transformer` in int8: products of integers, and new integers of their sums, on the chip.
//!
//! ```text
//!   x as the i8 q = round(x / scale) + zero
//!
//!   DM i8 ──fetch──▶ i8 → i9, − zero ──▶ align ──▶ contract i9 · i9 → i32
//!                                                       │
//!   vector   sum · multiplier, in fixed point ──┬─▶ + zero, max −128, min 127 ──▶ cast ──▶ i8
//!                                               └─▶ i32 → f32, + what was there before ──▶ f32
//! ```
//!
//! One pass goes from codes to codes, in integers at 8 lanes: the float cluster has 4. The multiplier is scale of the
//! input times scale of the weights, one for each output, over the scale of the result. The product
//! `(sum << 7) · multiplier / 2^31` is rounded once. Where a result is never negative its zero point is -128, so that
//! the clip is ReLU, too.
//!
//! In i8 are all products, and pixels, norms, query, key, value, shares, heads and hidden units. In f32 are the sums
//! that all parts add to, norm and softmax.
//!
//! A packet of 64 bytes holds two tokens, so that every product takes half of the steps that it takes in bf16. A slice
//! has an image. The two kernels differ in how many slices share a copy of the weights:
//!
//! ```text
//!   shared_by_4    HBM ──▶ a quarter in each of 4 slices ─────────────────────▶ register files of all 4
//!   shared_by_32   HBM ──▶ a part in each of 32 ───▶ a quarter in each of 4 ──▶ register files of all 4
//!                                               └─ one pass, while multipliers and images are on their way
//! ```
//!
//! The report of the first one says that it is bound by the move of the weights, and that by HBM: 128 copies have as
//! many bytes as the 64 of `12_transformer`. The 16 copies of the second one take a third of that time, most of it the
//! start of the move. They are handed out by a pass of the main context, which would wait for images anyway.
//!
//! What is left is bound by the Vector Engine and by the start of passes and moves. Three things leave no gap between
//! passes, in both kernels: keys are loaded while queries are computed, multipliers are loaded before they hold up
//! other loads, and scores are not stored.
//!
//! `data/quantize_transformer.py` chose the scales. See `data/README.md` for credit and licence.
//!
//! Run it: `cargo run --release --example 13_quantized`

use furiosa_visa_std::clock::Report;
use furiosa_visa_std::kernels::{load_operand, root_mean_square};
use furiosa_visa_std::prelude::*;
use safetensors::SafeTensors;
use std::error::Error;
use std::time::Instant;

axes![N = 512, G = 16, H = 8, I = 4, T = 8, U = 8, S = 18, O = 32, D = 32, FILE = 65, NORMS = 5, B = 2];

type Cluster = m![G / 8];
/// An image per slice. Groups `G` of 32 slices consist of groups `H` of four.
type Slice = m![G % 8, H, I];

/// The 32 outputs `O` of a product: flits of 8, and their halves. A flit is also a head of attention.
type Steps = m![T, O / 8];
type Lanes = m![O % 8];

/// Inputs `D` of a token: 8 pixels, then a one at the place that says which row it is; the rest is 0.
type Images = HbmTensor<i8, m![1], m![G, H, I, T, D]>;
/// `S = 18` sheets of weights and the multipliers of their sums, a copy for 4 slices, `m![G, H]`, or for 32, `m![G]`.
type Sheets<Copies> = HbmTensor<i8, m![1], m![{ Copies }, O / 8, S, O % 8, D]>;
type Multipliers<Copies> = HbmTensor<i32, m![1], m![{ Copies }, O / 8, S, O % 8]>;
/// Ten scores; the other 22 are 0.
type Scores = HbmTensor<f32, m![1], m![G, H, I, O]>;

type Dm<E, Element> = DmTensor<E, m![1], Cluster, Slice, Element>;
type Vrf<E, Element> = VrfTensor<E, m![1], Cluster, Slice, Element>;
type Sums<'l, Time> = AccumulationTensor<'l, { Tu::Main }, i32, m![1], Cluster, Slice, Time, Lanes>;
type Keys = TrfTensor<i8, m![1], Cluster, Slice, m![U], m![O]>;
const ORDER: VeOrder = VeOrder::IntraFirst;
/// Sums of products, scaled.
type Scaled<'l, Time> =
    VectorFxpTensor<'l, { Tu::Main }, i32, m![1], Cluster, Slice, Time, Lanes, i32, NoTensor, ORDER>;

/// The zero point of what is never negative.
const LOWEST: i8 = -128;
/// Added to mean squares.
const EPSILON: f32 = 1e-5;
/// Before it is multiplied a sum is shifted by so many bits.
const SHIFT: i32 = 7;
/// The integer bits of what is added to the tokens: its unit is 2^-16.
const NUMBER_BITS: u32 = 15;
/// One over the scale of shares of attention.
const SHARE_FACTOR: f32 = 255.0;
/// What `12_transformer` gets right, in bf16.
const BF16_RIGHT: usize = 510;

/// What the file says of activations.
#[derive(Clone, Copy)]
struct Constants {
    norm_factors: [f32; 5],
    norm_zeros: [i8; 5],
    score_factors: [f32; 2],
    head_multipliers: [i32; 2],
    head_zeros: [i8; 2],
}

impl DeviceSend for Constants {}

impl Constants {
    fn read(file: &SafeTensors) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            norm_factors: numbers::<f32, m![NORMS], 5>(file, "norm_factors")?,
            norm_zeros: numbers::<i32, m![NORMS], 5>(file, "norm_zeros")?.map(|zero| zero as i8),
            score_factors: numbers::<f32, m![B], 2>(file, "score_factors")?,
            head_multipliers: numbers::<i32, m![B], 2>(file, "head_multipliers")?,
            head_zeros: numbers::<i32, m![B], 2>(file, "head_zeros")?.map(|zero| zero as i8),
        })
    }
}

fn numbers<E: ScalarBytes, Axis: M, const LEN: usize>(
    file: &SafeTensors,
    name: &str,
) -> Result<[E; LEN], Box<dyn Error>> {
    let numbers = HostTensor::<E, Axis>::from_safetensors(&file.tensor(name)?)?.to_vec();
    Ok(numbers.try_into().map_err(|_| name)?)
}

/// Codes and their zero point.
struct Codes<Element: M> {
    codes: Dm<i8, Element>,
    zero: i8,
}

type Weights<Own> = TrfTensor<i9, m![1], Cluster, Slice, m![O % 8], m![{ Own }, O / 8, D]>;

/// A multiplier for each output.
type Factors<Own> = Vrf<i32, m![{ Own }, O]>;

/// Slices that have a quarter of all weights each, and slices that have up to three sheets of such a quarter.
type Quarter = m![G % 8, H, O / 8];
type Share = m![G % 8, S / 3 # 8, O / 8];

/// All weights, a quarter in each of four slices: the outputs `O / 8`.
struct Source {
    sheets: DmTensor<i8, m![1], Cluster, Quarter, m![S # 24, O % 8, D]>,
    multipliers: DmTensor<i32, m![1], Cluster, Quarter, m![S # 24, 1, O % 8]>,
}

impl Source {
    /// `COUNT` sheets from `first` on; `Own` is `m![S = COUNT]`.
    fn sheets<Own: M, const COUNT: usize>(
        &self,
        ctx: &mut Context,
        first: usize,
        half: TrfAddress,
    ) -> Weights<Own> {
        let sheets = self.sheets.view().tile::<m![S], COUNT, m![{ Own } # 24, O % 8, D]>(first);
        (ctx.sub.begin(sheets).fetch::<i9, m![O % 8, { Own }], m![D]>())
            // What each of four slices has, one flit after the other, comes to all of them.
            .switch_to::<Slice, m![O % 8, { Own }, O / 8]>()
            .collect::<m![O % 8, { Own }, O / 8], m![D]>()
            .to_trf(half)
    }

    /// The multipliers of their outputs.
    fn multipliers<Own: M, const COUNT: usize>(&self, ctx: &mut Context, first: usize) -> Factors<Own> {
        let own = self.multipliers.view().tile::<m![S], COUNT, m![{ Own } # 24, 1, O % 8]>(first);
        (ctx.sub.begin(own).fetch::<i32, Own, Lanes>())
            .switch_to::<Slice, m![{ Own }, O / 8]>()
            .collect::<m![{ Own }, O / 8], Lanes>()
            .to_vrf(AUTO)
    }
}

/// `Σ (x[t, d] - zero) · w[o, d]`, for the outputs of one or two sheets.
fn product<'l, Own: M>(
    ctx: &'l mut Context,
    x: &'l Codes<m![T, D]>,
    weights: &Weights<Own>,
) -> Sums<'l, m![T / 2, { Own }, O / 8, T % 2]> {
    let stream = ctx.main.begin(x.codes.view()).fetch_with_zero_point::<i9, m![T], m![D]>(x.zero);
    (stream.collect::<m![T], m![D]>())
        // Two tokens are a packet, and stay apart as two columns.
        .align::<m![T / 2, { Own }, O / 8], m![T % 2, D], _, _>(weights)
        .contract::<m![T % 2]>()
        .accumulate::<m![T / 2, { Own }, O / 8, T % 2], Lanes>(AccumulationKind::Interleaved)
}

/// `round((sum << SHIFT) · multiplier / 2^31)`.
fn scaled<'l, Time: M, Own: M>(sums: Sums<'l, Time>, multipliers: &Factors<Own>) -> Scaled<'l, Time> {
    (sums.vector_init().vector_intra_slice_branch(BranchMode::Unconditional))
        .vector_fxp(FxpBinaryOp::LeftShift, SHIFT)
        .vector_fxp(FxpBinaryOp::MulFxp, multipliers)
}

/// Scaled sums as codes.
fn codes<Time: M, Element: M>(sums: Scaled<'_, Time>, zero: i8) -> Codes<Element> {
    let codes = (sums.vector_fxp(FxpBinaryOp::AddFxp, i32::from(zero)))
        .vector_clip(ClipBinaryOpI32::Max, -128)
        .vector_clip(ClipBinaryOpI32::Min, 127)
        .vector_final()
        .cast::<i8, m![O % 8 # 32]>()
        .commit(AUTO);
    Codes { codes, zero }
}

/// Scaled sums as numbers, and what was there before.
fn added<Time: M>(sums: Scaled<'_, Time>, before: &Vrf<f32, m![T, O]>) -> Dm<f32, m![T, O]> {
    (sums.vector_fxp_to_fp(NUMBER_BITS).vector_clip(ClipBinaryOpF32::Add, before)).vector_final().commit(AUTO)
}

/// Each token divided by the root of its mean square, as codes.
fn norm(ctx: &mut Context, x: &Dm<f32, m![T, O]>, constants: &Constants, number: usize) -> Codes<m![T, D]> {
    let sizes = root_mean_square(ctx, x, EPSILON);
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

/// Codes of the shares of the keys `U`, for every token and head: a softmax of scores times `factor`.
///
/// Each of the three passes multiplies queries and keys again. The Vector Engine takes longer than that, and a pass
/// that stores the scores is spared.
fn softmax(
    ctx: &mut Context,
    query: &Dm<i8, m![T, O]>,
    keys: &Keys,
    factor: f32,
) -> Dm<i8, m![{ Steps }, U]> {
    macro_rules! scores {
        () => {
            (ctx.main.begin(query.view()).fetch::<i8, m![T], m![O]>().collect::<m![T], m![O]>())
                .align::<m![T / 2], m![T % 2, O], _, _>(keys)
                .contract::<m![T % 2, O / 8]>()
                .accumulate::<Steps, m![U]>(AccumulationKind::Interleaved)
                .vector_init()
                .vector_intra_slice_branch(BranchMode::Unconditional)
                .vector_fxp_to_fp(31)
                .vector_split::<m![{ Steps }, U / 4], m![U % 4]>()
        };
    }
    let greatest = scores!()
        .vector_intra_slice_reduce::<U, Steps, m![1 # 4]>(IntraSliceReduceOpF32::Max)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf::<Steps>(AUTO);
    macro_rules! powers {
        () => {
            scores!()
                .vector_fp_binary(FpBinaryOp::SubF, &greatest)
                .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), factor)
                .vector_fp_unary(FpUnaryOp::Exp)
        };
    }
    let sums = powers!()
        .vector_intra_slice_reduce::<U, Steps, m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .to_vrf::<Steps>(AUTO);
    powers!()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), SHARE_FACTOR)
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
    keys: &Keys,
    key_value: &Dm<i8, m![S = 2, U, O]>,
    constants: &Constants,
    block: usize,
    half: TrfAddress,
) -> Codes<m![T, D]> {
    // Sums over `U` want it innermost: blocks of 8 tokens and 8 numbers change places.
    let values = key_value.view().tile::<m![S = 2], 1, m![1 # 2, U, O]>(1);
    let values = (ctx.main.begin(values).fetch::<i8, m![O / 8, U], Lanes>())
        .collect::<m![O / 8, U], m![O % 8 # 32]>()
        .transpose::<m![O / 8, O % 8], m![U # 32]>()
        .commit::<m![O % 8, O / 8, U]>(AUTO);
    let values = (ctx.sub.begin(values.view()).fetch::<i9, m![O % 8], m![O / 8, U]>())
        .collect::<m![O % 8], m![O / 8, U]>()
        .to_trf::<m![O % 8], m![O / 8, U]>(half);

    let shares = softmax(ctx, query, keys, constants.score_factors[block]);
    let sums = (ctx.main.begin(shares.view()).fetch_with_zero_point::<i9, m![T], m![O / 8, U]>(LOWEST))
        .collect::<m![T], m![O / 8, U]>()
        .align::<m![T / 2], m![T % 2, O / 8, U], _, _>(&values)
        .contract::<m![T % 2, O / 8]>()
        .accumulate::<Steps, Lanes>(AccumulationKind::Interleaved)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp(FxpBinaryOp::LeftShift, SHIFT)
        .vector_fxp(FxpBinaryOp::MulFxp, constants.head_multipliers[block]);
    let Codes { codes, zero }: Codes<m![T, O]> = codes(sums, constants.head_zeros[block]);
    Codes { codes: codes.relabel::<m![1], Cluster, Slice, m![T, D]>(), zero }
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
    let key_value = weights.sheets::<m![S = 2], 2>(ctx, sheet + 1, halves[0]);
    let key_value_multipliers = weights.multipliers::<m![S = 2], 2>(ctx, sheet + 1);
    let query = weights.sheets::<m![S = 1], 1>(ctx, sheet, halves[1]);
    let query_multipliers = weights.multipliers::<m![S = 1], 1>(ctx, sheet);
    let before = load_operand(ctx, x);
    let normed = norm(ctx, x, constants, 2 * block);
    let sums = product(ctx, &normed, &key_value);
    let key_value: Codes<m![S = 2, T, O]> = codes(scaled(sums, &key_value_multipliers), 0);
    let key_value = key_value.codes.relabel::<m![1], Cluster, Slice, m![S = 2, U, O]>();
    // Keys are loaded while queries are computed, and values while shares are.
    let keys = key_value.view().tile::<m![S = 2], 1, m![1 # 2, U, O]>(0);
    let keys = ctx.sub.begin(keys).fetch::<i8, m![U], m![O]>().collect::<m![U], m![O]>().to_trf(halves[0]);
    let sums = product(ctx, &normed, &query);
    let query: Codes<m![T, O]> = codes(scaled(sums, &query_multipliers), 0);
    // Here the sub context has time for the multipliers of all that follows.
    let output_multipliers = weights.multipliers::<m![S = 1], 1>(ctx, sheet + 3);
    let up_multipliers = weights.multipliers::<m![S = 2], 2>(ctx, sheet + 4);
    // Both sheets have the same.
    let down_multipliers = weights.multipliers::<m![S = 1], 1>(ctx, sheet + 6);
    let heads = attention(ctx, &query.codes, &keys, &key_value, constants, block, halves[1]);
    let output = weights.sheets::<m![S = 1], 1>(ctx, sheet + 3, halves[0]);
    let up = weights.sheets::<m![S = 2], 2>(ctx, sheet + 4, halves[1]);
    let sums = product(ctx, &heads, &output);
    let x = added(scaled(sums, &output_multipliers), &before);

    let before = load_operand(ctx, &x);
    let down = weights.sheets::<m![S = 2], 2>(ctx, sheet + 6, halves[0]);
    let normed = norm(ctx, &x, constants, 2 * block + 1);
    let sums = product(ctx, &normed, &up);
    let hidden: Codes<m![S = 2, T, O]> = codes(scaled(sums, &up_multipliers), LOWEST);
    let hidden = hidden.codes.relabel::<m![1], Cluster, Slice, m![S = 2, T, D]>();
    let sums = (ctx.main.begin(hidden.view()))
        .fetch_with_zero_point::<i9, m![T / 2, S = 2, T % 2], m![D]>(LOWEST)
        .collect::<m![T / 2, S = 2, T % 2], m![D]>()
        .align::<m![T / 2, S = 2, O / 8], m![T % 2, D], _, _>(&down)
        .contract::<m![T % 2]>()
        .accumulate::<m![T / 2, O / 8, T % 2], Lanes>(AccumulationKind::Interleaved);
    added(scaled(sums, &down_multipliers), &before)
}

/// The scores of the image of each slice.
fn network(ctx: &mut Context, images: &Images, weights: &Source, constants: &Constants) -> Scores {
    let images = Codes { codes: images.to_dm(&mut ctx.tdma, AUTO), zero: LOWEST };
    let embed = weights.sheets::<m![S = 1], 1>(ctx, 0, TrfAddress::SecondHalf);
    let embed_multipliers = weights.multipliers::<m![S = 1], 1>(ctx, 0);
    let sums = product(ctx, &images, &embed);
    let mut x: Dm<f32, m![T, O]> =
        scaled(sums, &embed_multipliers).vector_fxp_to_fp(NUMBER_BITS).vector_final().commit(AUTO);
    for number in 0..2 {
        x = block(ctx, &x, weights, constants, number);
    }
    let head = weights.sheets::<m![S = 1], 1>(ctx, 17, TrfAddress::FirstHalf);
    let head_multipliers = weights.multipliers::<m![S = 1], 1>(ctx, 17);
    let normed = norm(ctx, &x, constants, 4);
    // The accumulator adds the tokens, too; the division of their mean is in the weights. One token is a packet here.
    let stream = ctx.main.begin(normed.codes.view()).fetch_with_zero_point::<i9, m![T], m![D]>(normed.zero);
    let sums = (stream.collect::<m![T], m![D]>())
        .align::<m![T, O / 8], m![D # 64], _, _>(&head)
        .contract::<m![1]>()
        .accumulate::<m![O / 8], Lanes>(AccumulationKind::Interleaved);
    let scores: Dm<f32, m![O]> =
        scaled(sums, &head_multipliers).vector_fxp_to_fp(NUMBER_BITS).vector_final().commit(AUTO);
    // Two slices join their rows to 256 bytes.
    let pairs = (ctx.main.begin(scores.view()).fetch::<f32, m![O / 8], Lanes>())
        .switch_to::<m![G % 8, H, I / 2, 1 # 2], m![O / 8, I % 2]>()
        .collect::<m![O / 8, I % 2], Lanes>()
        .commit::<m![I % 2, O]>(AUTO);
    pairs.to_hbm(&mut ctx.tdma, AUTO)
}

/// Four slices read a copy of the weights.
#[device(chip = 1)]
fn shared_by_4(
    ctx: &mut Context,
    images: &Images,
    sheets: &Sheets<m![G, H]>,
    multipliers: &Multipliers<m![G, H]>,
    constants: Constants,
) -> Scores {
    let sheets = sheets.to_dm(&mut ctx.tdma, AUTO);
    let multipliers = multipliers.to_dm(&mut ctx.tdma, AUTO);
    network(ctx, images, &Source { sheets, multipliers }, &constants)
}

/// A quarter for each of four slices, of what 32 have. The packets of all 32 pass by, and each slice takes those of its
/// own outputs. The 6 parts `S / 3` are padded to 8, so that they fill a ring of 32.
fn handed_out<E: Scalar + FetchCast<E>, Outer: M, Flit: M>(
    ctx: &mut Context,
    shares: &DmTensor<E, m![1], Cluster, Share, m![S % 3, { Outer }, { Flit }]>,
) -> DmTensor<E, m![1], Cluster, Quarter, m![S # 24, { Outer }, { Flit }]> {
    (ctx.main.begin(shares.view()).fetch::<E, m![S % 3, { Outer }], Flit>())
        .switch_to::<Quarter, m![S % 3, { Outer }, S / 3 # 8]>()
        .collect::<m![S % 3, { Outer }, S / 3 # 8], Flit>()
        .commit::<m![S / 3 # 8, S % 3, { Outer }, { Flit }]>(AUTO)
        .relabel()
}

/// 32 slices read a copy, which is handed out to them while the next tensors come.
#[device(chip = 1)]
fn shared_by_32(
    ctx: &mut Context,
    images: &Images,
    sheets: &Sheets<m![G]>,
    multipliers: &Multipliers<m![G]>,
    constants: Constants,
) -> Scores {
    let sheets = sheets.to_dm(&mut ctx.tdma, AUTO);
    let multipliers = multipliers.to_dm(&mut ctx.tdma, AUTO);
    let sheets = handed_out::<i8, m![O % 8], m![D]>(ctx, &sheets);
    let multipliers = handed_out::<i32, m![1], Lanes>(ctx, &multipliers);
    network(ctx, images, &Source { sheets, multipliers }, &constants)
}

/// The same on the host, with sums in i32 and every operation of f32 that the chip makes.
struct Reference {
    sheets: Vec<i8>,
    multipliers: Vec<i32>,
    constants: Constants,
}

/// A matrix of codes, or of what becomes codes.
type Rows<E> = Vec<Vec<E>>;

fn code(number: f32, zero: i8) -> i8 {
    clipped(number.round() as i32, zero)
}

/// `round(x · multiplier / 2^31)` of a shifted sum, halves towards the greater.
fn multiplied(sum: i32, multiplier: i32) -> i32 {
    let product = i64::from(sum << SHIFT) * i64::from(multiplier);
    (((product >> 30) + 1) >> 1) as i32
}

fn clipped(x: i32, zero: i8) -> i8 {
    (x + i32::from(zero)).clamp(-128, 127) as i8
}

/// In units of 2^-16.
fn number(x: i32) -> f32 {
    x as f32 / 65536.0
}

fn dot(x: impl Iterator<Item = i32>, w: &[i8]) -> i32 {
    x.zip(w).map(|(x, w)| x * i32::from(*w)).sum()
}

impl Reference {
    /// The products of a token with an output of a sheet.
    fn sum(&self, x: &[i8], zero: i8, sheet: usize, o: usize) -> i32 {
        let row = &self.sheets[(sheet * O::SIZE + o) * D::SIZE..][..D::SIZE];
        dot(x.iter().map(|x| i32::from(*x) - i32::from(zero)), row)
    }

    fn scaled(&self, sum: i32, sheet: usize, o: usize) -> i32 {
        multiplied(sum, self.multipliers[sheet * O::SIZE + o])
    }

    /// Scaled sums of the outputs of a sheet, from codes.
    fn product(&self, x: &Rows<i8>, zero: i8, sheet: usize) -> Rows<i32> {
        let output = |x: &[i8], o: usize| self.scaled(self.sum(x, zero, sheet, o), sheet, o);
        x.iter().map(|x| (0..O::SIZE).map(|o| output(x, o)).collect()).collect()
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
            // Sums of integers, as f32.
            let scores: Vec<f32> = (key.iter())
                .map(|key| dot(query[o..][..8].iter().map(|x| i32::from(*x)), &key[o..][..8]) as f32)
                .collect();
            let greatest = scores.iter().copied().fold(f32::MIN, f32::max);
            let power = |score: &f32| {
                let exponent = (score - greatest) * self.constants.score_factors[block];
                // Rounded once, as on the chip.
                f64::from(exponent).exp() as f32
            };
            let parts: Vec<f32> = scores.iter().map(power).collect();
            let sum = parts.iter().fold(0.0, |sum, part| sum + part);
            let shares = || parts.iter().map(|part| i32::from(code(part * SHARE_FACTOR / sum, LOWEST)) + 128);
            let column = |e: usize| value.iter().map(|value| value[o + e]).collect::<Vec<_>>();
            let own =
                |e: usize| multiplied(dot(shares(), &column(e)), self.constants.head_multipliers[block]);
            (0..8).map(|e| clipped(own(e), zero)).collect()
        };
        let heads = |query: &Vec<i8>| (0..O::SIZE).step_by(8).flat_map(|o| head(query, o)).collect();
        (query.iter().map(heads).collect(), zero)
    }

    /// The scores of an image of 8 tokens.
    fn scores(&self, image: &[i8]) -> Vec<f32> {
        let codes = |sums: Rows<i32>, zero: i8| -> Rows<i8> {
            sums.iter().map(|row| row.iter().map(|x| clipped(*x, zero)).collect()).collect()
        };
        let image: Rows<i8> = image.chunks(D::SIZE).map(<[i8]>::to_vec).collect();
        let embedded = self.product(&image, LOWEST, 0);
        let mut x: Rows<f32> = embedded.iter().map(|row| row.iter().map(|x| number(*x)).collect()).collect();
        for block in 0..2 {
            let sheet = 1 + 8 * block;
            let (normed, zero) = self.norm(&x, 2 * block);
            let parts = [0, 1, 2].map(|part| codes(self.product(&normed, zero, sheet + part), 0));
            let (heads, zero) = self.attention(&parts, block);
            for (x, part) in x.iter_mut().zip(self.product(&heads, zero, sheet + 3)) {
                x.iter_mut().zip(part).for_each(|(x, part)| *x += number(part));
            }
            let (normed, zero) = self.norm(&x, 2 * block + 1);
            let hidden = [4, 5].map(|part| codes(self.product(&normed, zero, sheet + part), LOWEST));
            for (t, x) in x.iter_mut().enumerate() {
                for (o, x) in x.iter_mut().enumerate() {
                    let sum = |half: usize| self.sum(&hidden[half][t], LOWEST, sheet + 6 + half, o);
                    *x += number(self.scaled(sum(0) + sum(1), sheet + 6, o));
                }
            }
        }
        let (normed, zero) = self.norm(&x, 4);
        let sum = |o: usize| normed.iter().map(|x| self.sum(x, zero, 17, o)).sum();
        (0..O::SIZE).map(|o| number(self.scaled(sum(o), 17, o))).collect()
    }
}

/// What the report says of a kernel.
fn print(name: &str, report: &Report, seconds: f64) -> u64 {
    let kernel = report.kernels.last().expect("a kernel ran");
    let (cycles, milliseconds) = (kernel.makespan(), 1e3 * seconds / N::SIZE as f64);
    let records = report.records.iter().filter(|record| record.kernel == kernel.call);
    let products: u64 = records.filter_map(|record| Some(record.amount.products.as_ref()?.count)).sum();
    // 512 slices multiply 8 rows of 64 pairs in each cycle.
    let use_of = 100.0 * products as f64 / (cycles * 512 * 8 * 64) as f64;
    println!(
        "{name}: {cycles} cycles for {} images, {use_of:.2} % of the multipliers; simulated in {milliseconds:.1} ms per image",
        N::SIZE
    );
    let mut slowest = report.critical_path(kernel);
    slowest.sort_by_key(|record| std::cmp::Reverse(record.cycles()));
    for record in slowest.iter().take(4) {
        let (cycles, bound) = (record.cycles(), record.timing.bottleneck());
        println!("    {:7} {cycles:6} cycles, bound by {bound}", record.operation);
    }
    cycles
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
    let multipliers = HostTensor::<i32, m![S, O]>::from_safetensors(&file.tensor("multipliers")?)?;
    let constants = Constants::read(&file)?;

    // Tokens: 8 pixels, and a one that says which row they are. Pixels are multiples of 1/16, codes steps of 1/240.
    let mut tokens = vec![LOWEST; N::SIZE * T::SIZE * D::SIZE];
    for (image, tokens) in pixels.chunks(FILE::SIZE).zip(tokens.chunks_mut(T::SIZE * D::SIZE)) {
        for (t, (row, token)) in image.chunks_exact(8).zip(tokens.chunks_mut(D::SIZE)).enumerate() {
            token.iter_mut().zip(row).for_each(|(own, pixel)| *own = code(240.0 * f32::from(*pixel), LOWEST));
            token[8 + t] = code(240.0, LOWEST);
        }
    }
    let images = HostTensor::<i8, m![G, H, I, T, D]>::from_slice(&tokens);

    let mut ctx = Context::acquire();
    macro_rules! run {
        ($kernel:ident, $Copies:ty) => {
            pollster::block_on(async {
                let images: Images = images.to_hbm(&mut ctx.pdma, AUTO).await;
                let sheets: Sheets<$Copies> = sheets.to_hbm(&mut ctx.pdma, AUTO).await;
                let multipliers: Multipliers<$Copies> = multipliers.to_hbm(&mut ctx.pdma, AUTO).await;
                let start = Instant::now();
                let scores = launch($kernel, (&mut *ctx, &images, &sheets, &multipliers, constants)).await;
                let scores = scores.to_host::<m![G, H, I, O]>(&mut ctx.pdma).await.to_vec();
                (scores, print(stringify!($kernel), &ctx.report(), start.elapsed().as_secs_f64()))
            })
        };
    }
    let (first, first_cycles) = run!(shared_by_4, m![G, H]);
    let (scores, cycles) = run!(shared_by_32, m![G]);
    println!(
        "shared_by_32 is {:.2} times as fast, with the same scores",
        first_cycles as f64 / cycles as f64
    );
    assert_eq!(first, scores, "both kernels compute the same");
    assert!(15 * cycles < 14 * first_cycles, "sharing with more slices should save a fifteenth of the time");

    let reference = Reference { sheets: sheets.to_vec(), multipliers: multipliers.to_vec(), constants };
    let count = if small { 16 } else { N::SIZE };
    let images = tokens.chunks(T::SIZE * D::SIZE).zip(scores.chunks(O::SIZE));
    for (n, (image, found)) in images.take(count).enumerate() {
        assert_eq!(found, reference.scores(image), "image {n}");
    }
    println!("all {} scores of {count} images are those of the host, bit for bit", count * O::SIZE);

    let best = |row: &[f32]| (1..10).fold(0, |best, c| if row[c] > row[best] { c } else { best });
    let right =
        scores.chunks(O::SIZE).zip(&labels).filter(|(row, label)| best(row) == **label as usize).count();
    let percent = 100.0 * right as f64 / N::SIZE as f64;
    println!("{right} of {} images right, {percent:.2} %; in bf16 {BF16_RIGHT}", N::SIZE);
    assert!(right * 100 >= N::SIZE * 97, "the network should get 97 % right");
    assert!(right + 5 >= BF16_RIGHT, "int8 should lose at most 1 %");
    Ok(())
}
