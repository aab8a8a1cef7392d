//! Every type parameter of a kernel appears in the type of an argument.

use furiosa_visa_std::prelude::*;

#[device(chip = 1)]
fn kernel<T: M>(_: &mut Context) {}

fn main() {}
