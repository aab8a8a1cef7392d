//! Weights of layers that are rounded to bf16, with the factors of the norms in front of them.

use super::attention::{self, OInDm, OWeights, QInDm, QWeights, Seen, Tables};
use super::block::attention::{OParts, OWeights as BlockO, QParts, QWeights as BlockQ};
use super::block::feed_forward::{DParts, DWeights as BlockD, GParts, GWeights as BlockG};
use super::block::{self, Prefill, kernel::BlockNetwork};
use super::feed_forward::{self, DInDm, DWeights, GInDm, GWeights};
use super::kind::Kind;
use super::layout::*;
use super::prepare;
use super::token::Network;
use super::vector::{self, Vector};
use super::vocabulary::{self, Embedding, Row};
use crate::refusal::Refusal;
use crate::weights;
use furiosa_visa_std::prelude::*;
use std::cell::OnceCell;

/// Weights of two layers.
pub struct Pair {
    /// Of queries, keys and values.
    pub q: QWeights,
    /// Of the output of the attention.
    pub o: OWeights,
    /// Of gate and up.
    pub g: GWeights,
    /// Of down.
    pub d: DWeights,
}

/// Weights of all layers.
pub struct Rounded {
    /// The layers, two by two.
    pub pairs: Vec<Pair>,
    /// Weights of layers on the host, for the first block.
    pub layers: Vec<weights::Layer>,
    /// Weights that only blocks read, as soon as one has come.
    pub blocks: OnceCell<BlockNetwork<Layer>>,
}

/// Weights of a layer, as a block reads them.
pub struct Layer {
    /// Of queries, keys and values.
    pub q: BlockQ,
    /// Of the output of the attention.
    pub o: BlockO,
    /// Of gate and up.
    pub g: BlockG,
    /// Of down.
    pub d: BlockD,
}

impl block::weights::Layer for Layer {
    const READY: bool = true;
    type Queries = QParts;
    type Output = OParts;
    type GateUp = GParts;
    type Down = DParts;

    #[track_caller]
    fn queries_to_dm(&self, ctx: &mut Context) -> QParts {
        self.q.to_dm(&mut ctx.tdma, AUTO)
    }

    #[track_caller]
    fn output_to_dm(&self, ctx: &mut Context) -> OParts {
        self.o.to_dm(&mut ctx.tdma, AUTO)
    }

    #[track_caller]
    fn gate_up_to_dm(&self, ctx: &mut Context) -> GParts {
        self.g.to_dm(&mut ctx.tdma, AUTO)
    }

    #[track_caller]
    fn down_to_dm(&self, ctx: &mut Context) -> DParts {
        self.d.to_dm(&mut ctx.tdma, AUTO)
    }
}

impl Kind for Rounded {
    type Common = ();
    type Queries = QInDm;
    type Output = OInDm;
    type FeedForward = (GInDm, DInDm);
    type Vector = Vector;
    type Slice = XSlice;
    type Middle = Vector;
    type Layer = Layer;

    async fn upload(ctx: &mut Context, layers: &[weights::Layer], _: usize) -> Result<Self, Refusal> {
        Ok(prepare::rounded(ctx, layers).await)
    }

    fn layer_bytes(weights: usize) -> usize {
        2 * weights
    }

    fn brings_rows(layer: usize) -> bool {
        // Even layers bring more weights of the next ones. The last ones of them leave less to the very last layer.
        layer % 2 == 1 || layer > 16
    }

    fn common(&self, _: &mut Context) {}

    fn prefill<'a>(ctx: &mut Context, network: &'a Network<Self>) -> Prefill<'a, Self> {
        let Self { layers, blocks, .. } = &network.weights;
        let uploaded = || {
            let layers =
                layers.iter().map(|layer| pollster::block_on(block::prepare::layer(ctx, layer))).collect();
            pollster::block_on(block::prepare::network(ctx, layers))
        };
        (network, blocks.get_or_init(uploaded))
    }

    #[track_caller]
    fn queries_to_dm(&self, ctx: &mut Context, pair: usize) -> QInDm {
        self.pairs[pair].q.to_dm(&mut ctx.tdma, AUTO)
    }

    #[track_caller]
    fn output_to_dm(&self, ctx: &mut Context, pair: usize) -> OInDm {
        self.pairs[pair].o.to_dm(&mut ctx.tdma, AUTO)
    }

    #[track_caller]
    fn feed_forward_to_dm(&self, ctx: &mut Context, pair: usize) -> (GInDm, DInDm) {
        let Pair { g, d, .. } = &self.pairs[pair];
        let g = g.to_dm(&mut ctx.tdma, AUTO);
        (g, d.to_dm(&mut ctx.tdma, AUTO))
    }

    #[track_caller]
    fn embedded(ctx: &mut Context, embedding: &Embedding, token: usize) -> (Vector, Row) {
        let mut x = Vector::new(ctx);
        let row = vocabulary::embedded(ctx, embedding, token, 1.0, x.view_mut());
        (x, row)
    }

    fn entered(_: &mut Context, x: Vector) -> Vector {
        x
    }

    #[track_caller]
    fn queries<Of: Reach>(
        ctx: &mut Context,
        (): &(),
        (weights, number): (&QInDm, usize),
        x: &Vector,
        tables: &mut Tables<Of>,
    ) -> (Dm<f32, QSlice, m![D % 4]>, Vrf<XSlice, m![X % 8]>) {
        let (row, norm) = vector::input(ctx, x);
        let sums = attention::queries(ctx, (weights, number % 2), &row);
        let queries = attention::turned(ctx, sums, &norm, tables);
        (queries, vector::operand(ctx, x))
    }

    #[track_caller]
    fn attention<Of: Reach>(
        ctx: &mut Context,
        (): &(),
        (weights, number): (&OInDm, usize),
        seen: &mut Seen<'_, Of>,
        tables: &mut Tables<Of>,
        before: Vrf<XSlice, m![X % 8]>,
    ) -> Vector {
        let chosen = attention::chosen::<Of>(ctx, seen, tables, TrfAddress::SecondHalf);
        attention::output(ctx, (weights, number % 2), &chosen, &before)
    }

    #[track_caller]
    fn feed_forward(
        ctx: &mut Context,
        (): &(),
        ((gate_up, down), number): (&(GInDm, DInDm), usize),
        x: Vector,
    ) -> Vector {
        let (row, norm) = vector::input(ctx, &x);
        let before = vector::operand(ctx, &x);
        let hidden = feed_forward::hidden(ctx, (gate_up, number % 2), &row, &norm);
        let hidden = feed_forward::share(ctx, &hidden, TrfAddress::SecondHalf);
        let part = feed_forward::down(ctx, (down, number % 2), &hidden);
        feed_forward::both(ctx, &part, &before)
    }

    fn last_vector(_: &mut Context, x: Vector) -> Vector {
        x
    }
}
