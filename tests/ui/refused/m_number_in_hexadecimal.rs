//! Numbers are decimal.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![A # 0x10];

fn main() {}
