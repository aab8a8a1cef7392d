//! An index entry has a position.

use furiosa_visa_std::prelude::*;

axes![A = 8];

fn main() {
    let _ = i![A];
}
