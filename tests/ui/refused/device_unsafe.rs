//! A kernel is not `unsafe`.

use furiosa_visa_std::prelude::*;

#[device(chip = 1)]
unsafe fn kernel(_: &mut Context) {}

fn main() {}
