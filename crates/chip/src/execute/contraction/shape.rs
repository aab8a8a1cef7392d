//! Facts common to the kernels of a contraction: the cells of a column, and the layout of weights.
//!
//! A packet of `cells` elements meets a *tile*: the `period` weights of one register file read, repeated until the
//! packet is full. Eight rows are multiplied side by side. `part` neighbouring cells make a column.

use super::path::Path;
use furiosa_visa_rules::command::{AccumulationKind, Contraction};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::FLIT_BYTES;

/// The most cells of a packet: 64 bytes of 4-bit elements.
pub(super) const CELLS: usize = 128;
/// Number of cells that kernels take at once. Tiles have at least as many.
pub(super) const BLOCK: usize = 8;

/// Arithmetic of a contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Products of single cells: any size, any padding.
    General,
    /// Sums of floats in the order of the tree.
    Float(Shape),
    /// The same for a register file with one row.
    SingleRow(Shape),
    /// Sums of integers, whose order does not matter.
    Integer(Shape, Layout),
}

/// The columns of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// The type of the elements.
    pub(super) element: ElementType,
    /// Cells of the packet.
    pub(super) cells: usize,
    /// Cells that make a column: a power of two.
    pub(super) part: usize,
    /// Columns per step.
    pub(super) columns: usize,
    /// True if the tree reaches into the absent half of the packet, which adds zero once.
    pub(super) absent: bool,
    /// Weights per read.
    pub(super) period: usize,
}

/// Layout of the weights of integers: for each `take` bytes of a packet, the eight rows that meet them, one after
/// another.
///
/// ```text
///   packet     | take bytes | take bytes | …
///   weights    row 0, row 1, … row 7 | row 0, row 1, … row 7 | …
/// ```
///
/// A byte with two elements meets two planes of rows. The first plane meets the lower elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes of the packet: 16 or 32.
    pub(super) take: usize,
    /// True if each weight has 16 bits instead of 8.
    pub(super) is_wide: bool,
    /// True if weights are made unsigned, by adding half of their range.
    pub(super) is_unsigned: bool,
}

impl Layout {
    /// Bytes of a row: 16 to 64.
    #[inline(always)]
    pub(super) const fn row_bytes(self) -> usize {
        if self.is_wide { 2 * self.take } else { self.take }
    }

    /// Number of vectors of 64 bytes in a tile.
    #[inline(always)]
    pub(super) fn tile_vectors(self, shape: &Shape) -> usize {
        shape.packet_bytes() / self.take * shape.planes() * self.row_bytes() / 8
    }
}

impl Shape {
    /// Number of cells in a tile. Short reads are repeated.
    #[inline(always)]
    pub(super) fn tile(&self) -> usize {
        self.period.max(BLOCK)
    }

    /// Bytes of a packet. For integers, each of its [`Shape::planes`] has the same number of bytes.
    #[inline(always)]
    pub(super) fn packet_bytes(&self) -> usize {
        self.cells * self.element.bits() / 8
    }

    /// Number of elements in a byte of a packet of integers.
    #[inline(always)]
    pub(super) fn planes(&self) -> usize {
        8 / self.element.bits()
    }

    /// Bytes of a packet of integers that make a column.
    #[inline(always)]
    pub(super) fn column_bytes(&self) -> usize {
        self.part / self.planes()
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
            && (BLOCK..=CELLS).contains(&cells)
            && columns > 0
            && period.is_power_of_two()
            && period <= cells
            && reach == command.trf.row_elements
            && reach.is_multiple_of(period)
            && reads.iter().all(|read| read.is_multiple_of(period));
        let integers = matches!(element, ElementType::I4 | ElementType::I8);
        let shape = Shape { element, cells, part, columns, absent: group > cells, period };
        match element {
            _ if !regular => Kernel::General,
            // A tile consists of whole bytes.
            _ if integers && matches!(command.collect_flits, 1 | 2) && period >= shape.planes() => {
                path.layout(&shape).map_or(Kernel::General, |layout| Kernel::Integer(shape, layout))
            }
            // Of interleaved results, all lanes are written.
            ElementType::Bf16 | ElementType::F8e4m3 | ElementType::F8e5m2
                if command.trf.rows == 1 && command.kind == AccumulationKind::Sequential =>
            {
                Kernel::SingleRow(shape)
            }
            ElementType::Bf16 | ElementType::F8e4m3 | ElementType::F8e5m2 => Kernel::Float(shape),
            _ => Kernel::General,
        }
    }
}
