//! A kernel of ten arguments: contexts, tensors, views and numbers. At most 23 are allowed.

use furiosa_visa_std::prelude::*;

axes![A = 8];

type X = HbmTensor<i8, m![1], m![A]>;

#[device(chip = 1)]
#[allow(clippy::too_many_arguments)]
fn ten(
    ctx: &mut Context,
    a: &X,
    b: &mut X,
    c: HbmTensorView<'_, i8, m![1], m![A]>,
    d: HbmTensorViewMut<'_, i8, m![1], m![A]>,
    e: u64,
    f: bool,
    g: f32,
    h: (i8, usize),
    i: &X,
) -> X {
    assert!(f && g == 0.5 && h == (-1, 3) && e == 1 << 16);
    a.view().to_hbm_view(&mut ctx.tdma, b.view_mut());
    c.to_hbm_view(&mut ctx.tdma, d);
    i.to_hbm(&mut ctx.tdma, e)
}

#[device(chip = 1)]
fn most(
    _: &mut Context,
    (_, _): (u8, u8),
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    _: u8,
    mut last: u8,
) -> u8 {
    last += 1;
    last
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let host = HostTensor::<i8, m![A]>::from_buf((0..8).map(Opt::Init).collect());
        let a: X = host.to_hbm(&mut ctx.pdma, 0).await;
        // SAFETY: the kernel writes both before anything reads them.
        let (mut b, mut d) = unsafe { (X::from_addr(256), X::from_addr(512)) };
        let arguments = (&mut *ctx, &a, &mut b, a.view(), d.view_mut(), 1 << 16, true, 0.5, (-1, 3), &a);
        let i = launch(ten, arguments).await;
        for x in [&b, &d, &i] {
            assert_eq!(x.to_host::<m![A]>(&mut ctx.pdma).await.to_buf(), host.to_buf());
        }
        let arguments = (&mut *ctx, (0, 0), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9);
        assert_eq!(launch(most, arguments).await, 10);
    });
}
