//! A position is a `usize`.

use furiosa_visa_std::prelude::*;

axes![A = 8];

fn main() {
    let _ = i![A: -1];
}
