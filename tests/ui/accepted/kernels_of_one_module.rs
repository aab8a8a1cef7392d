//! A module has several kernels, one of which is called `kernel`.

use furiosa_visa_std::prelude::*;

#[device(chip = 1)]
fn kernel(_: &mut Context) {}

#[device(chip = 1)]
fn other(x: u32) -> u32 {
    2 * x
}

fn main() {
    pollster::block_on(async {
        launch(kernel, &mut *Context::acquire()).await;
        assert_eq!(launch(other, 21).await, 42);
    });
}
