//! Numbers are integers.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![A # 9.5];

fn main() {}
