//! Axes at module level, in functions, none at all, with attributes, with a trailing comma.

use furiosa_visa_std::prelude::*;

axes![];
axes![
    /// Positions of the decoder.
    S_dec = 1_024,
    Batch = 2usize,
    X9 = 0x10,
];

fn main() {
    axes![Inner = 3];
    assert_eq!(<m![S_dec, Batch, X9, Inner]>::SIZE, 1024 * 2 * 16 * 3);
    assert_eq!(S_dec::NAME.as_str(), "S_dec");
}
