//! `commit_trim`, `commit_cast` and `commit_cast_relu` end to end: values against plain rules, time, and unwritten
//! elements.

use crate::{Cluster, assert_same, block_on, code, dot, init, numbers, panic_message};
use furiosa_visa_std::clock::record::Timing;
use furiosa_visa_std::clock::tensor_unit::{Stage, TensorUnitTime};
use furiosa_visa_std::prelude::*;

axes![S = 256, A = 6, B = 8, T = 4, N = 8, K = 32];

/// The codes that the Commit Engine writes: the rules of the specification, on the fields of an f32.
fn narrowed(value: f32, relu: bool) -> bf16 {
    let bits = value.to_bits();
    let below = bits >> 31 == 1;
    bf16::from_bits(match bits & 0x7fff_ffff {
        0x7f80_0001.. => 0x7fc0,
        _ if relu && below => 0,
        0..0x0080_0000 => u16::from(below) << 15,
        // The upper half, plus one if the lower half is more than half a step, or half a step above an odd number.
        _ => {
            let (upper, lower) = ((bits >> 16) as u16, bits & 0xffff);
            upper + u16::from(lower > 0x8000 || lower == 0x8000 && upper % 2 == 1)
        }
    })
}

/// Numbers of all kinds: NaN, infinity, subnormal ones, zeros, ties.
fn values(size: usize) -> Vec<f32> {
    let special = [0x8000_0000, 1, 0x807f_ffff, 0x0080_0000, 0x3f80_8000, 0xbf81_8000, 0xffc0_0001];
    let bits = (0..size).map(|k| if k % 5 == 0 { special[k / 5 % special.len()] } else { code(71, k) });
    bits.map(f32::from_bits).collect()
}

/// The passes of a report that end in a commit.
fn passes(report: &Report) -> Vec<TensorUnitTime> {
    let commits = report.records.iter().filter(|record| record.operation == "commit");
    let times = commits.map(|record| match &record.timing {
        Timing::TensorUnit(time) => *time,
        _ => panic!("a pass of the Tensor Unit"),
    });
    times.collect()
}

/// The conversion, the same with the first half of each packet, and the same with the Cast Engine.
#[device(chip = 1)]
fn conversions(
    ctx: &mut Context,
    x: &HbmTensor<f32, m![1], m![S, A, B]>,
) -> HbmTensor<bf16, m![1], m![S, A, B]> {
    let x = x.to_dm::<Cluster, m![S], m![A, B]>(&mut ctx.tdma, 0);
    let flits = ctx.main.begin(x.view()).fetch::<f32, m![A], m![B]>().collect::<m![A], m![B]>();
    let y = flits.commit_trim::<m![B]>().commit_cast::<bf16>().commit::<m![A, B]>(1024);
    let flits = ctx.main.begin(x.view()).fetch::<f32, m![A], m![B]>().collect::<m![A], m![B]>();
    flits.commit_trim::<m![B = 4]>().commit_cast::<bf16>().commit::<m![A, B = 4]>(2048);
    let flits = ctx.main.begin(x.view()).fetch::<f32, m![A], m![B]>().collect::<m![A], m![B]>();
    flits.cast::<bf16, m![B # 16]>().commit::<m![A, B]>(4096);
    y.to_hbm(&mut ctx.tdma, 1 << 30)
}

/// A ReLU without the Vector Engine, with time in another order.
#[device(chip = 1)]
fn activated(
    ctx: &mut Context,
    x: &HbmTensor<f32, m![1], m![S, A, B]>,
) -> HbmTensor<bf16, m![1], m![S, A, B]> {
    let x = x.to_dm::<Cluster, m![S], m![A, B]>(&mut ctx.tdma, 0);
    let flits =
        ctx.main.begin(x.view()).fetch::<f32, m![A % 2, A / 2], m![B]>().collect::<m![A % 2, A / 2], m![B]>();
    let y = flits.commit_cast_relu::<bf16>().commit::<m![A, B]>(1024);
    y.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn values_and_time_of_conversions() {
    let all = values(<m![S, A, B]>::SIZE);
    let (plain, relu, report) = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<f32, m![S, A, B]>::from_buf(init(&all)).to_hbm(&mut ctx.pdma, 0).await;
        let y = launch(conversions, (&mut *ctx, &x)).await;
        let plain = y.to_host::<m![S, A, B]>(&mut ctx.pdma).await.to_buf();
        let y = launch(activated, (&mut *ctx, &x)).await;
        let relu = y.to_host::<m![S, A, B]>(&mut ctx.pdma).await.to_buf();
        (plain, relu, ctx.report())
    });
    assert_same(&plain, &all.iter().map(|&value| narrowed(value, false)).collect::<Vec<_>>());
    // Half of the results are zero.
    for (k, (found, value)) in relu.iter().zip(&all).enumerate() {
        let Opt::Init(found) = found else { panic!("element {k} is not initialised") };
        assert_eq!(found.to_bits(), narrowed(*value, true).to_bits(), "element {k}, {value}");
    }
    let passes = passes(&report);
    let commit = |pass: usize| passes[pass].stage(Stage::Commit).expect("it commits").occupancy.cycles;
    // One write per step, of 16 bytes or of 8; the Cast Engine has no part in it.
    assert_eq!([0, 1, 2, 3].map(commit), [6; 4]);
    assert_eq!(
        [0, 1, 2, 3].map(|pass| passes[pass].stage(Stage::Cast).is_some()),
        [false, false, true, false]
    );
    let casts = passes[2].stage(Stage::Cast).expect("it casts").latency.cycles;
    assert_eq!(passes[0].cycles() + casts, passes[2].cycles());
}

