//! A kernel and its generated type have different names.

use furiosa_visa_std::prelude::*;

#[device(chip = 1)]
fn Kernel(_: &mut Context) {}

fn main() {}
