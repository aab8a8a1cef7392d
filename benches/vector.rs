//! Speed of the operators of the Vector Engine, beside plain loops over arrays of the same size.
//!
//! `RAYON_NUM_THREADS=1 cargo bench -p furiosa-visa-benches --bench vector`, then `cargo run -p furiosa-visa-benches --bin
//! ratios`. A pass also fetches and commits, so that its figures hold more than the operators; `copy` is a pass that does
//! nothing else.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_main};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::vector::{add_float, exponential, min_float, multiply_float};
use pollster::block_on;
use std::hint::black_box;

axes![S = 256, T = 512, L = 8];

type Cluster = m![1 # 2];
type Part = m![T, L];
type Tensor<D> = DmTensor<D, m![1], Cluster, m![S], Part>;
const ELEMENTS: usize = 256 * 512 * 8;

fn tensor<D: Scalar>(ctx: &mut Context, value: impl Fn(usize) -> D) -> Tensor<D> {
    let values = (0..ELEMENTS).map(|k| Opt::Init(value(k))).collect();
    let host = HostTensor::<D, m![S, T, L]>::from_buf(values);
    let hbm = block_on(host.to_hbm::<m![1], m![S, T, L]>(&mut ctx.pdma, 0));
    hbm.to_dm(&mut ctx.tdma, 0)
}

fn flits<'l, D: FetchCast<D>>(
    ctx: &'l mut Context,
    x: &'l Tensor<D>,
) -> CollectTensor<'l, { Tu::Main }, D, m![1], Cluster, m![S], m![T], m![L]> {
    ctx.main.begin(x.view()).fetch::<D, m![T], m![L]>().collect::<m![T], m![L]>()
}

/// The stream inside the engine.
fn entered<'l, D: FetchCast<D> + VeScalar>(
    ctx: &'l mut Context,
    x: &'l Tensor<D>,
) -> VectorBranchTensor<
    'l,
    { Tu::Main },
    D,
    m![1],
    Cluster,
    m![S],
    m![T],
    m![L],
    D,
    NoTensor,
    { VeOrder::IntraFirst },
> {
    flits(ctx, x).vector_init().vector_intra_slice_branch(BranchMode::Unconditional)
}

/// Reduces the elements of each lane over time.
fn reduce(ctx: &mut Context, x: &Tensor<f32>, op: IntraSliceReduceOpF32) {
    let _ = entered(ctx, x)
        .vector_split::<m![T, L / 4], m![L % 4]>()
        .vector_intra_slice_reduce::<T, m![L / 4], m![L % 4]>(op)
        .vector_concat::<m![1], m![L]>()
        .vector_final()
        .commit::<m![L]>(256 << 10);
}

fn measured<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20).throughput(Throughput::Elements(ELEMENTS as u64));
    group
}

fn vector(criterion: &mut Criterion) {
    let mut ctx = Context::acquire();
    let ctx = &mut *ctx;
    let real = |k: usize| k as f32 * 1e-4 - 50.0;
    let x = tensor(ctx, real);
    let plain: Vec<f32> = (0..ELEMENTS).map(real).collect();
    let mut out = plain.clone();

    let mut group = measured(criterion, "add, multiply, clip over f32");
    group.bench_function("pass", |bencher| {
        bencher.iter(|| {
            let _ = entered(ctx, &x)
                .vector_split::<m![T, L / 4], m![L % 4]>()
                .vector_fp_binary(FpBinaryOp::AddF, 1.5)
                .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), 0.5)
                .vector_concat::<m![T], m![L]>()
                .vector_clip(ClipBinaryOpF32::Min, 9.0)
                .vector_final()
                .commit::<Part>(256 << 10);
        });
    });
    group.bench_function("copy", |bencher| {
        bencher.iter(|| {
            let _ = flits(ctx, &x).commit::<Part>(256 << 10);
        });
    });
    group.bench_function("baseline: a plain loop", |bencher| {
        bencher.iter(|| {
            for (out, x) in out.iter_mut().zip(&plain) {
                *out = min_float(multiply_float(add_float(*x, 1.5), 0.5), 9.0);
            }
            black_box(&mut out);
        });
    });
    group.finish();

    let integer = |k: usize| k as i32 - 1000;
    let integers = tensor(ctx, integer);
    let plain_integers: Vec<i32> = (0..ELEMENTS).map(integer).collect();
    let mut out_integers = plain_integers.clone();
    let mut group = measured(criterion, "add, multiply, clip over i32");
    group.bench_function("pass", |bencher| {
        bencher.iter(|| {
            let _ = entered(ctx, &integers)
                .vector_fxp(FxpBinaryOp::AddFxp, 15)
                .vector_fxp(FxpBinaryOp::MulInt, 3)
                .vector_clip(ClipBinaryOpI32::Min, 9999)
                .vector_final()
                .commit::<Part>(256 << 10);
        });
    });
    group.bench_function("baseline: a plain loop", |bencher| {
        bencher.iter(|| {
            for (out, x) in out_integers.iter_mut().zip(&plain_integers) {
                *out = x.wrapping_add(15).wrapping_mul(3).min(9999);
            }
            black_box(&mut out_integers);
        });
    });
    group.finish();

    // The integers took its place.
    let x = tensor(ctx, real);
    let mut group = measured(criterion, "exponentials");
    group.bench_function("pass", |bencher| {
        bencher.iter(|| {
            let _ = entered(ctx, &x)
                .vector_split::<m![T, L / 4], m![L % 4]>()
                .vector_fp_unary(FpUnaryOp::Exp)
                .vector_concat::<m![T], m![L]>()
                .vector_final()
                .commit::<Part>(256 << 10);
        });
    });
    group.bench_function("baseline: the function in a plain loop", |bencher| {
        bencher.iter(|| {
            out.iter_mut().zip(&plain).for_each(|(out, x)| *out = exponential(*x));
            black_box(&mut out);
        });
    });
    group.finish();

    let mut group = measured(criterion, "sums over time");
    group.bench_function("pass", |bencher| {
        bencher.iter(|| reduce(ctx, &x, IntraSliceReduceOpF32::Add));
    });
    group.bench_function("baseline: a plain loop", |bencher| {
        bencher.iter(|| {
            let mut sums = [[0.0f32; 8]; 256];
            for (sums, slice) in sums.iter_mut().zip(plain.chunks_exact(512 * 8)) {
                for flit in slice.as_chunks::<8>().0 {
                    sums.iter_mut().zip(flit).for_each(|(sum, x)| *sum += x);
                }
            }
            black_box(sums);
        });
    });
    group.finish();

    let mut group = measured(criterion, "greatest elements over time");
    group.bench_function("pass", |bencher| {
        bencher.iter(|| reduce(ctx, &x, IntraSliceReduceOpF32::Max));
    });
    // NaN and zeros of two signs are ignored.
    group.bench_function("baseline: a plain loop", |bencher| {
        bencher.iter(|| {
            let mut greatest = [[f32::NEG_INFINITY; 8]; 256];
            for (greatest, slice) in greatest.iter_mut().zip(plain.chunks_exact(512 * 8)) {
                for flit in slice.as_chunks::<8>().0 {
                    greatest
                        .iter_mut()
                        .zip(flit)
                        .for_each(|(max, x)| *max = if *x > *max { *x } else { *max });
                }
            }
            black_box(greatest);
        });
    });
    group.finish();
}

fn benches() {
    vector(&mut Criterion::default().configure_from_args());
}

criterion_main!(benches);
