//! Padding that is summed together with elements.

use crate::{block_on, check, context, fine, flagged};
use furiosa_visa_std::chip::{Check, CheckOptions, Fault, FaultKind, PaddingRule};
use furiosa_visa_std::prelude::*;

axes![S = 4, T = 8, R = 10, K = 63, Q = 60, V = 65, J = 2, L = 64, N = 8];

type Cluster = m![1 # 2];
type Slice = m![S # 256];
type Weights<D> = HbmTensor<D, m![1], m![N, L]>;
type Sums<D> = HbmTensor<D, m![1], m![S, N]>;

const DATA: u64 = 0;
const WEIGHTS: u64 = 1 << 13;

/// Puts bytes where the kernels below have tensors with padding: whole rows, the padding included.
#[device(chip = 1)]
fn put(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, R, L]>, w: &Weights<i8>) {
    x.to_dm::<Cluster, Slice, m![R, L]>(&mut ctx.tdma, DATA);
    w.to_dm::<Cluster, Slice, m![N, L]>(&mut ctx.tdma, WEIGHTS);
}

/// A tensor over bytes that [`put`] wrote.
#[allow(unsafe_code)] // An earlier launch wrote them.
fn over<D: Scalar, Element: M>(address: u64) -> DmTensor<D, m![1], Cluster, Slice, Element> {
    unsafe { DmTensor::from_addr(address) }
}

/// The weights that [`put`] wrote, 64 of a row.
fn weights(ctx: &mut Context) -> TrfTensor<i8, m![1], Cluster, Slice, m![N], m![L]> {
    let w = over::<i8, m![N, L]>(WEIGHTS);
    let w = ctx.sub.begin(w.view()).fetch::<i8, m![N], m![L]>().collect::<m![N, L / 32], m![L % 32]>();
    w.to_trf::<m![N], m![L]>(TrfAddress::Full)
}

/// Rows of `T # 10` are summed, of which those from 8 on are padding.
fn sum_over_time(ctx: &mut Context, x: &DmTensor<i8, m![1], Cluster, Slice, m![T # 10, L]>) -> Sums<i32> {
    let w = weights(ctx);
    (ctx.main.begin(x.view()).fetch::<i8, m![T # 10], m![L]>())
        .collect::<m![T # 10, L / 32], m![L % 32]>()
        .align::<m![T # 10], m![L], _, _>(&w)
        .contract::<m![1]>()
        .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![N]>(1 << 14) // rows
        .to_hbm(&mut ctx.tdma, 1 << 30)
}

#[device(chip = 1)]
fn rows(ctx: &mut Context) -> Sums<i32> {
    sum_over_time(ctx, &over(DATA))
}

/// The padding is where nobody has written anything.
#[device(chip = 1)]
fn fresh_rows(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, T, L]>) -> Sums<i32> {
    let x = x.to_dm::<Cluster, Slice, m![T # 10, L]>(&mut ctx.tdma, 1 << 16);
    sum_over_time(ctx, &x)
}

/// Nobody sums the padding: every row leaves by itself.
#[device(chip = 1)]
fn rows_apart(ctx: &mut Context) {
    let (x, w) = (over::<i8, m![T # 10, L]>(DATA), weights(ctx));
    (ctx.main.begin(x.view()).fetch::<i8, m![T # 10], m![L]>())
        .collect::<m![T # 10, L / 32], m![L % 32]>()
        .align::<m![T # 10], m![L], _, _>(&w)
        .contract::<m![1]>()
        .accumulate::<m![T # 10], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![T # 10, N]>(1 << 14);
}

/// The sum of a row of 63 whose last cell is padding.
macro_rules! innermost {
    ($name:ident, $context:ident) => {
        #[device(chip = 1)]
        fn $name(ctx: &mut Context) -> Sums<i32> {
            let (x, w) = (over::<i8, m![K # 64]>(DATA), over::<i8, m![N, K # 64]>(WEIGHTS));
            let w = (ctx.sub.begin(w.view()).fetch::<i8, m![N], m![K # 64]>())
                .collect::<m![N, K # 64 / 32], m![K # 64 % 32]>()
                .to_trf::<m![N], m![K # 64]>(TrfAddress::Full);
            (ctx.$context.begin(x.view()).fetch::<i8, m![K # 64 / 8], m![K # 64 % 8]>())
                .collect::<m![K # 64 / 8], m![K # 64 % 8 # 32]>()
                .align::<m![K # 64 / 8], m![K # 64 % 8 # 64], _, _>(&w)
                .contract::<m![1]>()
                .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
                .commit::<m![N]>(1 << 14)
                .to_hbm(&mut ctx.tdma, 1 << 30)
        }
    };
}

innermost!(masked, main);
innermost!(not_masked, sub); // row

/// The sum of a row of 65 floats, padded to 96: 130 bytes of values.
macro_rules! long_row {
    ($name:ident, $time:ty, $packet:ty) => {
        #[device(chip = 1)]
        fn $name(ctx: &mut Context) {
            let (x, w) = (over::<bf16, m![V # 96]>(DATA), over::<bf16, m![J, V # 96]>(WEIGHTS));
            let w = (ctx.sub.begin(w.view()).fetch::<bf16, m![J], m![V # 96]>())
                .collect::<m![J, V # 96 / 16], m![V # 96 % 16]>()
                .to_trf::<m![J], m![V # 96]>(TrfAddress::Full);
            (ctx.main.begin(x.view()).fetch::<bf16, $time, $packet>())
                .collect::<m![V # 96 / 16], m![V # 96 % 16]>()
                .align::<m![V # 96 / 32], m![V # 96 % 32], _, _>(&w)
                .contract::<m![1]>()
                .accumulate::<m![1], m![J # 8]>(AccumulationKind::Interleaved)
                .commit::<m![J # 8]>(1 << 14);
        }
    };
}

long_row!(row_in_one_packet, m![1], m![V # 96]); // long row
long_row!(row_in_packets, m![V # 96 / 32], m![V # 96 % 32]);

/// Elements of an int8 tensor with zero point 3, of which the last one is padding with some pad value.
fn quantized(ctx: &mut Context, pad_value: Option<i8>) {
    let (x, w) = (over::<i8, m![K # 64]>(DATA), over::<i8, m![N, K # 64]>(WEIGHTS));
    let w = (ctx.sub.begin(w.view()).fetch::<i9, m![N], m![K # 64]>())
        .collect::<m![N, K # 64 / 32], m![K # 64 % 32]>()
        .to_trf::<m![N], m![K # 64]>(TrfAddress::Full);
    let mut x = ctx.main.begin(x.view());
    if let Some(value) = pad_value {
        x = x.pad_value(value);
    }
    x.fetch_with_zero_point::<i9, m![1], m![K # 64]>(3)
        .collect::<m![K # 64 / 32], m![K # 64 % 32]>()
        .align::<m![1], m![K # 64], _, _>(&w)
        .contract::<m![1]>()
        .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![N]>(1 << 14); // shifted
}

#[device(chip = 1)]
fn pad_value_zero(ctx: &mut Context) {
    quantized(ctx, Some(0));
}

#[device(chip = 1)]
fn pad_value_three(ctx: &mut Context) {
    quantized(ctx, Some(3));
}

#[device(chip = 1)]
fn pad_value_left_out(ctx: &mut Context) {
    quantized(ctx, None);
}

/// Numbers of which none is zero, but for the padding of time.
fn number(row: usize, k: usize, padding: i8) -> i8 {
    if row < 8 { 1 + ((row * 7 + k * 3) % 100) as i8 } else { padding }
}

/// Writes the bytes, with this in the rows that are padding of time, and launches a kernel over them.
macro_rules! launched {
    ($kernel:ident, $padding:expr) => {
        |checks| {
            block_on(async {
                let mut ctx = filled(checks, $padding).await?;
                try_launch($kernel, &mut *ctx).await.map(|_| ())
            })
        }
    };
}

async fn filled(checks: CheckOptions, padding: i8) -> Result<furiosa_visa_std::runtime::ContextGuard, Fault> {
    let mut ctx = context(checks);
    let x = (0..4 * 10 * 64).map(|k| Opt::Init(number(k / 64 % 10, k % 64, padding))).collect();
    let w = (0..8 * 64).map(|k| Opt::Init((k % 50) as i8 - 25)).collect();
    let x = HostTensor::<i8, m![S, R, L]>::from_buf(x).to_hbm(&mut ctx.pdma, 0).await;
    let w = HostTensor::<i8, m![N, L]>::from_buf(w).to_hbm(&mut ctx.pdma, 1 << 20).await;
    try_launch(put, (&mut *ctx, &x, &w)).await?;
    Ok(ctx)
}

fn fresh(checks: CheckOptions) -> Result<(), Fault> {
    block_on(async {
        let mut ctx = filled(checks, 0).await?;
        let x = (0..4 * 8 * 64).map(|k| Opt::Init(number(k / 64 % 8, k % 64, 0))).collect();
        let x = HostTensor::<i8, m![S, T, L]>::from_buf(x).to_hbm(&mut ctx.pdma, 0).await;
        try_launch(fresh_rows, (&mut *ctx, &x)).await.map(|_| ())
    })
}

#[test]
fn controls() {
    check(
        Check::Padding,
        &[
            flagged(
                "padding of time that nobody wrote",
                fresh,
                FaultKind::PaddingSummed,
                &["rows"],
                &[
                    "contraction: padding summed: step 8, cell 0 (position 8 of m![T # 10]) is summed with step 0, cell 0 \
                     (i![T: 0, L: 0]",
                    "the operand of the stream was never written (padding that no mask of fetch covers",
                    "the weight, element 0 of row 0 in TrfAddress::Full, is -25",
                    "DM, bytes 66048..66049 of chip 0, cluster 0, slice 0",
                    "help: pad the innermost axis, of packets",
                ],
            ),
            flagged(
                "padding of time with other bytes",
                launched!(rows, 5),
                FaultKind::PaddingSummed,
                &["rows"],
                &["the operand of the stream is 5 (padding that no mask of fetch covers"],
            ),
            flagged(
                "a row in the sub context, which has no masks",
                launched!(not_masked, 0),
                FaultKind::PaddingSummed,
                &["row"],
                &["position 7 of m![K # 64 / 8]", "padding that no mask covers: the sub context has none"],
            ),
            flagged(
                "a packet of more bytes than masks count",
                launched!(row_in_one_packet, 0),
                FaultKind::PaddingSummed,
                &["long row"],
                &[
                    "padding that no mask of fetch covers: masks are for the innermost axis, and count up to 127 bytes of a \
                     packet",
                    "help: pad the innermost axis, of packets of at most 127 bytes",
                ],
            ),
            flagged(
                "a pad value that is not the zero point",
                launched!(pad_value_zero, 0),
                FaultKind::PaddingSummed,
                &["shifted"],
                &[
                    "the operand of the stream is -3 (the value that the mask of fetch gives it)",
                    "leave `pad_value` out",
                ],
            ),
            fine("padding of time that holds zeros", launched!(rows, 0)),
            fine("a row whose padding is masked", launched!(masked, 0)),
            fine("a long row in packets whose bytes masks count", launched!(row_in_packets, 0)),
            fine("a pad value that is the zero point", launched!(pad_value_three, 0)),
            fine("the pad value that the mask has by itself", launched!(pad_value_left_out, 0)),
            fine("rows that leave one by one", launched!(rows_apart, 5)),
        ],
    );
}

/// With the check off, sums take in what lies there.
#[test]
fn padding_is_computed_with() {
    let checks = CheckOptions::ALL.with(Check::Padding, false);
    for padding in [0, 5] {
        let sums = block_on(async {
            let mut ctx = filled(checks, padding).await.expect("it is written");
            let sums = launch(rows, &mut *ctx).await;
            sums.to_host::<m![S, N]>(&mut ctx.pdma).await.to_buf()
        });
        for (k, sum) in sums.iter().enumerate() {
            let w = |at: usize| ((k % 8 * 64 + at) % 50) as i32 - 25;
            let x = |row: usize, at: usize| i32::from(number(row, at, padding));
            let expected: i32 = (0..10).flat_map(|row| (0..64).map(move |at| x(row, at) * w(at))).sum();
            assert_eq!(*sum, Opt::Init(expected), "padding of {padding}, sum {k}");
        }
    }
}

/// A row of 60 floats. The padding of stream and weights was never written; that of the stream is masked.
#[device(chip = 1)]
fn floats(ctx: &mut Context, x: &HbmTensor<bf16, m![1], m![S, Q]>, w: &HbmTensor<bf16, m![1], m![N, Q]>) {
    let x = x.to_dm::<Cluster, Slice, m![Q # 64]>(&mut ctx.tdma, DATA);
    let w = w.to_dm::<Cluster, Slice, m![N, Q # 64]>(&mut ctx.tdma, WEIGHTS);
    let w = (ctx.sub.begin(w.view()).fetch::<bf16, m![N], m![Q # 64]>())
        .collect::<m![N, Q # 64 / 16], m![Q # 64 % 16]>()
        .to_trf::<m![N], m![Q # 64]>(TrfAddress::Full);
    (ctx.main.begin(x.view()).fetch::<bf16, m![1], m![Q # 64]>())
        .collect::<m![Q # 64 / 16], m![Q # 64 % 16]>()
        .align::<m![Q # 64 / 32], m![Q # 64 % 32], _, _>(&w)
        .contract::<m![1]>()
        .accumulate::<m![1], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![N]>(1 << 14); // floats
}

#[test]
fn zero_times_what_nobody_wrote_is_zero_unless_the_rule_is_strict() {
    let run = |padding| {
        block_on(async {
            let mut ctx = Context::with(SimOptions { padding, ..SimOptions::default() });
            let ones = |len| (0..len).map(|_| Opt::Init(bf16::from_f32(1.0))).collect();
            let x = HostTensor::<bf16, m![S, Q]>::from_buf(ones(4 * 60)).to_hbm(&mut ctx.pdma, 0).await;
            let w = HostTensor::<bf16, m![N, Q]>::from_buf(ones(8 * 60)).to_hbm(&mut ctx.pdma, 1 << 20).await;
            try_launch(floats, (&mut *ctx, &x, &w)).await
        })
    };
    assert_eq!(run(PaddingRule::ZeroWins), Ok(()));
    let fault = run(PaddingRule::Strict).expect_err("the weight may be NaN");
    assert_eq!(fault.kind, FaultKind::PaddingSummed);
    let text = fault.to_string();
    assert!(
        text.contains("the weight, element 60 of row 0 in TrfAddress::Full, was never written"),
        "{text}"
    );
    assert!(text.contains("= memory: TRF, bytes 120..122"), "{text}");
}
