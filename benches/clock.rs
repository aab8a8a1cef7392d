//! How fast the clock's models are.
//!
//! `cargo bench --bench clock` prints requests of 256 bytes per second of the HBM models: a stream of all eight engines, which
//! keeps every channel busy, and random units, each in another row.

use criterion::{Criterion, Throughput, criterion_main};
use furiosa_visa_std::chip::clock::hbm::{Detailed, Estimate, HbmMap, Request, Strided, StridedLoop};
use furiosa_visa_std::chip::spec::{HBM_BYTES, HBM_UNIT_BYTES};
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

fn benches() {
    hbm(&mut Criterion::default().configure_from_args());
}

criterion_main!(benches);
