//! Tensors that a command reads and writes.

use super::fetch::Fetch;
use super::names::{ContextKind, MemoryKind};
use super::region::{FillId, Footprint, Part, Region, TrfRegion};
use super::tensor_unit::{Sink, TensorUnit};
use super::transfer::Dma;
use super::vector::Vector;
use crate::mapping::gcd;
use crate::sequencer::Config;

/// A tensor in any of the memories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// HBM, DM or the VRF.
    Region(Region),
    /// The TRF.
    Trf(TrfRegion),
}

impl Place {
    /// The memory.
    pub fn memory(&self) -> MemoryKind {
        match self {
            Place::Region(region) => region.memory.into(),
            Place::Trf(_) => MemoryKind::Trf,
        }
    }

    /// The filling.
    pub fn fill(&self) -> FillId {
        match self {
            Place::Region(region) => region.fill,
            Place::Trf(region) => region.fill,
        }
    }
}

/// A tensor that an operation reads or writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// The tensor.
    pub place: Place,
    /// True if it is written.
    pub writes: bool,
    /// The operation, for messages.
    pub operation: &'static str,
}

impl Use {
    pub(super) fn read(place: Place, operation: &'static str) -> Self {
        Self { place, writes: false, operation }
    }

    pub(super) fn write(place: Place, operation: &'static str) -> Self {
        Self { place, writes: true, operation }
    }
}

impl Dma {
    /// The tensor that it reads.
    pub fn reads(&self) -> Use {
        Use::read(Place::Region(self.source), "DMA")
    }

    /// The tensor that it writes.
    pub fn writes(&self) -> Use {
        Use::write(Place::Region(self.destination), "DMA")
    }

    /// The context of the operation.
    pub fn context(&self) -> ContextKind {
        if self.pcie { ContextKind::PcieDma } else { ContextKind::TensorDma }
    }
}

impl Fetch {
    /// The tensors that it reads: one, or two interleaved ones.
    pub fn sources(&self) -> impl Iterator<Item = &Region> {
        core::iter::once(&self.source).chain(self.interleave.as_ref().map(|second| &second.source))
    }
}

impl Sink {
    /// The call that ends the stream.
    pub const fn operation(&self) -> &'static str {
        match self {
            Sink::Commit { .. } => "commit",
            Sink::Trf { .. } => "to_trf",
            Sink::Vrf { .. } => "to_vrf",
        }
    }

    /// The tensor that it fills, with its elements only.
    pub const fn tensor(&self) -> Place {
        match self {
            Sink::Commit { destination, .. } | Sink::Vrf { destination, .. } => Place::Region(*destination),
            Sink::Trf { destination, .. } => Place::Trf(*destination),
        }
    }

    /// The same with all positions that are written. A commit writes whole packets, with their padding (guide:
    /// cast_transpose_commit).
    pub fn place(&self) -> Place {
        match self {
            Sink::Commit { destination, config, .. } => Place::Region(committed(destination, config)),
            Sink::Vrf { .. } | Sink::Trf { .. } => self.tensor(),
        }
    }
}

/// A tensor, or a tile of one, with all positions that a commit writes.
///
/// ```text
///   m![W, K # 8], K = 6       ██████░░██████░░██████░░     all of a packet, live or not, and all time steps
///   a tile of W = 1           ········██████░░········     the time steps that hold elements of the tile
/// ```
fn committed(destination: &Region, config: &Config) -> Region {
    let Footprint { elements, guard, .. } = destination.footprint;
    if guard.is_always() {
        return *destination;
    }
    let whole = destination.part == Part::WHOLE && config.positions() == elements;
    // Packets of a tile start at multiples of this number.
    let (mut packet, mut inner) = (gcd(config.packet_size, config.base.unsigned_abs()), 1usize);
    for entry in config.entries.iter().rev() {
        let size = inner.saturating_mul(entry.size).max(1);
        if size > config.packet_size && entry.size > 1 {
            let steps = (config.packet_size / inner).max(1);
            packet = gcd(packet, entry.stride.unsigned_abs().saturating_mul(steps));
        }
        inner = size;
    }
    let cell = if whole { elements } else { packet };
    let guard = guard.coarse(ELEMENT, elements.max(1), cell.max(1));
    // A tile ends with its last packet, and at the latest with its tensor.
    let packets = |held: usize| held.checked_next_multiple_of(cell.max(1)).unwrap_or(held);
    let part = Part {
        elements: (destination.part.elements).map(|held| packets(held).min(destination.elements_to_end())),
        ..destination.part
    };
    Region { footprint: Footprint { guard, ..destination.footprint }, part, ..*destination }
}

/// The variable of a guard that counts the elements of a tensor.
pub(super) const ELEMENT: usize = 3;

impl TensorUnit {
    /// The tensors that it reads, in the order of the engines.
    pub fn reads(&self) -> impl Iterator<Item = Use> {
        let fetched = self.fetch.sources().map(|source| Use::read(Place::Region(*source), "fetch"));
        let weights =
            self.contraction.iter().map(|contraction| Use::read(Place::Trf(contraction.trf), "contraction"));
        let operands = self.vector.iter().flat_map(Vector::operands);
        let operands = operands.map(|operand| Use::read(Place::Region(operand.source), "vector"));
        fetched.chain(weights).chain(operands)
    }

    /// The tensor that it writes, padding of packets included.
    pub fn writes(&self) -> Use {
        Use::write(self.sink.place(), self.sink.operation())
    }

    /// The tensors in byte-addressed memories, mutable so that they can be moved.
    pub fn regions_mut(&mut self) -> impl Iterator<Item = &mut Region> {
        let Fetch { source, interleave, .. } = &mut self.fetch;
        let sink = match &mut self.sink {
            Sink::Commit { destination, .. } | Sink::Vrf { destination, .. } => Some(destination),
            Sink::Trf { .. } => None,
        };
        let second = interleave.iter_mut().map(|second| &mut second.source);
        let operands = self.vector.iter_mut().flat_map(Vector::regions_mut);
        core::iter::once(source).chain(second).chain(operands).chain(sink)
    }

    /// The context of the pass.
    pub const fn context(&self) -> ContextKind {
        if self.sub_context { ContextKind::Sub } else { ContextKind::Main }
    }

    /// Number of chips whose slices may take part: the chips that a source spans.
    pub fn chips(&self) -> usize {
        self.fetch.sources().map(|source| source.footprint.chips).max().unwrap_or(0)
    }
}
