//! A tensor in one of the memories, whichever it is: the bytes that it spans and the ones that it needs.

use super::trf;
use crate::chip::check::FaultMemory;
use crate::chip::live::depends_on;
use crate::chip::spec::{CLUSTERS, SLICES};
use crate::command::{FillId, Guard, Memory, Region, TrfRegion};
use core::ops::Range;

/// A tensor in HBM, DM or the register files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// HBM or DM.
    Region(Region),
    /// The register files.
    Trf(TrfRegion),
}

/// A unit by its coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coordinates {
    pub(crate) chip: usize,
    pub(crate) cluster: usize,
    pub(crate) slice: usize,
}

impl Coordinates {
    /// The slice with this number.
    pub(crate) const fn of_slice(unit: usize) -> Self {
        let rest = unit % (CLUSTERS * SLICES);
        Self { chip: unit / (CLUSTERS * SLICES), cluster: rest / SLICES, slice: rest % SLICES }
    }

    /// The number of the slice.
    pub(crate) const fn slice_number(self) -> usize {
        (self.chip * CLUSTERS + self.cluster) * SLICES + self.slice
    }
}

impl Place {
    /// The memory.
    pub(crate) fn memory(&self) -> FaultMemory {
        match self {
            Place::Region(region) => region.memory.into(),
            Place::Trf(_) => FaultMemory::Trf,
        }
    }

    /// The filling.
    pub(crate) fn fill(&self) -> FillId {
        match self {
            Place::Region(region) => region.fill,
            Place::Trf(region) => region.fill,
        }
    }

    fn guard(&self) -> &Guard {
        match self {
            Place::Region(region) => &region.footprint.guard,
            Place::Trf(region) => &region.guard,
        }
    }

    /// Chips, clusters and slices. A register file tensor may span all of them; its guard says which.
    pub(crate) fn extents(&self) -> Coordinates {
        match self {
            Place::Region(Region { footprint, .. }) => {
                Coordinates { chip: footprint.chips, cluster: footprint.clusters, slice: footprint.slices }
            }
            Place::Trf(_) => {
                Coordinates { chip: crate::chip::spec::MAX_CHIPS, cluster: CLUSTERS, slice: SLICES }
            }
        }
    }

    /// Whether all positions hold an element.
    pub(crate) fn is_dense(&self) -> bool {
        self.guard().is_always()
    }

    /// Whether units differ in which positions hold an element.
    pub(crate) fn differs_by_unit(&self) -> bool {
        (0..3).any(|variable| depends_on(self.guard(), variable))
    }

    /// The bytes that the tensor spans in each unit, padding included, in order.
    pub(crate) fn spans(&self) -> Vec<Range<u64>> {
        match self {
            Place::Region(region) => {
                let end = region.address.saturating_add(region.footprint.bytes() as u64);
                core::iter::once(region.address..end).collect()
            }
            Place::Trf(region) => (0..region.rows)
                .flat_map(|row| trf::pieces(region, row, 0..trf::row_bytes(region)))
                .map(|piece| piece.start as u64..piece.end as u64)
                .collect(),
        }
    }

    /// The number by which faults name a unit.
    pub(crate) fn unit(&self, at: Coordinates) -> usize {
        match self {
            Place::Region(Region { memory: Memory::Hbm, .. }) => at.chip,
            Place::Region(_) | Place::Trf(_) => at.slice_number(),
        }
    }

    /// Calls `visit` with the bytes inside `window` that live elements of the unit need, in order per row.
    pub(crate) fn live_bytes(&self, at: Coordinates, window: &Range<u64>, mut visit: impl FnMut(Range<u64>)) {
        let mut clipped = |bytes: Range<u64>| {
            let bytes = bytes.start.max(window.start)..bytes.end.min(window.end);
            if !bytes.is_empty() {
                visit(bytes);
            }
        };
        if self.is_dense() {
            self.spans().into_iter().for_each(clipped);
            return;
        }
        match self {
            Place::Region(Region { address, footprint, .. }) => {
                let bits = footprint.element.bits();
                let position = |byte: u64| (byte.saturating_sub(*address) * 8) as usize / bits;
                let last = (position(window.end) + 1).min(footprint.elements);
                for element in position(window.start)..last {
                    if footprint.guard.holds(&[at.chip, at.cluster, at.slice, element]) {
                        let start = address + (element * bits / 8) as u64;
                        clipped(start..address + ((element + 1) * bits).div_ceil(8) as u64);
                    }
                }
            }
            Place::Trf(region) => {
                let bits = region.element.bits();
                for (row, element) in (0..region.rows)
                    .flat_map(|row| (0..region.row_elements).map(move |element| (row, element)))
                {
                    if region.guard.holds(&[at.chip, at.cluster, at.slice, row, element]) {
                        let bytes = element * bits / 8..((element + 1) * bits).div_ceil(8);
                        trf::pieces(region, row, bytes).for_each(|b| clipped(b.start as u64..b.end as u64));
                    }
                }
            }
        }
    }
}

/// Whether one tensor spans a byte of another.
pub(crate) fn spans_meet(a: &[Range<u64>], b: &[Range<u64>]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.start < b.end && b.start < a.end))
}

/// Whether every byte of `inner` is spanned by one range of `outer`.
pub(crate) fn spans_cover(outer: &[Range<u64>], inner: &[Range<u64>]) -> bool {
    inner.iter().all(|inner| outer.iter().any(|outer| outer.start <= inner.start && inner.end <= outer.end))
}
