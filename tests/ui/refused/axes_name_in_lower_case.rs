//! The name of an axis starts with an upper-case letter.

use furiosa_visa_std::prelude::*;

axes![batch = 8];

fn main() {}
