//! A mapping has less than 2^64 positions.

use furiosa_visa_std::prelude::*;

axes![A = 4294967296, B = 4294967296];
type Mapping = m![A, B];

fn main() {
    let _ = <Mapping as M>::SIZE;
}
