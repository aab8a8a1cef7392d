//! A number of positions is a `usize`.

use furiosa_visa_std::prelude::*;

axes![A = 8];
const N: u32 = 4;
type Mapping = m![A / { N }];

fn main() {}
