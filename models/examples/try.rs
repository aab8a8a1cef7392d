//! Trial.
#![allow(missing_docs)]
use furiosa_visa_models::{chip::{token::*, attention::*, layout::*, prepare}, weights::Weights};
use furiosa_visa_std::prelude::*;
fn main() {
    let layers = std::env::args().nth(1).map_or(2, |a| a.parse().unwrap());
    let weights = Weights::synthetic(layers, 1);
    let mut ctx = Context::acquire();
    pollster::block_on(async {
        let network = prepare::network(&mut ctx, &weights).await;
        let mut page: Page = HostTensor::<f32, m![L, S, J = 2, K, D]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        for p in 0..3 {
            let t = std::time::Instant::now();
            let y = launch(token_1, (&mut *ctx, &network, &mut page, (100 + p, p))).await;
            println!("{:?}", t.elapsed());
            let y = y.to_host::<m![C, V]>(&mut ctx.pdma).await.to_vec();
            println!("{:?}", &y[..4]);
        }
    });
}
