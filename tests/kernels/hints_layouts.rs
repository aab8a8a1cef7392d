//! Hints that name mappings: each edit is made as it is printed, and saves what was promised.

use crate::block_on;
use crate::hints::{hint, promised, report};
use furiosa_visa_std::clock::{Hint, HintKind, Report};
use furiosa_visa_std::kernels::{Plain, linear, load_operand, load_weights, softmax};
use furiosa_visa_std::prelude::*;

fn uploaded<D: Scalar, Element: M>(ctx: &mut Context) -> HbmTensor<D, m![1], Element> {
    block_on(HostTensor::<D, Element>::zero().to_hbm(&mut ctx.pdma, AUTO))
}

/// The mappings of a hint, as it is printed.
fn changes(hint: &Hint) -> Vec<[&str; 2]> {
    hint.changes.iter().map(|change| [&*change.before, &*change.after]).collect()
}

#[track_caller]
fn own(report: &Report, kind: HintKind) -> Hint {
    let own = hint(report, kind).unwrap_or_else(|| panic!("no {} in\n{report}", kind.name()));
    // Every mapping is in the text, whole.
    let text: String = report.to_string().split_whitespace().collect();
    for [before, after] in changes(&own) {
        for code in [format!("-{before}"), format!("+{after}")] {
            let code: String = code.split_whitespace().collect();
            assert!(text.contains(&code), "{code} in\n{report}");
        }
    }
    own
}

/// Softmax of rows that are no whole units of HBM, over the first slices of both clusters.
mod ragged_softmax {
    use super::*;
    axes![R = 100, K = 520];

    fn run<In: M, Out: M, Slice: M>() -> Report {
        report(|ctx| {
            let x = uploaded::<f32, In>(ctx);
            let x = x.to_dm::<m![R / 50], Slice, m![1, K]>(&mut ctx.tdma, AUTO);
            let y: DmTensor<f32, _, _, _, _> = softmax(ctx, &x, 1.0);
            let _y: HbmTensor<f32, m![1], Out> = y.to_hbm(&mut ctx.tdma, AUTO);
        })
    }

