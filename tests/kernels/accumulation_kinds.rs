//! The kind of an accumulation is a value: mappings that fit only the other kind are refused when the call is made.

use crate::{Cluster, block_on};
use furiosa_visa_std::chip::{Fault, FaultKind};
use furiosa_visa_std::prelude::*;

axes![S = 2, T = 16, N = 8, K = 32];
type Slice = m![1 # 256];
type X = HbmTensor<bf16, m![1], m![S, T, K]>;
type W = HbmTensor<bf16, m![1], m![N, K]>;

/// Reduces the packet to `$columns`, then accumulates to `$out_time` and `$out_packet` by a kind that is an argument.
macro_rules! accumulation {
    ($name:ident, columns $columns:ty, to $out_time:ty, $out_packet:ty) => {
        fn $name(kind: AccumulationKind) -> Result<Vec<Opt<f32>>, Fault> {
            #[device(chip = 1)]
            fn kernel(
                ctx: &mut Context,
                x: &X,
                w: &W,
                interleaved: bool,
            ) -> HbmTensor<f32, m![1], m![{ $out_time }, { $out_packet }]> {
                let x = x.to_dm::<Cluster, Slice, m![S, T, K]>(&mut ctx.tdma, 0);
                let w = w.to_dm::<Cluster, Slice, m![N, K]>(&mut ctx.tdma, 1 << 16);
                let weights = (ctx.sub.begin(w.view()).fetch::<bf16, m![N], m![K]>())
                    .collect::<m![N, K / 16], m![K % 16]>()
                    .to_trf::<m![N], m![K]>(TrfAddress::Full);
                let kind =
                    if interleaved { AccumulationKind::Interleaved } else { AccumulationKind::Sequential };
                (ctx.main.begin(x.view()).fetch::<bf16, m![S, T], m![K]>())
                    .collect::<m![S, T, K / 16], m![K % 16]>()
                    .align::<m![S, T], m![K], _, _>(&weights)
                    .contract::<$columns>()
                    .accumulate::<$out_time, $out_packet>(kind)
                    .commit::<m![{ $out_time }, { $out_packet }]>(1 << 17)
                    .to_hbm(&mut ctx.tdma, 1 << 30)
            }
            block_on(async {
                let mut ctx = Context::acquire();
                let ones = |count| vec![Opt::Init(bf16::from_f32(1.0)); count];
                let x = HostTensor::<bf16, m![S, T, K]>::from_buf(ones(2 * 16 * 32));
                let w = HostTensor::<bf16, m![N, K]>::from_buf(ones(8 * 32));
                let x: X = x.to_hbm(&mut ctx.pdma, 0).await;
                let w: W = w.to_hbm(&mut ctx.pdma, 1 << 20).await;
                let y = try_launch(kernel, (&mut ctx, &x, &w, kind == AccumulationKind::Interleaved)).await?;
                Ok(y.to_host::<m![{ $out_time }, { $out_packet }]>(&mut ctx.pdma).await.to_buf())
            })
        }
    };
}

accumulation!(rows_as_lanes, columns m![1], to m![T], m![N]);
accumulation!(columns_as_lanes, columns m![K / 4], to m![S, T, N], m![K / 4]);
accumulation!(columns_in_time, columns m![K / 4], to m![T, K / 4], m![N]);

#[track_caller]
fn refused(found: Result<Vec<Opt<f32>>, Fault>, parts: &[&str]) {
    let fault = found.expect_err("the kind does not fit");
    assert_eq!(fault.kind, FaultKind::Refused, "{fault}");
    let text = fault.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    assert!(text.contains("accumulation_kinds.rs"), "the line of the call is named: {text}");
}

#[track_caller]
fn all(found: Result<Vec<Opt<f32>>, Fault>, value: f32) {
    let found = found.expect("the kind fits");
    assert!(found.iter().all(|sum| *sum == Opt::Init(value)), "{found:?}");
}

/// E32.
#[test]
fn lanes_of_the_other_kind() {
    all(rows_as_lanes(AccumulationKind::Interleaved), 64.0);
    let parts = [
        "accumulate, Sequential: OutPacket is `m![N]`, but must be `m![1 # 8]`, the inner 8 columns of the packet",
        "help: use it, and let OutTime end in `m![N]`, the rows and groups of 8 columns; or write `AccumulationKind::Interleaved`, which these \
         mappings fit",
    ];
    refused(rows_as_lanes(AccumulationKind::Sequential), &parts);
    all(columns_as_lanes(AccumulationKind::Sequential), 4.0);
    let parts = [
        "accumulate, Interleaved: OutPacket is `m![K / 4]`, but must be `m![N]`, the rows padded to 8",
        "help: use it, and let OutTime end in `m![K / 4]`, the columns of the packet; or write `AccumulationKind::Sequential`, which these mappings fit",
    ];
    refused(columns_as_lanes(AccumulationKind::Interleaved), &parts);
}

/// Rows and columns that look alike in the packet: one row, and eight columns of padding but one.
mod one_row {
    use super::*;
    use furiosa_visa_std::engine::contraction::AccumulatePlan;

    /// E33. One row and one column have the same lanes in both kinds; two rows do not.
    #[test]
    fn time_of_the_other_kind() {
        axes![R = 2];
        type One = AccumulatePlan<m![1], m![T], m![1], m![T], m![1 # 8]>;
        assert!(One::INTERLEAVED.is_ok() && One::SEQUENTIAL.is_ok());
        type Columns = AccumulatePlan<m![1], m![T], m![R], m![T, R], m![1 # 8]>;
        assert!(Columns::INTERLEAVED.is_ok());
        let error = Columns::SEQUENTIAL.expect_err("lanes are columns");
        assert_eq!(error.rule(), "accumulate packet");
        type Rows = AccumulatePlan<m![R], m![T], m![1], m![T, R], m![1 # 8]>;
        assert!(Rows::SEQUENTIAL.is_ok());
        type Flat = AccumulatePlan<m![R], m![T], m![1], m![T], m![1 # 8]>;
        let error = Flat::SEQUENTIAL.expect_err("rows are in time");
        assert_eq!(error.rule(), "accumulate time tail");
        for part in ["Sequential: OutTime is `m![T]`", "must end in `m![R]`", "help: append it innermost"] {
            assert!(error.message().contains(part), "{error}");
        }
    }
}

/// E37: 16 x 8 columns fill the 128 of an interleaved accumulation.
#[test]
fn a_buffer_that_only_the_other_kind_has() {
    use furiosa_visa_std::engine::contraction::AccumulatePlan;
    all(columns_in_time(AccumulationKind::Interleaved), 8.0);
    type Interleaved = AccumulatePlan<m![N], m![S, T], m![K / 4], m![T, K / 4], m![N]>;
    assert_eq!(Interleaved::INTERLEAVED.expect("fits").buffer, 128);
    assert_eq!(Interleaved::INTERLEAVED.expect("fits").buffer_cells(), 1024);
    type Sequential = AccumulatePlan<m![N], m![S, T], m![K / 4], m![T, N], m![K / 4]>;
    let error = Sequential::SEQUENTIAL.expect_err("16 x 8 rows");
    for part in [
        "needs 128 rows in the buffer, 16 x 8 x 1",
        "holds 32",
        "help: move `m![S]`",
        "other kind",
        "fewer rows",
    ] {
        assert!(error.message().contains(part), "{error}");
    }
}
