//! Kinds of weights of layers: how they lie in HBM and in DM, and the products of a token's vector with them.
//!
//! Everything else of a token is the same for all kinds: see [`token`](super::token) and [`vocabulary`](super::vocabulary).

use super::attention::{Seen, Tables};
use super::block::Prefill;
use super::block::weights::Layer;
use super::layout::*;
use super::token::Network;
use super::vector::Vector;
use super::vocabulary::{Embedding, Row};
use crate::refusal::Refusal;
use crate::weights;
use furiosa_visa_std::prelude::*;

/// Weights of a kind, in HBM. Layers come two by two, so that one move for both starts once.
pub trait Kind: Sized {
    /// Constants of all layers, in DM.
    type Common;
    /// Weights of queries, keys and values of two layers, in DM.
    type Queries;
    /// Weights of the output of the attention of two layers, in DM.
    type Output;
    /// Weights of gate, up and down of two layers, in DM.
    type FeedForward;
    /// The vector of a token in front of a layer, and behind the last one.
    type Vector;
    /// Slices in which the vector is added to what the attention makes of it.
    type Slice: M;
    /// The vector behind the attention of a layer.
    type Middle;
    /// Weights of a layer, as blocks read them.
    type Layer: Layer;

    /// Uploads weights of layers, of which the first one is number `first` of the network.
    ///
    /// # Errors
    ///
    /// If a matrix is of another kind of blocks than the kernels decode: with its name.
    fn upload(
        ctx: &mut Context,
        layers: &[weights::Layer],
        first: usize,
    ) -> impl Future<Output = Result<Self, Refusal>>;
    /// Bytes of a number of weights.
    fn layer_bytes(weights: usize) -> usize;
    /// If a layer has time to bring a part of the vocabulary.
    fn brings_rows(layer: usize) -> bool;

    /// Brings what all layers need.
    fn common(&self, ctx: &mut Context) -> Self::Common;
    /// Brings weights of queries, keys and values.
    fn queries_to_dm(&self, ctx: &mut Context, pair: usize) -> Self::Queries;
    /// Brings weights of the output of the attention.
    fn output_to_dm(&self, ctx: &mut Context, pair: usize) -> Self::Output;
    /// Brings weights of gate, up and down.
    fn feed_forward_to_dm(&self, ctx: &mut Context, pair: usize) -> Self::FeedForward;

    /// The network for blocks of tokens. The first call uploads what only blocks read.
    fn prefill<'a>(ctx: &mut Context, network: &'a Network<Self>) -> Prefill<'a, Self>;
    /// The row of a token, and what was brought of it.
    fn embedded(ctx: &mut Context, embedding: &Embedding, token: usize) -> (Self::Vector, Row);
    /// A vector that another chip computed.
    fn entered(ctx: &mut Context, x: Vector) -> Self::Vector;
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
    /// The vector behind the last layer, as the logits and other chips read it.
    fn last_vector(ctx: &mut Context, x: Self::Vector) -> Vector;
}
