//! A matrix product whose weights do not fit the register file, streamed through its two halves.
//!
//! ```text
//!   x   M = 1024 rows over 2 clusters x 256 slices: 2 rows of K = 1024 per slice
//!   w   8 blocks of N = 16 rows of K: 32 KiB each, 256 KiB in all; the TRF of a slice holds 64 KiB
//!
//!   DMA    w0 w1 w2 w3 …      HBM to one of two buffers in DM
//!   sub       w0 w1 w2 w3 …   DM to FirstHalf, SecondHalf, FirstHalf, …
//!   main         y0 y1 y2 …   block b is used while the sub context fills the other half with block b + 1
//! ```
//!
//! Run it: `cargo run --release --example 03_matmul_tiled`

use furiosa_visa_std::prelude::*;
use rand::{SeedableRng, rngs::SmallRng};

axes![M = 1024, N = 16, K = 1024];
/// Blocks of weights.
const BLOCKS: usize = 8;

type Cluster = m![M / 512];
type Slice = m![M / 2 % 256];
type Rows = m![M % 2];
/// 8 weights in the rows of the TRF, two groups of them after each other.
type Row = m![N % 8];
type Group = m![N / 8];

type X = HbmTensor<bf16, m![1], m![M, K]>;
type W = HbmTensor<bf16, m![1], m![N, K]>;
type Y = HbmTensor<f32, m![1], m![M, N]>;
type DmX = DmTensor<bf16, m![1], Cluster, Slice, m![{ Rows }, K]>;
type Weights = TrfTensor<bf16, m![1], Cluster, Slice, Row, m![{ Group }, K]>;

const BLOCK_BYTES: u64 = (N::SIZE * K::SIZE * 2) as u64;
/// Where things live in the DM of each slice.
const X_ADDRESS: u64 = 0;
const W_ADDRESS: u64 = 64 << 10;
const Y_ADDRESS: u64 = 256 << 10;

/// Brings a block of weights to one half of the register file. Every slice gets all of it.
fn load(ctx: &mut Context, w: &W, block: usize) -> Weights {
    let buffer = W_ADDRESS + block as u64 % 2 * BLOCK_BYTES;
    let w: DmTensor<bf16, m![1], Cluster, Slice, m![N, K]> = w.to_dm(&mut ctx.tdma, buffer);
    (ctx.sub.begin(w.view()))
        .fetch::<bf16, m![{ Row }, { Group }], m![K]>()
        .collect::<m![{ Row }, { Group }, K / 16], m![K % 16]>()
        .to_trf(if block.is_multiple_of(2) { TrfAddress::FirstHalf } else { TrfAddress::SecondHalf })
}

/// `y[m, n] = Σ x[m, k] · w[n, k]` for the weights of one block.
fn multiply(ctx: &mut Context, x: &DmX, weights: &Weights, block: usize) -> Y {
    let y = (ctx.main.begin(x.view()).fetch::<bf16, Rows, m![K]>())
        .collect::<m![{ Rows }, K / 16], m![K % 16]>()
        // Each packet of 32 products meets both groups of weights before the next one comes.
        .align::<m![{ Rows }, K / 32, { Group }], m![K % 32], _, _>(weights)
        .contract::<m![1]>()
        .accumulate::<m![{ Rows }, { Group }], Row>(AccumulationKind::Interleaved)
        .commit::<m![{ Rows }, N]>(Y_ADDRESS + block as u64 % 2 * 4096);
    y.to_hbm(&mut ctx.tdma, (1 << 30) + (block * Y::size()) as u64)
}

#[device(chip = 1)]
fn product(ctx: &mut Context, x: &X, w: &[W; BLOCKS]) -> [Y; BLOCKS] {
    let x: DmX = x.to_dm(&mut ctx.tdma, X_ADDRESS);
    let mut weights = Some(load(ctx, &w[0], 0));
    std::array::from_fn(|block| {
        // Order a block of weights before the product that runs meanwhile.
        let next = w.get(block + 1).map(|w| load(ctx, w, block + 1));
        let loaded = std::mem::replace(&mut weights, next).expect("one load for each block");
        multiply(ctx, &x, &loaded, block)
    })
}

/// Runs the example.
pub fn main() {
    let mut rng = SmallRng::seed_from_u64(11);
    let x = HostTensor::<bf16, m![M, K]>::rand(&mut rng);
    let w: [_; BLOCKS] = std::array::from_fn(|_| HostTensor::<bf16, m![N, K]>::rand(&mut rng));

    let y: Vec<HostTensor<f32, m![M, N]>> = pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x: X = x.to_hbm(&mut ctx.pdma, 0).await;
        let mut blocks = Vec::new();
        for (block, w) in w.iter().enumerate() {
            blocks.push(w.to_hbm(&mut ctx.pdma, (1 << 24) + block as u64 * BLOCK_BYTES).await);
        }
        let blocks: [W; BLOCKS] = blocks.try_into().expect("one tensor for each block");
        let mut results = Vec::new();
        for y in launch(product, (&mut ctx, &x, &blocks)).await {
            results.push(y.to_host(&mut ctx.pdma).await);
        }
        results
    });

    let values = |tensor: &[Opt<bf16>]| tensor.iter().map(|x| f64::from(f32::from(x.unwrap()))).collect();
    let x: Vec<f64> = values(&x.to_buf());
    let mut largest: f64 = 0.0;
    for (w, y) in w.iter().zip(&y) {
        let w: Vec<f64> = values(&w.to_buf());
        for (m, row) in y.to_buf().chunks_exact(N::SIZE).enumerate() {
            for (n, found) in row.iter().enumerate() {
                let products = (0..K::SIZE).map(|k| x[m * K::SIZE + k] * w[n * K::SIZE + k]);
                let expected: f64 = products.sum();
                largest = largest.max((f64::from(found.unwrap()) - expected).abs());
            }
        }
    }
    println!("{} x {} results of {} products each", M::SIZE, BLOCKS * N::SIZE, K::SIZE);
    println!("weights: {} KiB per slice, through halves of 32 KiB", BLOCKS as u64 * BLOCK_BYTES / 1024);
    println!("largest difference to the host: {largest:e}");
    assert!(largest < 1e-3, "the chip and the host differ");
}
