//! Place of each element of a TRF tensor: bank row, row in the bank, bank column, 5-bit slots.
//!
//! ```text
//!              column 0                    column 1
//!   row   0    bytes   0 ..  31            bytes  32 ..  63        FirstHalf: rows 0 to 63
//!   row   1    bytes  64 ..  95            bytes  96 .. 127
//!    …                                                             SecondHalf: rows 64 to 127
//!   row 127    32 bytes of elements in 64 slots of 5 bits          Full: all rows
//! ```
//!
//! There are 8 bank rows like this one. Row `r` of a tensor of `R` rows owns the bank rows `r * 8 / R` to `(r + 1) * 8
//! / R - 1` and fills them one after another: the bits of the bank row that `R` leaves free are the top bits of the
//! address in the row. The assignment of bank rows to rows is not documented for `R < 8`; values do not depend on it.
//! See `guide::contraction`, "The register file".

use crate::command::TrfAddress;
use crate::scalar::ElementType;
use crate::spec::{
    TRF_BANK_DEPTH, TRF_BANK_ROW_BYTES, TRF_BANK_ROWS, TRF_COLUMNS, TRF_LINE_BYTES, TRF_LINE_SLOTS, TRF_ROWS,
};

/// Storage of elements, `reg_types`: see `guide::contraction`, "The register file".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterType {
    /// 0: `i4`, extended to 5 bits, and `i5`.
    I4,
    /// 1: `i4`, widened to `i8`, 10 bits. Takes twice the place of [`RegisterType::I4`].
    I4AsI8,
    /// 2: types of 8 bits, extended to 10 bits, and `i9`.
    Byte,
    /// 3: `bf16`, extended to 20 bits.
    Bf16,
}

impl RegisterType {
    /// All of them, by number.
    pub const ALL: [RegisterType; 4] =
        [RegisterType::I4, RegisterType::I4AsI8, RegisterType::Byte, RegisterType::Bf16];

    /// Storage of the elements of a type, unless they are widened. `None`: no storage is documented for the type.
    pub const fn of(element: ElementType) -> Option<Self> {
        match element {
            ElementType::I4 | ElementType::I5 => Some(RegisterType::I4),
            ElementType::I8
            | ElementType::I9
            | ElementType::U8
            | ElementType::F8e4m3
            | ElementType::F8e5m2 => Some(RegisterType::Byte),
            ElementType::Bf16 => Some(RegisterType::Bf16),
            ElementType::I16
            | ElementType::F16
            | ElementType::I32
            | ElementType::F32
            | ElementType::F4e2m1 => None,
        }
    }

    /// The number of the type in a register, 0 to 3.
    pub const fn number(self) -> usize {
        self as usize
    }

    /// 5-bit slots per element.
    pub const fn slots(self) -> usize {
        match self {
            RegisterType::I4 => 1,
            RegisterType::I4AsI8 | RegisterType::Byte => 2,
            RegisterType::Bf16 => 4,
        }
    }

    /// Elements in a row of one bank.
    pub const fn elements_per_line(self) -> usize {
        TRF_LINE_SLOTS / self.slots()
    }
}

impl core::fmt::Display for RegisterType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            RegisterType::I4 => "i4 in 5 bits",
            RegisterType::I4AsI8 => "i4 as i8 in 10 bits",
            RegisterType::Byte => "8 bits in 10 bits",
            RegisterType::Bf16 => "bf16 in 20 bits",
        })
    }
}

/// The place of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrfCell {
    /// The bank row, 0 to 7.
    pub bank_row: usize,
    /// The row in the bank, 0 to 127.
    pub row: usize,
    /// The bank column, 0 or 1.
    pub column: usize,
    /// The first slot of the element, 0 to 63.
    pub slot: usize,
}

impl TrfCell {
    /// Byte of the slice's TRF in which the element starts, as faults and commands count bytes: 8192 per bank row, 64
    /// per row, 32 per column.
    pub const fn byte(&self) -> usize {
        let line = self.row * TRF_COLUMNS + self.column;
        self.bank_row * TRF_BANK_ROW_BYTES
            + line * TRF_LINE_BYTES
            + self.slot * TRF_LINE_BYTES / TRF_LINE_SLOTS
    }
}

