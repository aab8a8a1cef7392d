//! The size of an axis is one integer literal.

use furiosa_visa_std::prelude::*;

const N: usize = 8;
axes![A = N];

fn main() {}
