//! A kernel says for how many chips it is.

use furiosa_visa_std::prelude::*;

#[device]
fn kernel(_: &mut Context) {}

fn main() {}
