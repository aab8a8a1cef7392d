//! The size of an axis is at least 1.

use furiosa_visa_std::prelude::*;

axes![A = 0];

fn main() {}
