//! Three calls of a chain are refused for one wrong size, and a call of another chain for its own.

use furiosa_visa_std::prelude::*;

axes![N = 16, R = 64];

#[device(chip = 1)]
fn biases(ctx: &mut Context, b: &HbmTensor<f32, m![1], m![N]>) {
    let b = b.to_dm::<m![1 # 2], m![R, 1 # 4], m![N]>(&mut ctx.tdma, AUTO);
    let _first = (ctx.sub.begin(b.view()).fetch::<f32, m![N / 7], m![N % 7]>())
        .collect::<m![N / 7], m![N % 7]>()
        .to_vrf::<m![N]>(0);
    let _second = (ctx.sub.begin(b.view()).fetch::<f32, m![N / 8], m![N % 8]>())
        .collect::<m![N / 8], m![N % 8]>()
        .to_vrf::<m![R]>(1024);
}

fn main() {
    let mut ctx = Context::acquire();
    pollster::block_on(async {
        let b = HostTensor::<f32, m![N]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        launch(biases, (&mut *ctx, &b)).await;
    });
}
