//! Softmax over rows that are spread over slices: maxima and sums between slices, exponentials in the Vector Engine.
//!
//! ```text
//!   x        R = 32 rows of K = 1024; each row in 8 slices of 128
//!
//!   pass 1   greatest x of each slice ──▶ of each row (between slices) ──▶ every slice of the row
//!   pass 2   sum of e^(x - greatest)   ──▶ of each row                   ──▶ every slice of the row
//!   pass 3   e^(x - greatest) / sum
//! ```
//!
//! What a pass leaves in the first slice of a row goes to the other ones by DMA, and from there into their register files.
//!
//! Run it: `cargo run --release --example 07_softmax`

use furiosa_visa_std::prelude::*;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::error::Error;

axes![R = 32, K = 1024];

type Cluster = m![1 # 2];
/// Eight slices per row.
type Slice = m![R, K / 128];
/// A row's part of a slice: flits of 8, and their halves.
type Steps = m![K / 8 % 16];
type Lanes = m![K % 8];
type HalfSteps = m![K / 4 % 32];
type Half = m![K % 4];
/// One number per row: in the first of its slices, and in all of them.
type First = m![R, 1 # 8];
type Row<S> = DmTensor<f32, m![1], Cluster, S, m![1 # 2]>;

type Rows = HbmTensor<f32, m![1], m![R, K]>;

/// Loads a number per row into the register files of all slices of the row.
fn to_all_slices(
    ctx: &mut Context,
    row: &Row<First>,
    address: Address,
) -> VrfTensor<f32, m![1], Cluster, Slice, m![1]> {
    let all: Row<Slice> = row.to_dm(&mut ctx.tdma, 0x8000 + address);
    (ctx.sub.begin(all.view()).fetch::<f32, m![1], m![1 # 2]>())
        .collect::<m![1], m![1 # 8]>()
        .to_vrf::<m![1]>(address)
}

/// `y[r, k] = e^(x[r, k] - max) / Σ e^(x[r, j] - max)`.
#[device(chip = 1)]
fn softmax(ctx: &mut Context, x: &Rows) -> Rows {
    let x = x.to_dm::<Cluster, Slice, m![K % 128]>(&mut ctx.tdma, 0);

    let greatest = (ctx.main.begin(x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<HalfSteps, Half>()
        .vector_intra_slice_reduce::<K, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Max)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_inter_slice_reduce::<First, m![1]>(InterSliceReduceOpF32::Max)
        .vector_final()
        .commit::<m![1 # 2]>(0x4000);
    let greatest = to_all_slices(ctx, &greatest, 0);

    let sum = (ctx.main.begin(x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<HalfSteps, Half>()
        .vector_fp_binary(FpBinaryOp::SubF, &greatest)
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_intra_slice_reduce::<K, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Add)
        .vector_pad_way8::<m![1 # 8]>()
        .vector_inter_slice_reduce::<First, m![1]>(InterSliceReduceOpF32::Add)
        .vector_final()
        .commit::<m![1 # 2]>(0x5000);
    let sum = to_all_slices(ctx, &sum, 64);

    let y = (ctx.main.begin(x.view()).fetch::<f32, Steps, Lanes>().collect::<Steps, Lanes>())
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_split::<HalfSteps, Half>()
        .vector_fp_binary(FpBinaryOp::SubF, &greatest)
        .vector_fp_unary(FpUnaryOp::Exp)
        .vector_fp_div(FpDivBinaryOp::DivF.with_mode(BinaryArgMode::Mode01), &sum)
        .vector_concat::<Steps, Lanes>()
        .vector_final()
        .commit::<m![K % 128]>(0x1000);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let mut random = SmallRng::seed_from_u64(7);
    let x: Vec<f32> = (0..R::SIZE * K::SIZE).map(|_| random.random_range(-8.0..8.0)).collect();
    let host = HostTensor::<f32, m![R, K]>::from_buf(x.iter().copied().map(Opt::Init).collect());
    let (y, report) = pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x = host.to_hbm::<m![1], m![R, K]>(&mut ctx.pdma, 0).await;
        let y = launch(softmax, (&mut ctx, &x)).await;
        (y.to_host::<m![R, K]>(&mut ctx.pdma).await.to_buf(), ctx.report())
    });

    let mut worst = 0.0f64;
    for (row, y) in x.chunks(K::SIZE).zip(y.chunks(K::SIZE)) {
        let greatest = f64::from(row.iter().copied().fold(f32::MIN, f32::max));
        let parts: Vec<f64> = row.iter().map(|&x| (f64::from(x) - greatest).exp()).collect();
        let sum: f64 = parts.iter().sum();
        for (part, y) in parts.iter().zip(y) {
            let exact = part / sum;
            // The distance between two f32 at the exact value.
            let unit = 2f64.powi(exact.log2().floor() as i32 - 23);
            worst = worst.max((f64::from(y.unwrap()) - exact).abs() / unit);
        }
        let total: f64 = y.iter().map(|y| f64::from(y.unwrap())).sum();
        assert!((total - 1.0).abs() < 1e-5, "a row sums to {total}");
    }
    println!("{} rows of {}: largest error {worst:.2} units in the last place", R::SIZE, K::SIZE);
    assert!(worst < 64.0, "a softmax should be nearer to the exact one");
    println!("{report}");
    Ok(())
}
