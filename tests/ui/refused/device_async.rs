//! A kernel is not `async`.

use furiosa_visa_std::prelude::*;

#[device(chip = 1)]
async fn kernel(_: &mut Context) {}

fn main() {}
