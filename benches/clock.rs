//! Speed of the clock: whole programs, and its models.
//!
//! `RAYON_NUM_THREADS=1 cargo bench -p furiosa-visa-benches --bench clock` prints chip cycles per second of a program,
//! requests of 256 bytes per second of the HBM models: a stream of all eight engines, which keeps every channel busy,
//! and random units, each in another row; and rows per second of a gather.

mod matmul;

use criterion::{BatchSize, Criterion, Throughput, criterion_main};
use furiosa_visa_std::chip::Compute;
use furiosa_visa_std::clock::hbm::{Detailed, Estimate, HbmMap, Request, Strided, StridedLoop};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::spec::{HBM_BYTES, HBM_UNIT_BYTES};
use matmul::{A, B, K, M, N, load, multiply};
use pollster::block_on;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::hint::black_box;

/// Requests of each engine.
const REQUESTS: u64 = 1 << 17;
const ENGINES: u64 = 8;

/// Consecutive units go to the engines in turn.
fn stream(engine: u64) -> Strided {
    let loops = [StridedLoop { size: REQUESTS, stride: (ENGINES * HBM_UNIT_BYTES as u64) as i64 }];
    Strided::new(engine * HBM_UNIT_BYTES as u64, &loops, HBM_UNIT_BYTES as u32).expect("inside of HBM")
}

fn random(engine: u64) -> impl Iterator<Item = Request> {
    let mut rng = SmallRng::seed_from_u64(engine);
    let unit = HBM_UNIT_BYTES as u64;
    (0..REQUESTS).map(move |_| Request::read(rng.random_range(0..HBM_BYTES / unit) * unit, unit as u32))
}

fn hbm(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hbm");
    group.sample_size(10).throughput(Throughput::Elements(ENGINES * REQUESTS));
    let mut model = Detailed::new(HbmMap::default());
    group.bench_function("detailed/stream", |bencher| {
        bencher.iter(|| black_box(model.run(&mut (0..ENGINES).map(stream).collect::<Vec<_>>())));
    });
    group.bench_function("detailed/random", |bencher| {
        bencher.iter(|| black_box(model.run(&mut (0..ENGINES).map(random).collect::<Vec<_>>())));
    });
    group.bench_function("estimate/random", |bencher| {
        bencher.iter(|| {
            let mut estimate = Estimate::new(HbmMap::default());
            (0..ENGINES).for_each(|engine| estimate.add(engine as usize, random(engine)));
            black_box(estimate.ticks())
        });
    });
    group.finish();
}

type C = HbmTensor<f32, m![1], m![M, N]>;

/// A product, with its transfers.
#[device(chip = 1)]
fn product(ctx: &mut Context, a: &A, b: &B) -> C {
    let (a, b) = load(ctx, a, b);
    multiply(ctx, &a, &b).to_hbm(&mut ctx.tdma, 1 << 30)
}

/// Chip cycles per second of whole programs, and the time that the clock adds to the computation of values.
fn programs(criterion: &mut Criterion) {
    let mut rng = SmallRng::seed_from_u64(1);
    let (a, b) = (HostTensor::<bf16, m![M, K]>::rand(&mut rng), HostTensor::<bf16, m![N, K]>::rand(&mut rng));
    let mut group =
        criterion.benchmark_group("product 512 x 512 x 2048 with its transfers (elements are chip cycles)");
    group.sample_size(10);
    let load = |ctx: &mut Context, at: u64| -> (A, B) {
        let a = block_on(a.to_hbm(&mut ctx.pdma, at));
        (a, block_on(b.to_hbm(&mut ctx.pdma, (1 << 32) + at)))
    };
    for (name, compute, report, operands) in [
        ("values", Compute::Values, false, 1),
        ("values and time", Compute::Values, true, 1),
        ("time", Compute::ShapesOnly, true, 1),
        ("time, other addresses", Compute::ShapesOnly, true, 70),
    ] {
        let mut ctx = Context::with(SimOptions { compute, ..SimOptions::default() });
        let operands: Vec<(A, B)> = (0..operands).map(|k| load(&mut ctx, k << 23)).collect();
        block_on(launch(product, (&mut ctx, &operands[0].0, &operands[0].1)));
        let cycles = ctx.report().kernels[0].makespan();
        group.throughput(Throughput::Elements(cycles));
        let mut next = 0;
        group.bench_function(format!("detailed/{name}"), |bencher| {
            bencher.iter(|| {
                let (a, b) = &operands[next % operands.len()];
                next += 1;
                let result = block_on(launch(product, (&mut ctx, a, b)));
                if report {
                    ctx.settle();
                }
                result
            });
        });
    }
    // A new clock remembers nothing. At odd addresses, rows and channels lie differently under each of the operands.
    for (name, distance) in [("", 1 << 23), (", odd addresses", (1 << 23) + (37 << 8))] {
        let mut places = (1..64).map(|k| k * distance).cycle();
        let name = format!("detailed/time, first time{name}");
        group.bench_function(name, |bencher| {
            let setup = || {
                let options = SimOptions { compute: Compute::ShapesOnly, ..SimOptions::default() };
                let mut ctx = Context::with(options);
                let operands = load(&mut ctx, places.next().unwrap_or(0));
                ctx.settle();
                (ctx, operands)
            };
            bencher.iter_batched(
                setup,
                |(mut ctx, (a, b))| {
                    let result = block_on(launch(product, (&mut ctx, &a, &b)));
                    ctx.settle();
                    (ctx, result)
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

axes![V = 65_536, S = 16_384, H = 128];
type Table = HbmTensor<bf16, m![1], m![V, H]>;
type Ids = HbmTensor<i32, m![1], m![S]>;

/// Rows of 256 bytes, 32 for each slice.
#[device(chip = 1)]
fn gather(ctx: &mut Context, table: &Table, ids: &Ids) {
    type Rows = DmTensor<bf16, m![1], m![S / 8192], m![S / 32 % 256], m![S % 32, H]>;
    let _: Rows = table.dma_gather_rows(&mut ctx.tdma, ids, 0);
}

/// Rows per second of a gather of random rows: its values, and the time that the clock adds. No list comes again.
fn gathers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("gather of 16384 random rows of 256 bytes");
    group.sample_size(10).throughput(Throughput::Elements(S::SIZE as u64));
    let mut rng = SmallRng::seed_from_u64(1);
    let mut ctx = Context::acquire();
    let table: Table = block_on(HostTensor::<bf16, m![V, H]>::zero().to_hbm(&mut ctx.pdma, 0));
    let mut ids = || -> Vec<i32> { (0..S::SIZE).map(|_| rng.random_range(0..V::SIZE as i32)).collect() };
    for name in ["values", "values and time"] {
        group.bench_function(format!("detailed/{name}"), |bencher| {
            let ctx = core::cell::RefCell::new(&mut ctx);
            let setup = || -> Ids {
                let mut ctx = ctx.borrow_mut();
                let ids = HostTensor::<i32, m![S]>::from_slice(&ids());
                let ids = block_on(ids.to_hbm(&mut ctx.pdma, 1 << 30));
                ctx.settle();
                ids
            };
            let run = |ids: Ids| {
                let mut ctx = ctx.borrow_mut();
                block_on(launch(gather, (&mut **ctx, &table, &ids)));
                if name != "values" {
                    ctx.settle();
                }
            };
            bencher.iter_batched(setup, run, BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn benches() {
    let mut criterion = Criterion::default().configure_from_args();
    hbm(&mut criterion);
    programs(&mut criterion);
    gathers(&mut criterion);
}

criterion_main!(benches);
