//! A `+` stands between dead positions and what they surround.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![A, # 2 B];

fn main() {}
