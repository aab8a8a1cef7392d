//! Weights of a layer, from what HBM has of them to what the sub context spreads: in bf16, in parts for the slices that share
//! them, with the factors of the norms in front of them.

use super::attention::{OParts, QParts};
use super::feed_forward::{DParts, GParts};
use super::layout::*;
use furiosa_visa_std::prelude::*;

/// Weights that came to DM as HBM has them.
pub trait Brought {
    /// The same in bf16.
    type Parts;
    /// Operands of the pass that makes them.
    type Operands;

    /// Loads the operands, by the sub context.
    fn operands(&self, ctx: &mut Context) -> Self::Operands;
    /// Makes the weights, by the main context.
    fn parts(self, ctx: &mut Context, operands: Self::Operands) -> Self::Parts;
}

/// Weights that HBM has in bf16: nothing is left to be done.
impl<Slice: M, Element: M> Brought for Dm<bf16, Slice, Element> {
    type Parts = Self;
    type Operands = ();

    fn operands(&self, _: &mut Context) {}

    fn parts(self, _: &mut Context, (): ()) -> Self {
        self
    }
}

/// Weights of a layer in HBM.
pub trait Layer {
    /// If weights are ready as soon as they are brought. Otherwise a pass makes them, whose operands take the place of the rotary
    /// factors.
    const READY: bool;
    /// Weights of queries, keys and values in DM.
    type Queries: Brought<Parts = QParts>;
    /// Weights of the output of the attention in DM.
    type Output: Brought<Parts = OParts>;
    /// Weights of gate and up in DM.
    type GateUp: Brought<Parts = GParts>;
    /// Weights of down in DM.
    type Down: Brought<Parts = DParts>;

    /// Brings weights of queries, keys and values.
    fn queries_to_dm(&self, ctx: &mut Context) -> Self::Queries;
    /// Brings weights of the output of the attention.
    fn output_to_dm(&self, ctx: &mut Context) -> Self::Output;
    /// Brings weights of gate and up.
    fn gate_up_to_dm(&self, ctx: &mut Context) -> Self::GateUp;
    /// Brings weights of down.
    fn down_to_dm(&self, ctx: &mut Context) -> Self::Down;
}
