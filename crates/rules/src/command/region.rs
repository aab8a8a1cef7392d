//! Regions: the places of the tensors of a command.

use crate::command::bank_part;
use crate::mapping::guard::Guard;
use crate::scalar::ElementType;
use crate::spec::{CLUSTERS, SLICES, TRF_BANK_ROW_BYTES, TRF_BANK_ROWS, TRF_COLUMNS, TRF_LINE_BYTES};
use core::ops::Range;

/// A byte address inside a chip's HBM, or inside each slice's DM or VRF.
pub type Address = u64;

/// An address for the context to choose.
pub const AUTO: Address = Address::MAX;

/// The name of one filling of a memory range: a tensor that was made there. Later writes through views of the same
/// tensor keep it. [`FillId::ANY`] reads any content.
///
/// A filling belongs to the system that numbered it: bits 37 to 62 are the number of the system, the bits below count
/// its fillings. A filling that was numbered by hand, below 2^37, belongs to no system, and every system accepts it.
/// Numbers ascend in the order of the first writes: of fillings that were overwritten long ago, a system keeps only the
/// greatest number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FillId(pub u64);

/// The filling without its system, so that printed text does not depend on the number of systems before it.
impl core::fmt::Debug for FillId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("FillId").field(&self.in_system().0).finish()
    }
}

/// Bits that count the fillings of a system.
const COUNT_BITS: u32 = 37;

impl FillId {
    /// The most systems of a process: they are numbered from 1 to this one.
    pub const SYSTEMS: u64 = (BARE - 1) >> COUNT_BITS;

    /// The filling with this number, 1, 2, …, of a system.
    pub const fn of_system(system: u64, number: u64) -> Self {
        assert!(number < 1 << COUNT_BITS, "a system makes less than 2^37 tensors");
        Self(system << COUNT_BITS | number)
    }

    /// The number of the system that it belongs to, or 0.
    pub const fn system(self) -> u64 {
        if self.is_bare() { 0 } else { self.0 >> COUNT_BITS }
    }

    /// The filling as its system counts it: 1, 2, …
    #[must_use]
    pub const fn in_system(self) -> Self {
        if self.is_bare() { self } else { Self(self.0 & ((1 << COUNT_BITS) - 1)) }
    }

    /// A handle made from a bare address: it accepts any content of the memory.
    pub const ANY: FillId = FillId(0);

    /// A handle like [`FillId::ANY`], but distinct from others: operations through the same handle are ordered.
    pub fn bare() -> FillId {
        static HANDLES: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(1);
        FillId(BARE | HANDLES.fetch_add(1, core::sync::atomic::Ordering::Relaxed))
    }

    /// True if the handle was made from a bare address.
    pub const fn is_bare(self) -> bool {
        self.0 == FillId::ANY.0 || self.0 & BARE != 0
    }
}

/// The bit of handles that were made from a bare address.
const BARE: u64 = 1 << 63;

/// A memory of the chip that is addressed in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// High-bandwidth memory: one per chip. Unit = chip.
    Hbm,
    /// Data memory: one per slice. Unit = `(chip * 2 + cluster) * 256 + slice`.
    Dm,
    /// Vector register file: one per slice. Unit as in [`Memory::Dm`]. Only `to_vrf` writes it.
    Vrf,
}

impl core::fmt::Display for Memory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Memory::Hbm => "HBM",
            Memory::Dm => "DM",
            Memory::Vrf => "VRF",
        })
    }
}

/// The positions of a tensor in a memory, without its types.
///
/// Variables of the guard: chip, cluster, slice, element. An HBM tensor has one cluster and one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// The type of an element.
    pub element: ElementType,
    /// Chips that the tensor spans, padding included.
    pub chips: usize,
    /// Clusters per chip, padding included.
    pub clusters: usize,
    /// Slices per cluster, padding included.
    pub slices: usize,
    /// Elements per unit, padding included.
    pub elements: usize,
    /// Condition for positions that hold an element.
    pub guard: Guard,
}

impl Footprint {
    /// Bytes per unit, padding included.
    pub const fn bytes(&self) -> usize {
        (self.elements * self.element.bits()).div_ceil(8)
    }
}

/// A tensor in HBM, DM or the VRF, or a tile of one, in the view of a command.
///
/// ```text
///   tensor    m![A, B]  ├──────┼──────┼──────┼──────┤        (A = 4)
///             base ─────┘      address         end ─┘
///   tile      m![1 # 4, B]     ├──────┤                      `A` at 1: positions of the tile count from 0
/// ```
///
/// The footprint is that of the view. It has the size of the tensor, but a tile leaves out most positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The memory.
    pub memory: Memory,
    /// The byte of position 0, in each unit.
    pub address: Address,
    /// The filling that the command expects (source) or makes (destination).
    pub fill: FillId,
    /// The positions.
    pub footprint: Footprint,
    /// The part of the tensor.
    pub part: Part,
}

impl Region {
    /// A part of the tensor that starts at `address`. The function has no type parameters, so that kernels share it.
    #[inline(never)]
    pub fn of(memory: Memory, address: Address, fill: FillId, footprint: &Footprint, part: Part) -> Self {
        Self { memory, address: address.saturating_add(part.offset), fill, footprint: *footprint, part }
    }
}