/// Sums that become bf16 on their way to DM.
#[device(chip = 1)]
fn product(
    ctx: &mut Context,
    a: &HbmTensor<bf16, m![1], m![T, K]>,
    b: &HbmTensor<bf16, m![1], m![N, K]>,
) -> HbmTensor<bf16, m![1], m![T, N]> {
    let a = a.to_dm::<Cluster, m![1 # 256], m![T, K]>(&mut ctx.tdma, 0);
    let b = b.to_dm::<Cluster, m![1 # 256], m![N, K]>(&mut ctx.tdma, 1 << 16);
    let weights = (ctx.sub.begin(b.view()))
        .fetch::<bf16, m![N], m![K]>()
        .collect::<m![N, K / 16], m![K % 16]>()
        .to_trf::<m![N], m![K]>(TrfAddress::Full);
    let y = (ctx.main.begin(a.view()))
        .fetch::<bf16, m![T], m![K]>()
        .collect::<m![T, K / 16], m![K % 16]>()
        .align::<m![T], m![K], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![T], m![N]>(AccumulationKind::Interleaved)
        .commit_trim::<m![N]>()
        .commit_cast::<bf16>()
        .commit::<m![T, N]>(1 << 17);
    y.to_hbm(&mut ctx.tdma, 1 << 30)
}

#[test]
fn sums_are_narrowed() {
    let (a, b) = (numbers::<bf16>(3, 4 * 32), numbers::<bf16>(4, 8 * 32));
    let found = block_on(async {
        let mut ctx = Context::acquire();
        let left = HostTensor::<bf16, m![T, K]>::from_buf(init(&a)).to_hbm(&mut ctx.pdma, 0).await;
        let right = HostTensor::<bf16, m![N, K]>::from_buf(init(&b)).to_hbm(&mut ctx.pdma, 1 << 20).await;
        let y = launch(product, (&mut *ctx, &left, &right)).await;
        y.to_host::<m![T, N]>(&mut ctx.pdma).await.to_buf()
    });
    let rows = a.chunks(32).flat_map(|x| b.chunks(32).map(move |w| narrowed(dot(x, w, 32), false)));
    assert_same(&found, &rows.collect::<Vec<_>>());
}

/// Nobody has written the second half of the rows.
#[test]
fn unwritten_elements_are_found() {
    let half = (0..<m![S, A, B]>::SIZE).map(|k| if k % 48 < 24 { Opt::Init(1.0) } else { Opt::Uninit });
    let half = HostTensor::<f32, m![S, A, B]>::from_buf(half.collect());
    let message = panic_message(|| {
        block_on(async {
            let mut ctx = Context::acquire();
            let x = half.to_hbm(&mut ctx.pdma, 0).await;
            launch(activated, (&mut *ctx, &x)).await;
        });
    });
    // The stream has the odd rows behind the even ones.
    let part = "commit_cast_relu: uninitialised element: time step 2 converts element 32 of the tensor";
    assert!(message.contains(part), "{message}");
}
