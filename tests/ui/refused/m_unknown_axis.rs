//! Axes are declared.

use furiosa_visa_std::prelude::*;

axes![A = 8, Batches = 4];
type Mapping = m![A, Batch];

fn main() {}
