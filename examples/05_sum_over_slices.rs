//! A sum over slices, in one pass through the Tensor Unit.
//!
//! Each of 256 slices has a row of partial results. The Switch Engine turns the slice into a time step, and the accumulator
//! adds the time steps: the weights of the product are ones.
//!
//! ```text
//!   sum for all    slice s gets packet n of every slice         256 copies of the sum
//!   sum in parts   slice n gets packet n of every slice         each slice keeps a part of the sum
//! ```
//!
//! The packets that go around the ring are the same, and so are the cycles of the switch. But where every slice gets all of
//! them, it also adds all of them.
//!
//! Run it: `cargo run --release --example 05_sum_over_slices`

use furiosa_visa_std::prelude::*;
use rand::{SeedableRng, rngs::SmallRng};

// `S` slices with `N` values each. `X` tells copies apart.
axes![S = 256, N = 4096, X = 256];

/// One cluster works; the other one has nothing.
type Cluster = m![1 # 2];
/// Packets of 16 values, one flit each.
type Blocks = m![N / 16];
type Values = m![N % 16];
type Partial = HbmTensor<bf16, m![1], m![S, N]>;
type Ones = HbmTensor<bf16, m![1], m![S]>;
type Weights<Slice> = TrfTensor<bf16, m![1], Cluster, Slice, m![1], m![S]>;

const ONES: u64 = 64 << 10;
const SUM: u64 = 128 << 10;
const OUTPUT: u64 = 1 << 30;

/// Ones in the register files of all slices.
fn load<Slice: M>(ctx: &mut Context, ones: &Ones) -> Weights<Slice> {
    let ones = ones.to_dm::<Cluster, Slice, m![S]>(&mut ctx.tdma, ONES);
    (ctx.sub.begin(ones.view()))
        .fetch::<bf16, m![1], m![S]>()
        .collect::<m![S / 16], m![S % 16]>()
        .to_trf(TrfAddress::Full)
}

#[device(chip = 1)]
fn sum_for_all(ctx: &mut Context, partial: &Partial, ones: &Ones) -> HbmTensor<f32, m![1], m![X, N]> {
    let weights = load::<m![X]>(ctx, ones);
    let partial = partial.to_dm::<Cluster, m![S], m![N]>(&mut ctx.tdma, 0);
    let sum: DmTensor<f32, m![1], Cluster, m![X], m![N]> = (ctx.main.begin(partial.view()))
        .fetch::<bf16, Blocks, Values>()
        .switch::<m![X], m![{ Blocks }, S]>(SwitchConfig::Broadcast1 { slice1: 256, slice0: 1 })
        .collect::<m![{ Blocks }, S], Values>()
        .align::<m![{ Blocks }, S], m![N % 16 # 32], _, _>(&weights)
        .contract::<m![N % 16 # 32]>()
        .accumulate::<m![{ Blocks }, N / 8 % 2], m![N % 8]>(AccumulationKind::Sequential)
        .commit(SUM);
    sum.to_hbm(&mut ctx.tdma, OUTPUT)
}

#[device(chip = 1)]
fn sum_in_parts(ctx: &mut Context, partial: &Partial, ones: &Ones) -> HbmTensor<f32, m![1], m![N]> {
    let weights = load::<Blocks>(ctx, ones);
    let partial = partial.to_dm::<Cluster, m![S], m![N]>(&mut ctx.tdma, 0);
    let sum: DmTensor<f32, m![1], Cluster, Blocks, Values> = (ctx.main.begin(partial.view()))
        .fetch::<bf16, Blocks, Values>()
        .switch::<Blocks, m![S]>(SwitchConfig::InterTranspose { slice1: 256, slice0: 1, time0: 1 })
        .collect::<m![S], Values>()
        .align::<m![S], m![N % 16 # 32], _, _>(&weights)
        .contract::<m![N % 16 # 32]>()
        .accumulate::<m![N / 8 % 2], m![N % 8]>(AccumulationKind::Sequential)
        .commit(SUM);
    sum.to_hbm(&mut ctx.tdma, OUTPUT)
}

fn main() {
    let mut rng = SmallRng::seed_from_u64(5);
    let partial = HostTensor::<bf16, m![S, N]>::rand(&mut rng);
    let ones = HostTensor::<bf16, m![S]>::from_buf(vec![Opt::Init(bf16::from_f32(1.0)); S::SIZE]);
    let values: Vec<f64> =
        partial.to_buf().into_iter().map(|value| f64::from(value.unwrap().to_f32())).collect();
    let expected: Vec<f64> =
        (0..N::SIZE).map(|n| (0..S::SIZE).map(|s| values[s * N::SIZE + n]).sum()).collect();
    for in_parts in [false, true] {
        let mut ctx = Context::acquire();
        let sums = pollster::block_on(async {
            let partial: Partial = partial.to_hbm(&mut ctx.pdma, 0).await;
            let ones: Ones = ones.to_hbm(&mut ctx.pdma, 1 << 24).await;
            if in_parts {
                let sum = launch(sum_in_parts, (&mut ctx, &partial, &ones)).await;
                sum.to_host::<m![N]>(&mut ctx.pdma).await.to_buf()
            } else {
                let sums = launch(sum_for_all, (&mut ctx, &partial, &ones)).await;
                sums.to_host::<m![X, N]>(&mut ctx.pdma).await.to_buf()
            }
        });
        let error = (sums.iter().zip(expected.iter().cycle()))
            .map(|(sum, exact)| (f64::from(sum.unwrap()) - exact).abs())
            .fold(0.0, f64::max);
        let report = ctx.report();
        let pass = report.records.iter().find(|record| record.operation == "commit").expect("a pass commits");
        let name = if in_parts { "sum in parts" } else { "sum for all" };
        println!("{name}: {} cycles, largest error {error:.1e}", pass.end - pass.start);
        println!("    {}", pass.configuration);
        assert!(error < 1e-3, "256 products of one are added in f32");
    }
}
