//! Tables that follow from types are exact: those of floats of four and eight bits.

use furiosa_visa_std::prelude::*;

fn main() {
    let _: LookupTable<f4e2m1, bf16> = LookupTable::of_types();
}
