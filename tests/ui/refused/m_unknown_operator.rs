//! The operators are `/`, `%`, `=` and `#`.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![A * 2];

fn main() {}
