//! Padding does not make a mapping smaller.

use furiosa_visa_std::prelude::*;

axes![A = 8, B = 4];
type Mapping = m![A # 7];

fn main() {
    let _ = <Mapping as M>::SIZE;
}
