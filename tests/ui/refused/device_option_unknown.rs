//! The only option of a kernel is `chip`.

use furiosa_visa_std::prelude::*;

#[device(chips = 1)]
fn kernel(_: &mut Context) {}

fn main() {}
