//! Copies: moves of a tensor to other slices, clusters or chips, by one command, [`UnitCopy`].
//!
//! | word | meaning |
//! |---|---|
//! | shuffle | a copy by the DMA engines: clusters or chips exchange their elements |
//! | parallel copy | a copy by the sub context, beside the main one: slices in any order, or a part per cluster or chip |
//! | slice copy | a parallel copy of a part: each cluster or chip keeps one position of an axis |

pub mod parallel;
pub mod shuffle;
pub mod slices;

pub use parallel::{check_address, check_cells, derive_parallel_copy};
pub use shuffle::{ShuffleConfig, derive_shuffle};
pub use slices::{SliceCopyConfig, SliceCopyRequest, derive_slice_copy};

use crate::command::{ContextKind, CopyCall, Memory, Operation, Region, Start, Transfer, UnitCopy};
use crate::error::{PlanError, refuse};
use crate::mapping::{Expr, Guard};
use crate::sequencer::transfer::Level;
use crate::spec;
use crate::tensor::Shape;

/// Units that a copy distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitLevel {
    /// The clusters of each chip.
    Cluster,
    /// The chips.
    Chip,
}

impl UnitLevel {
    /// The name of the dimension in the types of a tensor.
    pub const fn dimension(self) -> &'static str {
        match self {
            UnitLevel::Cluster => "Cluster",
            UnitLevel::Chip => "Chip",
        }
    }

    /// The word for one of the units.
    pub const fn noun(self) -> &'static str {
        match self {
            UnitLevel::Cluster => "cluster",
            UnitLevel::Chip => "chip",
        }
    }

    /// The variable of the units in a tensor's guard.
    const fn variable(self) -> usize {
        match self {
            UnitLevel::Chip => 0,
            UnitLevel::Cluster => 1,
        }
    }

    const fn mapping(self, shape: &Shape) -> &'static Expr {
        match self {
            UnitLevel::Chip => shape.chip,
            UnitLevel::Cluster => shape.cluster,
        }
    }

    /// Distance of two neighbours, in units of a command.
    const fn step(self, memory: Memory) -> usize {
        match (self, memory) {
            (UnitLevel::Chip, Memory::Hbm) => 1,
            (UnitLevel::Chip, Memory::Dm | Memory::Vrf) => spec::CLUSTERS * spec::SLICES,
            (UnitLevel::Cluster, _) => spec::SLICES,
        }
    }

    /// The dimensions of a tensor without those of this level, innermost first, and their number.
    const fn others(self, shape: &Shape) -> ([(&'static Expr, Level); 4], usize) {
        let mut dimensions = shape.dimensions();
        match (self, shape.memory) {
            (UnitLevel::Chip, Memory::Hbm) => (dimensions, 1),
            (UnitLevel::Chip, Memory::Dm | Memory::Vrf) => (dimensions, 3),
            (UnitLevel::Cluster, _) => {
                dimensions[2] = dimensions[3];
                (dimensions, 3)
            }
        }
    }
}

/// Checks that the number in the call is the number of the types.
pub const fn check_count(
    operation: &'static str,
    level: UnitLevel,
    given: usize,
    shape: &Shape,
) -> Result<(), PlanError> {
    let mapping = level.mapping(shape);
    let count = match mapping.checked_size() {
        Ok(count) => count,
        Err(text) => return Err(PlanError::new("mapping", text)),
    };
    if given == count {
        return Ok(());
    }
    refuse!(
        "unit count",
        "{}: the call is for {}, but {} {} has {}; help: write {} as the constant of the call, and as many numbers",
        (operation, count(given, level.noun()), level.dimension(), mapping, count(count, "position"), count),
    )
}

/// Checks that all units that hold elements hold them at the same positions.
pub const fn check_alike(
    operation: &'static str,
    level: UnitLevel,
    shape: &Shape,
    guard: &Guard,
) -> Result<(), PlanError> {
    if guard.is_alone(level.variable()) {
        return Ok(());
    }
    refuse!(
        "ragged units",
        "{}: {} {} of `{}<…>` is a part of an axis whose padding it shares with another part, so that one {} may hold fewer \
         elements than another; help: choose sizes that fill every {}, or pad the axis outermost in `{}` alone",
        operation,
        level.dimension(),
        level.mapping(shape),
        shape.name(),
        level.noun(),
        level.noun(),
        level.dimension(),
    )
}

/// Checks that the call gives one number per unit.
pub fn check_length(
    operation: &'static str,
    level: UnitLevel,
    what: &str,
    units: usize,
    given: usize,
) -> Result<(), PlanError> {
    if given == units {
        return Ok(());
    }
    refuse!(
        "pattern length",
        "{}: the {} has {}, but the tensor has {}; help: give one number for each {}, in order",
        (operation, what, count(given, "number"), count(units, level.noun()), level.noun()),
    )
}

/// The command of a copy. It has no type parameters, so that all kernels share it.
pub fn copy_operation(
    call: CopyCall,
    context: ContextKind,
    [source, destination]: [Region; 2],
    moves: Vec<Transfer>,
) -> Operation {
    let moves = moves
        .into_iter()
        .map(|transfer| transfer.further(Start::of(&source), Start::of(&destination)))
        .collect();
    Operation::UnitCopy(Box::new(UnitCopy { call, context, source, destination, moves }))
}
