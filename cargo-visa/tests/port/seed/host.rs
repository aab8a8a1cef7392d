//! Values of the host, and zero points.

use furiosa_visa_std::prelude::*;

axes![A = 512, B = 64];

type Cluster = m![1 # 2];
type Codes<D> = HbmTensor<D, m![1], m![A, B]>;

/// Codes without their zero point.
#[device(chip = 1)]
pub fn difference(ctx: &mut Context, x: &Codes<i8>, zero: i8) {
    let x = x.to_dm::<Cluster, m![A / 2], m![A % 2, B]>(&mut ctx.tdma, AUTO);
    let own = (ctx.sub.begin(x.view()))
        .fetch_with_zero_point::<i9, m![A % 2], m![B]>(zero)
        .collect::<m![A % 2, B / 32], m![B % 32]>()
        .to_trf_auto::<m![A % 2], m![B]>();
    let other = (ctx.sub.begin(x.view()).fetch_with_zero_point::<i9, m![A % 2], m![B]>(-5))
        .collect::<m![A % 2, B / 32], m![B % 32]>()
        .to_trf_auto::<m![A % 2], m![B]>();
    let _ = (own, other);
}

/// To the chip and back.
pub async fn run(values: Vec<i8>) -> Vec<i8> {
    let mut ctx = Context::acquire();
    let x: Codes<i8> = HostTensor::<i8, m![A, B]>::from_slice(&values).to_hbm(&mut ctx.pdma, AUTO).await;
    let ones = HostTensor::<i8, m![A, B]>::from_slice(&vec![1; A::SIZE * B::SIZE]);
    let _ones: Codes<i8> = ones.to_hbm(&mut ctx.pdma, AUTO).await;
    launch(difference, (&mut *ctx, &x, 3)).await;
    x.to_host::<m![A, B]>(&mut ctx.pdma).await.to_vec()
}
