//! A launch takes the guard as `&mut ctx`, the context as `&mut *ctx`, and a borrowed context.

use furiosa_visa_std::prelude::*;

axes![A = 8];

#[device(chip = 1)]
fn kernel(_: &mut Context, _: &HbmTensor<i8, m![1], m![A]>) {}

async fn run(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A]>) {
    launch(kernel, (ctx, x)).await;
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![A]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(kernel, (&mut ctx, &x)).await;
        launch(kernel, (&mut *ctx, &x)).await;
        assert!(try_launch(kernel, (&mut *ctx, &x)).await.is_ok());
        run(&mut ctx, &x).await;
    });
}
