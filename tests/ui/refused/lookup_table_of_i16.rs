//! The index of a lookup table has 4 or 8 bits.

use furiosa_visa_std::prelude::*;

fn main() {
    let _ = LookupTable::from_fn(|value: i16| value);
}
