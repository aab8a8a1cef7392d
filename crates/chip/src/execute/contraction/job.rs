//! Work of a kernel: steps whose packets and weights have no padding cell.

use super::chains::Chains;
use super::shape::{Layout, Shape};
use super::tree::Lanes;
use super::weights::Vector;

/// A step: one packet times one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The number of the tile.
    pub(super) tile: u32,
    /// The first result.
    pub(super) result: u32,
    /// The number of the packet.
    pub(super) packet: u32,
}

/// Steps on floats. `Cell`: the weights of a cell, of all rows or of the only one.
#[derive(Debug)]
pub(super) struct FloatJob<'a, Cell> {
    pub(super) shape: Shape,
    pub(super) chains: &'a Chains,
    /// The bytes that hold the packets.
    pub(super) bytes: &'a [u8],
    /// Weights per cell of each tile.
    pub(super) weights: &'a [Cell],
    pub(super) sums: &'a mut [Lanes],
}

/// Steps on integers.
#[derive(Debug)]
pub(super) struct IntegerJob<'a> {
    pub(super) shape: Shape,
    pub(super) layout: Layout,
    pub(super) chains: &'a Chains,
    /// The bytes that hold the packets.
    pub(super) bytes: &'a [u8],
    pub(super) vectors: &'a [Vector],
    pub(super) sums: &'a mut [[i32; 8]],
}
