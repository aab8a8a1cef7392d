//! The braces in the place of a number hold one constant.

use furiosa_visa_std::prelude::*;

axes![A = 8];
const N: usize = 4;
type Mapping = m![A # { N, N }];

fn main() {}
