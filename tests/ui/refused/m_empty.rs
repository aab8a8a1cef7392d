//! A mapping has at least one operand.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![];

fn main() {}
