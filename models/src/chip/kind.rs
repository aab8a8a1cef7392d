//! Kinds of weights: how they lie in HBM and in DM, and the products of a token's vector with them.
//!
//! Everything else of a token is the same for all kinds: see [`token`](super::token).

use super::feed_forward::Hidden;
use super::layout::*;
use super::vector::{Gathered, Halves, Norm, Vector};
use super::vocabulary::Logits;
use furiosa_visa_std::prelude::*;

/// A part of the network in front of which a norm stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// The attention of a layer.
    Attention(usize),
    /// Gate and up of a layer.
    FeedForward(usize),
    /// The product over the vocabulary.
    LastLayer,
}

/// What the heads choose, in two bf16, in the register file of every slice of a vector.
pub type Chosen = Trf<XSlice, m![N / 8, H, N % 8]>;
/// All hidden elements of a cluster, in two bf16, in the register file of every slice of a vector.
pub type HiddenRow = Trf<XSlice, m![F / 96, F / 4 % 24 # 32, [H, F % 4] # 16]>;

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

    /// Small parts of the weights of the vocabulary, which are brought beside layers.
    const SMALL_PARTS: usize;

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
    /// Brings a small part of the weights of the vocabulary.
    fn load_small(&self, ctx: &mut Context, part: usize, rows: &mut Self::Rows);
    /// Brings what is behind the small parts, as much as the last layer has time for.
    fn load_beside_the_last_layer(&self, ctx: &mut Context, rows: &mut Self::Rows);
    /// Brings all that is left of the weights of the vocabulary.
    fn load_rest(&self, ctx: &mut Context, rows: &mut Self::Rows);

    /// The row of a token.
    fn embedded(&self, ctx: &mut Context, token: usize) -> Vector;
    /// The vector times the factors of a norm, in two bf16. A kind whose weights have them already leaves them out.
    fn input(ctx: &mut Context, common: &Self::Common, x: &Vector, behind: Behind) -> Halves;
    /// Queries, keys and values of a vector that is not yet divided by its norm.
    fn queries(
        ctx: &mut Context,
        common: &Self::Common,
        weights: (&Self::Queries, usize),
        x: &Gathered<ASlice>,
    ) -> Dm<f32, ASlice, m![D % 4]>;
    /// `before`, and the output of the attention.
    fn output(
        ctx: &mut Context,
        common: &Self::Common,
        weights: (&Self::Output, usize),
        chosen: &Chosen,
        before: &Vrf<XSlice, m![X % 8]>,
    ) -> Vector;
    /// `silu(gate) · up` of a vector that is not yet divided by its norm. A kind may leave the division of `up` to
    /// [`down`](Self::down), which gets the norm, too.
    fn hidden(
        ctx: &mut Context,
        common: &Self::Common,
        weights: (&Self::FeedForward, usize),
        x: &Gathered<FSlice>,
        norm: &Norm,
    ) -> Hidden;
    /// What the hidden elements of each cluster add to the vector.
    fn down(
        ctx: &mut Context,
        common: &Self::Common,
        weights: (&Self::FeedForward, usize),
        hidden: &HiddenRow,
        norm: &Norm,
    ) -> Vector;
    /// Logits of a vector that is not yet divided by its norm.
    fn logits(
        ctx: &mut Context,
        common: &Self::Common,
        rows: &Self::Rows,
        x: &Gathered<VSlice>,
        norm: &Norm,
    ) -> Logits;
}
