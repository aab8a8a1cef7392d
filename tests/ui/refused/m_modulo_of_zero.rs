//! The period is at least 1.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![A % 0];

fn main() {}
