//! The braces hold a const parameter as it is, and computations of other constants.

use furiosa_visa_std::prelude::*;

axes![H = 960];

fn size<const ROWS: usize>() -> usize {
    <m![H / { ROWS * 2 }]>::SIZE
}

fn main() {
    size::<4>();
}
