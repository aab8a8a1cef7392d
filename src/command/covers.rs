//! Whether a command writes every element of the tensor that it fills.
//!
//! ```text
//!   m![A, B = 32]  ──▶  m![A, B]        of B = 64, the second half is nobody's
//! ```

use super::indexed::IndexedDma;
use super::moves::{Moves, Strip};
use super::region::{Footprint, Memory, Region};
use super::tensor_unit::{Sink, TensorUnit};
use super::transfer::{Dma, HostTransfer, Transfer};
use super::unit_copy::UnitCopy;
use crate::mapping::guard::rows::split_units;
use crate::spec::{CLUSTERS, SLICES};
use std::collections::BTreeMap;

impl Footprint {
    /// How many elements there are. `None`: it would take a look at each position to tell.
    fn count(&self) -> Option<u128> {
        self.guard.count(&[self.chips, self.clusters, self.slices, self.elements])
    }
}

impl Transfer {
    /// How many elements move.
    fn count(&self) -> Option<u128> {
        let sizes: Vec<usize> = self.loops.iter().map(|own| own.size).collect();
        self.guard.count(&sizes)
    }

    /// Whether the loops reach every place of the destination once, as far as their sizes tell.
    pub(crate) fn writes_once(&self) -> bool {
        let steps = || self.loops.iter().map(|own| (own.size, own.destination));
        steps().all(|(_, step)| step.units == 0 || step.elements == 0)
            && is_injective(
                steps().filter(|(_, step)| step.units == 0).map(|(size, step)| (size, step.elements)),
            )
            && is_injective(steps().filter(|(_, step)| step.units > 0).map(|(size, step)| (size, step.units)))
    }

    /// Whether the move reaches every element of a tensor. True only where that can be told at once: as many elements as the
    /// tensor has go to places of their own, and runs begin and end with elements of the tensor.
    pub(crate) fn covers(&self, destination: &Region) -> bool {
        let moved = self.count();
        moved.is_some()
            && moved == destination.footprint.count()
            && self.writes_once()
            && self.ends_on_elements(destination)
    }

    /// Whether the first run and the last one of each strip begin and end with elements of a tensor.
    fn ends_on_elements(&self, destination: &Region) -> bool {
        let footprint = &destination.footprint;
        let mut all = true;
        if footprint.guard.is_always() {
            return all;
        }
        Moves::new(self).for_each_strip(
            footprint.element.bits(),
            |Strip { destination: to, run, count, .. }| {
                let at = match destination.memory {
                    Memory::Hbm => [to.unit, 0, 0],
                    Memory::Dm | Memory::Vrf => {
                        let cluster = to.unit / SLICES;
                        [cluster / CLUSTERS, cluster % CLUSTERS, to.unit % SLICES]
                    }
                };
                let last = to.position + count.saturating_sub(1) * to.stride;
                for position in [to.position, to.position + run - 1, last, last + run - 1] {
                    let inside = position < footprint.elements;
                    all &= inside && footprint.guard.holds(&[at[0], at[1], at[2], position]);
                }
            },
        );
        all
    }
}

/// Whether loops of these sizes and steps reach every place once, as far as their sizes tell.
pub(crate) fn is_injective(loops: impl Iterator<Item = (usize, usize)>) -> bool {
    let mut loops: Vec<_> = loops.filter(|&(size, _)| size > 1).collect();
    loops.sort_unstable_by_key(|&(_, step)| step);
    let mut reach = 0;
    loops.iter().all(|&(size, step)| {
        let apart = step > reach;
        reach += (size - 1) * step;
        apart
    })
}

impl Dma {
    /// Whether it writes every element of its destination. True only where that can be told at once.
    pub(crate) fn covers(&self) -> bool {
        self.transfer.covers(&self.destination)
    }
}

impl HostTransfer {
    /// An element of 4 bits of the tensor that an upload leaves out, while it writes the other one of its byte: unit and element.
    pub(crate) fn other_half(&self) -> Option<(usize, usize)> {
        if self.region.footprint.element.bits() != 4 || self.covers() {
            return None;
        }
        // Per byte, which of its halves are written.
        let mut bytes = BTreeMap::new();
        Moves::new(&self.transfer).for_each_strip(4, |Strip { destination, run, count, .. }| {
            for (k, e) in (0..count).flat_map(|k| (0..run).map(move |e| (k, e))) {
                let element = destination.position + k * destination.stride + e;
                *bytes.entry((destination.unit, element / 2)).or_insert(0u8) |= 1 << (element % 2);
            }
        });
        let Footprint { elements, guard, .. } = &self.region.footprint;
        let other = |((unit, byte), halves): ((usize, usize), u8)| {
            let element = 2 * byte + usize::from(halves == 1);
            let lives = halves != 3 && element < *elements && guard.holds(&[unit, 0, 0, element]);
            lives.then_some((unit, element))
        };
        bytes.into_iter().find_map(other)
    }

    /// Whether an upload writes every element of its tensor. True only where that can be told at once.
    pub(crate) fn covers(&self) -> bool {
        self.transfer.covers(&self.region)
    }
}

impl UnitCopy {
    /// Whether it writes every element of its destination. True only where that can be told at once.
    pub(crate) fn covers(&self) -> bool {
        match &self.moves[..] {
            [only] => only.covers(&self.destination),
            // Parts may write in the same units.
            _ => false,
        }
    }
}

impl IndexedDma {
    /// Whether a gather of so many rows writes every element of its destination. True only where that can be told at once.
    pub(crate) fn covers(&self, rows: usize) -> bool {
        let moved = self.payload.count().map(|row| row.saturating_mul(rows as u128));
        moved.is_some() && moved == self.destination.footprint.count() && self.payload.writes_once()
    }
}

impl TensorUnit {
    /// Whether it writes every element of the tensor that it fills, in all slices that have a stream. True only where that can
    /// be told at once.
    pub(crate) fn covers(&self) -> bool {
        let stream = self.shapes().transposed;
        match &self.sink {
            Sink::Commit { destination, config, guard, .. } => {
                let Footprint { chips, clusters, slices, .. } = destination.footprint;
                let written = guard.count(&[chips, clusters, slices, stream.time, config.packet_size]);
                written.is_some() && written == destination.footprint.count()
            }
            Sink::Vrf { destination, transfer, guard } => {
                let Footprint { chips, clusters, slices, .. } = destination.footprint;
                let written = guard.count(&[chips, clusters, slices, stream.time, stream.lanes]);
                // The same of one slice, which the loops are about.
                let moved = transfer.count();
                let (_, in_slice) = split_units(guard);
                written.is_some()
                    && written == destination.footprint.count()
                    && moved.is_some()
                    && moved == in_slice.count(&[1, 1, 1, stream.time, stream.lanes])
                    && transfer.writes_once()
            }
            Sink::Trf { destination, guard } => {
                let (chips, rows, elements) = (self.chips(), destination.rows, destination.row_elements);
                let written = guard.count(&[chips, CLUSTERS, SLICES, stream.time, stream.lanes]);
                let held = destination.guard.count(&[chips, CLUSTERS, SLICES, rows, elements]);
                written.is_some() && written == held
            }
        }
    }
}
