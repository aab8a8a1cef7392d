//! A kernel that returns a view says from which argument it borrows.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(_: &mut Context, x: HbmTensorView<'_, i8, m![1], m![A]>) -> HbmTensorView<'_, i8, m![1], m![A]> {
    x
}

fn main() {}
