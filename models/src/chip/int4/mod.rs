//! Weights of layers as the file has them: codes of 4 bits with a scale and a minimum for each 32. None is rounded: codes, scales
//! and minima are what HBM has, and the chip multiplies them. Only for blocks of tokens it makes bf16 of them.
//!
//! | module | content |
//! | --- | --- |
//! | [`product`] | products with codes of 4 bits |
//! | [`vector`] | the vector of a token, in pairs of slices |
//! | [`block`] | weights for blocks of tokens |
//! | [`prepare`] | weights, uploaded |

pub mod block;
pub mod prepare;
pub mod product;
pub mod vector;

use super::attention::{self, Seen, Tables};
use super::block::{Prefill, kernel::BlockNetwork};
use super::feed_forward;
use super::kind::Kind;
use super::layout::*;
use super::token::Network;
use super::vector::{Vector, norm, operand, scaled_input, scaled_row};
use super::vocabulary::{Embedding, Row};
use crate::matrix::{BLOCK, BlockQ4_1};
use crate::refusal::Refusal;
use crate::weights;
use furiosa_visa_std::prelude::*;
use product::{
    Blocks, DCodes, DScales, Decoded, GCodes, GOnes, GScales, IsGate, OCodes, OOnes, OScales, QCodes, QOnes,
    QScales,
};
use std::cell::OnceCell;
use vector::{Parts, Twice, first};

/// Weights of two layers, in HBM: codes with scales and minima.
pub struct Pair {
    /// Of queries, keys and values.
    pub q: (Hbm<i4, m![A, D / 4, { QCodes }]>, Hbm<f16, m![A, D / 4, { QScales }]>),
    /// Of the output of the attention.
    pub o: (
        Hbm<i4, m![X / 72, X / 8 % 9, N / 32 % 2, { OCodes }]>,
        Hbm<f16, m![X / 72, X / 8 % 9, N / 32 % 2, { OScales }]>,
    ),
    /// Of gate and up.
    pub g: (
        Hbm<i4, m![C, F / 48 % 8, F / 4 % 12, G, { GCodes }]>,
        Hbm<f16, m![C, F / 48 % 8, F / 4 % 12, G, { GScales }]>,
    ),
    /// Of down.
    pub d: (
        Hbm<i4, m![C, X / 72, X / 8 % 9, F / 384, { DCodes }]>,
        Hbm<f16, m![C, X / 72, X / 8 % 9, F / 384, { DScales }]>,
    ),
}

/// Weights of all layers.
pub struct Quantised {
    /// The layers, two by two.
    pub pairs: Vec<Pair>,
    /// Factors of the norms in front of attention and gate of each layer: an eighth for parts, see [`Parts::TIMES`], and half for
    /// doubled vectors.
    pub norms: Hbm<f32, m![X / 72, X / 8 % 9, L, I, X % 8]>,
    /// Weights of layers on the host, for the first block.
    pub layers: Vec<weights::Layer>,
    /// Weights that only blocks read, as soon as one has come.
    pub blocks: OnceCell<BlockNetwork<block::Layer>>,
}

