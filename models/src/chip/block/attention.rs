//! Attention of a block to itself and to the pages before it.
//!
//! 16 slices share the keys of a head: each has a part, and a ring passes all parts to the register files. A slice has the scores
//! of 8 tokens of one head; a ring passes their powers to the four slices of a head, each of which has a quarter of the elements
//! of all values. Both halves of a block's keys and values are needed by both clusters: the own half comes first in each of them.

use super::layout::*;
use super::vectors::{Means, added_over_slices, over_root};
use furiosa_visa_std::prelude::*;

/// Weights of queries, keys and values, in four parts for the slices that share them.
pub type QWeights = Hbm<bf16, m![D / 8 % 2, E / 16 % 9, D / 2 % 4, G, B, D / 16, D % 2, E / 144, E % 16]>;
/// Parts of them in DM.
pub type QParts = Dm<bf16, m![D / 2 % 4, G, B, D / 16], m![D / 8 % 2, E / 16 % 9, D % 2, E / 144, E % 16]>;
/// All of them in DM.
pub type QInDm = Dm<bf16, QSlice, m![D / 2 % 4, D / 8 % 2, E / 16 % 9, D % 2, E / 144, E % 16]>;
/// The same in the register file.
pub type QInTrf = Trf<QSlice, m![D % 8], m![D / 8 % 2, E / 16 % 9, E / 144, E % 16]>;
/// Weights of the output of the attention, in four parts for the slices that share them.
pub type OWeights = Hbm<bf16, m![X / 64, X % 2, X / 2 % 4, G = 3, B = 3, D / 16, X / 8 % 8, D % 16]>;
/// Parts of them in DM.
pub type OParts = Dm<bf16, m![X / 2 % 4, G = 3 # 4, B = 3 # 4, D / 16], m![X / 64, X % 2, X / 8 % 8, D % 16]>;
/// All of them in DM.
pub type OInDm = Dm<bf16, OSlice, m![X / 2 % 4, X / 64, X % 2, X / 8 % 8, D % 16]>;
/// The same in the register file.
pub type OInTrf = Trf<OSlice, m![X % 8], m![X / 8, D % 16]>;

/// Rotary factors of the positions of a page.
pub type RotaryTable = Hbm<f32, m![R % 8, O / 8, C, V, W, G, B, R / 8, O % 8, T, U, P]>;
/// Rotary factors of the tokens.
pub type Rotary = Vrf<HeadSlice, m![R % 8, O, T, U, P]>;
/// Queries, keys and values with rotary pairs turned, in slices of 8 tokens.
pub type Heads = Dm<f32, HeadSlice, m![R % 8, D]>;

/// Keys of a half of a page, as rings pass them on.
pub type Keys = Dm<f32, KSlice, m![S / 8 % 2, S % 8, D % 32]>;
/// Keys of a half of a page before the block.
pub type KeyParts = Dm<f32, m![1 # 4, G = 3 # 4, S / 16, D / 32], m![S / 8 % 2, S % 8, D % 32]>;
/// Values of a half of a page before the block.
pub type Values = Dm<f32, m![1 # 4, G = 3 # 4, S / 8], m![S % 8, D]>;
/// Values of a page, keys inside.
type Turned = Dm<bf16, OSlice, m![D % 16, N]>;
/// Keys of a page in the register file.
pub type KInTrf = Trf<ASlice, m![S % 8], m![Z, S / 8 % 2, D / 16 % 2, S / 16, D / 32, D % 16]>;
/// Values of a page in the register file.
type VInTrf = Trf<OSlice, m![D % 8], m![D / 8 % 2, N]>;

/// One of four parts of the weights of queries, keys and values to all slices.
#[track_caller]
pub fn spread_queries(ctx: &mut Context, parts: &QParts, which: usize, all: &mut QInDm) {
    type Part = m![D / 8 % 2, E / 16 % 9, D % 2, E / 144, E % 16];
    let part = parts.view().slice_tile::<m![D / 2 % 4], 1, m![1 # 4, G, B, D / 16]>(which);
    let mut all = all.view_mut();
    part.to_dm_view_pcopy(&mut ctx.sub, all.tile::<m![D / 2 % 4], 1, m![1 # 4, { Part }]>(which));
}

/// Weights of queries, keys and values to the register file.
#[track_caller]
pub fn load_queries(ctx: &mut Context, weights: &QInDm, half: TrfAddress) -> QInTrf {
    (ctx.main.begin(weights.view()))
        .fetch::<bf16, m![D % 8, D / 8 % 2], m![E / 16 % 9, E / 144, E % 16]>()
        .collect::<m![D % 8, D / 8 % 2, E / 16 % 9, E / 144], m![E % 16]>()
        .to_trf(half)
}

/// Weights of the output to all slices.
#[track_caller]
pub fn spread_output(ctx: &mut Context, parts: &OParts) -> OInDm {
    let mut all = OInDm::new(ctx);
    parts.to_dm_pcopy(&mut ctx.sub, &mut all);
    all
}

/// Weights of the output to the register file.
#[track_caller]
pub fn load_output(ctx: &mut Context, weights: &OInDm, half: TrfAddress) -> OInTrf {
    (ctx.main.begin(weights.view()))
        .fetch::<bf16, m![X % 8, X / 8], m![D % 16]>()
        .collect::<m![X % 8, X / 8], m![D % 16]>()
        .to_trf(half)
}

/// Queries, keys and values of the tokens.
#[track_caller]
pub fn heads(ctx: &mut Context, x: &Unnormed, means: &Means, weights: &QInTrf, rotary: &Rotary) -> Heads {
    // Sums are over the root mean square of a vector, in the place of its elements.
    let sums = (ctx.main.begin(x.view()).fetch::<bf16, m![R % 2, E / 16 % 9], m![E % 16]>())
        .switch_to::<QSlice, m![R % 2, E / 16 % 9, R / 2, E / 144]>()
        .collect::<m![R % 2, E / 16 % 9, R / 2, E / 144], m![E % 16]>()
        .align::<m![R % 2, E / 16 % 9, R / 2, E / 288, D / 8 % 2], m![E / 144 % 2, E % 16], _, _>(weights)
        .contract::<m![1]>()
        .accumulate::<m![R % 2, R / 2, D / 8 % 2], m![D % 8]>(AccumulationKind::Interleaved)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![R % 2, R / 2, D / 8 % 2, D / 4 % 2], m![D % 4]>();
    let sums: Dm<f32, QSlice, m![R, D % 16]> = over_root!(sums, means)
        .vector_concat::<m![R % 2, R / 2, D / 8 % 2], m![D % 8]>()
        .vector_final()
        .commit(AUTO);
    let pairs: Dm<f32, RSlice, m![R, O % 4, T, P]> = sums.relabel();
    // Of each pair both elements meet both factors; and the slices of a head change their parts of it for tokens.
    let turned: Dm<f32, HeadSlice, m![R % 8, O, U, P]> =
        (ctx.main.begin(pairs.view()).fetch::<f32, m![R % 8, O / 2 % 2, R / 8, T], m![O % 2, U, P]>())
            .switch_to::<HeadSlice, m![R % 8, O / 2 % 2, T, O / 4]>()
            .collect::<m![R % 8, O / 2 % 2, T, O / 4], m![O % 2, U, P]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<m![R % 8, O / 2 % 2, T, O / 4, O % 2], m![U, P]>()
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), rotary)
            .vector_intra_slice_reduce::<T, m![R % 8, O / 2 % 2, O / 4, O % 2], m![U, P]>(
                IntraSliceReduceOpF32::Add,
            )
            .vector_concat::<m![R % 8, O / 2 % 2, O / 4], m![O % 2, U, P]>()
            .vector_final()
            .commit(AUTO);
    turned.relabel()
}

/// Rotary factors of the tokens in DM.
pub type RotaryInDm = Dm<f32, HeadSlice, m![R % 8, O, T, U, P]>;

/// Rotary factors of the tokens as an operand. A context loads them: `ctx.main` or `ctx.sub`.
#[track_caller]
pub fn rotary<const T_: Tu>(context: &mut TuContext<T_>, table: &RotaryInDm) -> Rotary {
    (context.begin(table.view()).fetch::<f32, m![R % 8, O], m![T, U, P]>())
        .collect::<m![R % 8, O], m![T, U, P]>()
        .to_vrf(place::FACTORS)
}

/// Keys, in the register file, and values of the block itself. In both, those of the half that this cluster has are the first.
pub struct OwnPage {
    keys: KInTrf,
    values: Turned,
    /// Tensors that they were made of. Their bytes are not for the next loads, which would wait until they have been read.
    _sources: (OtherKeys, [Keys; 2], TurnedHeads, OtherValues),
}

/// Keys and values of a page before the block, by halves.
pub struct PageBefore {
    keys: [KeyParts; 2],
    values: [Values; 2],
}

/// Keys and values of all layers, of a page that a block writes.
pub type Written = Hbm<f32, m![L, I, G = 3, C, V, W, R, D]>;
/// Keys and values of all layers, of a page that a block reads.
pub type Read = Hbm<f32, m![L, I, G = 3, Z, S, D]>;

/// Keys of the tokens of a cluster.
type TokensKeys<'l> = DmTensorView<'l, f32, m![1], Cluster, m![V, W, G = 3 # 4, 1 # 4, R / 8], m![R % 8, D]>;
/// Values of the tokens of a cluster, with tokens inside.
type TokensValues<'l> =
    DmTensorView<'l, bf16, m![1], Cluster, m![V, W, 1 # 4, B = 3 # 4, R / 8], m![D, R % 8]>;
/// Keys of the tokens of the other cluster.
type OtherKeys = Dm<f32, m![V, W, G = 3 # 4, 1 # 4, R / 8], m![R % 8, D]>;
/// Values of the tokens of the other cluster.
type OtherValues = Dm<bf16, m![V, W, 1 # 4, B = 3 # 4, R / 8], m![D, R % 8]>;
/// Queries, keys and values with tokens inside.
type TurnedHeads = Dm<bf16, HeadSlice, m![D, R % 8]>;
/// Keys of some tokens of each of 16 slices, before other names are given to them.
type KeysOfTokens = Dm<f32, m![Q, G = 3 # 4, V, W, R / 16, D / 32], m![R / 8 % 2, R % 8, D % 32]>;
/// Values of all tokens and some elements, before other names are given to them.
type ValuesOfTokens = Dm<bf16, m![Q, B = 3 # 4, Y = 3 # 4, D / 16], m![D % 16, V, W, R / 8, Z, R % 8]>;

/// Keys of a cluster's tokens to all slices that need them.
#[track_caller]
fn spread_keys(ctx: &mut Context, keys: TokensKeys<'_>) -> Keys {
    let mut spread = KeysOfTokens::new(ctx);
    keys.to_dm_view_pcopy(&mut ctx.sub, spread.view_mut());
    let keys: Dm<f32, m![Q, G = 3 # 4, S / 16, D / 32], m![S / 8 % 2, S % 8, D % 32]> = spread.relabel();
    keys.relabel()
}

/// Values of a cluster's tokens to all slices that need them.
#[track_caller]
fn spread_values(ctx: &mut Context, values: TokensValues<'_>, half: usize, all: &mut ValuesOfTokens) {
    let mut all = all.view_mut();
    let all = all.tile::<m![Z], 1, m![D % 16, V, W, R / 8, 1 # 2, R % 8]>(half);
    values.to_dm_view_pcopy(&mut ctx.sub, all);
}

/// The slices of values.
fn of_values(heads: &TurnedHeads) -> TokensValues<'_> {
    let values = heads.view().slice_tile::<m![G], 1, m![V, W, 1 # 4, B, R / 8]>(3);
    values.slice_tile::<m![B], 3, m![V, W, 1 # 4, B = 3 # 4, R / 8]>(0)
}

/// The slices of keys.
fn of_keys(heads: &Heads) -> TokensKeys<'_> {
    let keys = heads.view().slice_tile::<m![B], 1, m![V, W, G, 1 # 4, R / 8]>(3);
    keys.slice_tile::<m![G], 3, m![V, W, G = 3 # 4, 1 # 4, R / 8]>(0)
}

/// Stores keys and values of the block to its page.
#[track_caller]
pub fn store(ctx: &mut Context, heads: Heads, page: &mut Written, layer: usize) {
    type Place = m![1 # 30, 1 # 2, G = 3, C, V, W, R, D];
    let mut page = page.view_mut();
    let mut page = page.tile::<m![L], 1, m![1 # 30, I, G = 3, C, V, W, R, D]>(layer);
    of_keys(&heads).to_hbm_view(&mut ctx.tdma, page.tile::<m![I], 1, Place>(0));
    // A page has one name for the heads of keys and of values.
    let unnamed: Dm<f32, m![V, W, Q, Y, R / 8], m![R % 8, D]> = heads.relabel();
    let heads: Dm<f32, m![V, W, Q, G, R / 8], m![R % 8, D]> = unnamed.relabel();
    let values = heads.view().slice_tile::<m![Q], 1, m![V, W, 1 # 4, G, R / 8]>(3);
    let values = values.slice_tile::<m![G], 3, m![V, W, 1 # 4, G = 3 # 4, R / 8]>(0);
    values.to_hbm_view(&mut ctx.tdma, page.tile::<m![I], 1, Place>(1));
}

/// Keys and values of the block itself. `meanwhile` is what the sub context does while keys change clusters.
#[track_caller]
pub fn own_page<Other>(
    ctx: &mut Context,
    heads: &Heads,
    half: TrfAddress,
    meanwhile: impl FnOnce(&mut Context) -> Other,
) -> (OwnPage, Other) {
    let other_keys = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(of_keys(heads), &[1, 0]);
    let own_keys = spread_keys(ctx, of_keys(heads));
    let other = meanwhile(ctx);
    // Main turns values while keys are on their way. All heads take as long as those of values.
    let turned: TurnedHeads =
        (ctx.main.begin(heads.view()).fetch::<bf16, m![D / 8, R / 4 % 2, R % 4], m![D % 8]>())
            .collect::<m![D / 8, R / 4 % 2, R % 4], m![D % 8 # 16]>()
            .transpose::<m![D / 8, R / 4 % 2, D % 8], m![R % 4 # 16]>()
            .commit(AUTO);
    let other_values = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(of_values(&turned), &[1, 0]);
    let keys_of_both = [own_keys, spread_keys(ctx, other_keys.view())];
    let keys_in_trf = load_keys(ctx, &keys_of_both, half);
    let mut values = ValuesOfTokens::new(ctx);
    spread_values(ctx, of_values(&turned), 0, &mut values);
    spread_values(ctx, other_values.view(), 1, &mut values);
    let values: Dm<bf16, m![Q, G = 3 # 4, Y = 3 # 4, D / 16], m![D % 16, N]> = values.relabel();
    let sources = (other_keys, keys_of_both, turned, other_values);
    (OwnPage { keys: keys_in_trf, values: values.relabel(), _sources: sources }, other)
}

/// Keys and values of a page before the block.
#[track_caller]
pub fn page_before(ctx: &mut Context, page: &Read, layer: usize) -> PageBefore {
    let page = page.view();
    let page = page.tile::<m![L], 1, m![1 # 30, I, G = 3, Z, S, D]>(layer);
    let keys = [0, 1].map(|half| {
        let keys = page.tile::<m![Z], 1, m![1 # 30, I, G = 3, 1 # 2, S, D]>(half);
        let keys = keys.tile::<m![I], 1, m![1 # 30, 1 # 2, G = 3, 1 # 2, S, D]>(0);
        keys.to_dm(&mut ctx.tdma, AUTO)
    });
    let values = [0, 1].map(|half| {
        let values = page.tile::<m![Z], 1, m![1 # 30, I, G = 3, 1 # 2, S, D]>(half);
        let values = values.tile::<m![I], 1, m![1 # 30, 1 # 2, G = 3, 1 # 2, S, D]>(1);
        values.to_dm(&mut ctx.tdma, AUTO)
    });
    PageBefore { keys, values }
}

/// Keys of a page to the register file.
#[track_caller]
fn load_keys(ctx: &mut Context, [first, second]: &[Keys; 2], half: TrfAddress) -> KInTrf {
    (ctx.sub.begin_interleaved::<Z, _, _, _, _, _>(first.view(), second.view()))
        .fetch::<bf16, m![S % 8, Z, S / 8 % 2, D / 16 % 2], m![D % 16]>()
        .switch_to::<ASlice, m![S % 8, Z, S / 8 % 2, D / 16 % 2, S / 16, D / 32]>()
        .collect::<m![S % 8, Z, S / 8 % 2, D / 16 % 2, S / 16, D / 32], m![D % 16]>()
        .to_trf(half)
}

/// Values of a page before the block, keys inside.
type TurnedParts = Dm<bf16, m![1 # 4, G = 3 # 4, N / 16], m![D, N % 16]>;

/// Turns the values of a page before the block, so that keys are inside.
#[track_caller]
fn turn_values(ctx: &mut Context, [first, second]: &[Values; 2]) -> TurnedParts {
    let turned: Dm<bf16, m![1 # 4, G = 3 # 4, S / 8], m![D, Z, S % 8]> =
        (ctx.main.begin_interleaved::<Z, _, _, _, _, _>(first.view(), second.view()))
            .fetch::<bf16, m![D / 8, Z, S / 4 % 2, S % 4], m![D % 8]>()
            .collect::<m![D / 8, Z, S / 4 % 2, S % 4], m![D % 8 # 16]>()
            .transpose::<m![D / 8, Z, S / 4 % 2, D % 8], m![S % 4 # 16]>()
            .commit(AUTO);
    turned.relabel()
}

/// Values of a page to the register file.
#[track_caller]
fn load_values(ctx: &mut Context, turned: &Turned, half: TrfAddress) -> VInTrf {
    (ctx.main.begin(turned.view()).fetch::<bf16, m![D % 8, D / 8 % 2, N / 16], m![N % 16]>())
        .collect::<m![D % 8, D / 8 % 2, N / 16], m![N % 16]>()
        .to_trf(half)
}

/// `e^score` of a page.
type Powers = Dm<bf16, ASlice, m![R % 8, N]>;
/// A number for each token.
type Numbers = Dm<f32, ASlice, m![R % 8, 1 # 2]>;
/// The same of all tokens of a head as an operand.
type OfTokens = Vrf<OSlice, m![R % 8, R / 8]>;
/// Results of the heads.
type Chosen = Dm<f32, OSlice, m![R, D % 16]>;

/// Keys that each token sees: tables of a page.
pub struct Mask {
    /// The root of what hides a score where a key is behind a token, of 8 tokens and their keys.
    triangle: Vrf<HeadSlice, m![R % 8, S % 8]>,
    /// -1 where keys are those of the tokens, and 0 elsewhere.
    diagonal: Vrf<HeadSlice, m![Z, S / 8]>,
    /// The greatest power: 0 where all keys are behind the tokens.
    limit: Vrf<HeadSlice, m![Z, S / 8]>,
}

/// Keys that tokens see of their own page.
pub type Triangles = Hbm<f32, m![C, V, W, G, B, R / 8, R % 8, S % 8]>;
/// Blocks of 8 keys that tokens see: `diagonal` and `limit` of a [`Mask`].
pub type Blocks = Hbm<f32, m![C, V, W, G, B, R / 8, I, Z, S / 8]>;

/// The mask of a page.
#[track_caller]
pub fn mask(ctx: &mut Context, triangles: &Triangles, blocks: &Blocks, places: [u64; 3]) -> Mask {
    let triangles: Dm<f32, HeadSlice, m![R % 8, S % 8]> = triangles.to_dm(&mut ctx.tdma, AUTO);
    let triangle = (ctx.sub.begin(triangles.view()).fetch::<f32, m![R % 8], m![S % 8]>())
        .collect::<m![R % 8], m![S % 8]>()
        .to_vrf(places[0]);
    let blocks: Dm<f32, HeadSlice, m![I, Z, S / 8]> = blocks.to_dm(&mut ctx.tdma, AUTO);
    let [diagonal, limit] = [0, 1].map(|which| {
        let table = blocks.view().tile::<m![I], 1, m![1 # 2, Z, S / 8]>(which);
        (ctx.sub.begin(table).fetch::<f32, m![Z, S / 64], m![S / 8 % 8]>())
            .collect::<m![Z, S / 64], m![S / 8 % 8]>()
            .to_vrf(places[1 + which])
    });
    Mask { triangle, diagonal, limit }
}

/// `e^score` of a page, and 0 where a key is behind the token.
#[track_caller]
fn powers(ctx: &mut Context, heads: &Heads, keys: &KInTrf, mask: &Mask) -> Powers {
    let queries = heads.view().slice_tile::<m![G], 3, m![V, W, G = 3 # 4, B, R / 8]>(0);
    let queries = queries.slice_tile::<m![B], 3, ASlice>(0);
    let powers: Dm<bf16, ASlice, m![R % 8, S / 8, Z, S % 8]> =
        (ctx.main.begin(queries).fetch::<bf16, m![R % 8, D / 16 % 2, D / 32], m![D % 16]>())
            .collect::<m![R % 8, D / 16 % 2, D / 32], m![D % 16]>()
            .align::<m![R % 8, D / 16 % 2, Z, S / 8], m![D / 32, D % 16], _, _>(keys)
            .contract::<m![1]>()
            .accumulate::<m![R % 8, Z, S / 8], m![S % 8]>(AccumulationKind::Interleaved)
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_split::<m![R % 8, Z, S / 8, S / 4 % 2], m![S % 4]>()
            .vector_stash()
            // The square of the triangle, where keys are those of the tokens, takes the place of the scores, which are then added.
            .vector_fp_binary_with_mode(
                FpBinaryOp::MulF(FpMulAlu::Mul0),
                BinaryArgMode::Mode11,
                &mask.triangle,
            )
            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul1), &mask.diagonal)
            .vector_fp_binary(FpBinaryOp::AddF, Stash)
            .vector_fp_unary(FpUnaryOp::Exp)
            .vector_concat::<m![R % 8, Z, S / 8], m![S % 8]>()
            .vector_clip(ClipBinaryOpF32::Min, &mask.limit)
            .vector_final()
            .cast::<bf16, m![S % 8 # 16]>()
            .commit(AUTO);
    powers.relabel()
}

/// The sum of the powers of each token, above 0: a token whose powers all vanish chooses nothing.
#[track_caller]
fn sums(ctx: &mut Context, powers: &Powers) -> Numbers {
    (ctx.main.begin(powers.view()).fetch::<f32, m![R % 8, N / 8], m![N % 8]>())
        .collect::<m![R % 8, N / 8], m![N % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![R % 8, N / 4], m![N % 4]>()
        .vector_intra_slice_reduce::<N, m![R % 8], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_clip(ClipBinaryOpF32::Max, f32::MIN_POSITIVE)
        .vector_final()
        .commit(AUTO)
}

/// The sum of two numbers of each token.
#[track_caller]
fn both(ctx: &mut Context, one: &Numbers, other: &Numbers) -> Numbers {
    (ctx.main.begin_interleaved::<I, _, _, _, _, _>(one.view(), other.view()))
        .fetch::<f32, m![R % 8, I], m![1 # 2]>()
        .collect::<m![R % 8, I], m![1 # 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_trim_way4::<m![1 # 4]>()
        .vector_intra_slice_reduce::<I, m![R % 8], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_final()
        .commit(AUTO)
}

#[track_caller]
fn of_tokens(ctx: &mut Context, numbers: &Numbers) -> OfTokens {
    (ctx.sub.begin(numbers.view()).fetch::<f32, m![R % 8], m![1 # 2]>())
        .switch_to::<OSlice, m![R % 8, R / 8]>()
        .collect::<m![R % 8, R / 8], m![1 # 8]>()
        .to_vrf(place::SUMS)
}

/// Values of a page, weighted by the shares of its keys.
#[track_caller]
fn weighted(ctx: &mut Context, powers: &Powers, values: &VInTrf, sum: &OfTokens) -> Chosen {
    (ctx.main.begin(powers.view()).fetch::<bf16, m![R % 8, N / 16], m![N % 16]>())
        .switch_to::<OSlice, m![R % 8, N / 16, R / 8]>()
        .collect::<m![R % 8, N / 16, R / 8], m![N % 16]>()
        .align::<m![R % 8, N / 16, R / 16, D / 8 % 2], m![R / 8 % 2, N % 16], _, _>(values)
        .contract::<m![R / 8 % 2]>()
        .accumulate::<m![R % 8, R / 16, D / 8 % 2, R / 8 % 2], m![D % 8]>(AccumulationKind::Interleaved)
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![R % 8, R / 16, D / 8 % 2, R / 8 % 2, D / 4 % 2], m![D % 4]>()
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), sum)
        .vector_concat::<m![R % 8, R / 16, D / 8 % 2, R / 8 % 2], m![D % 8]>()
        .vector_final()
        .commit(AUTO)
}

/// The sum of what heads choose of two pages.
#[track_caller]
fn added(ctx: &mut Context, one: &Chosen, other: &Chosen) -> Chosen {
    (ctx.main.begin_interleaved::<I, _, _, _, _, _>(one.view(), other.view()))
        .fetch::<f32, m![R, D / 8 % 2, I], m![D % 8]>()
        .collect::<m![R, D / 8 % 2, I], m![D % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<m![R, D / 8 % 2, I, D / 4 % 2], m![D % 4]>()
        .vector_intra_slice_reduce::<I, m![R, D / 8 % 2, D / 4 % 2], m![D % 4]>(IntraSliceReduceOpF32::Add)
        .vector_concat::<m![R, D / 8 % 2], m![D % 8]>()
        .vector_final()
        .commit(AUTO)
}

/// Results of the heads over all pages. The block's own page is the first; the others are seen as a whole. Keys and values take
/// turns in one half of the register file.
#[track_caller]
pub fn chosen(
    ctx: &mut Context,
    heads: &Heads,
    (own, before): (&OwnPage, &[PageBefore]),
    [mask, whole]: [&Mask; 2],
    half: TrfAddress,
) -> Chosen {
    // Main turns values and adds powers while keys are on their way.
    let turned: Vec<TurnedParts> = before.iter().map(|page| turn_values(ctx, &page.values)).collect();
    let own_powers = powers(ctx, heads, &own.keys, mask);
    let mut sum = sums(ctx, &own_powers);
    let mut powers_before = Vec::new();
    for page in before {
        let keys = page.keys.each_ref().map(|keys| {
            let mut all = Keys::new(ctx);
            keys.to_dm_pcopy(&mut ctx.sub, &mut all);
            all
        });
        let keys = load_keys(ctx, &keys, half);
        let powers = powers(ctx, heads, &keys, whole);
        let sum_of_page = sums(ctx, &powers);
        sum = both(ctx, &sum, &sum_of_page);
        powers_before.push(powers);
    }
    let values_before: Vec<Turned> = turned
        .iter()
        .map(|values| {
            let mut all = Turned::new(ctx);
            values.to_dm_pcopy(&mut ctx.sub, &mut all);
            all
        })
        .collect();
    let sum = of_tokens(ctx, &sum);
    let values = load_values(ctx, &own.values, half);
    let mut chosen = weighted(ctx, &own_powers, &values, &sum);
    for (powers, values) in powers_before.iter().zip(&values_before) {
        let values = load_values(ctx, values, half);
        let chosen_of_page = weighted(ctx, powers, &values, &sum);
        chosen = added(ctx, &chosen, &chosen_of_page);
    }
    chosen
}

/// `x`, and what the attention adds to it. A slice has products of its elements, which are added over slices.
#[track_caller]
pub fn output(ctx: &mut Context, chosen: &Chosen, weights: &OInTrf, x: &Operand) -> Vectors {
    let products = (ctx.main.begin(chosen.view()).fetch::<bf16, m![R / 2], m![R % 2, D % 16]>())
        .collect::<m![R / 2, R % 2], m![D % 16]>()
        .align::<m![R / 2, X / 8], m![R % 2, D % 16], _, _>(weights)
        .contract::<m![R % 2]>()
        .accumulate::<m![R / 2, X / 8, R % 2], m![X % 8]>(AccumulationKind::Interleaved);
    added_over_slices!(products, x)
}
