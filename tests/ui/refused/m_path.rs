//! An operand is one name, not a path.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![self::A];

fn main() {}
