//! Speed of the Contraction Engine, from DM to DM, beside kernels that need not keep the chip's order of additions.
//!
//! `RAYON_NUM_THREADS=1 cargo bench -p furiosa-visa-benches --bench contraction` measures one core. Elements are
//! multiply-accumulates, so that the throughputs can be divided by each other. The time includes the load of the weights
//! into the register files.
//!
//! `VISA_PATH` forces the instructions, also those of the loop over rows. Another variable forces those of the library of
//! products of bytes:
//!
//! ```sh
//! VISA_PATH=avx2 GEMMKIT_REQUIRE_ISA=fma RAYON_NUM_THREADS=1 cargo bench -p furiosa-visa-benches --bench contraction
//! ```

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_main};
use furiosa_visa_std::chip::{ComputePath, SimOptions};
use furiosa_visa_std::prelude::*;
use pollster::block_on;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::hint::black_box;

type Cluster = m![1 # 2];
type Group<'a> = BenchmarkGroup<'a, criterion::measurement::WallTime>;

fn random<D>(rng: &mut SmallRng, len: usize, element: impl Fn(&mut SmallRng) -> D) -> Vec<Opt<D>> {
    (0..len).map(|_| Opt::Init(element(rng))).collect()
}

/// A product `[M, K] x [N, K]` with `$rows` rows and `8 * $groups` columns of the result in each of 256 slices.
///
/// `$half` and `$whole` are the elements of a flit and of a packet, `$random` makes one.
macro_rules! product {
    (
        $name:ident, $D:ident, $Sum:ident, $half:literal, $whole:literal, $random:expr,
        [$m:literal, $n:literal, $k:literal], $rows:literal, $columns:literal, $groups:literal
    ) => {
        mod $name {
            use super::*;

            axes![M = $m, N = $n, K = $k];
            const MACS: u64 = (M::SIZE * N::SIZE * K::SIZE) as u64;

            type Slice = m![M / $rows, N / $columns];
            type DmA = DmTensor<$D, m![1], Cluster, Slice, m![M % $rows, K]>;
            type DmB = DmTensor<$D, m![1], Cluster, Slice, m![N % $columns, K]>;
            type Trf = TrfTensor<$D, m![1], Cluster, Slice, m![N % 8], m![N / 8 % $groups, K]>;
            type Product = DmTensor<$Sum, m![1], Cluster, Slice, m![M % $rows, N % $columns]>;

            fn load(ctx: &mut Context) -> (DmA, DmB) {
                let mut rng = SmallRng::seed_from_u64(1);
                let a = HostTensor::<$D, m![M, K]>::from_buf(random(&mut rng, M::SIZE * K::SIZE, $random));
                let b = HostTensor::<$D, m![N, K]>::from_buf(random(&mut rng, N::SIZE * K::SIZE, $random));
                let a: HbmTensor<$D, m![1], m![M, K]> = block_on(a.to_hbm(&mut ctx.pdma, 0));
                let b: HbmTensor<$D, m![1], m![N, K]> = block_on(b.to_hbm(&mut ctx.pdma, 1 << 24));
                (a.to_dm(&mut ctx.tdma, 0), b.to_dm(&mut ctx.tdma, 256 << 10))
            }

            fn weights(ctx: &mut Context, b: &DmB) -> Trf {
                (ctx.sub.begin(b.view()))
                    .fetch::<$D, m![N % 8, N / 8 % $groups], m![K]>()
                    .collect::<m![N % 8, N / 8 % $groups, K / $half], m![K % $half]>()
                    .to_trf::<m![N % 8], m![N / 8 % $groups, K]>(TrfAddress::Full)
            }

            /// Every packet is fetched once per group of eight columns.
            fn multiply(ctx: &mut Context, (a, b): &(DmA, DmB)) -> Product {
                let weights = weights(ctx, b);
                (ctx.main.begin(a.view()))
                    .fetch::<$D, m![M % $rows, N / 8 % $groups], m![K]>()
                    .collect::<m![M % $rows, N / 8 % $groups, K / $half], m![K % $half]>()
                    .align::<m![M % $rows, N / 8 % $groups, K / $whole], m![K % $whole], _, _>(&weights)
                    .contract::<m![1]>()
                    .accumulate::<m![M % $rows, N / 8 % $groups], m![N % 8]>(AccumulationKind::Interleaved)
                    .commit(384 << 10)
            }

            /// Every packet is fetched once and used for all groups of eight columns.
            fn multiply_tiled(ctx: &mut Context, (a, b): &(DmA, DmB)) -> Product {
                let weights = weights(ctx, b);
                (ctx.main.begin(a.view()))
                    .fetch::<$D, m![M % $rows], m![K]>()
                    .collect::<m![M % $rows, K / $half], m![K % $half]>()
                    .align::<m![M % $rows, K / $whole, N / 8 % $groups], m![K % $whole], _, _>(&weights)
                    .contract::<m![1]>()
                    .accumulate::<m![M % $rows, N / 8 % $groups], m![N % 8]>(AccumulationKind::Interleaved)
                    .commit(384 << 10)
            }

            pub fn measure(group: &mut Group<'_>) {
                group.throughput(Throughput::Elements(MACS));
                let mut ctx = Context::acquire();
                let operands = load(&mut ctx);
                let name = stringify!($D);
                group.bench_function(format!("chip, {name}"), |bencher| {
                    bencher.iter(|| multiply(&mut ctx, &operands));
                });
                group.bench_function(format!("chip, {name}, each packet fetched once"), |bencher| {
                    bencher.iter(|| multiply_tiled(&mut ctx, &operands));
                });
            }
        }
    };
}

product!(flat_i8, i8, i32, 32, 64, SmallRng::random, [512, 512, 2048], 64, 16, 2);
product!(flat_bf16, bf16, f32, 16, 32, SmallRng::random, [512, 512, 2048], 64, 16, 2);
product!(flat_f8, f8e4m3, f32, 32, 64, |rng| f8e4m3::from_f32(rng.random()), [512, 512, 2048], 64, 16, 2);
product!(flat_i4, i4, i32, 64, 128, |rng| i4::from_i32(rng.random_range(-8..8)), [512, 512, 2048], 64, 16, 2);
product!(deep_i8, i8, i32, 32, 64, SmallRng::random, [512, 256, 4096], 32, 16, 2);
product!(deep_bf16, bf16, f32, 16, 32, SmallRng::random, [512, 128, 4096], 32, 8, 1);
product!(full_i8, i8, i32, 32, 64, SmallRng::random, [1024, 1024, 1024], 64, 64, 8);
product!(full_bf16, bf16, f32, 16, 32, SmallRng::random, [1024, 1024, 1024], 128, 32, 4);

fn products(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("512 x 512 x 2048 (elements are MACs)");
    group.sample_size(10);
    flat_i8::measure(&mut group);
    flat_bf16::measure(&mut group);
    flat_i4::measure(&mut group);
    flat_f8::measure(&mut group);
    baselines(&mut group, [512, 512, 2048]);
    group.finish();

    // Full register files, weights that are used 32 times.
    let mut group = criterion.benchmark_group("512 x 256 (i8) or 128 (bf16) x 4096 (elements are MACs)");
    group.sample_size(10);
    deep_i8::measure(&mut group);
    deep_bf16::measure(&mut group);
    baselines(&mut group, [512, 256, 4096]);
    group.finish();

    // Full register files, weights that are used 64 (i8) or 128 times.
    let mut group = criterion.benchmark_group("1024 x 1024 x 1024 (elements are MACs)");
    group.sample_size(10);
    full_i8::measure(&mut group);
    full_bf16::measure(&mut group);
    baselines(&mut group, [1024, 1024, 1024]);
    group.finish();
}

/// The same sizes on plain memory.
fn baselines(group: &mut Group<'_>, [m, n, k]: [usize; 3]) {
    group.throughput(Throughput::Elements((m * n * k) as u64));
    let mut rng = SmallRng::seed_from_u64(1);
    let (a, b): (Vec<f32>, Vec<f32>) =
        ((0..m * k).map(|_| rng.random()).collect(), (0..n * k).map(|_| rng.random()).collect());
    let mut c = vec![0f32; m * n];
    group.bench_function("baseline: gemm crate, f32", |bencher| {
        bencher.iter(|| gemm_f32(&mut c, black_box(&a), black_box(&b), [m, n, k]));
    });
    let (a, b): (Vec<i8>, Vec<i8>) =
        ((0..m * k).map(|_| rng.random()).collect(), (0..n * k).map(|_| rng.random()).collect());
    let mut c = vec![0i32; m * n];
    group.bench_function("baseline: loop over rows, i8", |bencher| {
        bencher.iter(|| rows_i8(&mut c, black_box(&a), black_box(&b), k));
    });
    let mut products = vec![0i32; m * n];
    group.bench_function("baseline: gemmkit crate, i8", |bencher| {
        bencher.iter(|| gemm_i8(&mut products, black_box(&a), black_box(&b), [m, n, k]));
    });
    gemm_i8(&mut products, &a, &b, [m, n, k]);
    rows_i8(&mut c, &a, &b, k);
    assert!(c == products, "both baselines compute the same");
}

/// The product of [`rows_i8`] in any order, on one core.
fn gemm_i8(c: &mut [i32], a: &[i8], b: &[i8], [m, n, k]: [usize; 3]) {
    let a = gemmkit::MatRef::from_row_major(a, m, k);
    let b = gemmkit::MatRef::from_col_major(b, k, n);
    let c = gemmkit::MatMut::new(c, m, n, n as isize, 1);
    gemmkit::gemm_i8(1, a, b, 0, c, gemmkit::Parallelism::Serial);
}

/// `c[m, n] = sum over k of a[m, k] * b[n, k]` in any order, on one core.
#[allow(unsafe_code)] // The crate's one function takes pointers.
fn gemm_f32(c: &mut [f32], a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) {
    assert!(a.len() == m * k && b.len() == n * k && c.len() == m * n);
    let row = |elements: usize| elements as isize;
    // SAFETY: with these strides the indices (i, l), (l, j) and (i, j) stay inside the slices, whose lengths were
    // compared above; `c` is borrowed exclusively.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            row(n),
            false,
            a.as_ptr(),
            1,
            row(k),
            b.as_ptr(),
            row(k),
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// The instructions that the chip is simulated with.
fn path() -> ComputePath {
    let options = SimOptions::default().with_environment().unwrap_or_else(|error| panic!("{error}"));
    options.path.or_else(|| ComputePath::available().next()).unwrap_or(ComputePath::Portable)
}

/// One dot product per result, compiled for the instructions that the chip is simulated with.
fn rows_i8(c: &mut [i32], a: &[i8], b: &[i8], k: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
        fn avx512(c: &mut [i32], a: &[i8], b: &[i8], k: usize) {
            rows_i8_with(c, a, b, k);
        }
        #[target_feature(enable = "avx2,avxvnni")]
        fn avx2_vnni(c: &mut [i32], a: &[i8], b: &[i8], k: usize) {
            rows_i8_with(c, a, b, k);
        }
        #[target_feature(enable = "avx2")]
        fn avx2(c: &mut [i32], a: &[i8], b: &[i8], k: usize) {
            rows_i8_with(c, a, b, k);
        }
        #[allow(unsafe_code)] // What a build for this machine would do by itself.
        // SAFETY: a path is used only on machines that have its instructions, which are those of the function.
        unsafe {
            match path() {
                ComputePath::Avx512 => return avx512(c, a, b, k),
                ComputePath::Avx2Vnni => return avx2_vnni(c, a, b, k),
                ComputePath::Avx2 => return avx2(c, a, b, k),
                _ => {}
            }
        }
    }
    rows_i8_with(c, a, b, k);
}

#[inline(always)]
fn rows_i8_with(c: &mut [i32], a: &[i8], b: &[i8], k: usize) {
    let n = b.len() / k;
    for (row, results) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        for (column, result) in b.chunks_exact(k).zip(results) {
            *result = row.iter().zip(column).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        }
    }
}

mod groups {
    #![allow(missing_docs)] // The macro makes an undocumented function.
    criterion::criterion_group!(benches, super::products);
}
criterion_main!(groups::benches);
