//! The content of the fetch adapter's lookup table.

use crate::scalar::ElementType;
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

impl core::fmt::Debug for Table {
    /// Prints the types and the number of entries, because the entries would fill a screen.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Table({} -> {}, {} entries)", self.input, self.output, self.codes.len())
    }
}