/// The part of a tensor that a view is: all of it, or a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Bytes of the tensor before the part, in each unit.
    pub offset: u64,
    /// Chips, clusters and slices of the tensor before the part.
    pub units: [usize; 3],
    /// Elements of a unit from the first one of the part to its last possible one. `None` for up to the end of the
    /// tensor, padding included.
    pub elements: Option<usize>,
}

impl Part {
    /// The whole tensor.
    pub const WHOLE: Self = Self { offset: 0, units: [0; 3], elements: None };

    /// True if it starts in the first chip, cluster and slice.
    pub const fn starts_in_first_unit(&self) -> bool {
        matches!(self.units, [0, 0, 0])
    }
}

impl Region {
    /// The region of a whole tensor.
    pub const fn whole(memory: Memory, address: Address, fill: FillId, footprint: Footprint) -> Self {
        Self { memory, address, fill, footprint, part: Part::WHOLE }
    }

    /// The first byte of the tensor.
    pub const fn base(&self) -> Address {
        self.address.saturating_sub(self.part.offset)
    }

    /// End of the last byte of the tensor.
    pub const fn end(&self) -> Address {
        self.base().saturating_add(self.footprint.bytes() as u64)
    }

    /// The bytes of the tensor in each unit, padding included.
    pub const fn tensor_bytes(&self) -> Range<Address> {
        self.base()..self.end()
    }

    /// The bytes of the part in each unit: up to the last element of a tile, to the end of a whole tensor.
    pub const fn bytes(&self) -> Range<Address> {
        match self.part.elements {
            None => self.address..self.end(),
            Some(elements) => {
                let bytes = (elements * self.footprint.element.bits()).div_ceil(8) as u64;
                self.address..self.address.saturating_add(bytes)
            }
        }
    }

    /// Start of the part, if not in the first unit: ` from slice 4 on`, for messages.
    pub fn units_in_words(&self) -> String {
        let [chip, cluster, slice] = self.part.units;
        let named = [("chip", chip), ("cluster", cluster), ("slice", slice)];
        let names: Vec<String> = named
            .iter()
            .filter(|(_, first)| *first > 0)
            .map(|(name, first)| format!("{name} {first}"))
            .collect();
        if names.is_empty() { String::new() } else { format!(" from {} on", names.join(", ")) }
    }

    /// Elements of a unit from position 0 to the end of the tensor.
    pub const fn elements_to_end(&self) -> usize {
        let before = (self.part.offset as usize).saturating_mul(8) / self.footprint.element.bits();
        self.footprint.elements.saturating_sub(before)
    }

    /// The unit of position 0, as [`Memory`] counts them.
    pub const fn first_unit(&self) -> usize {
        let [chip, cluster, slice] = self.part.units;
        match self.memory {
            Memory::Hbm => chip,
            Memory::Dm | Memory::Vrf => (chip * CLUSTERS + cluster) * SLICES + slice,
        }
    }
}

/// The halves of the tensor register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrfAddress {
    /// Rows 0 to 63 of every bank.
    FirstHalf,
    /// Rows 64 to 127 of every bank.
    SecondHalf,
    /// All rows.
    Full,
}

impl TrfAddress {
    /// Bytes per slice.
    pub const fn capacity(&self) -> usize {
        match self {
            TrfAddress::Full => crate::spec::TRF_BYTES,
            TrfAddress::FirstHalf | TrfAddress::SecondHalf => crate::spec::TRF_BYTES / 2,
        }
    }
}

impl core::fmt::Display for TrfAddress {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            TrfAddress::FirstHalf => "TrfAddress::FirstHalf",
            TrfAddress::SecondHalf => "TrfAddress::SecondHalf",
            TrfAddress::Full => "TrfAddress::Full",
        })
    }
}

/// A tensor in the register files, in the view of a command.
///
/// Row `r` holds `row_elements` elements, packed, from the start of its region on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrfRegion {
    /// The part of the register file.
    pub address: TrfAddress,
    /// The filling.
    pub fill: FillId,
    /// The type of an element.
    pub element: ElementType,
    /// Rows: 1, 2, 4 or 8.
    pub rows: usize,
    /// Elements per row, padding included.
    pub row_elements: usize,
    /// Condition for positions that hold an element. Variables: chip, cluster, slice, row, element.
    pub guard: Guard,
}

impl TrfRegion {
    /// Bytes of a row of the tensor.
    pub fn row_bytes(&self) -> usize {
        (self.row_elements * self.element.bits()).div_ceil(8)
    }

    /// The bytes of each bank row that belong to its part of the register file: the first one, and their number.
    pub const fn part(&self) -> (usize, usize) {
        let (first, depth) = bank_part(self.address);
        (first * TRF_COLUMNS * TRF_LINE_BYTES, depth * TRF_COLUMNS * TRF_LINE_BYTES)
    }

    /// The physical pieces of `bytes` of a row, in order.
    pub fn pieces(&self, row: usize, bytes: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let (first, per_bank) = self.part();
        let bank = row * (TRF_BANK_ROWS / self.rows);
        let banks =
            if bytes.is_empty() { 0..0 } else { bytes.start / per_bank..bytes.end.div_ceil(per_bank) };
        banks.map(move |k| {
            let base = (bank + k) * TRF_BANK_ROW_BYTES + first;
            let start = bytes.start.saturating_sub(k * per_bank);
            let end = (bytes.end - k * per_bank).min(per_bank);
            base + start..base + end
        })
    }
}
