//! The only number that is an operand is 1.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![2];

fn main() {}
