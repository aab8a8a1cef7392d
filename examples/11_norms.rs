//! What stands between the products of a transformer: residual, RMSNorm, rotary embedding, LayerNorm.
//!
//! ```text
//!   x, a       T = 512 tokens of E = 512, bf16
//!
//!   r          x + a                                         residual                  1 pass
//!   n          r · g / √(mean of r² + ε)                     RMSNorm, f32 in DM        3 passes
//!   low'       low · cos - high · sin                        rotary embedding          2 passes
//!   high'      low · sin + high · cos                        of the 8 heads of n
//!   l          (r - mean) · s / √(variance + ε) + t          LayerNorm                 4 passes
//! ```
//!
//! A head of `n` has 64 elements: the pair at place `p` of its lower and its upper half is turned by the angle
//! `position / 10000^(p / 32)`. Activations are bf16 in memory, and f32 in the engines. The norms and the residual are
//! those of the module `kernels`; the rotation is written with the calls of the engines.
//!
//! A sum that nearly cancels is small beside its parts, which are exact to f32: its error may be several units of its
//! own last place. The bound of each result counts both roundings.
//!
//! The report of the first kernel says that one cluster never works, and that moves take four times as long as
//! passes: the second kernel takes both clusters with all DMA engines, and brings all vectors in one move.
//!
//! Run it: `cargo run --release --example 11_norms`

use furiosa_visa_std::kernels::{add, layer_norm, load_operand, rms_norm};
use furiosa_visa_std::prelude::*;
use rand::{Rng, SeedableRng, rngs::SmallRng};

// `E` is also `H` heads of 2 halves of `P` pairs. `V` vectors: g, s and t. `F`: cosine and sine. `J`: two tensors in
// turns.
axes![T = 512, E = 512, H = 8, I = 2, P = 32, V = 3, F = 2, J = 2];

const EPSILON: f32 = 1e-5;

type X = HbmTensor<bf16, m![1], m![T, E]>;
/// A half of all heads.
type Half = HbmTensor<bf16, m![1], m![T, H, P]>;
type Vectors = HbmTensor<bf16, m![1], m![V, E]>;
type Angles = HbmTensor<f32, m![1], m![T, F, P]>;
/// A vector and the angles of rows, in the vector register file.
type Vector<Cluster, Slice> = VrfTensor<f32, m![1], Cluster, Slice, m![E]>;
type Angle<Cluster, Slice, Rows> = VrfTensor<f32, m![1], Cluster, Slice, m![{ Rows }, P]>;
type Results = (X, Half, Half, X);

