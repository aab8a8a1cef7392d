//! Speed of the simulated chip, with baselines of the same machine in the same run.
//!
//! `RAYON_NUM_THREADS=1 cargo bench -p furiosa-visa-benches --bench simulator` measures one core.

mod matmul;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_main};
use furiosa_visa_std::chip::{Check, CheckOptions, Compute};
use furiosa_visa_std::prelude::*;
use matmul::{A, B, Cluster, K, M, N, load, multiply};
use pollster::block_on;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::hint::black_box;

fn product(criterion: &mut Criterion) {
    let macs = (M::SIZE * N::SIZE * K::SIZE) as u64;
    let mut rng = SmallRng::seed_from_u64(1);
    let (a, b) = (HostTensor::<bf16, m![M, K]>::rand(&mut rng), HostTensor::<bf16, m![N, K]>::rand(&mut rng));
    let mut ctx = Context::acquire();
    let a: A = block_on(a.to_hbm(&mut ctx.pdma, 0));
    let b: B = block_on(b.to_hbm(&mut ctx.pdma, 1 << 24));

    let mut group = criterion.benchmark_group("product 512 x 512 x 2048 (elements are MACs)");
    group.sample_size(10).throughput(Throughput::Elements(macs));
    group.bench_function("chip, bf16, with the transfers", |bencher| {
        bencher.iter(|| {
            let (a, b) = load(&mut ctx, &a, &b);
            multiply(&mut ctx, &a, &b).to_hbm::<m![M, N]>(&mut ctx.tdma, 1 << 30)
        });
    });
    let (a, b) = load(&mut ctx, &a, &b);
    group.bench_function("chip, bf16", |bencher| bencher.iter(|| multiply(&mut ctx, &a, &b)));

    let floats =
        |rng: &mut SmallRng, rows: usize| -> Vec<f32> { (0..rows * K::SIZE).map(|_| rng.random()).collect() };
    let (x, y) = (floats(&mut rng, M::SIZE), floats(&mut rng, N::SIZE));
    let x = ndarray::Array2::from_shape_vec((M::SIZE, K::SIZE), x).expect("the shape holds the data");
    let y = ndarray::Array2::from_shape_vec((N::SIZE, K::SIZE), y).expect("the shape holds the data");
    group.bench_function("baseline: ndarray, f32", |bencher| bencher.iter(|| x.dot(&y.t())));

    let bytes =
        |rng: &mut SmallRng, rows: usize| -> Vec<i8> { (0..rows * K::SIZE).map(|_| rng.random()).collect() };
    let (x, y) = (bytes(&mut rng, M::SIZE), bytes(&mut rng, N::SIZE));
    group.bench_function("baseline: plain loop, i8", |bencher| {
        bencher.iter(|| {
            let dot =
                |a: &[i8], b: &[i8]| a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>();
            let rows = x.chunks_exact(K::SIZE);
            rows.map(|row| y.chunks_exact(K::SIZE).map(|column| dot(row, column)).sum::<i32>()).sum::<i32>()
        });
    });
    group.finish();
}

/// Cost of the checks: the product with its transfers, without checks, with each of them, with all. The time of "none, no
/// values" is an upper bound of the cost of rules and of checks that are turned off.
fn checks(criterion: &mut Criterion) {
    let mut rng = SmallRng::seed_from_u64(1);
    let (a, b) = (HostTensor::<bf16, m![M, K]>::rand(&mut rng), HostTensor::<bf16, m![N, K]>::rand(&mut rng));
    let mut group = criterion.benchmark_group("checks (product with the transfers)");
    group.sample_size(10);
    let mut measure = |name: &str, checks: CheckOptions, compute: Compute| {
        let mut ctx = Context::with(SimOptions { checks, compute, ..SimOptions::default() });
        let a: A = block_on(a.to_hbm(&mut ctx.pdma, 0));
        let b: B = block_on(b.to_hbm(&mut ctx.pdma, 1 << 24));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let (a, b) = load(&mut ctx, &a, &b);
                multiply(&mut ctx, &a, &b).to_hbm::<m![M, N]>(&mut ctx.tdma, 1 << 30)
            });
        });
    };
    measure("none", CheckOptions::NONE, Compute::Values);
    measure("none, no values", CheckOptions::NONE, Compute::ShapesOnly);
    for &check in Check::ALL {
        measure(check.name(), CheckOptions::NONE.with(check, true), Compute::Values);
    }
    measure("all", CheckOptions::ALL, Compute::Values);
    measure("all, no values", CheckOptions::ALL, Compute::ShapesOnly);
    group.finish();
}

