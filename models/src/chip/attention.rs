//! Attention of the token to itself and to all tokens before it.
//!
//! A slice has the keys and values of one position of each page. So scores need no exchange, and what they choose is a
//! sum over slices. Scores are taken relative to that of the token itself, which every slice knows: no maximum has to be
//! found, and a greater score would have to be greater by 70 to be cut.
//!
//! The token's own share is 1 in this way, and its value is added without a product: every slot of every slice adds it once, and
//! all other shares are that many times as large.

use super::layout::*;
use super::vector::{Gathered, Norm, Vector, halves};
use furiosa_visa_std::prelude::*;

/// Keys and values of the token in all layers.
pub type Kept = Dm<f32, m![S], m![L, J = 2, K, D]>;
/// Weights of queries, keys and values of two layers.
pub type QWeights = Hbm<bf16, m![L % 2, E / 32, A, D / 4, E / 8 % 4, D % 4, E % 8]>;
/// The same in DM.
pub type QInDm = Dm<bf16, ASlice, m![L % 2, E / 8, D % 4, E % 8]>;
/// Weights of the output of the attention of two layers.
pub type OWeights = Hbm<bf16, m![L % 2, N / 16, X / 72, X / 8 % 9, N / 4 % 4, X % 8, N % 4]>;
/// The same in DM.
pub type OInDm = Dm<bf16, XSlice, m![L % 2, N / 4, X % 8, N % 4]>;
/// Rotary factors of all positions.
pub type Rotary = Hbm<f32, m![R, J, K, O, T, U, P]>;
/// Rotary factors of the token.
pub type RotaryOfToken = Vrf<RSlice, m![T, U, P]>;
/// Queries, keys and values of the token, in every slice.
pub type Own = Dm<f32, m![S], m![[J, K] # 16, D]>;
/// Keys and values of two layers, of the positions of pages, a slice each.
pub type Slots<Of> = Dm<f32, m![S], m![L % 2, { <Of as Reach>::Held }, J = 2, K, D]>;
/// Those of a layer.
type SlotsOfLayer<'l, Of> =
    DmTensorView<'l, f32, m![1], Cluster, m![S], m![1 # 2, { <Of as Reach>::Held }, J = 2, K, D]>;

/// Keys and values that a token attends to in a layer.
pub struct Seen<'l, Of: Reach> {
    own: &'l Own,
    held: SlotsOfLayer<'l, Of>,
    kept: &'l mut Kept,
    layer: usize,
}

