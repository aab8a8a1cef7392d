//! What the kernels of a contraction have in common: which cells make a column, and how weights are laid out.
//!
//! A packet of `cells` elements meets a *tile*: the `period` weights of one register file read, repeated until the
//! packet is full. Eight rows are multiplied side by side.
//!
//! Floats are summed in *units* of `2 * half` cells, a vector of 16 lanes per pair of cells:
//!
//! ```text
//!   lane            0 .. 7                  8 .. 15
//!   vector k   cell k of rows 0 .. 7 | cell half + k of rows 0 .. 7      k = 0 .. half
//! ```
//!
//! Both halves go through the tree at the same time. With one column they are the two sides of the tree's last
//! addition, with more they are neighbouring columns. If the weights repeat within `half` cells, both sides are the
//! same, and a vector holds two cells: `k` and `k + 1` of rows 0 to 7.

use super::path::Path;
use crate::chip::spec::FLIT_BYTES;
use crate::command::Contraction;
use crate::scalar::ElementType;

/// The most cells of a packet: 64 bytes of 4-bit elements.
pub(super) const CELLS: usize = 128;

/// What the arithmetic of a contraction looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Products of single cells: any size, any padding.
    General,
    /// Sums of floats in the order of the tree.
    Float(FloatShape),
    /// Sums of integers, whose order does not matter.
    Integer(IntegerShape),
}

/// The units of a packet of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FloatShape {
    /// The type of the elements.
    pub(super) element: ElementType,
    /// Cells of the packet.
    pub(super) cells: usize,
    /// Cells on each side of a unit: 4, 8, 16 or 32.
    pub(super) half: usize,
    /// Columns per step.
    pub(super) columns: usize,
    /// Whether both sides of a unit make one column.
    pub(super) joined: bool,
    /// Whether the tree reaches into the absent half of the packet, which adds zero once.
    pub(super) absent: bool,
    /// Weights per read.
    pub(super) period: usize,
}

/// The columns of a packet of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IntegerShape {
    /// The type of the elements.
    pub(super) element: ElementType,
    /// Cells of the packet.
    pub(super) cells: usize,
    /// Cells that make a column: at least 8.
    pub(super) part: usize,
    /// Columns per step.
    pub(super) columns: usize,
    /// Weights per read.
    pub(super) period: usize,
    /// Whether weights lie in groups of eight cells, for instructions that sum products of bytes.
    pub(super) octets: bool,
}

impl FloatShape {
    /// Whether the weights repeat within one side of a unit.
    pub(super) const fn repeats(&self) -> bool {
        self.period <= self.half
    }

    /// Vectors of 16 weights per tile.
    pub(super) const fn tile(&self) -> usize {
        self.period.div_ceil(2)
    }
}

impl IntegerShape {
    /// Cells of a tile. Short reads are repeated.
    pub(super) fn tile_cells(&self) -> usize {
        self.period.max(8)
    }

    /// Vectors per tile: of eight or of two cells.
    pub(super) fn tile(&self) -> usize {
        self.tile_cells() / if self.octets { 8 } else { 2 }
    }

    /// Columns after which the weights repeat.
    pub(super) fn column_period(&self) -> usize {
        (self.tile_cells() / self.part).max(1)
    }
}

impl Kernel {
    /// The kernel for a command whose steps read at `reads`. `reach`: elements per row that steps reach.
    pub(super) fn new(command: &Contraction, path: Path, reads: &[usize], reach: usize) -> Self {
        let element = command.trf.element;
        let cells = command.collect_flits * FLIT_BYTES * 8 / element.bits();
        let group = 1usize << command.depth;
        let part = group.min(cells);
        let columns = command.columns.min(cells.div_ceil(group));
        let period = command.trf_config.packet_size;
        let regular = cells.is_power_of_two()
            && cells <= CELLS
            && columns > 0
            && period.is_power_of_two()
            && period <= cells
            && reach == command.trf.row_elements
            && reach.is_multiple_of(period)
            && reads.iter().all(|read| read.is_multiple_of(period));
        if path == Path::General || !regular {
            return Kernel::General;
        }
        match element {
            ElementType::I4 | ElementType::I8 if part >= 8 => {
                let octets = path.octets();
                Kernel::Integer(IntegerShape { element, cells, part, columns, period, octets })
            }
            ElementType::Bf16 | ElementType::F8e4m3 | ElementType::F8e5m2 => {
                let joined = columns == 1;
                let half = if joined { part / 2 } else { part };
                let absent = group > cells;
                match half {
                    4 | 8 | 16 | 32 if 2 * half <= cells => {
                        Kernel::Float(FloatShape { element, cells, half, columns, joined, absent, period })
                    }
                    _ => Kernel::General,
                }
            }
            _ => Kernel::General,
        }
    }
}