/// The first row of each bank that belongs to a part of the TRF, and the number of rows.
pub const fn bank_part(address: TrfAddress) -> (usize, usize) {
    match address {
        TrfAddress::Full => (0, TRF_BANK_DEPTH),
        TrfAddress::FirstHalf => (0, TRF_BANK_DEPTH / 2),
        TrfAddress::SecondHalf => (TRF_BANK_DEPTH / 2, TRF_BANK_DEPTH / 2),
    }
}

/// The map from (row, element) of a tensor to its place in the TRF.
///
/// ```
/// use furiosa_visa_std::chip::{RegisterType, TrfCell, TrfLayout};
/// use furiosa_visa_std::prelude::*;
/// let layout = TrfLayout::new(TrfAddress::SecondHalf, 4, RegisterType::Byte).expect("a TRF has 4 rows");
/// // Row 1 owns the bank rows 2 and 3, with 4096 bytes each in a half: byte 4100 is byte 4 of bank row 3.
/// assert_eq!(layout.cell(1, 4100), Some(TrfCell { bank_row: 3, row: 64, column: 0, slot: 8 }));
/// assert_eq!(layout.row_elements(), 8192);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TrfLayout {
    address: TrfAddress,
    rows: usize,
    register_type: RegisterType,
}

impl TrfLayout {
    /// The layout of a tensor in a part of the TRF. `None` unless `rows` is 1, 2, 4 or 8.
    pub const fn new(address: TrfAddress, rows: usize, register_type: RegisterType) -> Option<Self> {
        each!(k < TRF_ROWS.len(), {
            if TRF_ROWS[k] == rows {
                return Some(Self { address, rows, register_type });
            }
        });
        None
    }

    /// The part of the TRF.
    pub const fn address(&self) -> TrfAddress {
        self.address
    }

    /// Rows of the tensor.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Storage of the elements.
    pub const fn register_type(&self) -> RegisterType {
        self.register_type
    }

    /// Bank rows that each row owns.
    pub const fn banks_per_row(&self) -> usize {
        TRF_BANK_ROWS / self.rows
    }

    /// Largest number of elements in a row.
    pub const fn row_elements(&self) -> usize {
        let lines = self.banks_per_row() * bank_part(self.address).1 * TRF_COLUMNS;
        lines * self.register_type.elements_per_line()
    }

    /// The place of an element of a row. `None` past the end.
    pub const fn cell(&self, row: usize, element: usize) -> Option<TrfCell> {
        if row >= self.rows || element >= self.row_elements() {
            return None;
        }
        let (first, depth) = bank_part(self.address);
        let per_line = self.register_type.elements_per_line();
        let line = element / per_line;
        let own_row = line / TRF_COLUMNS;
        Some(TrfCell {
            bank_row: row * self.banks_per_row() + own_row / depth,
            row: first + own_row % depth,
            column: line % TRF_COLUMNS,
            slot: element % per_line * self.register_type.slots(),
        })
    }

    /// The row and the element that start at a place: the inverse of [`Self::cell`]. `None` where no element starts.
    pub const fn element(&self, cell: TrfCell) -> Option<(usize, usize)> {
        let (first, depth) = bank_part(self.address);
        let slots = self.register_type.slots();
        let outside = cell.bank_row >= TRF_BANK_ROWS
            || cell.row < first
            || cell.row >= first + depth
            || cell.column >= TRF_COLUMNS
            || cell.slot >= TRF_LINE_SLOTS;
        if outside || !cell.slot.is_multiple_of(slots) {
            return None;
        }
        let banks = self.banks_per_row();
        let own_row = cell.bank_row % banks * depth + cell.row - first;
        let line = own_row * TRF_COLUMNS + cell.column;
        Some((cell.bank_row / banks, line * self.register_type.elements_per_line() + cell.slot / slots))
    }

