//! Kernels have docs, attributes, visibility, generics and `where`; those that are never called are legal, too.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8];

/// Copies a tensor.
#[allow(non_snake_case)]
#[device(chip = 1)]
#[inline]
pub fn copy<T, const N: u64>(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![{ T }, B]>,
    _: core::marker::PhantomData<[(); 1]>,
    ADDRESS: core::marker::PhantomData<Address64<N>>,
) -> HbmTensor<i8, m![1], m![{ T }, B]>
where
    T: M,
{
    let _ = ADDRESS;
    x.to_hbm(&mut ctx.tdma, N)
}

/// A number as a type.
pub struct Address64<const N: u64>;

#[device(chip = 1)]
pub(crate) fn never_called(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    x.to_dm::<m![1 # 2], m![A # 256], m![B]>(&mut ctx.tdma, 0);
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![A, B]>::zero().to_hbm::<m![1], m![A, B]>(&mut ctx.pdma, 0).await;
        let types = (core::marker::PhantomData, core::marker::PhantomData::<Address64<4096>>);
        let y = launch(copy, (&mut ctx, &x, types.0, types.1)).await;
        assert_eq!(y.address(), 4096);
    });
}
