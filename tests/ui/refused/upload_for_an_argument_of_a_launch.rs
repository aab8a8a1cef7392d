//! An upload that names no mapping gets that of an argument of the launch, and is refused if it is another one.

use furiosa_visa_std::prelude::*;

axes![M = 256, N = 8, K = 32];

#[device(chip = 1)]
fn kernel(_: &mut Context, _: &HbmTensor<bf16, m![1], m![M, K]>) {}

fn main() {
    let mut ctx = Context::acquire();
    let upload = async {
        let b = HostTensor::<bf16, m![N, K]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        launch(kernel, (&mut *ctx, &b)).await;
    };
    pollster::block_on(upload);
}