    /// The bit-field index of an element, most significant first: bank row (3 bits), row in the bank (7 bits, 6 in a
    /// half), column (1 bit), slot (6 bits). `None` past the end.
    pub const fn index(&self, row: usize, element: usize) -> Option<usize> {
        let (first, depth) = bank_part(self.address);
        match self.cell(row, element) {
            Some(cell) => {
                let line = (cell.bank_row * depth + cell.row - first) * TRF_COLUMNS + cell.column;
                Some(line * TRF_LINE_SLOTS + cell.slot)
            }
            None => None,
        }
    }
}

impl core::fmt::Display for TrfLayout {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { address, rows, register_type } = self;
        let (first, depth) = bank_part(*address);
        write!(
            f,
            "{address}: {} of {} bank rows each, rows {first}..{} of every bank, {register_type}, {} elements per line",
            if *rows == 1 { "1 row".to_string() } else { format!("{rows} rows") },
            self.banks_per_row(),
            first + depth,
            register_type.elements_per_line()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TrfAddress::{FirstHalf, Full, SecondHalf};

    fn all() -> impl Iterator<Item = TrfLayout> {
        [FirstHalf, SecondHalf, Full].into_iter().flat_map(|address| {
            TRF_ROWS.into_iter().flat_map(move |rows| {
                let layout =
                    move |register| TrfLayout::new(address, rows, register).expect("a number of rows");
                RegisterType::ALL.into_iter().map(layout)
            })
        })
    }

    /// The table of slots (guide: contraction): 1, 2, 2, 4 slots; 64, 32, 32, 16 elements per row.
    #[test]
    fn slots_per_element() {
        assert_eq!(RegisterType::ALL.map(RegisterType::number), [0, 1, 2, 3]);
        assert_eq!(RegisterType::ALL.map(RegisterType::slots), [1, 2, 2, 4]);
        assert_eq!(RegisterType::ALL.map(RegisterType::elements_per_line), [64, 32, 32, 16]);
        let of = ElementType::ALL.map(|element| RegisterType::of(element).map(RegisterType::number));
        let stored: Vec<_> =
            ElementType::ALL.into_iter().zip(of).filter_map(|(e, r)| Some((e, r?))).collect();
        use ElementType::{Bf16, F8e4m3, F8e5m2, I4, I5, I8, I9, U8};
        let expected = [(I4, 0), (I5, 0), (I8, 2), (I9, 2), (U8, 2), (F8e4m3, 2), (F8e5m2, 2), (Bf16, 3)];
        assert_eq!(stored.len(), expected.len());
        assert!(expected.iter().all(|pair| stored.contains(pair)), "{stored:?}");
        assert_eq!([0, 3, 5, 16].map(|rows| TrfLayout::new(Full, rows, RegisterType::Byte)), [None; 4]);
    }

    /// Worked out by hand with the formulas of the layout above: byte `a = element * bits / 8` of the row,
    /// `column = a / 32 % 2`, `row = a / 64`, `slot = element * slots % 64`.
    #[test]
    fn places_by_hand() {
        use RegisterType::{Bf16, Byte, I4, I4AsI8};
        // (part, rows, type, row, element, [bank row, row, column, slot], index)
        let goldens = [
            (Full, 8, Bf16, 0, 0, [0, 0, 0, 0], 0),
            // Byte 200 = 3 * 64 + 8.
            (Full, 8, Bf16, 3, 100, [3, 3, 0, 16], 3 << 14 | 3 << 7 | 16),
            // Byte 8190 = 127 * 64 + 62.
            (Full, 8, Bf16, 7, 4095, [7, 127, 1, 60], 7 << 14 | 127 << 7 | 1 << 6 | 60),
            (Full, 8, Byte, 5, 33, [5, 0, 1, 2], 5 << 14 | 1 << 6 | 2),
            (SecondHalf, 8, Byte, 5, 33, [5, 64, 1, 2], 5 << 13 | 1 << 6 | 2),
            // Row 64 of 8 row bits: the second of two bank rows.
            (SecondHalf, 4, Byte, 1, 4100, [3, 64, 0, 8], 3 << 13 | 8),
            // Byte 8192 = 128 * 64: row 128 of 256, the second of two bank rows.
            (Full, 4, Byte, 2, 8192, [5, 0, 0, 0], 5 << 14),
            // Byte 32767 = 511 * 64 + 63; row 511 is row 63 of bank row 7.
            (FirstHalf, 1, I4, 0, 65535, [7, 63, 1, 63], 7 << 13 | 63 << 7 | 1 << 6 | 63),
            // Byte 20: the element 40 starts at slot 40.
            (Full, 2, I4, 1, 40, [4, 0, 0, 40], 4 << 14 | 40),
            // Widened, an element takes a byte: 40 = 32 + 8.
            (Full, 2, I4AsI8, 1, 40, [4, 0, 1, 16], 4 << 14 | 1 << 6 | 16),
        ];
        for (address, rows, register, row, element, [bank_row, in_bank, column, slot], index) in goldens {
            let layout = TrfLayout::new(address, rows, register).expect("a number of rows");
            let cell = TrfCell { bank_row, row: in_bank, column, slot };
            assert_eq!(layout.cell(row, element), Some(cell), "{layout}, row {row}, element {element}");
            assert_eq!(layout.index(row, element), Some(index), "{layout}, row {row}, element {element}");
        }
    }

    /// Every slot of the part belongs to exactly one element, and no slot outside of it belongs to any.
    #[test]
    fn slots_are_used_once_and_all_of_them() {
        for layout in all() {
            let slots = layout.register_type().slots();
            let total = TRF_BANK_ROWS * TRF_BANK_DEPTH * TRF_COLUMNS * TRF_LINE_SLOTS;
            let mut used = vec![false; total];
            for row in 0..layout.rows() {
                for element in 0..layout.row_elements() {
                    let cell = layout.cell(row, element).expect("inside");
                    assert_eq!(layout.element(cell), Some((row, element)), "{layout}");
                    let line = (cell.bank_row * TRF_BANK_DEPTH + cell.row) * TRF_COLUMNS + cell.column;
                    for slot in cell.slot..cell.slot + slots {
                        assert!(slot < TRF_LINE_SLOTS, "{layout}");
                        assert!(
                            !core::mem::replace(&mut used[line * TRF_LINE_SLOTS + slot], true),
                            "{layout}"
                        );
                    }
                }
                assert_eq!(layout.cell(row, layout.row_elements()), None);
            }
            assert_eq!(layout.cell(layout.rows(), 0), None);
            for (k, &used) in used.iter().enumerate() {
                let in_bank = k / (TRF_LINE_SLOTS * TRF_COLUMNS) % TRF_BANK_DEPTH;
                let inside = match layout.address() {
                    Full => true,
                    FirstHalf => in_bank < 64,
                    SecondHalf => in_bank >= 64,
                };
                assert_eq!(used, inside, "{layout}");
            }
        }
    }

    /// Capacity in stored bytes, with elements of 4 bits, 8 bits (also for a widened `i4`), 8 bits, 16 bits.
    #[test]
    fn rows_hold_the_capacity_of_the_part() {
        for layout in all() {
            let bits = [4, 8, 8, 16][layout.register_type().number()];
            let bytes = layout.rows() * layout.row_elements() * bits / 8;
            assert_eq!(bytes, layout.address().capacity(), "{layout}");
        }
    }

    #[test]
    fn nothing_starts_between_elements_or_outside() {
        let layout = TrfLayout::new(SecondHalf, 8, RegisterType::Bf16).expect("8 rows");
        let cell = TrfCell { bank_row: 1, row: 64, column: 1, slot: 4 };
        assert_eq!(layout.element(cell), Some((1, 17)));
        for cell in [
            TrfCell { slot: 5, ..cell },
            TrfCell { slot: 64, ..cell },
            TrfCell { row: 63, ..cell },
            TrfCell { row: 128, ..cell },
            TrfCell { column: 2, ..cell },
            TrfCell { bank_row: 8, ..cell },
        ] {
            assert_eq!(layout.element(cell), None, "{cell:?}");
        }
    }
}
