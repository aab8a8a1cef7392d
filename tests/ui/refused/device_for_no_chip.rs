//! A kernel runs on at least one chip.

use furiosa_visa_std::prelude::*;

#[device(chip = 0)]
fn kernel(_: &mut Context) {}

fn main() {}