impl<'l, Of: Reach> Seen<'l, Of> {
    /// The token itself, whose keys and values are kept, and the slots of a layer.
    pub fn new(own: &'l Own, slots: &'l Slots<Of>, (kept, layer): (&'l mut Kept, usize)) -> Self {
        let held = slots.view();
        let held = held.tile::<m![L % 2], 1, m![1 # 2, { Of::Held }, J = 2, K, D]>(layer % 2);
        Self { own, held, kept, layer }
    }
}
/// Keys and values of all layers, of a page of positions.
pub type Page = Hbm<f32, m![L, J = 2, K, S, D]>;

/// The greatest score, relative to that of the token itself.
const GREATEST: f32 = 70.0;

/// Rotary factors of the token and the numbers of positions, and the operands that they become: when the first layer asks
/// for them, so that nothing waits for these before.
pub struct Tables<Of: Reach> {
    factors: Dm<f32, RSlice, m![T, U, P]>,
    positions: Dm<f32, m![S], m![W, I]>,
    position: usize,
    rotary: Option<RotaryOfToken>,
    mask: Option<Mask<Of>>,
}

impl<Of: Reach> Tables<Of> {
    /// Brings the tables of a position.
    #[track_caller]
    pub fn load(ctx: &mut Context, rotary: &Rotary, positions: &Positions, position: usize) -> Self {
        let factors = rotary.view().tile::<m![R], 1, m![1 # 2048, J, K, O, T, U, P]>(position);
        let factors = factors.to_dm(&mut ctx.tdma, AUTO);
        let positions = positions.to_dm(&mut ctx.tdma, AUTO);
        Self { factors, positions, position, rotary: None, mask: None }
    }

    /// The rotary factors.
    #[track_caller]
    fn rotary(&mut self, ctx: &mut Context) -> &RotaryOfToken {
        self.rotary.get_or_insert_with(|| {
            (ctx.sub.begin(self.factors.view()).fetch::<f32, m![1], m![T, U, P]>())
                .collect::<m![1], m![T, U, P]>()
                .to_vrf(AUTO)
        })
    }

    /// The mask.
    #[track_caller]
    fn mask(&mut self, ctx: &mut Context) -> &Mask<Of> {
        self.mask.get_or_insert_with(|| mask::<Of>(ctx, &self.positions, self.position))
    }
}

/// Products of the vector with weights of queries, keys and values.
#[track_caller]
pub fn queries(
    ctx: &mut Context,
    (weights, layer): (&QInDm, usize),
    x: &Gathered<ASlice>,
) -> Dm<f32, ASlice, m![D % 4]> {
    let weights = weights.view();
    let weights = weights.tile::<m![L % 2], 1, m![1 # 2, E / 8, D % 4, E % 8]>(layer);
    (ctx.main.begin(weights).fetch::<bf16, m![E / 8], m![D % 4, E % 8]>())
        .collect::<m![E / 8, D / 2 % 2], m![D % 2, E % 8]>()
        .align::<m![E / 8, H], m![D % 4, E % 8], _, _>(&x.row)
        .contract::<m![D % 4]>()
        .accumulate::<m![1], m![D % 4 # 8]>(AccumulationKind::Sequential)
        .commit(AUTO)
}

/// Queries, keys and values over the norm of the vector, with rotary pairs turned.
#[track_caller]
pub fn turned<Of: Reach>(
    ctx: &mut Context,
    sums: Dm<f32, ASlice, m![D % 4]>,
    norm: &Norm,
    tables: &mut Tables<Of>,
) -> Dm<f32, QSlice, m![D % 4]> {
    let rotary = tables.rotary(ctx);
    let pairs: Dm<f32, RSlice, m![T, P]> = sums.relabel();
    // Of each pair both elements meet both factors.
    let turned: Dm<f32, RSlice, m![U, P]> = (ctx.main.begin(pairs.view()).fetch::<f32, m![T], m![U, P]>())
        .collect::<m![T], m![[U, P] # 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![U, P]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), rotary)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), &norm.reciprocal)
        .vector_intra_slice_reduce::<T, m![1], m![U, P]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![[U, P] # 8]>()
        .vector_final()
        .commit(AUTO);
    turned.relabel()
}

/// The same of sums that are in two parts, the same ones if the other is not given.
#[track_caller]
pub fn turned_sum<Of: Reach>(
    ctx: &mut Context,
    (own, other): (Dm<f32, ASlice, m![D % 4]>, Option<Dm<f32, ASlice, m![D % 4]>>),
    norm: &Norm,
    tables: &mut Tables<Of>,
) -> Dm<f32, QSlice, m![D % 4]> {
    let rotary = tables.rotary(ctx);
    let own: Dm<f32, RSlice, m![T, P]> = own.relabel();
    let other: Option<Dm<f32, RSlice, m![T, P]>> = other.map(|sums| sums.relabel());
    let other = other.as_ref().unwrap_or(&own);
    let turned: Dm<f32, RSlice, m![U, P]> =
        (ctx.main.begin_interleaved::<I, _, _, _, _, _>(own.view(), other.view()))
            .fetch::<f32, m![T, I], m![U, P]>()
            .collect::<m![T, I], m![[U, P] # 8]>()
            .vector_init()
            .vector_intra_slice_unzip::<I, m![T, 1 # 2], m![T]>()
            .vector_split::<m![T, 1 # 2], m![U, P]>()
            .vector_fp_zip(FpBinaryOp::AddF)
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), rotary)
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), &norm.reciprocal)
            .vector_intra_slice_reduce::<T, m![1 # 2], m![U, P]>(IntraSliceReduceOpF32::Add)
            .vector_concat::<m![1], m![[U, P] # 8]>()
            .vector_final()
            .commit(AUTO);
    turned.relabel()
}

/// Sends queries, keys and values round all slices.
#[track_caller]
pub fn share(ctx: &mut Context, queries: &Dm<f32, QSlice, m![D % 4]>) -> Own {
    (ctx.main.begin(queries.view()).fetch::<f32, m![1], m![D % 4]>())
        .switch_to::<m![S], QSlice>()
        .collect::<QSlice, m![D % 4 # 8]>()
        .commit(AUTO)
}

/// Brings the keys and values of pages, of layers `2 · pair` and the next one.
#[track_caller]
pub fn load_pages<Of: Reach>(ctx: &mut Context, pages: [&Page; 8], pair: usize, slots: &mut Slots<Of>) {
    for (number, page) in pages.into_iter().take(Of::PAGES).enumerate() {
        let page = page.view();
        let page = page.tile::<m![L / 2], 1, m![1 # 15, L % 2, J = 2, K, S, D]>(pair);
        let mut slots = slots.view_mut();
        let slot = slots.tile::<Of::Held, 1, m![L % 2, { Of::Page }, J = 2, K, D]>(number);
        page.to_dm_view(&mut ctx.tdma, slot);
    }
}

/// Keeps the keys and values of the token, until they go to their page together.
#[track_caller]
fn keep(ctx: &mut Context, own: &Own, layer: usize, kept: &mut Kept) {
    let own = own.view();
    let own = own.tile::<m![J], 2, m![[J = 2 # 5, K] # 16, D]>(3);
    let mut kept = kept.view_mut();
    (ctx.sub.begin(own).fetch::<f32, m![J = 2, K, D / 8], m![D % 8]>())
        .collect::<m![J = 2, K, D / 8], m![D % 8]>()
        .commit_view(kept.tile::<m![L], 1, m![1 # 30, J = 2, K, D]>(layer));
}

/// Stores keys and values of the token in all layers.
#[track_caller]
pub fn store(ctx: &mut Context, kept: &Kept, page: &mut Page, position: usize) {
    let kept = kept.view();
    let kept = kept.cluster_tile::<m![C], 1, m![1 # 2]>(0);
    let kept = kept.slice_tile::<m![S], 1, m![1 # 256]>(0);
    let mut page = page.view_mut();
    let place = page.tile::<m![S], 1, m![L, J = 2, K, 1 # 256, D]>(position % S::SIZE);
    kept.to_hbm_view(&mut ctx.tdma, place);
}

/// The numbers of positions, from which the mask follows.
pub type Positions = Hbm<f32, m![S, W, I]>;
/// Addends of scores: the logarithm of the number of slots, or a large negative number where there is no position
/// before the token.
pub type Mask<Of> = Vrf<m![S], <Of as Reach>::Held>;

/// The mask of a token.
#[track_caller]
fn mask<Of: Reach>(ctx: &mut Context, positions: &Dm<f32, m![S], m![W, I]>, position: usize) -> Mask<Of> {
    let positions = positions.view();
    let positions = positions.tile::<m![I], 1, m![W, 1 # 2]>(0);
    let mask: Dm<f32, m![S], m![{ Of::Held }, 1 # 2]> =
        (ctx.main.begin(Of::first(&positions)).fetch::<f32, Of::Held, m![1 # 2]>())
            .collect::<Of::Held, m![1 # 8]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_trim_way4::<m![1 # 4]>()
            .vector_fp_binary_with_mode(FpBinaryOp::SubF, BinaryArgMode::Mode10, position as f32 - 0.5)
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), 1e9)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_clip(ClipBinaryOpF32::Min, 0.0)
            .vector_clip(ClipBinaryOpF32::Add, ((S::SIZE * Of::PAGES) as f32).ln())
            .vector_final()
            .commit(AUTO);
    (ctx.sub.begin(mask.view()).fetch::<f32, Of::Held, m![1 # 2]>().collect::<Of::Held, m![1 # 8]>())
        .to_vrf(AUTO)
}

/// Numbers of each slot and head of the queries.
type PerHead<Of> = Dm<f32, m![S], m![{ <Of as Reach>::Held }, K, J = 3, 1 # 2]>;
/// An operand of each head, in every slice.
pub type OfHeads = Vrf<m![Y], m![N / 64]>;

/// The key, 0, or the value, 1, of the token, as an operand.
macro_rules! own {
    ($ctx:ident, $seen:ident, $which:literal) => {{
        let own = $seen.own.view();
        let own = own.tile::<m![J], 1, m![[1 # 5, K] # 16, D]>(3 + $which);
        ($ctx.sub.begin(own).fetch::<f32, m![K, D / 8], m![D % 8]>())
            .collect::<m![K, D / 8], m![D % 8]>()
            .to_vrf(AUTO)
    }};
}

/// The value of the token, as an operand.
type Value = Vrf<m![S], m![K, D]>;

/// Scores of all slots, relative to that of the token itself, and the value of the token.
fn scores<Of: Reach>(ctx: &mut Context, seen: &mut Seen<'_, Of>, mask: &Mask<Of>) -> (PerHead<Of>, Value) {
    // Both at the same time, by the two contexts.
    let key: Vrf<m![S], m![K, D]> = own!(ctx, seen, 0);
    let queries: Vrf<m![S], m![J = 3, K, D]> = {
        let queries = seen.own.view();
        let queries = queries.tile::<m![J], 3, m![[J = 3 # 5, K] # 16, D]>(0);
        (ctx.main.begin(queries).fetch::<f32, m![J = 3, K, D / 8], m![D % 8]>())
            .collect::<m![J = 3, K, D / 8], m![D % 8]>()
            .to_vrf(AUTO)
    };
    let value = own!(ctx, seen, 1);
    // The sub context has time for it until there are shares.
    keep(ctx, seen.own, seen.layer, seen.kept);
    let keys = seen.held.tile::<m![J = 2], 1, m![1 # 2, { Of::Held }, 1 # 2, K, D]>(0);
    let scores = (ctx.main.begin(keys).fetch::<f32, m![{ Of::Held }, K, J = 3, D / 8], m![D % 8]>())
        .collect::<m![{ Of::Held }, K, J = 3, D / 8], m![D % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![{ Of::Held }, K, J = 3, D / 4], m![D % 4]>()
        .vector_fp_binary(FpBinaryOp::SubF, &key)
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &queries)
        .vector_intra_slice_reduce::<D, m![{ Of::Held }, K, J = 3], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_clip(ClipBinaryOpF32::Min, GREATEST)
        .vector_clip(ClipBinaryOpF32::Add, mask)
        .vector_final()
        .commit(AUTO);
    (scores, value)
}

/// Shares that each slot of each slice adds to each head.
struct Shares<Of: Reach> {
    /// `e^score`, times the number of slots.
    shares: Vrf<m![S], m![{ Of::Held }, K, J = 3]>,
    /// The sum of all of them, and of 1 in each slot for the token itself.
    sum: OfHeads,
    /// The tensor that the sum was loaded from. At its place, another one would have to wait for the load.
    _loaded: Dm<f32, m![Y], m![N / 64, 1 # 2]>,
}

/// `e^score` of each slot and head, and the sum of them over all slots of all slices.
fn shares<Of: Reach>(ctx: &mut Context, scores: &PerHead<Of>) -> Shares<Of> {
    let shares: PerHead<Of> =
        (ctx.main.begin(scores.view()).fetch::<f32, m![{ Of::Held }, K, J = 3], m![1 # 2]>())
            .collect::<m![{ Of::Held }, K, J = 3], m![1 # 8]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_trim_way4::<m![1 # 4]>()
            .vector_fp_unary(FpUnaryOp::Exp)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_final()
            .commit(AUTO);
    let sum: Dm<f32, m![Y], m![K, J = 3, 1 # 2]> =
        (ctx.main.begin(shares.view()).fetch::<f32, m![K, J = 3, { Of::Held }], m![1 # 2]>())
            .collect::<m![K, J = 3, { Of::Held }], m![1 # 8]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_trim_way4::<m![1 # 4]>()
            .vector_fp_binary(FpBinaryOp::AddF, 1.0)
            .vector_intra_slice_reduce::<W, m![K, J = 3], m![1 # 4]>(IntraSliceReduceOpF32::Add)
            .vector_pad_way8::<m![1 # 8]>()
            .vector_inter_slice_reduce::<m![Y], m![K, J = 3]>(InterSliceReduceOpF32::Add)
            .vector_final()
            .commit(AUTO);
    let shares = (ctx.sub.begin(shares.view()).fetch::<f32, m![{ Of::Held }, K, J = 3], m![1 # 2]>())
        .collect::<m![{ Of::Held }, K, J = 3], m![1 # 8]>()
        .to_vrf(AUTO);
    let loaded: Dm<f32, m![Y], m![N / 64, 1 # 2]> = sum.relabel();
    let sum = (ctx.sub.begin(loaded.view()).fetch::<f32, m![N / 64], m![1 # 2]>())
        .collect::<m![N / 64], m![1 # 8]>()
        .to_vrf(AUTO);
    Shares { shares, sum, _loaded: loaded }
}

/// Values of all slots, weighted by the shares of the queries, in slices `Slice`. `Steps` and 8 lanes are what a slice gets.
macro_rules! weighted {
    ($ctx:ident, $seen:ident, $shares:ident, $value:ident, $slice:ty, $steps:ty) => {{
        let values = $seen.held.tile::<m![J = 2], 1, m![1 # 2, { Of::Held }, 1 # 2, K, D]>(1);
        ($ctx.main.begin(values).fetch::<f32, m![K, J = 3, D / 8, { Of::Held }], m![D % 8]>())
            .collect::<m![K, J = 3, D / 8, { Of::Held }], m![D % 8]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<m![K, J = 3, D / 8, { Of::Held }, D / 4 % 2], m![D % 4]>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &$shares.shares)
            .vector_fp_binary(FpBinaryOp::AddF, &$value)
            .vector_intra_slice_reduce::<W, m![K, J = 3, D / 8, D / 4 % 2], m![D % 4]>(IntraSliceReduceOpF32::Add)
            .vector_concat::<m![K, J = 3, D / 8], m![D % 8]>()
            .vector_inter_slice_reduce::<$slice, $steps>(InterSliceReduceOpF32::Add)
            .vector_final()
            .commit(AUTO)
    }};
}

/// Results of the heads, in two bf16, in the register file.
pub type Row<Slice, Steps> = Trf<Slice, m![{ Steps }, H, N % 8]>;

/// Brings results of the heads to the register file.
#[track_caller]
fn row<Slice: M, Steps: M>(
    ctx: &mut Context,
    chosen: &Dm<f32, Slice, m![{ Steps }, N % 8]>,
    half: TrfAddress,
) -> Row<Slice, Steps> {
    let stream = (ctx.main.begin(chosen.view()).fetch::<f32, m![{ Steps }, H], m![N % 8]>())
        .collect::<m![{ Steps }, H], m![N % 8]>();
    let chosen: Dm<bf16, Slice, m![{ Steps }, H, N % 8]> =
        halves!(stream).cast::<bf16, m![N % 8 # 16]>().commit(AUTO);
    (ctx.main.begin(chosen.view()).fetch::<bf16, Steps, m![H, N % 8]>())
        .collect::<Steps, m![H, N % 8]>()
        .to_trf(half)
}

/// Results of the heads, in every slice of a vector.
pub type Chosen = Row<XSlice, m![N / 8]>;

/// Results of the heads, in every slice of a vector, and sums that are yet to divide them.
#[track_caller]
pub fn chosen<Of: Reach>(
    ctx: &mut Context,
    seen: &mut Seen<'_, Of>,
    tables: &mut Tables<Of>,
    half: TrfAddress,
) -> (Chosen, OfHeads) {
    let mask = tables.mask(ctx);
    let (scores, value) = scores::<Of>(ctx, seen, mask);
    let shares = shares::<Of>(ctx, &scores);
    let chosen: Dm<f32, XSlice, m![K, J = 3, D / 8, D % 8]> =
        weighted!(ctx, seen, shares, value, XSlice, m![K, J = 3, D / 8]);
    (row(ctx, &chosen.relabel(), half), shares.sum)
}

/// A half of what the heads choose.
pub type ChosenHalf = Row<OSlice, m![N / 64, N / 8 % 4]>;

/// Results of the heads, half of them in each slice, and sums that are yet to divide them.
#[track_caller]
pub fn chosen_halves<Of: Reach>(
    ctx: &mut Context,
    seen: &mut Seen<'_, Of>,
    tables: &mut Tables<Of>,
    half: TrfAddress,
) -> (ChosenHalf, OfHeads) {
    let mask = tables.mask(ctx);
    let (scores, value) = scores::<Of>(ctx, seen, mask);
    let shares = shares::<Of>(ctx, &scores);
    let chosen: Dm<f32, m![X / 72, X / 8 % 9 # 16, D / 32], m![K, J = 3, D / 8 % 4, D % 8]> =
        weighted!(ctx, seen, shares, value, m![X / 72, X / 8 % 9 # 16, D / 32], m![K, J = 3, D / 8 % 4]);
    (row(ctx, &chosen.relabel(), half), shares.sum)
}

/// `before` and the output of the attention. `sums` divide what each head chooses.
#[track_caller]
pub fn output(
    ctx: &mut Context,
    (weights, layer): (&OInDm, usize),
    (chosen, sums): &(Chosen, OfHeads),
    before: &Vrf<XSlice, m![X % 8]>,
) -> Vector {
    let weights = weights.view();
    let weights = weights.tile::<m![L % 2], 1, m![1 # 2, N / 4, X % 8, N % 4]>(layer);
    (ctx.main.begin(weights).fetch::<bf16, m![N / 4], m![X % 8, N % 4]>())
        .collect::<m![N / 4, X / 4 % 2], m![X % 4, N % 4]>()
        .align::<m![N / 4, H], m![X % 8, N % 4], _, _>(chosen)
        .contract::<m![X % 8]>()
        .accumulate::<m![N / 64], m![X % 8]>(AccumulationKind::Sequential)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![N / 64, X / 4 % 2], m![X % 4]>()
        .vector_fp_binary(FpBinaryOp::DivF, sums)
        .vector_intra_slice_reduce::<N, m![X / 4 % 2], m![X % 4]>(IntraSliceReduceOpF32::Add)
        .vector_concat::<m![1], m![X % 8]>()
        .vector_clip(ClipBinaryOpF32::Add, before)
        .vector_final()
        .commit(AUTO)
}
