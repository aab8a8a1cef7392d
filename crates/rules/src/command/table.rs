//! The content of the fetch adapter's lookup table.

use crate::scalar::{ElementType, table_codes};
use std::sync::Arc;

/// A lookup table of the fetch adapter: one entry per code of the stored type.
#[derive(Clone, PartialEq, Eq)]
pub struct Table {
    /// The stored type, whose codes are the indices.
    pub input: ElementType,
    /// The type of the entries.
    pub output: ElementType,
    /// The encoding of each entry in its low bits, indexed by the code of the input: `1 << input.bits()` entries.
    pub codes: Arc<[u32]>,
}

impl Table {
    /// The table from one type to another: each entry has the value of its index. `None`: there is no such table.
    ///
    /// ```
    /// use furiosa_visa_std::command::Table;
    /// use furiosa_visa_std::scalar::ElementType::{Bf16, F4e2m1, F8e4m3};
    ///
    /// let table = Table::of_types(F4e2m1, F8e4m3).expect("there is a table");
    /// assert_eq!((table.codes[7], table.codes[8]), (0x4c, 0x80));
    /// assert_eq!(Table::of_types(F4e2m1, Bf16), None);
    /// ```
    pub fn of_types(input: ElementType, output: ElementType) -> Option<Self> {
        Some(Self { input, output, codes: table_codes(input, output)?.into() })
    }
}

impl core::fmt::Debug for Table {
    /// Prints the types and the number of entries, because the entries would fill a screen.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Table({} -> {}, {} entries)", self.input, self.output, self.codes.len())
    }
}
