//! An axis that is not declared is answered with those that are.

use furiosa_visa_std::prelude::*;

axes![M = 256, N = 8, Channels = 32];
type Mapping = m![M, n];
type Other = m![M % 4, Chanels / 2];

#[device(chip = 1)]
fn kernel(_: &mut Context, _: &HbmTensor<bf16, m![1], m![M, O]>) {}

fn main() {}
