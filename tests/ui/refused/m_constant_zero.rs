//! A constant in the place of a number is at least 1.

use furiosa_visa_std::prelude::*;

axes![A = 8];
const NONE: usize = 0;

fn main() {
    let _ = <m![A = { NONE }]>::SIZE;
}
