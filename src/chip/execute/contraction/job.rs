//! What a kernel works on: consecutive steps whose packets and weights have no dead cell.

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

/// The stream of a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packets<'a> {
    /// The bytes in which the packets lie.
    pub(super) bytes: &'a [u8],
    /// Where each packet starts.
    pub(super) starts: &'a [u32],
    /// The number of the first of them.
    pub(super) first: u32,
    /// Bytes per packet.
    pub(super) size: usize,
}

impl<'a> Packets<'a> {
    /// The packet with a number.
    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> &'a [u8] {
        let start = self.starts[(number - self.first) as usize] as usize;
        &self.bytes[start..start + self.size]
    }
}

/// Steps on floats.
#[derive(Debug)]
pub(super) struct FloatJob<'a> {
    pub(super) shape: Shape,
    pub(super) steps: &'a [Step],
    /// The same steps in an order that uses weights several times. Otherwise they come one after the other.
    pub(super) chains: Option<&'a Chains>,
    pub(super) packets: Packets<'a>,
    pub(super) weights: &'a [Lanes],
    pub(super) sums: &'a mut [Lanes],
}

/// Steps on integers.
#[derive(Debug)]
pub(super) struct IntegerJob<'a> {
    pub(super) shape: Shape,
    pub(super) layout: Layout,
    pub(super) steps: &'a [Step],
    /// The same steps in an order that uses weights several times. Otherwise they come one after the other.
    pub(super) chains: Option<&'a Chains>,
    pub(super) packets: Packets<'a>,
    pub(super) vectors: &'a [Vector],
    pub(super) sums: &'a mut [[i32; 8]],
}
