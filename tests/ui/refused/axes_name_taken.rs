//! An axis does not share its name with another type of the module.

use furiosa_visa_std::prelude::*;

struct Batch;
axes![Batch = 8];

fn main() {}
