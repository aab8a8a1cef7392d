//! A position is written after a colon.

use furiosa_visa_std::prelude::*;

axes![A = 8];

fn main() {
    let _ = i![A = 2];
}
