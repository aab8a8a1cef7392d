//! The argument types of a kernel are written out.

use furiosa_visa_std::prelude::*;

#[device(chip = 1)]
fn kernel(_: &mut Context, _: &HbmTensor<i8, m![1], impl M>) {}

fn main() {}
