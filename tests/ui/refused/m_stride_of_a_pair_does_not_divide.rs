//! The stride divides the size of a pair.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![[A, B] / 5];

fn main() {
    let _ = <Mapping as M>::SIZE;
}