/// `low · first ± high · second`, of the halves of all heads. Both halves come in turns, flit by flit.
fn turned<Cluster: M, Slice: M, Rows: M>(
    ctx: &mut Context,
    x: &DmTensor<f32, m![1], Cluster, Slice, m![{ Rows }, H, I, P]>,
    [first, second]: [&Angle<Cluster, Slice, Rows>; 2],
    sign: FpBinaryOp,
) -> Half {
    let [low, high] = [0, 1].map(|half| x.view().tile::<m![I], 1, m![{ Rows }, H, 1 # 2, P]>(half));
    let half = (ctx.main.begin_interleaved::<J, _, _, _, _, _>(low, high))
        .fetch::<f32, m![{ Rows }, H, P / 8, J], m![P % 8]>()
        .collect::<m![{ Rows }, H, P / 8, J], m![P % 8]>()
        .vector_init()
        .vector_intra_slice_unzip::<J, m![{ Rows }, H, P / 8, 1 # 2], m![{ Rows }, H, P / 8]>()
        .vector_split::<m![{ Rows }, H, P / 4], m![P % 4]>()
        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), first, second)
        .vector_fp_zip(sign)
        .vector_concat::<m![{ Rows }, H, P / 8], m![P % 8]>()
        .vector_final()
        .cast::<bf16, m![P % 8 # 16]>()
        .commit::<m![{ Rows }, H, P]>(AUTO);
    half.to_hbm(&mut ctx.tdma, AUTO)
}

/// All of it, with the vectors and angles where they are needed.
fn block<Cluster: M, Slice: M, Rows: M>(
    ctx: &mut Context,
    x: &X,
    a: &X,
    [g, s, t]: &[Vector<Cluster, Slice>; 3],
    [cos, sin]: &[Angle<Cluster, Slice, Rows>; 2],
) -> Results {
    let x = x.to_dm::<Cluster, Slice, m![{ Rows }, E]>(&mut ctx.tdma, AUTO);
    let a = a.to_dm::<Cluster, Slice, m![{ Rows }, E]>(&mut ctx.tdma, AUTO);
    let residual: DmTensor<bf16, _, _, _, _> = add(ctx, &x, &a);
    let normed: DmTensor<f32, _, _, _, _> = rms_norm(ctx, &residual, Some(g), EPSILON);
    let heads = normed.relabel::<m![1], Cluster, Slice, m![{ Rows }, H, I, P]>();
    let low = turned::<Cluster, Slice, Rows>(ctx, &heads, [cos, sin], FpBinaryOp::SubF);
    let high = turned::<Cluster, Slice, Rows>(ctx, &heads, [sin, cos], FpBinaryOp::AddF);
    let layer: DmTensor<bf16, _, _, _, _> = layer_norm(ctx, &residual, s, t, EPSILON);
    (residual.to_hbm(&mut ctx.tdma, AUTO), low, high, layer.to_hbm(&mut ctx.tdma, AUTO))
}

/// Two tokens per slice of one cluster, and a move for each vector.
#[device(chip = 1)]
fn in_one_cluster(ctx: &mut Context, x: &X, a: &X, vectors: &Vectors, angles: &Angles) -> Results {
    type Cluster = m![1 # 2];
    type Slice = m![T / 2];
    type Rows = m![T % 2];
    let vectors = [0, 1, 2].map(|own| {
        let vector = vectors.view().tile::<m![V], 1, m![1 # 3, E]>(own);
        let vector = vector.to_dm::<Cluster, Slice, m![E]>(&mut ctx.tdma, AUTO);
        load_operand(ctx, &vector)
    });
    let angles = [0, 1].map(|own| {
        let angle = angles.view().tile::<m![F], 1, m![T, 1 # 2, P]>(own);
        let angle = angle.to_dm::<Cluster, Slice, m![{ Rows }, P]>(&mut ctx.tdma, AUTO);
        load_operand(ctx, &angle)
    });
    block::<Cluster, Slice, Rows>(ctx, x, a, &vectors, &angles)
}

/// A token per slice of both clusters, and one move for all vectors.
#[device(chip = 1)]
fn in_both_clusters(ctx: &mut Context, x: &X, a: &X, vectors: &Vectors, angles: &Angles) -> Results {
    type Cluster = m![T / 256];
    type Slice = m![T % 256];
    let vectors = vectors.to_dm::<Cluster, Slice, m![V, E]>(&mut ctx.tdma, AUTO);
    let angles = angles.to_dm::<Cluster, Slice, m![F, P]>(&mut ctx.tdma, AUTO);
    let vectors = [0, 1, 2].map(|own| load_operand(ctx, vectors.view().tile::<m![V], 1, m![1 # 3, E]>(own)));
    let angles = [0, 1].map(|own| load_operand(ctx, angles.view().tile::<m![F], 1, m![1 # 2, P]>(own)));
    block::<Cluster, Slice, m![1]>(ctx, x, a, &vectors, &angles)
}

/// What the example starts from, and what the chip makes of it.
struct Data {
    x: Vec<bf16>,
    a: Vec<bf16>,
    vectors: Vec<bf16>,
    angles: Vec<f32>,
}

/// The results of a kernel in a row, and its report.
fn run(data: &Data, both: bool) -> ([Vec<bf16>; 4], Report) {
    pollster::block_on(async {
        let mut ctx = Context::acquire();
        let x: X = HostTensor::<bf16, m![T, E]>::from_slice(&data.x).to_hbm(&mut ctx.pdma, AUTO).await;
        let a: X = HostTensor::<bf16, m![T, E]>::from_slice(&data.a).to_hbm(&mut ctx.pdma, AUTO).await;
        let vectors = HostTensor::<bf16, m![V, E]>::from_slice(&data.vectors);
        let vectors: Vectors = vectors.to_hbm(&mut ctx.pdma, AUTO).await;
        let angles = HostTensor::<f32, m![T, F, P]>::from_slice(&data.angles);
        let angles: Angles = angles.to_hbm(&mut ctx.pdma, AUTO).await;
        let (residual, low, high, layer) = match both {
            false => launch(in_one_cluster, (&mut ctx, &x, &a, &vectors, &angles)).await,
            true => launch(in_both_clusters, (&mut ctx, &x, &a, &vectors, &angles)).await,
        };
        let residual = residual.to_host::<m![T, E]>(&mut ctx.pdma).await.to_vec();
        let low = low.to_host::<m![T, H, P]>(&mut ctx.pdma).await.to_vec();
        let high = high.to_host::<m![T, H, P]>(&mut ctx.pdma).await.to_vec();
        let layer = layer.to_host::<m![T, E]>(&mut ctx.pdma).await.to_vec();
        ([residual, low, high, layer], ctx.report())
    })
}

/// The distance between two bf16 at a number.
fn unit(x: f64) -> f64 {
    2f64.powi(x.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() as i32 - 7)
}

/// An exact result, and what roundings of f32 may be off beside the one of bf16.
type Exact = (f64, f64);

/// What the chip should find, from the same bf16 in f64. The norms start from the residual as it is stored.
fn expected(data: &Data) -> [Vec<Exact>; 4] {
    let wide = |values: &[bf16]| values.iter().map(|x| f64::from(x.to_f32())).collect::<Vec<_>>();
    let (vectors, epsilon) = (wide(&data.vectors), f64::from(EPSILON));
    let vector = |own: usize| &vectors[own * E::SIZE..][..E::SIZE];
    // A number that is a result of so many roundings in a row, of numbers of this size.
    let rounded = |size: f64, roundings: f64| size * roundings * 2f64.powi(-24);
    let mut results = [const { Vec::new() }; 4];
    for token in 0..T::SIZE {
        let row = token * E::SIZE..(token + 1) * E::SIZE;
        let (x, a) = (wide(&data.x[row.clone()]), wide(&data.a[row]));
        let sums: Vec<f64> = x.iter().zip(&a).map(|(x, a)| x + a).collect();
        results[0].extend(sums.iter().map(|sum| (*sum, rounded(sum.abs(), 1.0))));
        let residual: Vec<f64> =
            sums.iter().map(|sum| f64::from(bf16::from_f32(*sum as f32).to_f32())).collect();

        let square = residual.iter().map(|x| x * x).sum::<f64>() / E::SIZE as f64;
        let root = (square + epsilon).sqrt();
        let normed: Vec<f64> = residual.iter().zip(vector(0)).map(|(x, g)| x * g / root).collect();
        let angles = &data.angles[token * 2 * P::SIZE..][..2 * P::SIZE];
        for head in normed.chunks(2 * P::SIZE) {
            for pair in 0..P::SIZE {
                let (low, high) = (head[pair], head[pair + P::SIZE]);
                let (cos, sin) = (f64::from(angles[pair]), f64::from(angles[pair + P::SIZE]));
                // Half of the 512 roundings of the sum of squares, behind the root, and those of the rest.
                let off = rounded(
                    (low * cos).abs() + (low * sin).abs() + (high * cos).abs() + (high * sin).abs(),
                    265.0,
                );
                results[1].push((low * cos - high * sin, off));
                results[2].push((low * sin + high * cos, off));
            }
        }

        let mean = residual.iter().sum::<f64>() / E::SIZE as f64;
        let variance = residual.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / E::SIZE as f64;
        let root = (variance + epsilon).sqrt();
        // 512 roundings of the mean move every element; those of the variance are in proportion.
        let moved = rounded(residual.iter().map(|x| x.abs()).sum::<f64>() / E::SIZE as f64, 512.0);
        for (k, x) in residual.iter().enumerate() {
            let scaled = (x - mean) * vector(1)[k] / root;
            let off = (moved * vector(1)[k] / root).abs() + rounded(scaled.abs() + vector(2)[k].abs(), 265.0);
            results[3].push((scaled + vector(2)[k], off));
        }
    }
    results
}

/// Prints what a report says of its kernel in three lines, and gives its cycles.
fn summary(name: &str, report: &Report) -> u64 {
    let kernel = &report.kernels[0];
    let cycles = kernel.makespan();
    let busy = |operations: &[&str]| -> u64 {
        let own = report.records.iter().filter(|record| operations.contains(&record.operation));
        own.map(|record| record.cycles()).sum()
    };
    let share = |busy: u64| 100.0 * busy as f64 / cycles as f64;
    println!("{name}: {cycles} cycles");
    println!(
        "  passes {:.1} % of the time, moves {:.1} %",
        share(busy(&["commit", "to_vrf"])),
        share(busy(&["to_dm", "to_hbm"]))
    );
    let path = report.critical_path(kernel);
    let slowest = path.iter().max_by_key(|record| record.cycles()).expect("a kernel has operations");
    let (operation, bound) = (slowest.operation, slowest.timing.bottleneck());
    println!("  longest on the critical path: {operation}, {} cycles, bound by {bound}", slowest.cycles());
    let idle = report.idle_hardware();
    println!("  idle: {}", if idle.is_empty() { "nothing".to_string() } else { idle.join("; ") });
    cycles
}

/// Runs the example.
pub fn main() {
    let mut random = SmallRng::seed_from_u64(11);
    let mut numbers = |count: usize, from: f32, to: f32| -> Vec<bf16> {
        (0..count).map(|_| bf16::from_f32(random.random_range(from..to))).collect()
    };
    let (x, a) = (numbers(T::SIZE * E::SIZE, -3.0, 4.0), numbers(T::SIZE * E::SIZE, -1.0, 1.0));
    let vectors = numbers(V::SIZE * E::SIZE, -1.5, 1.5);
    let mut angles = Vec::new();
    for position in 0..T::SIZE {
        let angle = |pair: usize| position as f64 / 1e4f64.powf(pair as f64 / P::SIZE as f64);
        angles.extend((0..P::SIZE).map(|pair| angle(pair).cos() as f32));
        angles.extend((0..P::SIZE).map(|pair| angle(pair).sin() as f32));
    }
    let data = Data { x, a, vectors, angles };

    let (first, before) = run(&data, false);
    let (second, after) = run(&data, true);
    let names = ["residual", "low halves", "high halves", "LayerNorm"];
    for ((name, exact), found) in names.iter().zip(expected(&data)).zip(&first) {
        let mut worst = 0f64;
        assert_eq!(found.len(), exact.len());
        for ((exact, off), found) in exact.iter().zip(found) {
            let error = (f64::from(found.to_f32()) - exact).abs();
            // bf16 rounds to the nearest; a result just above a power of two has the larger unit.
            let bound = 0.5 * unit(exact.abs() + off) + off;
            assert!(error <= bound, "{name}: {found} should be {exact}, at most {bound:e} off");
            worst = worst.max(error / unit(*exact));
        }
        println!("{name}: {} values, largest error {worst:.3} units in the last place of bf16", found.len());
    }
    assert_eq!(first, second, "both kernels compute the same");
    let (before, after) = (summary("in one cluster", &before), summary("in both clusters", &after));
    println!("{:.2} times as fast", before as f64 / after as f64);
    assert!(after < before, "the second kernel should be faster");
}
