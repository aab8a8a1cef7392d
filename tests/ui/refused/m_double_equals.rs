//! Truncation is written with one `=`.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![A == 4];

fn main() {}
