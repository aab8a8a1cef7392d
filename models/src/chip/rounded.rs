//! Weights that are rounded to bf16, with the factors of the norms in front of them.

use super::attention::{self, OInDm, OWeights, QInDm, QWeights};
use super::feed_forward::{self, DInDm, DWeights, GInDm, GWeights, Hidden};
use super::kind::{Behind, Chosen, HiddenRow, Kind};
use super::layout::*;
use super::vector::{self, Gathered, Halves, Norm, Vector};
use super::vocabulary::{self, Embedding, Logits, Rest, VInDm, VWeights};
use furiosa_visa_std::prelude::*;

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

/// All weights.
pub struct Rounded {
    /// Rows of tokens.
    pub embedding: Embedding,
    /// The layers, two by two.
    pub pairs: Vec<Pair>,
    /// Of the logits.
    pub vocabulary: VWeights,
}

impl Kind for Rounded {
    type Common = ();
    type Queries = QInDm;
    type Output = OInDm;
    type FeedForward = (GInDm, DInDm);
    type Rows = VInDm;

    const SMALL_PARTS: usize = vocabulary::SMALL_PARTS;

    fn layer_bytes(weights: usize) -> usize {
        2 * weights
    }

    fn vocabulary_bytes(weights: usize) -> usize {
        2 * weights
    }

    fn common(&self, _: &mut Context) {}

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

    fn rows(ctx: &mut Context) -> VInDm {
        VInDm::new(ctx)
    }

    #[track_caller]
    fn load_small(&self, ctx: &mut Context, part: usize, rows: &mut VInDm) {
        vocabulary::load(ctx, &self.vocabulary, part, rows);
    }

    #[track_caller]
    fn load_beside_the_last_layer(&self, ctx: &mut Context, rows: &mut VInDm) {
        vocabulary::load_rest(ctx, &self.vocabulary, Rest::BesideTheLastLayer, rows);
    }

    #[track_caller]
    fn load_rest(&self, ctx: &mut Context, rows: &mut VInDm) {
        vocabulary::load_rest(ctx, &self.vocabulary, Rest::Behind, rows);
    }

    #[track_caller]
    fn embedded(&self, ctx: &mut Context, token: usize) -> Vector {
        vocabulary::embedded(ctx, &self.embedding, token)
    }

    #[track_caller]
    fn input(ctx: &mut Context, (): &(), x: &Vector, _: Behind) -> Halves {
        vector::split(ctx, x)
    }

    #[track_caller]
    fn queries(
        ctx: &mut Context,
        (): &(),
        weights: (&QInDm, usize),
        x: &Gathered<ASlice>,
    ) -> Dm<f32, ASlice, m![D % 4]> {
        attention::queries(ctx, weights, x)
    }

    #[track_caller]
    fn output(
        ctx: &mut Context,
        (): &(),
        weights: (&OInDm, usize),
        chosen: &Chosen,
        before: &Vrf<XSlice, m![X % 8]>,
    ) -> Vector {
        attention::output(ctx, weights, chosen, before)
    }

    #[track_caller]
    fn hidden(
        ctx: &mut Context,
        (): &(),
        ((weights, _), layer): (&(GInDm, DInDm), usize),
        x: &Gathered<FSlice>,
        norm: &Norm,
    ) -> Hidden {
        feed_forward::hidden(ctx, (weights, layer), x, norm)
    }

    #[track_caller]
    fn down(
        ctx: &mut Context,
        (): &(),
        ((_, weights), layer): (&(GInDm, DInDm), usize),
        hidden: &HiddenRow,
        _: &Norm,
    ) -> Vector {
        feed_forward::down(ctx, (weights, layer), hidden)
    }

    #[track_caller]
    fn logits(ctx: &mut Context, (): &(), rows: &VInDm, x: &Gathered<VSlice>, norm: &Norm) -> Logits {
        vocabulary::logits(ctx, rows, x, norm)
    }
}
