//! The braces in the place of a number hold a value.

use furiosa_visa_std::prelude::*;

axes![A = 8];

fn size<Rows: M>() -> usize {
    <m![A / { Rows }]>::SIZE
}

fn main() {
    size::<m![A]>();
}
