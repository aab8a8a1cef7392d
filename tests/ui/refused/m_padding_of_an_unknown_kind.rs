//! Padding has three kinds.

use furiosa_visa_std::prelude::*;

axes![A = 8];
type Mapping = m![A #{Top} 16];

fn main() {}
