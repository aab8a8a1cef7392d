//! No mapping says what lies in its padding.

use furiosa_visa_std::prelude::*;

axes![A = 8];
type Mapping = m![A #{0} 16];

fn main() {}
