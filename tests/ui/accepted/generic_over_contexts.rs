//! Functions are generic over the context, and say `{ Tu::Main }` where they are not.

use furiosa_visa_std::prelude::*;

axes![A = 4, B = 8];

type Stored<'l> = DmTensorView<'l, i8, m![1], m![1 # 2], m![1 # 256], m![A, B]>;
type Flits<'l, const T: Tu> = CollectTensor<'l, T, i8, m![1], m![1 # 2], m![1 # 256], m![A], m![B # 32]>;

fn flits<'l, const T: Tu>(ctx: &'l mut TuContext<T>, x: Stored<'l>) -> Flits<'l, T> {
    ctx.begin(x).fetch::<i8, m![A], m![B]>().collect()
}

fn store(flits: Flits<'_, { Tu::Main }>) -> DmTensor<i8, m![1], m![1 # 2], m![1 # 256], m![A, B]> {
    flits.commit(1024)
}

fn send<const DMA: Dma>(dma: &mut DmaContext<DMA>, x: &HbmTensor<i8, m![1], m![A, B]>) {
    x.to_hbm::<DMA, m![B, A]>(dma, 1 << 16);
}

#[device(chip = 1)]
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) {
    send(&mut ctx.tdma, x);
    send(&mut ctx.pdma, x);
    let x = x.to_dm(&mut ctx.tdma, 0);
    store(flits(&mut ctx.main, x.view()));
    let again = flits::<{ Tu::Sub }>(&mut ctx.sub, x.view());
    again.to_trf::<m![A], m![B # 32]>(TrfAddress::SecondHalf);
}

fn main() {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        launch(kernel, (&mut ctx, &x)).await;
    });
}
