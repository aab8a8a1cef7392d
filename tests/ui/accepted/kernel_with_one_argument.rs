//! A kernel of one argument is launched with the argument itself.

use furiosa_visa_std::prelude::*;

#[device(chip = 1)]
fn single(_: &mut Context) {}

#[device(chip = 1)]
fn double(x: u32) -> u32 {
    2 * x
}

#[device(chip = 1)]
fn nothing() {}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        launch(single, &mut *ctx).await;
        launch(single, &mut ctx).await;
        assert_eq!(launch(double, 21).await, 42);
        launch(nothing, ()).await;
    });
}
