//! Numbers have no suffix.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![A / 8usize];

fn main() {}
