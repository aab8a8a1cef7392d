//! Kinds of weights: how they lie in HBM and in DM, and the products of a token's vector with them.
//!
//! Everything else of a token is the same for all kinds: see [`token`](super::token).

use super::attention::{Seen, Tables};
use super::block::Prefill;
use super::block::layout::Vectors;
use super::block::vectors::Numbers;
use super::block::weights::Layer;
use super::layout::*;
use super::token::Network;
use super::vocabulary::Logits;
use furiosa_visa_std::prelude::*;

/// Parts of `all` that a layer brings: the next one, if it `brings` any, and in the last layer all that are left. The layer is its
/// number, with that of all layers.
pub fn parts(
    (number, layers): (usize, usize),
    all: usize,
    brings: impl Fn(usize) -> bool,
) -> core::ops::Range<usize> {
    let before = (0..number).filter(|layer| brings(*layer)).count().min(all);
    let here = if number + 1 == layers { all } else { usize::from(brings(number)) };
    before..(before + here).min(all)
}

/// Weights of a kind, in HBM. Layers come two by two, so that one move for both starts once.
pub trait Kind: Sized {
    /// What all layers need, in DM.
    type Common;
    /// Weights of queries, keys and values of two layers, in DM.
    type Queries;
    /// Weights of the output of the attention of two layers, in DM.
    type Output;
    /// Weights of gate, up and down of two layers, in DM.
    type FeedForward;
    /// Weights of the vocabulary, in DM.
    type Rows;
    /// The vector of a token in front of a layer, and behind the last one.
    type Vector;
    /// Slices in which the vector is added to what the attention makes of it, and those of the last vector.
    type Slice: M;
    /// The vector behind the attention of a layer.
    type Middle;
    /// Weights of a layer, as blocks read them.
    type Layer: Layer;

    /// Bytes of weights of layers.
    fn layer_bytes(weights: usize) -> usize;
    /// Bytes of weights of the vocabulary.
    fn vocabulary_bytes(weights: usize) -> usize;

    /// Brings what all layers need.
    fn common(&self, ctx: &mut Context) -> Self::Common;
    /// Brings weights of queries, keys and values.
    fn queries_to_dm(&self, ctx: &mut Context, pair: usize) -> Self::Queries;
    /// Brings weights of the output of the attention.
    fn output_to_dm(&self, ctx: &mut Context, pair: usize) -> Self::Output;
    /// Brings weights of gate, up and down.
    fn feed_forward_to_dm(&self, ctx: &mut Context, pair: usize) -> Self::FeedForward;
    /// A place for the weights of the vocabulary.
    fn rows(ctx: &mut Context) -> Self::Rows;
    /// Brings the weights of the vocabulary that a layer has time for: the number of the layer, and of all layers. Behind the last
    /// one, all of them were brought.
    fn load_rows(&self, ctx: &mut Context, layer: (usize, usize), rows: &mut Self::Rows);

    /// The network for blocks of tokens. The first call uploads what only blocks read.
    fn prefill<'a>(ctx: &mut Context, network: &'a Network<Self>) -> Prefill<'a, Self>;
    /// The vectors of the tokens of a block.
    fn vectors(&self, ctx: &mut Context, numbers: &Numbers) -> Vectors;
    /// Brings the weights of the vocabulary that a layer of a block has time for, as [`Kind::load_rows`].
    fn load_rows_beside_block(&self, ctx: &mut Context, layer: (usize, usize), rows: &mut Self::Rows);
    /// The row of a token.
    fn embedded(&self, ctx: &mut Context, token: usize) -> Self::Vector;
    /// Queries, keys and values of a vector in a layer, with rotary pairs turned; and the vector as an operand.
    fn queries<Of: Reach>(
        ctx: &mut Context,
        common: &Self::Common,
        weights: (&Self::Queries, usize),
        x: &Self::Vector,
        tables: &mut Tables<Of>,
    ) -> (Dm<f32, QSlice, m![D % 4]>, Vrf<Self::Slice, m![X % 8]>);
    /// `before`, and what the attention of a layer adds to it.
    fn attention<Of: Reach>(
        ctx: &mut Context,
        common: &Self::Common,
        weights: (&Self::Output, usize),
        seen: &mut Seen<'_, Of>,
        tables: &mut Tables<Of>,
        before: Vrf<Self::Slice, m![X % 8]>,
    ) -> Self::Middle;
    /// The vector, and what gate, up and down of a layer add to it.
    fn feed_forward(
        ctx: &mut Context,
        common: &Self::Common,
        weights: (&Self::FeedForward, usize),
        x: Self::Middle,
    ) -> Self::Vector;
    /// The vector behind the last layer, as the logits read it.
    fn last_vector(ctx: &mut Context, x: Self::Vector) -> Dm<f32, Self::Slice, m![X % 8]>;
    /// Logits of a vector.
    fn logits(ctx: &mut Context, rows: &Self::Rows, x: &Dm<f32, Self::Slice, m![X % 8]>) -> Logits;
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
            |layer| layer > 0 && layer % 6 != 1,
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
