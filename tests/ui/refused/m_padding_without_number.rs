//! A kind of padding stands before a number.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![A #{!}, B];

fn main() {}