/// Constants of all layers: ones as codes, the factors of the norms, and where gate is.
pub struct Common {
    q: QOnes,
    o: OOnes,
    g: GOnes,
    d: Decoded,
    norms: Dm<f32, XSlice, m![L, I, X % 8]>,
    is_gate: IsGate,
    /// Sources of the loads. At their places, moves would have to wait for these.
    _loaded: (Dm<f32, GSlice, m![1 # 2]>, Dm<f32, m![F / 48 % 8, F / 4 % 12 # 16, 1 # 2], m![1 # 2]>),
}

/// Gate and up, and down.
type FeedForward = (Blocks<GSlice, GCodes, GScales>, Blocks<DSlice, DCodes, DScales>);

impl Kind for Quantised {
    type Common = Common;
    type Queries = Blocks<ASlice, QCodes, QScales>;
    type Output = Blocks<OSlice, OCodes, OScales>;
    type FeedForward = FeedForward;
    type Vector = Parts;
    type Slice = XPair;
    type Middle = Twice;
    type Layer = block::Layer;

    async fn upload(ctx: &mut Context, layers: &[weights::Layer], first: usize) -> Result<Self, Refusal> {
        prepare::quantised(ctx, layers, first).await
    }

    fn layer_bytes(weights: usize) -> usize {
        weights / BLOCK * BlockQ4_1::BYTES
    }

    fn brings_rows(layer: usize) -> bool {
        // The first layer waits for its own weights.
        layer > 0
    }

    fn common(&self, ctx: &mut Context) -> Common {
        /// Ones as codes.
        fn ones<Slice: M, Codes: M>(ctx: &mut Context) -> Dm<i4, Slice, Codes> {
            let mut ones = Dm::new(ctx);
            ones.view_mut().memset(i4::from_i32(1), &mut ctx.sub);
            ones
        }
        let norms = self.norms.to_dm(&mut ctx.tdma, AUTO);
        let (q, o, g) = (ones(ctx), ones(ctx), ones(ctx));
        let mut d = Decoded::new(ctx);
        d.view_mut().memset(bf16::from_f32(1.0), &mut ctx.sub);
        type Gate = m![F / 48 % 8, F / 4 % 12 # 16, 1 # 2];
        let mut is_gate = Dm::<f32, GSlice, m![1 # 2]>::new(ctx);
        is_gate.view_mut().memset(0.0, &mut ctx.sub);
        let mut one = Dm::<f32, Gate, m![1 # 2]>::new(ctx);
        one.view_mut().memset(1.0, &mut ctx.sub);
        (ctx.sub.begin(one.view()).fetch::<f32, m![1], m![1 # 2]>().collect::<m![1], m![1 # 8]>())
            .commit_view(is_gate.view_mut().slice_tile::<m![G], 1, Gate>(0));
        let stream =
            ctx.sub.begin(is_gate.view()).fetch::<f32, m![1], m![1 # 2]>().collect::<m![1], m![1 # 8]>();
        let operand = stream.to_vrf(AUTO);
        Common { q, o, g, d, norms, is_gate: operand, _loaded: (is_gate, one) }
    }

    fn prefill<'a>(ctx: &mut Context, network: &'a Network<Self>) -> Prefill<'a, Self> {
        let Self { layers, blocks, .. } = &network.weights;
        let uploaded = || pollster::block_on(block::network(ctx, layers));
        (network, blocks.get_or_init(uploaded))
    }

    #[track_caller]
    fn queries_to_dm(&self, ctx: &mut Context, pair: usize) -> Self::Queries {
        let (codes, scales) = &self.pairs[pair].q;
        let codes = codes.to_dm(&mut ctx.tdma, AUTO);
        Blocks { codes, scales: scales.to_dm(&mut ctx.tdma, AUTO) }
    }

    #[track_caller]
    fn output_to_dm(&self, ctx: &mut Context, pair: usize) -> Self::Output {
        let (codes, scales) = &self.pairs[pair].o;
        let codes = codes.to_dm(&mut ctx.tdma, AUTO);
        Blocks { codes, scales: scales.to_dm(&mut ctx.tdma, AUTO) }
    }

    #[track_caller]
    fn feed_forward_to_dm(&self, ctx: &mut Context, pair: usize) -> FeedForward {
        let Pair { g: (codes, scales), d: (down, down_scales), .. } = &self.pairs[pair];
        let codes = codes.to_dm(&mut ctx.tdma, AUTO);
        let gate_up = Blocks { codes, scales: scales.to_dm(&mut ctx.tdma, AUTO) };
        let codes = down.to_dm(&mut ctx.tdma, AUTO);
        (gate_up, Blocks { codes, scales: down_scales.to_dm(&mut ctx.tdma, AUTO) })
    }

    #[track_caller]
    fn embedded(ctx: &mut Context, embedding: &Embedding, token: usize) -> (Parts, Row) {
        Parts::of_token(ctx, embedding, token)
    }

    #[track_caller]
    fn entered(ctx: &mut Context, x: Vector) -> Parts {
        Parts::of_vector(ctx, x)
    }

    #[track_caller]
    fn queries<Of: Reach>(
        ctx: &mut Context,
        common: &Common,
        (weights, number): (&Self::Queries, usize),
        x: &Parts,
        tables: &mut Tables<Of>,
    ) -> (Dm<f32, QSlice, m![D % 4]>, Vrf<XPair, m![X % 8]>) {
        // Operands are loaded first, so that nothing waits for them.
        let factors = common.factors(ctx, Behind::Attention(number));
        let operands = product::queries_operands(ctx, (weights, number % 2));
        let row = scaled_row(ctx, first(&x.own), &factors);
        let mean = x.mean(ctx);
        let own = product::queries(ctx, (weights, &common.q, number % 2), &operands, &row);
        // While the sums are exchanged, main makes the norm and the vector.
        let other = x.exchanged_sums(ctx, &own);
        let norm = norm(ctx, &mean);
        let sum = x.sum(ctx);
        let before = operand(ctx, &sum);
        (attention::turned_sum(ctx, (own, other), &norm, tables), before)
    }

    #[track_caller]
    fn attention<Of: Reach>(
        ctx: &mut Context,
        common: &Common,
        (weights, number): (&Self::Output, usize),
        seen: &mut Seen<'_, Of>,
        tables: &mut Tables<Of>,
        before: Vrf<XPair, m![X % 8]>,
    ) -> Twice {
        let chosen = attention::chosen_halves::<Of>(ctx, seen, tables, TrfAddress::SecondHalf);
        let operands = product::output_operands(ctx, (weights, number % 2));
        product::output(ctx, (weights, &common.o, number % 2), &operands, &chosen, &before)
    }

    #[track_caller]
    fn feed_forward(
        ctx: &mut Context,
        common: &Common,
        ((gate_up, down), number): (&FeedForward, usize),
        doubled: Twice,
    ) -> Parts {
        let layer = number % 2;
        let factors = common.factors(ctx, Behind::FeedForward(number));
        let operands = product::gate_up_operands(ctx, (gate_up, layer));
        let (row, norm) = scaled_input(ctx, (first(&doubled), 2.0), &factors);
        let doubled = operand(ctx, &doubled);
        // Behind what gate and up wait for: the weights of down come last.
        let down_operands = product::down_operands(ctx, (down, layer));
        let hidden =
            product::hidden(ctx, (gate_up, &common.g, layer), &operands, &row, (&norm, &common.is_gate));
        let hidden = feed_forward::share_halves(ctx, &hidden, TrfAddress::SecondHalf);
        let codes = product::decoded(ctx, (down, layer));
        let part = product::down(ctx, (&codes, &common.d), &down_operands, &hidden, &doubled);
        Parts::exchanged(ctx, part)
    }

    #[track_caller]
    fn last_vector(ctx: &mut Context, x: Parts) -> Vector {
        x.vector(ctx)
    }
}

/// A part of the network in front of which a norm stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// The attention of a layer.
    Attention(usize),
    /// Gate and up of a layer.
    FeedForward(usize),
}

impl Common {
    /// The factors of a norm, as an operand.
    #[track_caller]
    fn factors(&self, ctx: &mut Context, behind: Behind) -> Vrf<XSlice, m![X % 8]> {
        let norms = self.norms.view();
        let (layer, which) = match behind {
            Behind::Attention(layer) => (layer, 0),
            Behind::FeedForward(layer) => (layer, 1),
        };
        let norms = norms.tile::<m![L], 1, m![1 # 30, I, X % 8]>(layer);
        let factors = norms.tile::<m![I], 1, m![1 # 30, 1 # 2, X % 8]>(which);
        (ctx.sub.begin(factors).fetch::<f32, m![1], m![X % 8]>().collect::<m![1], m![X % 8]>())
            .to_vrf(32 * which as u64)
    }
}
