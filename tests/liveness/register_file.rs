//! Tensors in the TRF whose half the context chooses.

use crate::{Cluster, Slice, block_on, code, init};
use furiosa_visa_std::chip::{Fault, FaultKind};
use furiosa_visa_std::clock::Report;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::Placement;

axes![T = 8, N = 8, K = 2048, R = 16];
type X = HbmTensor<i8, m![1], m![R, K]>;
type W = HbmTensor<i8, m![1], m![T, N, K]>;
type Y = HbmTensor<i32, m![1], m![T, R, N]>;
type DmX = DmTensor<i8, m![1], Cluster, Slice, m![R, K]>;
type DmW = DmTensor<i8, m![1], Cluster, Slice, m![T, N, K]>;
type DmY = DmTensor<i32, m![1], Cluster, Slice, m![T, R, N]>;
/// 16 KiB.
type Weights = TrfTensor<i8, m![1], Cluster, Slice, m![N], m![K]>;

/// Loads block `t` of the weights into a half.
macro_rules! load {
    ($ctx:ident, $w:ident, $t:expr, $($end:tt)+) => {
        (($ctx.sub.begin($w.view().tile::<m![T], 1, m![1 # 8, N, K]>($t))).fetch::<i8, m![N], m![K]>())
            .collect::<m![N, K / 32], m![K % 32]>()
            .$($end)+
    };
}

fn numbers(seed: u32, count: usize) -> Vec<i8> {
    (0..count).map(|k| code(seed, k) as u8 as i8).collect()
}

fn multiply(ctx: &mut Context, x: &DmX, weights: &Weights, y: &mut DmY, t: usize) {
    (ctx.main.begin(x.view()).fetch::<i8, m![R], m![K]>())
        .collect::<m![R, K / 32], m![K % 32]>()
        .align::<m![R, K / 64], m![K % 64], _, _>(weights)
        .contract::<m![1]>()
        .accumulate::<m![R], m![N]>(AccumulationKind::Interleaved)
        .commit_view(y.view_mut().tile::<m![T], 1, m![1 # 8, R, N]>(t));
}

fn run(
    placement: Placement,
    kernel: impl for<'a> DeviceFn<(&'a mut Context, &'a X, &'a W), Output = Y>,
) -> (Result<Vec<i32>, Fault>, Report) {
    block_on(async {
        let mut ctx = Context::with(SimOptions { placement, ..SimOptions::default() });
        let x = HostTensor::<i8, m![R, K]>::from_buf(init(&numbers(1, 16 * 2048)));
        let w = HostTensor::<i8, m![T, N, K]>::from_buf(init(&numbers(2, 8 * 8 * 2048)));
        let x: X = x.to_hbm(&mut ctx.pdma, AUTO).await;
        let w: W = w.to_hbm(&mut ctx.pdma, AUTO).await;
        let y = match try_launch(kernel, (&mut *ctx, &x, &w)).await {
            Ok(y) => Ok(y.to_host::<m![T, R, N]>(&mut ctx.pdma).await.to_vec()),
            Err(fault) => Err(fault),
        };
        (y, ctx.report())
    })
}

/// One load per turn: the halves alternate, and loads run while the product before them does.
#[device(chip = 1)]
fn in_turns(ctx: &mut Context, x: &X, w: &W) -> Y {
    let x: DmX = x.to_dm(&mut ctx.tdma, AUTO);
    let w: DmW = w.to_dm(&mut ctx.tdma, AUTO);
    let mut y = DmY::new(ctx);
    for t in 0..T::SIZE {
        let weights: Weights = load!(ctx, w, t, to_trf_auto());
        multiply(ctx, &x, &weights, &mut y, t);
    }
    y.to_hbm(&mut ctx.tdma, AUTO)
}

/// The same, with all handles up to the end.
#[device(chip = 1)]
fn kept(ctx: &mut Context, x: &X, w: &W) -> Y {
    let x: DmX = x.to_dm(&mut ctx.tdma, AUTO);
    let w: DmW = w.to_dm(&mut ctx.tdma, AUTO);
    let mut y = DmY::new(ctx);
    let mut all = Vec::new();
    for t in 0..T::SIZE {
        let weights: Weights = load!(ctx, w, t, to_trf_auto());
        multiply(ctx, &x, &weights, &mut y, t);
        all.push(weights);
    }
    y.to_hbm(&mut ctx.tdma, AUTO)
}

/// Halves by hand: the same one, or in turns.
#[device(chip = 1)]
fn same_half(ctx: &mut Context, x: &X, w: &W) -> Y {
    let x: DmX = x.to_dm(&mut ctx.tdma, AUTO);
    let w: DmW = w.to_dm(&mut ctx.tdma, AUTO);
    let mut y = DmY::new(ctx);
    for t in 0..T::SIZE {
        let weights: Weights = load!(ctx, w, t, to_trf(TrfAddress::FirstHalf));
        multiply(ctx, &x, &weights, &mut y, t);
    }
    y.to_hbm(&mut ctx.tdma, AUTO)
}

#[device(chip = 1)]
fn two_halves(ctx: &mut Context, x: &X, w: &W) -> Y {
    let x: DmX = x.to_dm(&mut ctx.tdma, AUTO);
    let w: DmW = w.to_dm(&mut ctx.tdma, AUTO);
    let mut y = DmY::new(ctx);
    for t in 0..T::SIZE {
        let half = if t % 2 == 0 { TrfAddress::FirstHalf } else { TrfAddress::SecondHalf };
        let weights: Weights = load!(ctx, w, t, to_trf(half));
        multiply(ctx, &x, &weights, &mut y, t);
    }
    y.to_hbm(&mut ctx.tdma, AUTO)
}

#[test]
fn loads_overlap_with_products() {
    let sums = |y: Result<Vec<i32>, Fault>| y.unwrap_or_else(|fault| panic!("{fault}"));
    let cycles = |report: &Report| report.kernels[0].makespan();
    let (expected, slow) = run(Placement::Handles, same_half);
    let (same, fast) = run(Placement::Handles, two_halves);
    let expected = sums(expected);
    assert_eq!(expected, sums(same));
    let (x, w) = (numbers(1, 16 * 2048), numbers(2, 8 * 8 * 2048));
    let product: i32 =
        x[2048..4096].iter().zip(&w[2048..4096]).map(|(x, w)| i32::from(*x) * i32::from(*w)).sum();
    assert_eq!(expected[8 + 1], product, "block 0, row 1, column 1");
    assert!(cycles(&fast) + 1000 < cycles(&slow), "{} {}", cycles(&fast), cycles(&slow));
    let (y, report) = run(Placement::Handles, in_turns);
    assert_eq!((sums(y), cycles(&report)), (expected.clone(), cycles(&fast)));
    for kernel in [0, 1] {
        let (y, report) =
            if kernel == 0 { run(Placement::Liveness, in_turns) } else { run(Placement::Liveness, kept) };
        assert_eq!(sums(y), expected);
        assert_eq!(cycles(&report), cycles(&fast));
        // Each load but the first one ends before the product before it does.
        let of = |name| report.records.iter().filter(move |record| record.operation.starts_with(name));
        let (loads, products) = (of("to_trf").skip(1), of("commit"));
        let overlapped = loads.zip(products).filter(|(load, product)| load.start < product.end).count();
        assert_eq!(overlapped, 7);
    }
    let fault = run(Placement::Handles, kept).0.expect_err("the handles live");
    assert_eq!(fault.kind, FaultKind::Capacity);
}

/// A third tensor while two are needed, and a large one beside a small one.
#[test]
fn a_full_file_names_its_tensors() {
    #[device(chip = 1)]
    fn three(ctx: &mut Context, x: &X, w: &W) -> Y {
        let x: DmX = x.to_dm(&mut ctx.tdma, AUTO);
        let w: DmW = w.to_dm(&mut ctx.tdma, AUTO);
        let mut y = DmY::new(ctx);
        let all: Vec<Weights> = (0..3).map(|t| load!(ctx, w, t, to_trf_auto())).collect();
        for t in 0..T::SIZE {
            multiply(ctx, &x, &all[t % 3], &mut y, t);
        }
        y.to_hbm(&mut ctx.tdma, AUTO)
    }
    #[device(chip = 1)]
    fn large(ctx: &mut Context, x: &X, w: &W) -> Y {
        let x: DmX = x.to_dm(&mut ctx.tdma, AUTO);
        let w: DmW = w.to_dm(&mut ctx.tdma, AUTO);
        let mut y = DmY::new(ctx);
        let small: Weights = load!(ctx, w, 0, to_trf_auto());
        let block = w.view().tile::<m![T], 3, m![T = 3 # 8, N, K]>(1);
        let _large = (ctx.sub.begin(block).fetch::<i8, m![N, T = 3], m![K]>())
            .collect::<m![N, T = 3, K / 32], m![K % 32]>()
            .to_trf_auto::<m![N], m![T = 3, K]>();
        for t in 0..T::SIZE {
            multiply(ctx, &x, &small, &mut y, t);
        }
        y.to_hbm(&mut ctx.tdma, AUTO)
    }
    for (placement, verb) in
        [(Placement::Handles, "are held by"), (Placement::Liveness, "are read later, of")]
    {
        let fault = run(placement, three).0.expect_err("all are read");
        let text = fault.to_string();
        let message =
            "fault: to_trf: capacity exceeded: 16384 bytes do not fit: neither half of the TRF is free\n";
        assert!(fault.kind == FaultKind::Capacity && text.starts_with(message), "{text}");
        assert!(
            text.contains(
                "help: end handles that nobody needs any more, or load this tensor after the last use"
            ),
            "{text}"
        );
        let labels: Vec<String> = fault.places.iter().map(|place| place.label.to_string()).collect();
        assert_eq!(labels, vec![format!("16384 bytes {verb} what was made here"); 2]);
        let fault = run(placement, large).0.expect_err("it takes all");
        let message = "fault: to_trf: capacity exceeded: 49152 bytes do not fit: they take both halves of the TRF of 65536 bytes, which \
                       are not free\n";
        assert!(fault.to_string().starts_with(message), "{fault}");
        assert_eq!(fault.places.len(), 1, "{fault}");
    }
}

/// The part that a handle says, and what is in it.
#[test]
fn a_handle_says_its_part() {
    #[device(chip = 1)]
    fn looks(ctx: &mut Context, x: &X, w: &W) -> Y {
        let x: DmX = x.to_dm(&mut ctx.tdma, AUTO);
        let w: DmW = w.to_dm(&mut ctx.tdma, AUTO);
        let mut y = DmY::new(ctx);
        let first: Weights = load!(ctx, w, 0, to_trf_auto());
        let second: Weights = load!(ctx, w, 1, to_trf_auto());
        let expected = numbers(2, 8 * 8 * 2048);
        assert_eq!(second.inspect::<m![N, K]>(ctx).to_vec(), expected[16_384..32_768]);
        assert_eq!(first.inspect::<m![N, K]>(ctx).to_vec(), expected[..16_384]);
        assert_eq!(
            [&first, &second].map(|own| own.address()),
            [TrfAddress::FirstHalf, TrfAddress::SecondHalf]
        );
        drop(first);
        let third: Weights = load!(ctx, w, 3, to_trf_auto());
        let _ = second.inspect::<m![N, K]>(ctx);
        assert_eq!(third.address(), TrfAddress::FirstHalf);
        for t in 0..T::SIZE {
            multiply(ctx, &x, &third, &mut y, t);
        }
        y.to_hbm(&mut ctx.tdma, AUTO)
    }
    let [handles, liveness] =
        [Placement::Handles, Placement::Liveness].map(|placement| run(placement, looks).0);
    assert_eq!(handles.expect("it fits"), liveness.expect("it fits"));
}
