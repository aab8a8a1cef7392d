//! What stands in braces is a mapping type.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![{ A }];

fn main() {
    let _ = <Mapping as M>::SIZE;
}
