//! A cut of a block counts its dead positions.

use furiosa_visa_std::prelude::*;

axes![B = 90];

fn main() {
    let _ = <m![[# 2 + B] / 32]>::SIZE;
}
