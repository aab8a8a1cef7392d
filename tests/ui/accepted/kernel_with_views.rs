//! Kernels take views, write into tensors of the host, and return nothing.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8];

#[device(chip = 1)]
fn transpose(
    ctx: &mut Context,
    x: HbmTensorView<'_, i8, m![1], m![A, B]>,
    y: HbmTensorViewMut<'_, i8, m![1], m![B, A]>,
) {
    x.to_hbm_view(&mut ctx.tdma, y);
}

#[device(chip = 1)]
fn first<'a>(
    _: &mut Context,
    x: HbmTensorView<'a, i8, m![1], m![A, B]>,
    _: HbmTensorView<'_, i8, m![1], m![A, B]>,
) -> HbmTensorView<'a, i8, m![1], m![A, B]> {
    x
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let host = HostTensor::<i8, m![A, B]>::from_buf((0..32).map(Opt::Init).collect());
        let x = host.to_hbm::<m![1], m![A, B]>(&mut ctx.pdma, 0).await;
        // SAFETY: the kernel writes it before it is read.
        let mut y = unsafe { HbmTensor::<i8, m![1], m![B, A]>::from_addr(64) };
        launch(transpose, (&mut ctx, x.view(), y.view_mut())).await;
        assert_eq!(y.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf(), host.to_buf());
        let same = launch(first, (&mut ctx, x.view(), x.view())).await;
        assert_eq!(same.address(), x.address());
    });
}
