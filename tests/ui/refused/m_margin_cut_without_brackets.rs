//! Dead positions bind looser than the operators.

use furiosa_visa_std::prelude::*;

axes![B = 90];
type Mapping = m![# 2 + B + # 4 / 32];

fn main() {}
