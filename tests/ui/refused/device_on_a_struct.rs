//! Only functions are kernels.

use furiosa_visa_std::prelude::*;

#[device(chip = 1)]
struct Kernel;

fn main() {}
