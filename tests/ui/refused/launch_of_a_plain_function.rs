//! Only functions with `#[device]` are launched.

use furiosa_visa_std::prelude::*;

fn kernel(_: &mut Context) {}

async fn host() {
    let mut ctx = Context::acquire();
    launch(kernel, &mut *ctx).await;
}

fn main() {
    let _ = host();
}
