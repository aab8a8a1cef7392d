//! The kernel of the README: a matrix product, one row of the result per slice.
//!
//! Run it: `cargo run --release --example 00_hello`

use furiosa_visa_std::prelude::*;
use rand::{SeedableRng, rngs::SmallRng};

axes![M = 256, N = 8, K = 32];
type Cluster = m![1 # 2];

/// `c[m, n] = Σ a[m, k] · b[n, k]`: slice `m` computes row `m`.
#[device(chip = 1)]
fn product(
    ctx: &mut Context,
    a: &HbmTensor<bf16, m![1], m![M, K]>,
    b: &HbmTensor<bf16, m![1], m![N, K]>,
) -> HbmTensor<f32, m![1], m![M, N]> {
    let a = a.to_dm::<Cluster, m![M], m![K]>(&mut ctx.tdma, 0);
    let b = b.to_dm::<Cluster, m![M], m![N, K]>(&mut ctx.tdma, 1024); // every slice gets all of b
    let weights = (ctx.sub.begin(b.view()).fetch::<bf16, m![N], m![K]>())
        .collect::<m![N, K / 16], m![K % 16]>()
        .to_trf::<m![N], m![K]>(TrfAddress::Full);
    let c = (ctx.main.begin(a.view()).fetch::<bf16, m![1], m![K]>())
        .collect::<m![K / 16], m![K % 16]>()
        .align::<m![1], m![K], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![N]>(2048);
    c.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// Runs the example.
pub fn main() {
    let mut rng = SmallRng::seed_from_u64(7);
    let a = HostTensor::<bf16, m![M, K]>::rand(&mut rng);
    let b = HostTensor::<bf16, m![N, K]>::rand(&mut rng);

    let c = pollster::block_on(async {
        let mut ctx = Context::acquire();
        let a = a.to_hbm::<m![1], m![M, K]>(&mut ctx.pdma, 0).await;
        let b = b.to_hbm::<m![1], m![N, K]>(&mut ctx.pdma, 1 << 16).await;
        let c = launch(product, (&mut ctx, &a, &b)).await;
        c.to_host::<m![M, N]>(&mut ctx.pdma).await
    });

    // The same product in plain f32.
    let widen = |x: &Opt<bf16>| x.map(f32::from);
    let (a, b) = (a.into_inner().map(widen), b.into_inner().map(widen));
    let expected: Tensor<f32, m![M, N]> = Tensor::contraction::<m![M, N, K], _, _>(&a, &b);
    let difference = (c.to_buf().iter().zip(expected.to_buf()))
        .map(|(x, y)| (x.unwrap() - y.unwrap()).abs())
        .fold(0.0, f32::max);
    assert!(difference < 1e-5, "the chip and the host differ by {difference}");
    println!(
        "256 x 8 results, first row {:?}",
        &c.to_buf()[..8].iter().map(|x| x.unwrap()).collect::<Vec<_>>()
    );
    println!("largest difference to the host: {difference:e}");
}
