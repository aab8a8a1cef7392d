//! Where the cycles go: a product before and after its loads overlap with the computation.
//!
//! Four blocks of weights go through the register file. First all of them use the same half: each load has to wait
//! until the main context has used the block before. Then two halves take turns: the sub context loads block `b + 1`
//! while the main context computes with block `b`.
//!
//! ```text
//!   same half      sub   w0 ──    w1 ──    w2 ──    w3 ──
//!                  main     ── y0    ── y1    ── y2    ── y3
//!
//!   two halves     sub   w0 w1 w2 w3
//!                  main     y0 y1 y2 y3
//! ```
//!
//! The reports say who waited for whom, and which hardware stands idle. The same report comes from any program with
//! `VISA_REPORT=full`, of which `VISA_REPORT=1` prints headline and hints, a page of the run with `VISA_HTML=run.html`, and
//! a timeline for Perfetto (<https://ui.perfetto.dev>) with `VISA_TRACE=trace.json`.
//!
//! Run it: `cargo run --release --example 04_timeline`

use furiosa_visa_std::clock::Report;
use furiosa_visa_std::prelude::*;
use rand::{SeedableRng, rngs::SmallRng};

axes![M = 16384, B = 4, N = 16, K = 256];
const BLOCKS: usize = B::SIZE;

/// One cluster works; the other one has nothing.
type Cluster = m![1 # 2];
type Slice = m![M / 64];
type Rows = m![M % 64];
/// 8 weights in the rows of the TRF, two groups of them after each other.
type Row = m![N % 8];
type Group = m![N / 8];

type X = HbmTensor<bf16, m![1], m![M, K]>;
type W = HbmTensor<bf16, m![1], m![N, K]>;
type Y = HbmTensor<f32, m![1], m![M, N]>;
type DmX = DmTensor<bf16, m![1], Cluster, Slice, m![{ Rows }, K]>;
type DmW = DmTensor<bf16, m![1], Cluster, Slice, m![N, K]>;
type DmY = DmTensor<f32, m![1], Cluster, Slice, m![{ Rows }, N]>;
type Weights = TrfTensor<bf16, m![1], Cluster, Slice, Row, m![{ Group }, K]>;

/// Where blocks of weights and results live in the DM of each slice. The rows of `x` take the first 32 KiB.
const W_ADDRESS: u64 = 64 << 10;
const W_BYTES: u64 = (N::SIZE * K::SIZE * 2) as u64;
const Y_ADDRESS: u64 = 128 << 10;
const Y_BYTES: u64 = (64 * N::SIZE * 4) as u64;

fn load(ctx: &mut Context, w: &DmW, half: TrfAddress) -> Weights {
    (ctx.sub.begin(w.view()))
        .fetch::<bf16, m![{ Row }, { Group }], m![K]>()
        .collect::<m![{ Row }, { Group }, K / 16], m![K % 16]>()
        .to_trf(half)
}

/// `y[m, n] = Σ x[m, k] · w[n, k]` for the weights of one block.
fn multiply(ctx: &mut Context, x: &DmX, weights: &Weights, block: usize) -> DmY {
    (ctx.main.begin(x.view()))
        .fetch::<bf16, Rows, m![K]>()
        .collect::<m![{ Rows }, K / 16], m![K % 16]>()
        .align::<m![{ Rows }, K / 32, { Group }], m![K % 32], _, _>(weights)
        .contract::<m![1]>()
        .accumulate::<m![{ Rows }, { Group }], Row>(AccumulationKind::Interleaved)
        .commit::<m![{ Rows }, N]>(Y_ADDRESS + block as u64 * Y_BYTES)
}

fn bring(ctx: &mut Context, x: &X, w: &[W; BLOCKS]) -> (DmX, [DmW; BLOCKS]) {
    let blocks =
        std::array::from_fn(|block| w[block].to_dm(&mut ctx.tdma, W_ADDRESS + block as u64 * W_BYTES));
    (x.to_dm(&mut ctx.tdma, 0), blocks)
}

fn take(ctx: &mut Context, y: [DmY; BLOCKS]) -> [Y; BLOCKS] {
    let mut block = 0;
    y.map(|y| {
        block += 1;
        y.to_hbm(&mut ctx.tdma, (1 << 30) + (block - 1) * Y::size() as u64)
    })
}

#[device(chip = 1)]
fn same_half(ctx: &mut Context, x: &X, w: &[W; BLOCKS]) -> [Y; BLOCKS] {
    let (x, w) = bring(ctx, x, w);
    let y = std::array::from_fn(|block| {
        let weights = load(ctx, &w[block], TrfAddress::FirstHalf);
        multiply(ctx, &x, &weights, block)
    });
    take(ctx, y)
}

#[device(chip = 1)]
fn two_halves(ctx: &mut Context, x: &X, w: &[W; BLOCKS]) -> [Y; BLOCKS] {
    let (x, w) = bring(ctx, x, w);
    let half = |block| if block % 2 == 0 { TrfAddress::FirstHalf } else { TrfAddress::SecondHalf };
    let mut weights = Some(load(ctx, &w[0], half(0)));
    let y = std::array::from_fn(|block| {
        let next = w.get(block + 1).map(|w| load(ctx, w, half(block + 1)));
        let loaded = std::mem::replace(&mut weights, next).expect("one load for each block");
        multiply(ctx, &x, &loaded, block)
    });
    take(ctx, y)
}

/// The reports of both kernels, and whether their results are the same.
pub fn timelines() -> (Report, Report, bool) {
    let mut rng = SmallRng::seed_from_u64(5);
    let x = HostTensor::<bf16, m![M, K]>::rand(&mut rng);
    let w: [_; BLOCKS] = std::array::from_fn(|_| HostTensor::<bf16, m![N, K]>::rand(&mut rng));
    pollster::block_on(async {
        let mut results = Vec::new();
        let mut reports = Vec::new();
        for overlapped in [false, true] {
            let mut ctx = Context::acquire();
            let x: X = x.to_hbm(&mut ctx.pdma, 0).await;
            let mut blocks = Vec::new();
            for (block, w) in w.iter().enumerate() {
                blocks.push(w.to_hbm(&mut ctx.pdma, (1 << 24) + block as u64 * W_BYTES).await);
            }
            let blocks: [W; BLOCKS] = blocks.try_into().expect("one tensor for each block");
            let y = match overlapped {
                false => launch(same_half, (&mut ctx, &x, &blocks)).await,
                true => launch(two_halves, (&mut ctx, &x, &blocks)).await,
            };
            let mut values = Vec::new();
            for y in y {
                values.extend(y.to_host::<m![M, N]>(&mut ctx.pdma).await.to_buf());
            }
            results.push(values);
            reports.push(ctx.report());
        }
        let after = reports.pop().expect("two reports");
        (reports.pop().expect("two reports"), after, results[0] == results[1])
    })
}

#[allow(dead_code, reason = "the tests call `timelines` alone")]
/// Prints both reports.
pub fn main() {
    let (before, after, same) = timelines();
    println!("{}\n\n{}", before.full(), after.full());
    let [before, after] = [before, after].map(|report| report.kernels[0].makespan());
    println!("\n{before} cycles with one half, {after} with two");
    assert!(same, "the order of loads must not change results");
    assert!(after < before, "overlapping must help");
}
