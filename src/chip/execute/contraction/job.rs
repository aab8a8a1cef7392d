//! What a kernel works on: consecutive steps whose packets and weights have no dead cell.

use super::shape::{FloatShape, IntegerShape};
use super::tree::Lanes;
use super::weights::{Bias, Octets, Pairs, Sixteen};

/// A step: one packet times one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The number of the tile.
    pub(super) tile: u32,
    /// The first result.
    pub(super) result: u32,
}

/// The stream of a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packets<'a> {
    /// The packets, from that of the first step on.
    pub(super) bytes: &'a [u8],
    /// Bytes per packet.
    pub(super) size: usize,
    /// Steps that each packet is used for.
    pub(super) tile: usize,
    /// Steps of the first packet that are not part of the job.
    pub(super) skip: usize,
}

impl<'a> Packets<'a> {
    /// Each packet with the steps that use it.
    #[inline(always)]
    pub(super) fn zip<'b>(self, steps: &'b [Step]) -> impl Iterator<Item = (&'a [u8], &'b [Step])> {
        let (first, rest) = steps.split_at((self.tile - self.skip).min(steps.len()));
        let packets = self.bytes.chunks_exact(self.size);
        packets.zip(core::iter::once(first).chain(rest.chunks(self.tile)))
    }
}

/// Steps on floats.
#[derive(Debug)]
pub(super) struct FloatJob<'a> {
    pub(super) shape: FloatShape,
    pub(super) steps: &'a [Step],
    pub(super) packets: Packets<'a>,
    pub(super) weights: &'a [Sixteen],
    pub(super) sums: &'a mut [Lanes],
}

/// Steps on integers. The weights are pairs or octets.
#[derive(Debug)]
pub(super) struct IntegerJob<'a> {
    pub(super) shape: IntegerShape,
    pub(super) steps: &'a [Step],
    pub(super) packets: Packets<'a>,
    pub(super) pairs: &'a [Pairs],
    pub(super) octets: &'a [Octets],
    pub(super) biases: &'a [Bias],
    pub(super) sums: &'a mut [[i32; 8]],
}
