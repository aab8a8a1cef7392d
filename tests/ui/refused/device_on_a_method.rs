//! Only free functions are kernels.

use furiosa_visa_std::prelude::*;

struct Model;

impl Model {
    #[device(chip = 1)]
    fn kernel(&self, _: &mut Context) {}
}

fn main() {}
