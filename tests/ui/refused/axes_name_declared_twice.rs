//! An axis is declared once.

use furiosa_visa_std::prelude::*;

axes![A = 8, A = 4];

fn main() {}
