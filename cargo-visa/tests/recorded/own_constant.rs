//! A constant of the user's.

use furiosa_visa_std::prelude::*;

axes![X = 12];

const SIZE: usize = <m![X / 5] as M>::SIZE;

fn main() {
    println!("{SIZE}");
}
