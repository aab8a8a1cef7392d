//! A matrix product that fills the chip: all slices, with weights loaded while others are used, and sums over slices.
//!
//! ```text
//!   16384 x 16384 x 16384 in i8, a half of M at a time
//!
//!   slices   K in 32 parts of 512; 8 teams of 32 slices in each of 2 clusters, with 512 rows of M each
//!   x        stays in DM: 256 KiB per slice
//!   w        256 blocks of 64 columns: 32 KiB per slice, through the halves of a buffer in DM and of the register file
//!   y        the 32 slices of a team have a partial sum each: they add them, and each keeps a 32nd of the rows
//!
//!   DMA    w0 w1 w2 y0 w3 y1 …
//!   sub       w0 w1 w2    w3 …
//!   main         y0 y1    y2 …
//! ```
//!
//! Tiles of `x` and `w` are read where they lie in HBM, and those of `y` are written where they belong, 256 bytes of a row at a
//! time.
//!
//! Run it: `cargo run --release --example 14_matmul_large -- --small` (2048), or with 2048, 4096, 8192 or 16384, which is
//! the default. `VISA_COMPUTE=shapes_only` computes the time alone.

use furiosa_visa_std::prelude::*;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::time::Instant;

/// The product of square matrices, as a function of seed and size.
///
/// `$teams` of `$ways` slices are a cluster. `$half`, `$quarter`: of `M`. `$rows`: of `M`, of a team, which are `$steps` for
/// each of its slices. `$part`: of `K`, of a slice, in so many `$flits` and `$pairs` of them. `$block`: the columns whose
/// `$part` is 32 KiB, in `$groups` of 8; there are `$blocks`.
macro_rules! product {
    (
        $name:ident: $size:tt, teams $teams:tt, ways $ways:tt, half $half:tt, quarter $quarter:tt, rows $rows:tt,
        steps $steps:tt, part $part:tt, flits $flits:tt, pairs $pairs:tt, block $block:tt, groups $groups:tt,
        blocks $blocks:tt
    ) => {
        mod $name {
            use super::*;

            axes![M = $size, N = $size, K = $size];

            type Cluster = m![M / $quarter % 2];
            type Slice = m![M / $rows % $teams, K / $part];
            /// 8 weights in the rows of the TRF, groups of them after each other.
            type Row = m![N % 8];
            type Group = m![N / 8 % $groups];

            type X = HbmTensor<i8, m![1], m![M, K]>;
            type W = HbmTensor<i8, m![1], m![N, K]>;
            type Y = HbmTensor<i32, m![1], m![M, N]>;
            type DmX = DmTensor<i8, m![1], Cluster, Slice, m![M % $rows, K % $part]>;
            type DmW = DmTensor<i8, m![1], Cluster, Slice, m![N % $block, K % $part]>;
            type Weights = TrfTensor<i8, m![1], Cluster, Slice, Row, m![{ Group }, K % $part]>;
            /// The slices of a team share the rows of their sum.
            type Shared = m![M / $rows % $teams, M % $ways];
            type DmY = DmTensor<i32, m![1], Cluster, Shared, m![M / $ways % $steps, N % $block]>;

            /// Where things live in the DM of each slice.
            const X_ADDRESS: u64 = 0;
            const W_ADDRESS: u64 = 256 << 10;
            const Y_ADDRESS: u64 = 320 << 10;
            /// Of a block of weights; a block of sums has no more.
            const BLOCK_BYTES: u64 = 32 << 10;

            /// Brings a block of weights to one half of the register file.
            fn load(ctx: &mut Context, w: &W, block: usize) -> Weights {
                let w = w.view().tile::<m![N / $block], 1, m![1 # $blocks, N % $block, K]>(block);
                let w: DmW = w.to_dm(&mut ctx.tdma, W_ADDRESS + block as u64 % 2 * BLOCK_BYTES);
                (ctx.sub.begin(w.view()))
                    .fetch::<i8, m![{ Row }, { Group }], m![K % $part]>()
                    .collect::<m![{ Row }, { Group }, K / 32 % $flits], m![K % 32]>()
                    .to_trf(if block.is_multiple_of(2) { TrfAddress::FirstHalf } else { TrfAddress::SecondHalf })
            }

            /// `y[m, n] = Σ x[m, k] · w[n, k]` for the rows in DM and the columns of one block.
            fn multiply(ctx: &mut Context, x: &DmX, weights: &Weights, block: usize) -> DmY {
                (ctx.main.begin(x.view()).fetch::<i8, m![M % $rows], m![K % $part]>())
                    .collect::<m![M % $rows, K / 32 % $flits], m![K % 32]>()
                    // Each packet of 64 products meets all groups of weights before the next one comes.
                    .align::<m![M % $rows, K / 64 % $pairs, { Group }], m![K % 64], _, _>(weights)
                    .contract::<m![1]>()
                    .accumulate::<m![M % $rows, { Group }], Row>(AccumulationKind::Interleaved)
                    .vector_init()
                    .vector_inter_slice_reduce::<Shared, m![M / $ways % $steps, { Group }]>(
                        InterSliceReduceOpI32::Add,
                    )
                    .vector_final()
                    .commit(Y_ADDRESS + block as u64 % 2 * BLOCK_BYTES)
            }

            #[device(chip = 1)]
            fn product(ctx: &mut Context, x: &X, w: &W, y: &mut Y) {
                for (half, mut y) in y.view_mut().split_tiles_mut::<m![M / $half], 1, m![1 # 2, M % $half, N]>().enumerate() {
                    let x = x.view().tile::<m![M / $half], 1, m![1 # 2, M % $half, K]>(half);
                    let x: DmX = x.to_dm(&mut ctx.tdma, X_ADDRESS);
                    let mut next = Some(load(ctx, w, 0));
                    for block in 0..$blocks {
                        // Order a block of weights before the product that runs meanwhile.
                        let following = (block + 1 < $blocks).then(|| load(ctx, w, block + 1));
                        let weights = std::mem::replace(&mut next, following).expect("one load for each block");
                        let sums = multiply(ctx, &x, &weights, block);
                        let y = y.tile::<m![N / $block], 1, m![1 # 2, M % $half, 1 # $blocks, N % $block]>(block);
                        sums.view().to_hbm_view(&mut ctx.tdma, y);
                    }
                }
            }

            /// Runs the kernel on random numbers and checks the result.
            pub fn run(seed: u64) {
                let mut rng = SmallRng::seed_from_u64(seed);
                let is_time_only = is_time_only();
                // The time does not depend on values: none are made where it is all that is asked for.
                let count = if is_time_only { 0 } else { $size * $size };
                let mut random = || -> Vec<i8> { (0..count).map(|_| rng.random()).collect() };
                let (x, w) = (random(), random());
                let start = Instant::now();
                let y = pollster::block_on(async {
                    let mut ctx = Context::acquire();
                    let hx = if is_time_only { HostTensor::zero() } else { HostTensor::<i8, m![M, K]>::from_slice(&x) };
                    let dx: X = hx.to_hbm(&mut ctx.pdma, 0).await;
                    let hw = if is_time_only { HostTensor::zero() } else { HostTensor::<i8, m![N, K]>::from_slice(&w) };
                    let dw: W = hw.to_hbm(&mut ctx.pdma, 1 << 30).await;
                    let hy = HostTensor::<i32, m![M, N]>::zero();
                    let mut y: Y = hy.to_hbm(&mut ctx.pdma, 2 << 30).await;
                    drop((hx, hw, hy));
                    let uploaded = Instant::now();
                    launch(product, (&mut ctx, &dx, &dw, &mut y)).await;
                    ctx.settle();
                    let launched = Instant::now();
                    let y = y.to_host::<m![M, N]>(&mut ctx.pdma).await;
                    let y = (!is_time_only).then(|| y.to_vec());
                    let report = ctx.report();
                    let cycles = report.kernels[0].makespan();
                    // 512 slices multiply 8 rows of 64 elements in each cycle.
                    let least = $size * $size * $size / (512 * 512);
                    println!("{0} x {0} x {0}: {cycles} cycles, of which {least} multiply", $size);
                    let counted: u64 = report.repeats.iter().map(|own| own.count).sum();
                    println!("{} operations kept by themselves, {counted} more counted", report.records.len());
                    let [up, kernel, down] =
                        [uploaded - start, launched - uploaded, launched.elapsed()].map(|own| own.as_secs_f64());
                    println!("{up:.2} s up, {kernel:.2} s on the simulated chip, {down:.2} s down");
                    assert!(cycles > least);
                    y
                });
                if let Some(y) = y {
                    check($size, &x, &w, &y, &mut rng);
                }
            }
        }
    };
}

product!(
    size_2048: 2048, teams 16, ways 16, half 1024, quarter 512, rows 32,
    steps 2, part 128, flits 4, pairs 2, block 256, groups 32,
    blocks 8
);
product!(
    size_4096: 4096, teams 16, ways 16, half 2048, quarter 1024, rows 64,
    steps 4, part 256, flits 8, pairs 4, block 128, groups 16,
    blocks 32
);
product!(
    size_8192: 8192, teams 16, ways 16, half 4096, quarter 2048, rows 128,
    steps 8, part 512, flits 16, pairs 8, block 64, groups 8,
    blocks 128
);
product!(
    size_16384: 16384, teams 8, ways 32, half 8192, quarter 4096, rows 512,
    steps 16, part 512, flits 16, pairs 8, block 64, groups 8,
    blocks 256
);

/// Whether the environment asks for no values.
fn is_time_only() -> bool {
    std::env::var("VISA_COMPUTE").is_ok_and(|what| what == "shapes_only")
}

/// Compares `y` with the product of `x` and the transpose of `w`: both times a random vector, which a wrong element
/// changes, and some elements one by one.
fn check(size: usize, x: &[i8], w: &[i8], y: &[i32], rng: &mut SmallRng) {
    let v: Vec<i64> = (0..size).map(|_| rng.random_range(-1 << 20..1 << 20)).collect();
    let mut by_k = vec![0i64; size];
    for (row, &v) in w.chunks_exact(size).zip(&v) {
        by_k.iter_mut().zip(row).for_each(|(sum, &w)| *sum += i64::from(w) * v);
    }
    for (m, (x, y)) in x.chunks_exact(size).zip(y.chunks_exact(size)).enumerate() {
        let expected: i64 =
            x.iter().zip(&by_k).map(|(&x, &sum)| i64::from(x).wrapping_mul(sum)).fold(0, i64::wrapping_add);
        let found: i64 = y.iter().zip(&v).map(|(&y, &v)| i64::from(y) * v).fold(0, i64::wrapping_add);
        assert_eq!(found, expected, "row {m} times a vector");
    }
    for _ in 0..100 {
        let [m, n] = [0; 2].map(|_: usize| rng.random_range(0..size));
        let products = x[m * size..].iter().zip(&w[n * size..]).take(size);
        let expected: i32 = products.map(|(&x, &w)| i32::from(x) * i32::from(w)).sum();
        assert_eq!(y[m * size + n], expected, "row {m}, column {n}");
    }
    println!("all rows agree with the host");
}

fn main() {
    let argument = std::env::args().nth(1);
    match argument.as_deref().unwrap_or("16384") {
        "--small" | "2048" => size_2048::run(14),
        "4096" => size_4096::run(14),
        "8192" => size_8192::run(14),
        "16384" => size_16384::run(14),
        other => panic!("`{other}` is no size; give 2048 (or --small), 4096, 8192 or 16384"),
    }
}
