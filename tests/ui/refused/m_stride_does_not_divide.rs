//! The stride divides the size of its operand.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![A / 3];

fn main() {
    let _ = <Mapping as M>::SIZE;
}
