//! Copies between slices, clusters and chips: shuffles and parallel copies.
//!
//! A copy is several nests of loops that run side by side, one for each receiving chip or cluster. Each nest has its
//! start, so that any chip can get the data of any other one:
//!
//! ```text
//!   dm_chip_shuffle [1, 2, 3, 0]           chip    0   1   2   3
//!                                          gets    1   2   3   0
//!   parallel_copy_cluster_slice [4, 0]     cluster 0 gets its part 4, cluster 1 gets its part 0
//! ```

use super::names::ContextKind;
use super::region::{Footprint, Part, Region};
use super::transfer::{Dma, Transfer};
use super::uses::{ELEMENT, Place, Use};
use crate::spec::COMMIT_ALIGN_BYTES;
use core::fmt;

/// Call of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyCall {
    /// Clusters of DM in another order.
    DmClusterShuffle,
    /// The DM of chips in another order.
    DmChipShuffle,
    /// The HBM of chips in another order.
    HbmChipShuffle,
    /// From DM to DM by the sub context, slices in any order.
    ParallelCopy,
    /// A part of the tensor in each cluster, by the sub context.
    ClusterSliceCopy,
    /// A part of the tensor in each chip, by the sub context.
    ChipSliceCopy,
}

impl CopyCall {
    /// All calls.
    pub const ALL: [CopyCall; 6] = [
        Self::DmClusterShuffle,
        Self::DmChipShuffle,
        Self::HbmChipShuffle,
        Self::ParallelCopy,
        Self::ClusterSliceCopy,
        Self::ChipSliceCopy,
    ];

    /// The name of the call.
    pub const fn name(self) -> &'static str {
        match self {
            CopyCall::DmClusterShuffle => "dm_cluster_shuffle",
            CopyCall::DmChipShuffle => "dm_chip_shuffle",
            CopyCall::HbmChipShuffle => "hbm_chip_shuffle",
            CopyCall::ParallelCopy => "to_dm_pcopy",
            CopyCall::ClusterSliceCopy => "parallel_copy_cluster_slice",
            CopyCall::ChipSliceCopy => "parallel_copy_chip_slice",
        }
    }

    /// True for parallel copies: the sub context makes them, through the Tensor Unit of each slice. They stay in a cluster.
    pub const fn is_parallel(self) -> bool {
        matches!(self, CopyCall::ParallelCopy | CopyCall::ClusterSliceCopy | CopyCall::ChipSliceCopy)
    }

    /// True if a context gives this call.
    pub const fn is_of(self, context: ContextKind) -> bool {
        match context {
            ContextKind::Main => false,
            ContextKind::Sub => self.is_parallel(),
            ContextKind::TensorDma => !self.is_parallel(),
            ContextKind::PcieDma => matches!(self, CopyCall::HbmChipShuffle),
        }
    }
}

display_name!(CopyCall);

/// A copy between slices, clusters or chips.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitCopy {
    /// The call.
    pub call: CopyCall,
    /// The context that gives the call.
    pub context: ContextKind,
    /// The tensor that is read.
    pub source: Region,
    /// The tensor that is written.
    pub destination: Region,
    /// The loops: one nest for each receiving chip or cluster, or a single one.
    pub moves: Vec<Transfer>,
}

impl UnitCopy {
    /// Each nest of loops as a move.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = Dma> {
        let Self { call: _, context, source, destination, moves } = self;
        let pcie = *context == ContextKind::PcieDma;
        moves.iter().map(move |transfer| Dma {
            source: *source,
            destination: *destination,
            transfer: *transfer,
            pcie,
        })
    }

    /// The tensor that it reads.
    pub fn reads(&self) -> Use {
        Use::read(Place::Region(self.source), self.call.name())
    }

    /// The tensor that it writes. The sub context writes cells of 8 bytes, including their padding (guide:
    /// cast_transpose_commit).
    pub fn writes(&self) -> Use {
        let Region { footprint, .. } = self.destination;
        let cell = 8 * COMMIT_ALIGN_BYTES / footprint.element.bits();
        if !self.call.is_parallel() || cell == 0 {
            return Use::write(Place::Region(self.destination), self.call.name());
        }
        let Some(elements) = footprint.elements.checked_next_multiple_of(cell) else {
            return Use::write(Place::Region(self.destination), self.call.name());
        };
        let guard = footprint.guard.coarse(ELEMENT, elements, cell);
        let footprint = Footprint { elements, guard, ..footprint };
        let rounded = |held: usize| held.checked_next_multiple_of(cell).unwrap_or(held);
        let part = Part { elements: self.destination.part.elements.map(rounded), ..self.destination.part };
        Use::write(Place::Region(Region { footprint, part, ..self.destination }), self.call.name())
    }
}

/// `dm_cluster_shuffle, 2 parts: from unit 256 to 0; from unit 0 to 256`, with first elements that are not 0.
impl fmt::Display for UnitCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = if self.moves.len() == 1 { "part" } else { "parts" };
        write!(f, "{}, {} {parts}", self.call, self.moves.len())?;
        for (k, Transfer { source_start, destination_start, .. }) in self.moves.iter().enumerate() {
            let separator = if k == 0 { ": " } else { "; " };
            write!(f, "{separator}from unit {}", source_start.units)?;
            if source_start.elements != 0 {
                write!(f, ", element {}", source_start.elements)?;
            }
            write!(f, " to {}", destination_start.units)?;
            if destination_start.elements != 0 {
                write!(f, ", element {}", destination_start.elements)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{FillId, Footprint, Memory, Start};
    use crate::mapping::Guard;
    use crate::scalar::ElementType;

    fn region(fill: u64) -> Region {
        let guard = Guard::always(4);
        let footprint =
            Footprint { element: ElementType::I8, chips: 1, clusters: 2, slices: 256, elements: 64, guard };
        Region::whole(Memory::Dm, 0, FillId(fill), footprint)
    }

    #[test]
    fn a_copy_knows_its_tensors_and_its_parts() {
        let at = |units, elements| Start { units, elements };
        let part = |from, to| Transfer { source_start: from, destination_start: to, ..Transfer::new() };
        let copy = UnitCopy {
            call: CopyCall::DmClusterShuffle,
            context: ContextKind::TensorDma,
            source: region(1),
            destination: region(2),
            moves: vec![part(at(256, 0), at(0, 0)), part(at(0, 8), at(256, 16))],
        };
        assert_eq!(
            copy.to_string(),
            "dm_cluster_shuffle, 2 parts: from unit 256 to 0; from unit 0, element 8 to 256, element 16"
        );
        assert_eq!(
            [copy.reads(), copy.writes()].map(|access| (access.place.fill().0, access.writes)),
            [(1, false), (2, true)]
        );
        assert_eq!(copy.reads().operation, "dm_cluster_shuffle");
        let starts: Vec<_> = copy.parts().map(|part| (part.transfer.source_start.units, part.pcie)).collect();
        assert_eq!(starts, [(256, false), (0, false)]);
    }

    /// One context gives each call; both DMA contexts give the call between HBM.
    #[test]
    fn contexts_give_their_calls() {
        let of = |call: CopyCall| -> Vec<_> {
            ContextKind::ALL
                .into_iter()
                .filter(|context| call.is_of(*context))
                .map(ContextKind::name)
                .collect()
        };
        let found = CopyCall::ALL.map(of);
        let expected: [&[&str]; 6] = [&["tdma"], &["tdma"], &["tdma", "pdma"], &["sub"], &["sub"], &["sub"]];
        assert_eq!(found, expected);
    }
}
