//! Chip cycles per second of the bank model, on one core.
//!
//! `cargo bench -p furiosa-visa-benches --bench clock_banks`

use criterion::{Criterion, Throughput, criterion_main};
use furiosa_visa_std::clock::banks::{AccessNest, ContextLoad, DmaRequest, Occupancy, longest_bank_run};
use furiosa_visa_std::sequencer::Entry;
use std::hint::black_box;

fn entries(loops: &[(usize, isize)]) -> Vec<Entry> {
    loops.iter().map(|&(size, stride)| Entry { size, stride }).collect()
}

fn main_nest(loops: &[(usize, isize)], base: usize) -> AccessNest {
    AccessNest::main(&entries(loops), base, 32).expect("inside of the slice")
}

fn sub_nest(loops: &[(usize, isize)], base: usize) -> AccessNest {
    AccessNest::sub(&entries(loops), base, 8).expect("inside of the slice")
}

/// 64 rows of 4096 bytes, each read for 128 sets of weights: 2^20 accesses of 32 bytes; a result of 32 bytes for every 64
/// of them; the sub context loads weights.
fn product() -> (ContextLoad, ContextLoad) {
    let fetch = main_nest(&[(64, 4096), (128, 0), (128, 32)], 0);
    let commit = main_nest(&[(64, 2048), (64, 32), (4, 0)], 300 << 10);
    (ContextLoad::new(fetch, commit), ContextLoad::fetch(sub_nest(&[(20, 0), (1 << 14, 8)], 128 << 10)))
}

/// Loops that continue nowhere, in both contexts.
fn ragged() -> (ContextLoad, ContextLoad) {
    let fetch = main_nest(&[(1021, 40), (7, 2056), (13, 72), (11, 328)], 0);
    let commit = main_nest(&[(257, 88), (31, 136), (101, 24)], 300 << 10);
    let sub = ContextLoad::new(
        sub_nest(&[(499, 24), (7, 1000), (17, 56), (11, 8)], 128 << 10),
        sub_nest(&[(499, 16), (17, 168), (77, 40)], 200 << 10),
    );
    (ContextLoad::new(fetch, commit), sub)
}

/// Requests of 256 bytes to all slices in turn, the two DMNs alternating, every `cycles` cycles for `until` cycles.
fn requests(until: u64, cycles: f64) -> Vec<DmaRequest> {
    (0..(until as f64 / cycles) as u64)
        .map(|k| {
            let slice = (k / 2 % 32 + k % 2 * 32) as usize;
            DmaRequest::new((k as f64 * cycles) as u64, slice, 256).expect("legal")
        })
        .collect()
}

fn benches() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("banks (elements are chip cycles)");
    group.sample_size(10);
    for (name, (main, sub)) in [("product", product()), ("ragged loops", ragged())] {
        let occupancy = Occupancy::of(&main, &sub);
        let cycles = occupancy.end_cycle();
        println!("{name}: {cycles} cycles, {} of them stepped", occupancy.stepped_cycles());
        group.throughput(Throughput::Elements(cycles));
        group.bench_function(format!("{name}, Tensor Unit alone"), |bencher| {
            bencher.iter(|| Occupancy::of(black_box(&main), black_box(&sub)));
        });
        let one = [requests(cycles, 1.0)];
        let chip = vec![requests(cycles, 4.0 / 3.0); 8];
        let shifted: Vec<_> = (0..8).map(|k| requests(cycles, 4.0 / 3.0 + f64::from(k) / 1024.0)).collect();
        let traffic = [
            ("one DMA engine, 256 B per cycle", &one[..]),
            ("8 DMA engines, HBM rate", &chip),
            ("8 DMA engines, HBM rate, all different", &shifted),
        ];
        for (engines, requests) in traffic {
            group.bench_function(format!("{name}, {engines}"), |bencher| {
                bencher.iter(|| {
                    let occupancy = Occupancy::of(black_box(&main), black_box(&sub));
                    occupancy.serve_dma(requests)
                });
            });
        }
    }
    group.throughput(Throughput::Elements(1));
    let nest = main_nest(&[(65_536, 0), (1021, 40), (7, 2056), (13, 72), (11, 328)], 0);
    group.bench_function("longest bank run of 67 x 10^9 accesses", |bencher| {
        bencher.iter(|| longest_bank_run(black_box(&nest)));
    });
}

criterion_main!(benches);