    #[test]
    fn rows_of_the_result_are_padded_then_slices_spread() {
        let before = run::<m![R, K], m![R, K], m![R % 50 # 256]>();
        let padded = own(&before, HintKind::PartialWrites);
        assert_eq!(before.hints()[0], padded, "{before}");
        assert!(padded.cause.ends_with("the last run of each row: 32 of 256 bytes"), "{}", padded.cause);
        assert_eq!(
            changes(&padded),
            [["HbmTensor<f32, m![1], m![R, K]>", "HbmTensor<f32, m![1], m![R, K # 576]>"]]
        );
        let after = run::<m![R, K], m![R, K # 576], m![R % 50 # 256]>();
        promised(HintKind::PartialWrites, &before, &after, 10);
        // The best that is known of this kernel.
        let spread = own(&after, HintKind::UnusedSlices);
        assert_eq!(spread.cause, "the 50 used slices of 256 share 1 of 4 DMA engines of a cluster");
        assert_eq!(changes(&spread), [["Slice m![R % 50 # 256]", "Slice m![R % 50 # 64, 1 # 4]"]]);
        let best = run::<m![R, K], m![R, K # 576], m![R % 50 # 64, 1 # 4]>();
        promised(HintKind::UnusedSlices, &after, &best, 10);
    }
}

/// Rows that go from HBM to slices and back.
mod copied_rows {
    use super::*;
    axes![S = 128, T = 4, K = 1024];

    /// Rows of both axes, which lie as `Cluster`, `Slice` and `Element` say.
    fn run<Cluster: M, Slice: M, Element: M>() -> Report {
        report(|ctx| {
            let x = uploaded::<i8, m![S, T, K]>(ctx);
            let x = x.to_dm::<Cluster, Slice, m![{ Element }, K]>(&mut ctx.tdma, AUTO);
            let y = (ctx.main.begin(x.view()).fetch::<i8, m![{ Element }, K / 32], m![K % 32]>())
                .collect::<m![{ Element }, K / 32], m![K % 32]>()
                .commit::<m![{ Element }, K]>(AUTO);
            let _y: HbmTensor<i8, m![1], m![S, T, K]> = y.to_hbm(&mut ctx.tdma, AUTO);
        })
    }

    #[test]
    fn unused_slices_and_an_idle_cluster() {
        let before = run::<m![1 # 2], m![S # 256], m![T]>();
        let apart = run::<m![1 # 2], m![S, 1 # 2], m![T]>();
        assert_eq!(
            changes(&own(&before, HintKind::UnusedSlices)),
            [["Slice m![S # 256]", "Slice m![S, 1 # 2]"]]
        );
        promised(HintKind::UnusedSlices, &before, &apart, 10);
        // Half of the slices, or half of the elements: the better one.
        let idle = own(&apart, HintKind::IdleCluster);
        let elements =
            [["Cluster m![1 # 2]", "Cluster m![T / 2]"], ["Element m![T, K]", "Element m![T % 2, K]"]];
        assert_eq!(changes(&idle), elements, "{apart}");
        promised(HintKind::IdleCluster, &apart, &run::<m![T / 2], m![S, 1 # 2], m![T % 2]>(), 10);
    }

    /// A row in each slice, and an odd number of slices: no digit can go to the other cluster.
    #[test]
    fn no_cluster_for_what_cannot_be_halved() {
        // 31 flits.
        axes![R = 197, J = 248];
        let odd = report(|ctx| {
            let x = uploaded::<f32, m![R, J]>(ctx);
            let x = x.to_dm::<m![1 # 2], m![R # 256], m![J]>(&mut ctx.tdma, AUTO);
            let y = (ctx.main.begin(x.view()).fetch::<f32, m![J / 8], m![J % 8]>())
                .collect::<m![J / 8], m![J % 8]>()
                .commit::<m![J]>(AUTO);
            let _y: HbmTensor<f32, m![1], m![R, J # 256]> = y.to_hbm(&mut ctx.tdma, AUTO);
        });
        assert_eq!(hint(&odd, HintKind::IdleCluster), None, "{odd}");
        assert_eq!(hint(&odd, HintKind::UnusedSlices), None, "{odd}");
    }

    /// A switch depends on the order of slices.
    #[test]
    fn slices_that_exchange_packets_stay() {
        axes![A = 64, B = 2, C = 2, E = 4096];
        let of = |is_switched: bool| {
            report(|ctx| {
                let x = uploaded::<i8, m![A, B, E]>(ctx);
                let x = x.to_dm::<m![1 # 2], m![[A, B] # 256], m![E]>(&mut ctx.tdma, AUTO);
                let x = ctx.main.begin(x.view()).fetch::<i8, m![E / 32], m![E % 32]>();
                if is_switched {
                    let y = x
                        .switch_to::<m![[A, C] # 256], m![E / 32, B]>()
                        .collect::<m![E / 32, B], m![E % 32]>()
                        .commit::<m![B, E]>(AUTO);
                    let _y: HbmTensor<i8, m![1], m![A, C, B, E]> = y.to_hbm(&mut ctx.tdma, AUTO);
                } else {
                    let y = x.collect::<m![E / 32], m![E % 32]>().commit::<m![E]>(AUTO);
                    let _y: HbmTensor<i8, m![1], m![A, B, E]> = y.to_hbm(&mut ctx.tdma, AUTO);
                }
            })
        };
        let [alone, switched] = [false, true].map(of);
        assert!(hint(&alone, HintKind::UnusedSlices).is_some(), "{alone}");
        for kind in [HintKind::UnusedSlices, HintKind::IdleCluster] {
            assert_eq!(hint(&switched, kind), None, "{switched}");
        }
    }
}

/// Attention of 64 queries, a query in each slice, from keys and values that all of them share.
mod attention {
    use super::*;
    axes![S = 64, T = 64, D = 64];
    type Queries = HbmTensor<bf16, m![1], m![S, D]>;
    type Keys = HbmTensor<bf16, m![1], m![T, D]>;
    type Cluster = m![1 # 2];
    type Slice = m![S, 1 # 4];

    fn run(ways: [bool; 2]) -> Report {
        let [is_switched, streams_parts] = ways;
        report(|ctx| {
            let (q, k, v): (Queries, Keys, Keys) = (
                uploaded::<bf16, m![S, D]>(ctx),
                uploaded::<bf16, m![T, D]>(ctx),
                uploaded::<bf16, m![T, D]>(ctx),
            );
            let q = q.to_dm::<Cluster, Slice, m![1, D]>(&mut ctx.tdma, AUTO);
            let w = if is_switched {
                let k = k.to_dm::<Cluster, m![T % 8, T / 8, D / 16], m![D % 16]>(&mut ctx.tdma, AUTO);
                (ctx.sub.begin(k.view()).fetch::<bf16, m![1], m![D % 16]>())
                    .switch_to::<Slice, m![T % 8, T / 8, D / 16]>()
                    .collect::<m![T % 8, T / 8, D / 16], m![D % 16]>()
                    .to_trf::<m![T % 8], m![T / 8, D]>(TrfAddress::FirstHalf)
            } else {
                let k = k.to_dm::<Cluster, Slice, m![T, D]>(&mut ctx.tdma, AUTO);
                load_weights(ctx, &k, TrfAddress::FirstHalf)
            };
            let scores: DmTensor<f32, _, _, _, m![1, T]> = linear(ctx, &q, &w, None, Plain);
            let chances: DmTensor<bf16, _, _, _, _> = softmax(ctx, &scores, 0.125);
            let chances = (ctx.sub.begin(chances.view()).fetch::<bf16, m![1], m![T]>())
                .collect::<m![T / 16], m![T % 16]>()
                .to_trf::<m![1], m![T]>(TrfAddress::SecondHalf);
            macro_rules! sums {
                ($stream:expr) => {
                    $stream
                        .collect::<m![T, D / 16], m![D % 16]>()
                        .align::<m![T, D / 32], m![D % 32], _, _>(&chances)
                        .contract::<m![D % 32]>()
                        .accumulate::<m![D / 8], m![D % 8]>(AccumulationKind::Sequential)
                        .cast::<bf16, m![D % 8 # 16]>()
                        .commit::<m![D]>(AUTO)
                };
            }
            let y = if streams_parts {
                let v = v.to_dm::<Cluster, m![T, D / 16], m![D % 16]>(&mut ctx.tdma, AUTO);
                let stream = ctx.main.begin(v.view()).fetch::<bf16, m![1], m![D % 16]>();
                sums!(stream.switch_to::<Slice, m![T, D / 16]>())
            } else {
                let v = v.to_dm::<Cluster, Slice, m![T, D]>(&mut ctx.tdma, AUTO);
                sums!(ctx.main.begin(v.view()).fetch::<bf16, m![T], m![D]>())
            };
            let y = y.to_dm::<m![S / 2, 1 # 8], m![S % 2, D]>(&mut ctx.tdma, AUTO);
            let _y: Queries = y.to_hbm(&mut ctx.tdma, AUTO);
        })
    }

    /// Keys come by a switch to the register file, and values into the stream.
    #[test]
    fn broadcast_loads() {
        let [before, between, after] = [[false; 2], [true, false], [true; 2]].map(run);
        let first = own(&before, HintKind::BroadcastLoad);
        assert_eq!(before.hints()[0], first, "{before}");
        assert_eq!(first.cause, "64 slices of a cluster get the same 8 192 bytes, one after another");
        assert_eq!(
            changes(&first),
            [
                [
                    "to_dm::<m![1 # 2], m![S, 1 # 4], m![T, D]>",
                    "to_dm::<m![1 # 2], m![T % 8, T / 8, D / 16], m![D % 16]>"
                ],
                [
                    "fetch::<bf16, m![T % 8, T / 8, D / 16], m![D % 16]>()",
                    "fetch::<bf16, m![1], m![D % 16]>().switch_to::<m![S, 1 # 4], m![T % 8, T / 8, D / 16]>()"
                ],
            ]
        );
        let saved = |a: &Report, b: &Report| a.headline().cycles - b.headline().cycles;
        for (hint, saved) in [
            (first, saved(&before, &between)),
            (own(&between, HintKind::BroadcastLoad), saved(&between, &after)),
        ] {
            assert!(hint.saving.abs_diff(saved) * 10 <= saved, "promised {}, saved {saved}", hint.saving);
        }
        assert_eq!(hint(&after, HintKind::BroadcastLoad), None, "{after}");
    }
}

/// Scales of 100 outputs that all slices of both clusters share, with rows over clusters and slices.
mod scaled {
    use super::*;
    axes![R = 512, R0 = 2, R1 = 256, N = 104];

    fn run(is_switched: bool) -> Report {
        report(|ctx| {
            macro_rules! scaled {
                ($cluster:ty, $slice:ty, $rows:ty, $scale:ident) => {{
                    let x = uploaded::<f32, m![{ $rows }, N # 128]>(ctx);
                    let x = x.to_dm::<$cluster, $slice, m![N]>(&mut ctx.tdma, AUTO);
                    let y = (ctx.main.begin(x.view()).fetch::<f32, m![N / 8], m![N % 8]>())
                        .collect::<m![N / 8], m![N % 8]>()
                        .vector_init()
                        .vector_intra_slice_branch(BranchMode::Unconditional)
                        .vector_split::<m![N / 4], m![N % 4]>()
                        .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &$scale)
                        .vector_concat::<m![N / 8], m![N % 8]>()
                        .vector_final()
                        .commit::<m![N]>(AUTO);
                    let _y: HbmTensor<f32, m![1], m![{ $rows }, N # 128]> = y.to_hbm(&mut ctx.tdma, AUTO);
                }};
            }
            let scale = uploaded::<f32, m![N]>(ctx);
            if is_switched {
                let scale = scale.to_dm::<m![R0], m![N / 8 # 16, 1 # 16], m![N % 8]>(&mut ctx.tdma, AUTO);
                let scale = (ctx.sub.begin(scale.view()).fetch::<f32, m![1], m![N % 8]>())
                    .switch_to::<m![R1], m![N / 8]>()
                    .collect::<m![N / 8], m![N % 8]>()
                    .to_vrf::<m![N]>(AUTO);
                scaled!(m![R0], m![R1], m![R0, R1], scale);
            } else {
                let scale = scale.to_dm::<m![R / 256], m![R % 256], m![N]>(&mut ctx.tdma, AUTO);
                let scale = load_operand(ctx, &scale);
                scaled!(m![R / 256], m![R % 256], m![R], scale);
            }
        })
    }

    /// Copies need axes of their own: the axis of clusters and slices becomes two.
    #[test]
    fn broadcast_load_with_two_axes() {
        let before = run(false);
        let first = own(&before, HintKind::BroadcastLoad);
        assert_eq!(
            changes(&first),
            [
                ["axes![R = 512]", "axes![R0 = 2, R1 = 256]"],
                [
                    "to_dm::<m![R / 256], m![R % 256], m![N]>",
                    "to_dm::<m![R0], m![N / 8 # 16, 1 # 16], m![N % 8]>"
                ],
                [
                    "fetch::<f32, m![N / 8], m![N % 8]>()",
                    "fetch::<f32, m![1], m![N % 8]>().switch_to::<m![R1], m![N / 8]>()"
                ],
            ],
            "{before}"
        );
        promised(HintKind::BroadcastLoad, &before, &run(true), 10);
    }
}

/// Scales that 200 of 256 slices share: no switch pads copies, so the axis has to have 256.
mod ragged_copies {
    use super::*;

    macro_rules! kernel {
        ($name:ident, $rows:literal, $load:expr) => {
            mod $name {
                use super::*;
                axes![R = $rows, N = 512];

                pub fn run() -> Report {
                    report(|ctx| {
                        let x = uploaded::<f32, m![R, N]>(ctx);
                        let scale = uploaded::<f32, m![N]>(ctx);
                        let x = x.to_dm::<m![1 # 2], m![R # 256], m![N]>(&mut ctx.tdma, AUTO);
                        let load: fn(&mut Context, HbmTensor<f32, m![1], m![N]>) -> _ = $load;
                        let scale: VrfTensor<f32, m![1], m![1 # 2], m![R # 256], m![N]> = load(ctx, scale);
                        let y = (ctx.main.begin(x.view()).fetch::<f32, m![N / 8], m![N % 8]>())
                            .collect::<m![N / 8], m![N % 8]>()
                            .vector_init()
                            .vector_intra_slice_branch(BranchMode::Unconditional)
                            .vector_split::<m![N / 4], m![N % 4]>()
                            .vector_fp_binary(FpBinaryOp::MulF(FpMulAlu::Mul0), &scale)
                            .vector_concat::<m![N / 8], m![N % 8]>()
                            .vector_final()
                            .commit::<m![N]>(AUTO);
                        let _y: HbmTensor<f32, m![1], m![R, N]> = y.to_hbm(&mut ctx.tdma, AUTO);
                    })
                }
            }
        };
    }

    kernel!(ragged, 200, |ctx, scale| {
        let scale = scale.to_dm::<m![1 # 2], m![R # 256], m![N]>(&mut ctx.tdma, AUTO);
        load_operand(ctx, &scale)
    });
    kernel!(whole, 256, |ctx, scale| {
        let scale = scale.to_dm::<m![1 # 2], m![N / 8, 1 # 4], m![N % 8]>(&mut ctx.tdma, AUTO);
        (ctx.sub.begin(scale.view()).fetch::<f32, m![1], m![N % 8]>())
            .switch_to::<m![R # 256], m![N / 8]>()
            .collect::<m![N / 8], m![N % 8]>()
            .to_vrf(AUTO)
    });

    #[test]
    fn broadcast_load_with_a_whole_axis() {
        let before = ragged::run();
        let first = own(&before, HintKind::BroadcastLoad);
        assert_eq!(
            changes(&first),
            [
                ["axes![R = 200]", "axes![R = 256]"],
                ["to_dm::<m![1 # 2], m![R # 256], m![N]>", "to_dm::<m![1 # 2], m![N / 8, 1 # 4], m![N % 8]>"],
                [
                    "fetch::<f32, m![N / 8], m![N % 8]>()",
                    "fetch::<f32, m![1], m![N % 8]>().switch_to::<m![R # 256], m![N / 8]>()"
                ],
            ],
            "{before}"
        );
        let host = "; `R` has 256 coordinates then, and the host fills those of 200..256";
        assert!(first.edit.ends_with(host), "{}", first.edit);
        promised(HintKind::BroadcastLoad, &before, &whole::run(), 10);
    }

    /// A pass over the axis takes as many steps as the axis has coordinates: it would be longer, so there is no hint.
    #[test]
    fn an_axis_of_elements_stays() {
        axes![R = 200, N = 512, P = 256];
        let of = |is_in_elements: bool| {
            report(|ctx| {
                let scale = uploaded::<f32, m![N]>(ctx);
                let scale = scale.to_dm::<m![1 # 2], m![R # 256], m![N]>(&mut ctx.tdma, AUTO);
                let _scale: VrfTensor<f32, _, _, _, m![N]> = load_operand(ctx, &scale);
                if is_in_elements {
                    let x = uploaded::<f32, m![P, R]>(ctx);
                    let x = x.to_dm::<m![1 # 2], m![P], m![R]>(&mut ctx.tdma, AUTO);
                    let y = (ctx.main.begin(x.view()).fetch::<f32, m![R / 8], m![R % 8]>())
                        .collect::<m![R / 8], m![R % 8]>()
                        .commit::<m![R]>(AUTO);
                    let _y: HbmTensor<f32, m![1], m![P, R]> = y.to_hbm(&mut ctx.tdma, AUTO);
                }
            })
        };
        let is_whole = |hint: &Hint| hint.changes.iter().any(|change| change.after == "axes![R = 256]");
        let has_whole = |report: &Report| report.hints().iter().any(is_whole);
        let [plain, longer] = [false, true].map(of);
        assert!(has_whole(&plain), "{plain}");
        assert!(!has_whole(&longer), "{longer}");
    }
}

/// A product whose slices have copies of the weights far from each other: a ring through all of them takes longer than
/// one through neighbours.
mod far_copies {
    use super::*;
    axes![M = 64, N = 128, K = 512];

    macro_rules! product {
        ($ctx:ident, $slice:ty, $weights:expr) => {{
            let (x, w) = (uploaded::<i8, m![M, K]>($ctx), uploaded::<i8, m![N, K]>($ctx));
            let x = x.to_dm::<m![1 # 2], $slice, m![M % 4, K]>(&mut $ctx.tdma, AUTO);
            let load: fn(&mut Context, HbmTensor<i8, m![1], m![N, K]>) -> _ = $weights;
            let w: TrfTensor<i8, m![1], m![1 # 2], $slice, m![N % 8], m![K]> = load($ctx, w);
            let y = ($ctx.main.begin(x.view()).fetch::<i8, m![M % 4], m![K]>())
                .collect::<m![M % 4, K / 32], m![K % 32]>()
                .align::<m![M % 4, K / 64], m![K % 64], _, _>(&w)
                .contract::<m![1]>()
                .accumulate::<m![M % 4], m![N % 8]>(AccumulationKind::Interleaved)
                .commit::<m![M % 4, N % 8]>(AUTO);
            let _y: HbmTensor<i32, m![1], m![M / 4, N / 8, M % 4, N % 8]> = y.to_hbm(&mut $ctx.tdma, AUTO);
        }};
    }

    fn run(is_turned: bool) -> Report {
        report(|ctx| {
            if is_turned {
                product!(ctx, m![N / 8, M / 4], |ctx, w| {
                    let w = w.to_dm::<m![1 # 2], m![N, K / 256], m![K % 256]>(&mut ctx.tdma, AUTO);
                    (ctx.sub.begin(w.view()).fetch::<i8, m![K / 32 % 8], m![K % 32]>())
                        .switch_to::<m![N / 8, M / 4], m![N % 8, K / 32]>()
                        .collect::<m![N % 8, K / 32], m![K % 32]>()
                        .to_trf(TrfAddress::Full)
                });
            } else {
                product!(ctx, m![M / 4, N / 8], |ctx, w| {
                    let w = w.to_dm::<m![1 # 2], m![M / 4, N / 8], m![N % 8, K]>(&mut ctx.tdma, AUTO);
                    (ctx.sub.begin(w.view()).fetch::<i8, m![N % 8], m![K]>())
                        .collect::<m![N % 8, K / 32], m![K % 32]>()
                        .to_trf(TrfAddress::Full)
                });
            }
        })
    }

    #[test]
    fn broadcast_load_with_copies_next_to_each_other() {
        let before = run(false);
        let weights = |own: &Hint| own.kind == HintKind::BroadcastLoad && own.changes.len() == 3;
        let first = before.hints().into_iter().find(weights).unwrap_or_else(|| panic!("{before}"));
        assert_eq!(
            changes(&first),
            [
                ["Slice m![M / 4, N / 8]", "Slice m![N / 8, M / 4]"],
                [
                    "to_dm::<m![1 # 2], m![M / 4, N / 8], m![N % 8, K]>",
                    "to_dm::<m![1 # 2], m![N, K / 256], m![K % 256]>"
                ],
                [
                    "fetch::<i8, m![N % 8, K / 32], m![K % 32]>()",
                    "fetch::<i8, m![K / 32 % 8], m![K % 32]>().switch_to::<m![N / 8, M / 4], m![N % 8, K / 32]>()"
                ],
            ],
            "{before}"
        );
        let after = run(true);
        let saved = before.headline().cycles - after.headline().cycles;
        assert!(first.saving.abs_diff(saved) * 10 <= saved, "promised {}, saved {saved}", first.saving);
    }
}

/// A number per slice.
#[test]
fn numbers_are_gathered_before_a_store() {
    axes![R = 256, K = 64];
    fn run(is_gathered: bool) -> Report {
        report(|ctx| {
            let x = uploaded::<f32, m![R, K]>(ctx);
            let x = x.to_dm::<m![1 # 2], m![R], m![K]>(&mut ctx.tdma, AUTO);
            let y = (ctx.main.begin(x.view()).fetch::<f32, m![K / 8], m![K % 8]>())
                .collect::<m![K / 8], m![K % 8]>()
                .vector_init()
                .vector_intra_slice_branch(BranchMode::Unconditional)
                .vector_split::<m![K / 4], m![K % 4]>()
                .vector_intra_slice_reduce::<K, m![1], m![1 # 4]>(IntraSliceReduceOpF32::Max)
                .vector_pad_way8::<m![1 # 8]>()
                .vector_final()
                .commit::<m![1 # 2]>(AUTO);
            let _y: HbmTensor<f32, m![1], m![R]> = if is_gathered {
                y.to_dm::<m![R / 64, 1 # 64], m![R % 64]>(&mut ctx.tdma, AUTO).to_hbm(&mut ctx.tdma, AUTO)
            } else {
                y.to_hbm(&mut ctx.tdma, AUTO)
            };
        })
    }
    let before = run(false);
    let own = own(&before, HintKind::ShortRuns);
    assert_eq!(own.cause, "each slice has 4 bytes of units of 256: HBM reads, changes and writes them");
    assert_eq!(changes(&own), [["y.to_hbm(…)", "y.to_dm::<m![R / 64, 1 # 64], m![R % 64]>(…).to_hbm(…)"]]);
    promised(HintKind::ShortRuns, &before, &run(true), 10);
}

/// Both tensors of a kernel with two layouts go to both clusters.
#[test]
fn an_idle_cluster_of_two_layouts() {
    // 31 flits: no half of them.
    axes![S = 128, K = 248];
    fn run<Cluster: M, Slice: M, Gathered: M>() -> Report {
        report(|ctx| {
            let x = uploaded::<f32, m![S, K # 256]>(ctx);
            let x = x.to_dm::<Cluster, Slice, m![K]>(&mut ctx.tdma, AUTO);
            let y = (ctx.main.begin(x.view()).fetch::<f32, m![K / 8], m![K % 8]>())
                .collect::<m![K / 8], m![K % 8]>()
                .commit::<m![K]>(AUTO);
            let y = y.to_dm::<Gathered, m![S % 4, K]>(&mut ctx.tdma, AUTO);
            let _y: HbmTensor<f32, m![1], m![S, K # 256]> = y.to_hbm(&mut ctx.tdma, AUTO);
        })
    }
    let before = run::<m![1 # 2], m![S, 1 # 2], m![S / 4, 1 # 8]>();
    assert_eq!(
        changes(&own(&before, HintKind::IdleCluster)),
        [
            ["Cluster m![1 # 2]", "Cluster m![S / 64]"],
            ["Slice m![S, 1 # 2]", "Slice m![S % 64, 1 # 2, 1 # 2]"],
            ["Slice m![S / 4, 1 # 8]", "Slice m![S / 4 % 16, 1 # 8, 1 # 2]"],
        ],
        "{before}"
    );
    let after = run::<m![S / 64], m![S % 64, 1 # 2, 1 # 2], m![S / 4 % 16, 1 # 8, 1 # 2]>();
    promised(HintKind::IdleCluster, &before, &after, 10);
}

/// Rows of a table, by an index.
mod rows_of_a_table {
    use super::*;
    axes![V = 4096, B = 32, L = 16, D = 128];
    type Table = HbmTensor<bf16, m![1], m![V, D]>;
    type Index = HbmTensor<i32, m![1], m![B, L]>;

    type Rows<Cluster, Slice> = DmTensor<bf16, m![1], Cluster, Slice, m![L, D]>;

    /// A kernel that gathers rows, and then does this with a copy of them.
    fn gathered<Cluster: M, Slice: M>(
        end: impl FnOnce(&mut Context, Rows<Cluster, Slice>, Table, Index),
    ) -> Report {
        report(|ctx| {
            let table: Table = uploaded::<bf16, m![V, D]>(ctx);
            let index: Index = uploaded::<i32, m![B, L]>(ctx);
            let x: Rows<Cluster, Slice> = table.dma_gather_rows(&mut ctx.tdma, &index, AUTO);
            let y = (ctx.main.begin(x.view()).fetch::<bf16, m![L, D / 16], m![D % 16]>())
                .collect::<m![L, D / 16], m![D % 16]>()
                .commit::<m![L, D]>(AUTO);
            end(ctx, y, table, index);
        })
    }

    fn run<Cluster: M, Slice: M>() -> Report {
        gathered::<Cluster, Slice>(|ctx, y, _, _| {
            let _y: HbmTensor<bf16, m![1], m![B, L, D]> = y.to_hbm(&mut ctx.tdma, AUTO);
        })
    }

    #[test]
    fn slices_of_a_gather() {
        let before = run::<m![1 # 2], m![B # 256]>();
        assert_eq!(own(&before, HintKind::UnusedSlices).operation, "dma_gather_rows");
        assert_eq!(
            changes(&own(&before, HintKind::UnusedSlices)),
            [["Slice m![B # 256]", "Slice m![B, 1 # 8]"]]
        );
        promised(HintKind::UnusedSlices, &before, &run::<m![1 # 2], m![B, 1 # 8]>(), 10);
        let both =
            [["Cluster m![1 # 2]", "Cluster m![B / 16]"], ["Slice m![B # 256]", "Slice m![B % 16, 1 # 16]"]];
        assert_eq!(changes(&own(&before, HintKind::IdleCluster)), both);
        promised(HintKind::IdleCluster, &before, &run::<m![B / 16], m![B % 16, 1 # 16]>(), 10);
    }

    /// Rows that an index brings back: which ones are in which slices is not timed.
    #[test]
    fn slices_of_a_scatter_stay() {
        let report = gathered::<m![1 # 2], m![B # 256]>(|ctx, y, mut table, index| {
            y.dma_scatter_rows(&mut ctx.tdma, &index, &mut table, Duplicates::Equal);
        });
        for kind in [HintKind::UnusedSlices, HintKind::IdleCluster] {
            assert_eq!(hint(&report, kind), None, "{report}");
        }
    }
}

/// Slices with a part of several rows each.
#[test]
fn parts_of_rows_are_gathered_before_a_store() {
    axes![R = 64, K = 256];
    fn run(is_gathered: bool) -> Report {
        report(|ctx| {
            let x = uploaded::<f32, m![K / 16, R, K % 16]>(ctx);
            let x = x.to_dm::<m![1 # 2], m![K / 16, R / 4], m![R % 4, K % 16]>(&mut ctx.tdma, AUTO);
            let y = (ctx.main.begin(x.view()).fetch::<f32, m![R % 4, K / 8 % 2], m![K % 8]>())
                .collect::<m![R % 4, K / 8 % 2], m![K % 8]>()
                .commit::<m![R % 4, K % 16]>(AUTO);
            let _y: HbmTensor<f32, m![1], m![R, K]> = if is_gathered {
                y.to_dm::<m![K / 64, R / 4, 1 # 4], m![R % 4, K % 64]>(&mut ctx.tdma, AUTO)
                    .to_hbm(&mut ctx.tdma, AUTO)
            } else {
                y.to_hbm(&mut ctx.tdma, AUTO)
            };
        })
    }
    let before = run(false);
    let own = own(&before, HintKind::ShortRuns);
    assert_eq!(
        own.cause,
        "each slice has runs of 64 bytes, with parts of units of 256: HBM reads, changes and writes them"
    );
    assert_eq!(
        changes(&own),
        [["y.to_hbm(…)", "y.to_dm::<m![K / 64, R / 4, 1 # 4], m![R % 4, K % 64]>(…).to_hbm(…)"]]
    );
    promised(HintKind::ShortRuns, &before, &run(true), 10);
}

/// Tiles in DM and tiles of HBM, which have other calls.
#[test]
fn parts_of_tiles_are_gathered_before_a_store() {
    axes![N = 2, R = 64, K = 256];
    fn of_dm(is_gathered: bool) -> Report {
        report(|ctx| {
            let x = uploaded::<f32, m![K / 16, R / 4, N, R % 4, K % 16]>(ctx);
            let x = x.to_dm::<m![1 # 2], m![K / 16, R / 4], m![N, R % 4, K % 16]>(&mut ctx.tdma, AUTO);
            let y = x.view().tile::<m![N], 1, m![1 # 2, R % 4, K % 16]>(1);
            let mut all = HbmTensor::<f32, m![1], m![R, K]>::new(ctx);
            if is_gathered {
                let mut z = DmTensor::<_, _, _, m![K / 64, R / 4, 1 # 4], m![R % 4, K % 64]>::new(ctx);
                y.to_dm_view(&mut ctx.tdma, z.view_mut());
                z.view().to_hbm_view(&mut ctx.tdma, all.view_mut());
            } else {
                y.to_hbm_view(&mut ctx.tdma, all.view_mut());
            }
        })
    }
    fn of_hbm(is_gathered: bool) -> Report {
        report(|ctx| {
            let x = uploaded::<f32, m![K / 16, R, K % 16]>(ctx);
            let y = x.to_dm::<m![1 # 2], m![K / 16, R / 4], m![R % 4, K % 16]>(&mut ctx.tdma, AUTO);
            let mut all = HbmTensor::<f32, m![1], m![N, R, K]>::new(ctx);
            let mut all = all.view_mut();
            let tile = all.tile::<m![N], 1, m![1 # 2, R, K]>(1);
            if is_gathered {
                let z = y.to_dm::<m![K / 64, R / 4, 1 # 4], m![R % 4, K % 64]>(&mut ctx.tdma, AUTO);
                z.view().to_hbm_view(&mut ctx.tdma, tile);
            } else {
                y.view().to_hbm_view(&mut ctx.tdma, tile);
            }
        })
    }
    let promised = |run: fn(bool) -> Report, edit: [&str; 2]| {
        let before = run(false);
        assert_eq!(changes(&own(&before, HintKind::ShortRuns)), [edit]);
        promised(HintKind::ShortRuns, &before, &run(true), 10);
    };
    promised(
        of_dm,
        [
            "y.to_hbm_view(…)",
            "let mut z = DmTensor::<_, _, _, m![K / 64, R / 4, 1 # 4], m![R % 4, K % 64]>::new(ctx); \
             y.to_dm_view(…, z.view_mut()); z.view().to_hbm_view(…)",
        ],
    );
    promised(
        of_hbm,
        [
            "y.view().to_hbm_view(…)",
            "y.to_dm::<m![K / 64, R / 4, 1 # 4], m![R % 4, K % 64]>(…).view().to_hbm_view(…)",
        ],
    );
}

/// Rows that end inside of a unit: as many as are whole units, if nothing is between them.
#[test]
fn rows_are_gathered_where_they_follow_each_other() {
    axes![R = 256, K = 72];
    fn run<Out: M>(is_gathered: bool) -> Report {
        report(|ctx| {
            let x = uploaded::<f32, m![R, K # 128]>(ctx);
            let x = x.to_dm::<m![1 # 2], m![R], m![K]>(&mut ctx.tdma, AUTO);
            let y = (ctx.main.begin(x.view()).fetch::<f32, m![K / 8], m![K % 8]>())
                .collect::<m![K / 8], m![K % 8]>()
                .commit::<m![K]>(AUTO);
            let _y: HbmTensor<f32, m![1], Out> = if is_gathered {
                y.to_dm::<m![R / 16, 1 # 16], m![R % 16, K]>(&mut ctx.tdma, AUTO).to_hbm(&mut ctx.tdma, AUTO)
            } else {
                y.to_hbm(&mut ctx.tdma, AUTO)
            };
        })
    }
    let before = run::<m![R, K]>(false);
    let own = own(&before, HintKind::ShortRuns);
    assert_eq!(
        own.cause,
        "each slice has a run of 288 bytes, with parts of units of 256: HBM reads, changes and writes them"
    );
    assert_eq!(changes(&own), [["y.to_hbm(…)", "y.to_dm::<m![R / 16, 1 # 16], m![R % 16, K]>(…).to_hbm(…)"]]);
    promised(HintKind::ShortRuns, &before, &run::<m![R, K]>(true), 10);
    let padded = run::<m![R, K # 128]>(false);
    assert_eq!(hint(&padded, HintKind::ShortRuns), None, "{padded}");
}

/// Where nothing is to be said, the report says so.
#[test]
fn no_hints() {
    axes![S = 256, K = 4096];
    let best = report(|ctx| {
        let x = uploaded::<i8, m![S, K]>(ctx);
        drop(x.to_dm::<m![K / 2048], m![S], m![K % 2048]>(&mut ctx.tdma, AUTO));
    });
    assert_eq!(best.hints(), [], "{best}");
    assert!(
        best.to_string().contains("hints     none: no edit that is known saves half a percent"),
        "{best}"
    );
}
