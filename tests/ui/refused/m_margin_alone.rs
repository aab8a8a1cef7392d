//! Dead positions surround something.

use furiosa_visa_std::prelude::*;

axes![A = 8];
type Mapping = m![A, # 2];

fn main() {}
