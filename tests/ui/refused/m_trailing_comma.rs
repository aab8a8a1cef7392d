//! A mapping does not end in a comma.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![A,];

fn main() {}
