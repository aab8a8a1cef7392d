//! The addresses of tensors: those of the program, or bytes of its own for each.

/// Places of tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Addresses {
    /// At the addresses that the program gives: tensors at overlapping addresses overlap.
    #[default]
    AsGiven,
    /// Every tensor that a call makes has bytes of its own. A handle that was made from a bare address starts
    /// uninitialised. If results change with this option, tensors share bytes that should not.
    ///
    /// It takes the host's memory for the bytes of all tensors together. The checks `stale_reads`, `order` and
    /// `register_reuse` find nothing: no two tensors share a byte. Cycles, hazards and reports are those of the given
    /// addresses.
    Separate,
}

impl core::fmt::Display for Addresses {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Addresses::AsGiven => "as_given",
            Addresses::Separate => "separate",
        })
    }
}