mod layout {
    furiosa_visa_std::prelude::axes![R = 4096, C = 4096, P = 2048, Q = 4096];
}

fn relayout(criterion: &mut Criterion) {
    use layout::{C, R};
    let elements = R::SIZE * C::SIZE;
    let mut rng = SmallRng::seed_from_u64(2);
    let host = HostTensor::<i8, m![R, C]>::rand(&mut rng);
    let mut ctx = Context::acquire();
    let source: HbmTensor<i8, m![1], m![R, C]> = block_on(host.to_hbm(&mut ctx.pdma, 0));

    let mut group = criterion.benchmark_group("16 MiB HBM to DM to HBM (bytes read and written)");
    group.sample_size(10).throughput(Throughput::Bytes(4 * elements as u64));
    group.bench_function("chip, rows to slices and back", |bencher| {
        bencher.iter(|| {
            let dm = source.to_dm::<m![1 # 2], m![R / 16], m![R % 16, C]>(&mut ctx.tdma, 0);
            dm.to_hbm::<m![R, C]>(&mut ctx.tdma, 1 << 30)
        });
    });
    group.bench_function("chip, columns to slices and back", |bencher| {
        bencher.iter(|| {
            let dm = source.to_dm::<m![1 # 2], m![C / 16], m![R, C % 16]>(&mut ctx.tdma, 0);
            dm.to_hbm::<m![R, C]>(&mut ctx.tdma, 1 << 30)
        });
    });
    group.bench_function("chip, blocks of 64 bytes, other order in HBM", |bencher| {
        bencher.iter(|| {
            let dm = source.to_dm::<m![1 # 2], m![R / 16], m![C / 64, R % 16, C % 64]>(&mut ctx.tdma, 0);
            dm.to_hbm::<m![C / 64, R, C % 64]>(&mut ctx.tdma, 1 << 30)
        });
    });
    group.bench_function("chip, HBM to HBM, bytes transposed", |bencher| {
        bencher.iter(|| source.to_hbm::<{ Dma::Tensor }, m![C, R]>(&mut ctx.tdma, 1 << 30));
    });
    halves(&mut group, &mut ctx);
    baselines(&mut group, elements);
    group.finish();

    let mut group = criterion.benchmark_group("16 MiB between host and HBM (bytes read and written)");
    group.sample_size(10).throughput(Throughput::Bytes(2 * elements as u64));
    let (values, mut back) = (host.to_vec(), vec![1i8; elements]);
    group.bench_function("baseline: memcpy", |bencher| {
        bencher.iter(|| back.copy_from_slice(black_box(&values)));
    });
    group.bench_function("chip, slice to HBM", |bencher| {
        bencher.iter(|| -> HbmTensor<i8, m![1], m![R, C]> {
            let host = HostTensor::<i8, m![R, C]>::from_slice(&values);
            block_on(host.to_hbm(&mut ctx.pdma, 1 << 30))
        });
    });
    group.bench_function("chip, HBM to slice", |bencher| {
        bencher.iter(|| {
            let host: HostTensor<i8, m![R, C]> = block_on(source.to_host(&mut ctx.pdma));
            host.copy_to_slice(&mut back);
        });
    });
    group.bench_function("chip, host to HBM", |bencher| {
        bencher.iter(|| -> HbmTensor<i8, m![1], m![R, C]> { block_on(host.to_hbm(&mut ctx.pdma, 1 << 30)) });
    });
    group.bench_function("chip, host to HBM, transposed", |bencher| {
        bencher.iter(|| -> HbmTensor<i8, m![1], m![C, R]> { block_on(host.to_hbm(&mut ctx.pdma, 1 << 30)) });
    });
    group.bench_function("chip, HBM to host", |bencher| {
        bencher.iter(|| -> HostTensor<i8, m![R, C]> { block_on(source.to_host(&mut ctx.pdma)) });
    });
    group.finish();
}

type Group<'a> = BenchmarkGroup<'a, criterion::measurement::WallTime>;

/// Tensors of 2-byte elements, with short runs.
fn halves(group: &mut Group<'_>, ctx: &mut Context) {
    use layout::{P, Q};
    let host = HostTensor::<bf16, m![P, Q]>::rand(&mut SmallRng::seed_from_u64(3));
    let source: HbmTensor<bf16, m![1], m![P, Q]> = block_on(host.to_hbm(&mut ctx.pdma, 1 << 25));
    group.bench_function("chip, bf16, runs of 8 bytes and back", |bencher| {
        bencher.iter(|| {
            let dm = source.to_dm::<m![1 # 2], m![Q / 16], m![Q / 4 % 4, P, Q % 4]>(&mut ctx.tdma, 0);
            dm.to_hbm::<m![P, Q]>(&mut ctx.tdma, 1 << 30)
        });
    });
    group.bench_function("chip, bf16, rows to slices, runs of 8 bytes to HBM", |bencher| {
        bencher.iter(|| {
            let dm = source.to_dm::<m![1 # 2], m![P / 8], m![P % 8, Q]>(&mut ctx.tdma, 0);
            dm.to_hbm::<m![Q / 4, P, Q % 4]>(&mut ctx.tdma, 1 << 30)
        });
    });
}

/// The same bytes, moved without a chip.
fn baselines(group: &mut Group<'_>, elements: usize) {
    let (from, mut middle) = (vec![1u8; elements], vec![2u8; elements]);
    let mut to = vec![2u8; elements];
    group.bench_function("baseline: memcpy, twice", |bencher| {
        bencher.iter(|| {
            middle.copy_from_slice(black_box(&from));
            to.copy_from_slice(black_box(&middle));
        });
    });
    // Rows of 4 KiB in one memory, 64 KiB in each of 256 others: row by row, as one would write it.
    let mut slices = vec![vec![2u8; 1 << 16]; 256];
    group.bench_function("baseline: plain loops, blocks of 64 bytes, other order in HBM", |bencher| {
        bencher.iter(|| {
            // 16 rows of 4 KiB in each slice, by columns of 64 bytes.
            for (slice, rows) in slices.iter_mut().zip(black_box(&from).chunks_exact(1 << 16)) {
                for (r, row) in rows.chunks_exact(4096).enumerate() {
                    for (c, block) in row.chunks_exact(64).enumerate() {
                        slice[(c * 16 + r) * 64..][..64].copy_from_slice(block);
                    }
                }
            }
            // Columns of 64 bytes of all rows.
            for (k, slice) in black_box(&slices).iter().enumerate() {
                for (c, column) in slice.chunks_exact(1024).enumerate() {
                    to[c * (4096 * 64) + k * 1024..][..1024].copy_from_slice(column);
                }
            }
        });
    });
    group.bench_function("baseline: plain loops, columns of 16 bytes and back", |bencher| {
        bencher.iter(|| {
            for (r, row) in black_box(&from).chunks_exact(4096).enumerate() {
                for (slice, run) in slices.iter_mut().zip(row.chunks_exact(16)) {
                    slice[r * 16..r * 16 + 16].copy_from_slice(run);
                }
            }
            for (r, row) in to.chunks_exact_mut(4096).enumerate() {
                for (slice, run) in black_box(&slices).iter().zip(row.chunks_exact_mut(16)) {
                    run.copy_from_slice(&slice[r * 16..r * 16 + 16]);
                }
            }
        });
    });
    let array =
        ndarray::Array2::from_shape_vec((4096, 4096), from.clone()).expect("the shape holds the data");
    let mut transposed = ndarray::Array2::from_elem((4096, 4096), 2u8);
    group.bench_function("baseline: ndarray, bytes transposed", |bencher| {
        bencher.iter(|| transposed.assign(&black_box(&array).t()));
    });
    group.bench_function("baseline: plain loops, rows to slices, runs of 8 bytes to HBM", |bencher| {
        bencher.iter(|| {
            for (slice, rows) in slices.iter_mut().zip(black_box(&from).chunks_exact(1 << 16)) {
                slice.copy_from_slice(rows);
            }
            for (k, slice) in black_box(&slices).iter().enumerate() {
                for (r, row) in slice.chunks_exact(8192).enumerate() {
                    for (q, run) in row.chunks_exact(8).enumerate() {
                        to[(q * 2048 + k * 8 + r) * 8..][..8].copy_from_slice(run);
                    }
                }
            }
        });
    });
    group.bench_function("baseline: plain loops, columns of 8 bytes and back", |bencher| {
        bencher.iter(|| {
            for (r, row) in black_box(&from).chunks_exact(8192).enumerate() {
                for (k, run) in row.chunks_exact(8).enumerate() {
                    let at = (k % 4 * 2048 + r) * 8;
                    slices[k / 4][at..at + 8].copy_from_slice(run);
                }
            }
            for (r, row) in to.chunks_exact_mut(8192).enumerate() {
                for (k, run) in row.chunks_exact_mut(8).enumerate() {
                    let at = (k % 4 * 2048 + r) * 8;
                    run.copy_from_slice(&black_box(&slices)[k / 4][at..at + 8]);
                }
            }
        });
    });
}

mod stream {
    furiosa_visa_std::prelude::axes![S = 256, E = 262_144];
}

/// A pass of 64 MiB through fetch and commit. The chip reads and writes every byte once, and so does memcpy.
fn fetch(criterion: &mut Criterion) {
    use stream::{E, S};
    type Source = DmTensor<i8, m![1], Cluster, m![S], m![E]>;
    let elements = S::SIZE * E::SIZE;
    let host = HostTensor::<i8, m![S, E]>::rand(&mut SmallRng::seed_from_u64(4));
    let mut ctx = Context::acquire();
    let source: HbmTensor<i8, m![1], m![S, E]> = block_on(host.to_hbm(&mut ctx.pdma, 0));
    let source: Source = source.to_dm(&mut ctx.tdma, 0);

    let mut group = criterion.benchmark_group("fetch of 256 KiB in each of 256 slices (bytes fetched)");
    group.sample_size(10).throughput(Throughput::Bytes(elements as u64));
    group.bench_function("chip, contiguous", |bencher| {
        bencher.iter(|| -> DmTensor<i8, m![1], Cluster, m![S], m![E]> {
            (ctx.main.begin(source.view()))
                .fetch::<i8, m![E / 4096], m![E % 4096]>()
                .collect::<m![E / 32], m![E % 32]>()
                .commit(256 << 10)
        });
    });
    group.bench_function("chip, packets of 32 bytes in another order", |bencher| {
        bencher.iter(|| -> DmTensor<i8, m![1], Cluster, m![S], m![E / 32 % 64, E / 2048, E % 32]> {
            (ctx.main.begin(source.view()))
                .fetch::<i8, m![E / 32 % 64, E / 2048], m![E % 32]>()
                .collect::<m![E / 32 % 64, E / 2048], m![E % 32]>()
                .commit(256 << 10)
        });
    });
    group.bench_function("chip, packets of 8 bytes in another order", |bencher| {
        bencher.iter(|| -> DmTensor<i8, m![1], Cluster, m![S], m![E / 8 % 64, E / 512, E % 8]> {
            (ctx.main.begin(source.view()))
                .fetch::<i8, m![E / 8 % 64, E / 512], m![E % 8]>()
                .collect::<m![E / 8 % 64, E / 512], m![E % 8 # 32]>()
                .commit(256 << 10)
        });
    });
    let table = LookupTable::from_fn(|x: i8| x.wrapping_mul(3));
    group.bench_function("chip, through a table", |bencher| {
        bencher.iter(|| -> DmTensor<i8, m![1], Cluster, m![S], m![E]> {
            (ctx.main.begin(source.view()))
                .fetch_with_table::<i8, m![E / 4096], m![E % 4096]>(&table)
                .collect::<m![E / 32], m![E % 32]>()
                .commit(256 << 10)
        });
    });
    let (from, mut to) = (vec![1u8; elements], vec![2u8; elements]);
    group.bench_function("baseline: memcpy", |bencher| {
        bencher.iter(|| to.copy_from_slice(black_box(&from)));
    });
    for size in [32, 8] {
        group.bench_function(
            format!("baseline: plain loops, packets of {size} bytes in another order"),
            |bencher| {
                bencher.iter(|| {
                    let slices = black_box(&from).chunks_exact(E::SIZE).zip(to.chunks_exact_mut(E::SIZE));
                    for (slice, packets) in slices {
                        let mut packets = packets.chunks_exact_mut(size);
                        for first in (0..64 * size).step_by(size) {
                            for (row, packet) in slice.chunks_exact(64 * size).zip(&mut packets) {
                                packet.copy_from_slice(&row[first..first + size]);
                            }
                        }
                    }
                });
            },
        );
    }
    group.finish();
}

mod matrices {
    furiosa_visa_std::prelude::axes![S = 256, A = 128, N = 64, B = 8];
}

/// Matrices of 64 rows of 8 bytes, transposed in each slice.
fn transpose(criterion: &mut Criterion) {
    use matrices::{A, B, N, S};
    let elements = S::SIZE * A::SIZE * N::SIZE * B::SIZE;
    let host = HostTensor::<i8, m![S, A, N, B]>::rand(&mut SmallRng::seed_from_u64(7));
    let mut ctx = Context::acquire();
    let source: HbmTensor<i8, m![1], m![S, A, N, B]> = block_on(host.to_hbm(&mut ctx.pdma, 0));
    let source = source.to_dm::<Cluster, m![S], m![A, N, B]>(&mut ctx.tdma, 0);

    let mut group = criterion.benchmark_group("transpose of 64 KiB in each of 256 slices (bytes moved)");
    group.sample_size(10).throughput(Throughput::Bytes(elements as u64));
    group.bench_function("chip, rows of 8 bytes", |bencher| {
        bencher.iter(|| -> DmTensor<i8, m![1], Cluster, m![S], m![A, B, N]> {
            (ctx.main.begin(source.view()))
                .fetch::<i8, m![A, N], m![B]>()
                .collect::<m![A, N], m![B # 32]>()
                .transpose::<m![A, N / 8, B], m![N % 8 # 32]>()
                .commit(64 << 10)
        });
    });
    let (from, mut to) = (vec![1u8; elements], vec![2u8; elements]);
    group.bench_function("baseline: plain loops", |bencher| {
        bencher.iter(|| {
            let matrices = black_box(&from).chunks_exact(512).zip(to.chunks_exact_mut(512));
            for (matrix, transposed) in matrices {
                for (n, row) in matrix.chunks_exact(8).enumerate() {
                    row.iter().enumerate().for_each(|(b, byte)| transposed[b * 64 + n] = *byte);
                }
            }
        });
    });
    let views = ndarray::Array3::from_shape_vec((elements / 512, 64, 8), from.clone());
    let array = views.expect("the shape holds the data");
    let mut turned = ndarray::Array3::from_elem((elements / 512, 8, 64), 2u8);
    group.bench_function("baseline: ndarray", |bencher| {
        bencher.iter(|| turned.assign(&black_box(&array).view().permuted_axes([0, 2, 1])));
    });
    group.finish();
}

mod exchange {
    furiosa_visa_std::prelude::axes![S = 256, D = 256, E = 256];
}

/// Every slice has 256 bytes for every other one. The chip reads and writes every byte once, and so does memcpy.
fn switch(criterion: &mut Criterion) {
    use exchange::{D, E, S};
    type Source = DmTensor<i8, m![1], Cluster, m![S], m![D, E]>;
    type Exchanged = DmTensor<i8, m![1], Cluster, m![D], m![E / 32, S, E % 32]>;
    let elements = S::SIZE * D::SIZE * E::SIZE;
    let host = HostTensor::<i8, m![S, D, E]>::rand(&mut SmallRng::seed_from_u64(5));
    let mut ctx = Context::acquire();
    let source: HbmTensor<i8, m![1], m![S, D, E]> = block_on(host.to_hbm(&mut ctx.pdma, 0));
    let source: Source = source.to_dm(&mut ctx.tdma, 0);

    let mut group = criterion.benchmark_group("all-to-all of 256 slices with 64 KiB each (bytes exchanged)");
    group.sample_size(10).throughput(Throughput::Bytes(elements as u64));
    group.bench_function("chip, InterTranspose of 256 slices", |bencher| {
        bencher.iter(|| -> Exchanged {
            (ctx.main.begin(source.view()))
                .fetch::<i8, m![D, E / 32], m![E % 32]>()
                .switch::<m![D], m![E / 32, S]>(SwitchConfig::InterTranspose {
                    slice1: 256,
                    slice0: 1,
                    time0: 8,
                })
                .collect::<m![E / 32, S], m![E % 32]>()
                .commit(64 << 10)
        });
    });
    group.bench_function("chip, the same packets without an exchange", |bencher| {
        bencher.iter(|| -> DmTensor<i8, m![1], Cluster, m![S], m![D, E]> {
            (ctx.main.begin(source.view()))
                .fetch::<i8, m![D, E / 32], m![E % 32]>()
                .collect::<m![D, E / 32], m![E % 32]>()
                .commit(64 << 10)
        });
    });
    let (from, mut to) = (vec![1u8; elements], vec![2u8; elements]);
    group.bench_function("baseline: memcpy", |bencher| {
        bencher.iter(|| to.copy_from_slice(black_box(&from)));
    });
    group.finish();
}

mod parts {
    furiosa_visa_std::prelude::axes![T = 16, S = 256, E = 512];
}

/// A tensor of 2 MiB moves as a whole, and in tiles of 128 KiB: the same bytes.
fn tiles(criterion: &mut Criterion) {
    use parts::{E, S, T};
    let elements = T::SIZE * S::SIZE * E::SIZE;
    let host = HostTensor::<i8, m![T, S, E]>::rand(&mut SmallRng::seed_from_u64(6));
    let mut ctx = Context::acquire();
    let source: HbmTensor<i8, m![1], m![T, S, E]> = block_on(host.to_hbm(&mut ctx.pdma, 0));
    let mut dm = source.to_dm::<Cluster, m![S], m![T, E]>(&mut ctx.tdma, 0);
    let mut back: HbmTensor<i8, m![1], m![T, S, E]> = dm.to_hbm(&mut ctx.tdma, 1 << 30);

    let mut group = criterion.benchmark_group("tiles of 128 KiB (bytes moved)");
    group.sample_size(20).throughput(Throughput::Bytes(elements as u64));
    group.bench_function("HBM to DM, 16 tiles", |bencher| {
        bencher.iter(|| {
            let there = dm.view_mut().split_tiles_mut::<m![T], 1, m![1 # 16, E]>();
            for (tile, there) in source.view().tiles::<m![T], 1, m![1 # 16, S, E]>().zip(there) {
                tile.to_dm_view(&mut ctx.tdma, there);
            }
        });
    });
    let one = HostTensor::<i8, m![S, E]>::zero();
    let parts: Vec<HbmTensor<i8, m![1], m![S, E]>> = (0..16)
        .map(|k| block_on(one.to_hbm(&mut ctx.pdma, (1 << 24) + k * (S::SIZE * E::SIZE) as u64)))
        .collect();
    let at = |k: usize| ((T::SIZE + k) * E::SIZE) as u64;
    let mut places: Vec<_> = (parts.iter().enumerate())
        .map(|(k, part)| part.to_dm::<Cluster, m![S], m![E]>(&mut ctx.tdma, at(k)))
        .collect();
    group.bench_function("baseline: HBM to DM, 16 tensors of that size", |bencher| {
        bencher.iter(|| {
            for (part, there) in parts.iter().zip(&mut places) {
                part.view().to_dm_view(&mut ctx.tdma, there.view_mut());
            }
        });
    });
    group.bench_function("baseline: HBM to DM, the whole", |bencher| {
        bencher.iter(|| source.view().to_dm_view(&mut ctx.tdma, dm.view_mut()));
    });
    group.finish();
    let mut group = criterion.benchmark_group("tiles of 128 KiB back (bytes moved)");
    group.sample_size(20).throughput(Throughput::Bytes(elements as u64));
    group.bench_function("DM to HBM, 16 tiles", |bencher| {
        bencher.iter(|| {
            let there = back.view_mut().split_tiles_mut::<m![T], 1, m![1 # 16, S, E]>();
            for (tile, there) in dm.view().tiles::<m![T], 1, m![1 # 16, E]>().zip(there) {
                tile.to_hbm_view(&mut ctx.tdma, there);
            }
        });
    });
    let mut backs: Vec<HbmTensor<i8, m![1], m![S, E]>> = (places.iter().enumerate())
        .map(|(k, place)| place.to_hbm(&mut ctx.tdma, (1 << 25) + (k * S::SIZE * E::SIZE) as u64))
        .collect();
    group.bench_function("baseline: DM to HBM, 16 tensors of that size", |bencher| {
        bencher.iter(|| {
            for (place, there) in places.iter().zip(&mut backs) {
                place.view().to_hbm_view(&mut ctx.tdma, there.view_mut());
            }
        });
    });
    group.bench_function("baseline: DM to HBM, the whole", |bencher| {
        bencher.iter(|| dm.view().to_hbm_view(&mut ctx.tdma, back.view_mut()));
    });
    group.finish();
}

mod groups {
    #![allow(missing_docs)] // The macro makes an undocumented function.
    criterion::criterion_group!(
        benches,
        super::product,
        super::checks,
        super::relayout,
        super::fetch,
        super::transpose,
        super::switch,
        super::tiles
    );
}
criterion_main!(groups::benches);
