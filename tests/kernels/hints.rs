//! Hints: each kind has a program that gets it and a neighbour, edited as the hint says, that does not.

use crate::block_on;
use crate::clock::Shared;
use furiosa_visa_std::chip::Compute;
use furiosa_visa_std::clock::{Hint, HintKind, Report};
use furiosa_visa_std::prelude::*;

/// The report of a program, of which the time alone is computed.
pub fn report(program: impl FnOnce(&mut Context)) -> Report {
    let mut ctx = Context::with(SimOptions { compute: Compute::ShapesOnly, ..SimOptions::default() });
    program(&mut ctx);
    let report = ctx.report();
    for line in report.to_string().lines() {
        assert!(line.chars().count() <= 100, "{line}\n{report}");
    }
    let headline = report.headline();
    assert!(headline.to_string().lines().count() <= 13, "{headline}");
    assert_eq!(headline.cycles, report.kernels.iter().map(|kernel| kernel.makespan()).sum::<u64>());
    // Operations and those that repeat them are what the contexts did.
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("it is JSON");
    let sum = |all: &str, key: &str| -> u64 {
        let all = json[all].as_array().expect("a list").iter();
        all.map(|own| own[key].as_u64().expect("a number")).sum()
    };
    let busy: u64 = report.totals.busy.iter().sum();
    assert_eq!(sum("operations", "end") - sum("operations", "start") + sum("repeats", "cycles"), busy);
    assert_eq!(json["hints"].as_array().map(Vec::len), Some(report.hints().len()));
    assert_eq!(json["headline"]["cycles"].as_u64(), Some(headline.cycles));
    // The bound is in the text and in the data, and is that of the kernels.
    let (least, limit) = headline.least.expect("kernels ran");
    assert_eq!(json["headline"]["at_least"]["cycles"].as_u64(), Some(least));
    assert_eq!(json["headline"]["at_least"]["held_by"].as_str(), Some(limit.name()));
    let of_kernels = json["kernels"].as_array().expect("a list").iter();
    let of_kernels = of_kernels.map(|own| own["at_least"]["cycles"].as_u64().expect("a number"));
    assert!(least <= headline.cycles && of_kernels.sum::<u64>() == least, "{report}");
    assert!(report.to_string().contains(&format!(" cycles by {limit}, ")), "{report}");
    for pair in report.hints().windows(2) {
        assert!(pair[0].saving >= pair[1].saving, "{report}");
    }
    report
}

pub fn hint(report: &Report, kind: HintKind) -> Option<Hint> {
    report.hints().into_iter().find(|hint| hint.kind == kind)
}

/// The program gets the hint, its neighbour does not, and what it saves is what was promised: within so many percent of the
/// difference.
#[track_caller]
pub fn promised(kind: HintKind, before: &Report, after: &Report, percent: u64) {
    let own = hint(before, kind).unwrap_or_else(|| panic!("no {} in\n{before}", kind.name()));
    assert_eq!(hint(after, kind), None, "{after}");
    let saved = before.headline().cycles.saturating_sub(after.headline().cycles);
    let wrong = own.saving.abs_diff(saved) * 100;
    assert!(wrong <= saved * percent, "promised {}, saved {saved}\n{before}\n{after}", own.saving);
}

/// A product of `512 x 512 x 512`, each slice with rows of `M` and columns of `N`.
macro_rules! cubed {
    ($name:ident, $rows:tt, $columns:tt, $groups:tt) => {
        mod $name {
            use super::*;
            axes![M = 512, N = 512, K = 512];
            type X = HbmTensor<i8, m![1], m![M, K]>;
            type W = HbmTensor<i8, m![1], m![N, K]>;
            type Y = HbmTensor<i32, m![1], m![M, N]>;
            type Slice = m![M / $rows, N / $columns];
            type Rows = m![M % $rows];
            type Groups = m![N / 8 % $groups];

            #[device(chip = 1)]
            fn product(ctx: &mut Context, x: &X, w: &W) -> Y {
                let x = x.to_dm::<m![1 # 2], Slice, m![{ Rows }, K]>(&mut ctx.tdma, AUTO);
                let w = w.to_dm::<m![1 # 2], Slice, m![N % $columns, K]>(&mut ctx.tdma, AUTO);
                let weights = (ctx.sub.begin(w.view()).fetch::<i8, m![N % 8, { Groups }], m![K]>())
                    .collect::<m![N % 8, { Groups }, K / 32], m![K % 32]>()
                    .to_trf::<m![N % 8], m![{ Groups }, K]>(TrfAddress::Full);
                let y = (ctx.main.begin(x.view()).fetch::<i8, Rows, m![K]>())
                    .collect::<m![{ Rows }, K / 32], m![K % 32]>()
                    .align::<m![{ Rows }, K / 64, { Groups }], m![K % 64], _, _>(&weights)
                    .contract::<m![1]>()
                    .accumulate::<m![{ Rows }, { Groups }], m![N % 8]>(AccumulationKind::Interleaved)
                    .commit::<m![{ Rows }, N % $columns]>(AUTO);
                y.to_hbm(&mut ctx.tdma, AUTO)
            }

            pub fn run() -> Report {
                report(|ctx| {
                    let (x, w) = (HostTensor::<i8, m![M, K]>::zero(), HostTensor::<i8, m![N, K]>::zero());
                    let x: X = block_on(x.to_hbm(&mut ctx.pdma, AUTO));
                    let w: W = block_on(w.to_hbm(&mut ctx.pdma, AUTO));
                    let _y = block_on(launch(product, (ctx, &x, &w)));
                })
            }
        }
    };
}

cubed!(runs_of_64, 64, 16, 2);
cubed!(runs_of_256, 16, 64, 8);

/// A product whose result goes to HBM in runs of 64 bytes.
#[test]
fn short_runs_of_a_product_come_first() {
    let (before, after) = (runs_of_64::run(), runs_of_256::run());
    let first = &before.hints()[0];
    assert_eq!((first.kind, first.operation), (HintKind::ShortRuns, "to_hbm"), "{before}");
    assert!(first.cause.starts_with("each slice has runs of 64 bytes"), "{}", first.cause);
    promised(HintKind::ShortRuns, &before, &after, 10);
}

/// A layer whose sum over `K` is in four slices: one of four has the result, 64 bytes, which is moved as `last` says.
mod dense {
    use super::*;
    axes![T = 64, N = 16, K = 512];
    type X = HbmTensor<bf16, m![1], m![T, K]>;
    type W = HbmTensor<bf16, m![1], m![N, K]>;
    type Y = HbmTensor<f32, m![1], m![T, N]>;
    type Cluster = m![1 # 2];
    type Slice = m![T, K / 128];
    type Dm = DmTensor<f32, m![1], Cluster, m![T, 1 # 4], m![N]>;

    fn layer(ctx: &mut Context, x: &X, w: &W) -> Dm {
        let x = x.to_dm::<Cluster, Slice, m![K % 128]>(&mut ctx.tdma, AUTO);
        let w = w.to_dm::<Cluster, Slice, m![N, K % 128]>(&mut ctx.tdma, AUTO);
        let w = (ctx.sub.begin(w.view()).fetch::<bf16, m![N % 8, N / 8], m![K % 128]>())
            .collect::<m![N % 8, N / 8, K % 128 / 16], m![K % 16]>()
            .to_trf::<m![N % 8], m![N / 8, K % 128]>(TrfAddress::Full);
        (ctx.main.begin(x.view()).fetch::<bf16, m![1], m![K % 128]>())
            .collect::<m![K % 128 / 16], m![K % 16]>()
            .align::<m![K % 128 / 32, N / 8], m![K % 32], _, _>(&w)
            .contract::<m![1]>()
            .accumulate::<m![N / 8], m![N % 8]>(AccumulationKind::Interleaved)
            .vector_init()
            .vector_inter_slice_reduce::<m![T, 1 # 4], m![N / 8]>(InterSliceReduceOpF32::Add)
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_final()
            .commit::<m![N]>(AUTO)
    }

    fn run(last: impl FnOnce(&mut Context, Dm) -> Y) -> Report {
        report(|ctx| {
            let (x, w) = (HostTensor::<bf16, m![T, K]>::zero(), HostTensor::<bf16, m![N, K]>::zero());
            let x: X = block_on(x.to_hbm(&mut ctx.pdma, AUTO));
            let w: W = block_on(w.to_hbm(&mut ctx.pdma, AUTO));
            let y = layer(ctx, &x, &w);
            drop(last(ctx, y));
        })
    }

    fn gathered<Slice: M>(ctx: &mut Context, y: Dm) -> Y {
        y.to_dm::<Slice, m![T % 4, N]>(&mut ctx.tdma, AUTO).to_hbm(&mut ctx.tdma, AUTO)
    }

    /// The move into fewer slices is a part of the edit.
    #[test]
    fn gathered_in_fewer_slices() {
        let before = run(|ctx, y| y.to_hbm(&mut ctx.tdma, AUTO));
        promised(HintKind::ShortRuns, &before, &run(gathered::<m![T / 4, 1 # 16]>), 10);
    }
}

axes![R = 16384, N = 16];
type X = HbmTensor<f32, m![1], m![R, N]>;

/// `max(x, 0)`: see the guide.
fn positive<Cluster: M, Slice: M, Rows: M>(
    ctx: &mut Context,
    x: &X,
) -> DmTensor<f32, m![1], Cluster, Slice, m![{ Rows }, N]> {
    let x = x.to_dm::<Cluster, Slice, m![{ Rows }, N]>(&mut ctx.tdma, 0);
    (ctx.main.begin(x.view()).fetch::<f32, m![{ Rows }, N / 8], m![N % 8]>())
        .collect::<m![{ Rows }, N / 8], m![N % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_clip(ClipBinaryOpF32::Max, 0.0)
        .vector_final()
        .commit::<m![{ Rows }, N]>(8192)
}

/// The same, with the result at an address of HBM.
fn limited<Cluster: M, Slice: M, Rows: M>(ctx: &mut Context, x: &X, to: u64) -> X {
    positive::<Cluster, Slice, Rows>(ctx, x).to_hbm(&mut ctx.tdma, to)
}

fn of_rows(kernel: impl FnOnce(&mut Context, &X)) -> Report {
    report(|ctx| {
        let x = HostTensor::<f32, m![R, N]>::zero();
        let x: X = block_on(x.to_hbm(&mut ctx.pdma, 0));
        kernel(ctx, &x);
    })
}

fn by_64_bytes() -> Report {
    of_rows(|ctx, x| drop(limited::<m![1 # 2], m![R % 256], m![R / 256]>(ctx, x, 1 << 30)))
}

fn by_256_bytes(to: u64) -> Report {
    of_rows(move |ctx, x| {
        drop(limited::<m![1 # 2], m![R / 4 % 256], m![R / 1024, R % 4]>(ctx, x, to));
    })
}

fn in_both_clusters() -> Report {
    of_rows(|ctx, x| {
        drop(limited::<m![R / 8192], m![R / 4 % 256], m![R / 1024 % 8, R % 4]>(ctx, x, 1 << 30));
    })
}

/// As [`by_64_bytes`], with a move in DM before the store.
fn moved_to_256_bytes() -> Report {
    of_rows(|ctx, x| {
        let y = positive::<m![1 # 2], m![R % 256], m![R / 256]>(ctx, x);
        let y = y.to_dm::<m![R / 4 % 64, 1 # 4], m![R / 256, R % 4, N]>(&mut ctx.tdma, 16384);
        drop::<X>(y.to_hbm(&mut ctx.tdma, 1 << 30));
    })
}

/// Both moves are short. The store saves what was promised by the move in DM before it; other slices for the whole kernel save
/// that move, too, and the short runs of the load.
#[test]
fn short_runs() {
    let (before, moved, after) = (by_64_bytes(), moved_to_256_bytes(), by_256_bytes(1 << 30));
    let hints = before.hints();
    let short: Vec<&Hint> = hints.iter().filter(|own| own.kind == HintKind::ShortRuns).collect();
    assert_eq!(short.iter().map(|own| own.operation).collect::<Vec<_>>(), ["to_hbm", "to_dm"], "{before}");
    assert_eq!(
        short[0].changes[0].after,
        "y.to_dm::<m![R / 4 % 64, 1 # 4], m![R / 256, R % 4, N]>(…).to_hbm(…)"
    );
    let saved = before.headline().cycles - moved.headline().cycles;
    assert!(short[0].saving.abs_diff(saved) * 100 < saved, "promised {}, saved {saved}", short[0].saving);
    let saved = before.headline().cycles - after.headline().cycles;
    let all: u64 = short.iter().map(|own| own.saving).sum();
    assert!(all <= saved, "promised {all}, saved {saved}");
    assert_eq!(hint(&after, HintKind::ShortRuns), None, "{after}");
}

/// A context that ends because its program panics writes its trace, and no hints.
#[test]
fn no_hints_while_a_panic_unwinds() {
    let hints = |panics: bool| {
        let out = Shared::default();
        let run = std::panic::AssertUnwindSafe(|| {
            let mut ctx = Context::with(SimOptions { compute: Compute::ShapesOnly, ..SimOptions::default() });
            ctx.trace(out.clone());
            let x: X = block_on(HostTensor::<f32, m![R, N]>::zero().to_hbm(&mut ctx.pdma, 0));
            drop(limited::<m![1 # 2], m![R % 256], m![R / 256]>(&mut ctx, &x, 1 << 30));
            if panics {
                std::panic::resume_unwind(Box::new("the program fails"));
            }
        });
        assert_eq!(std::panic::catch_unwind(run).is_err(), panics);
        let bytes = out.0.lock().expect("nobody holds it").clone();
        let trace: serde_json::Value = serde_json::from_slice(&bytes).expect("it is whole");
        assert_eq!(trace["visa"]["operations"], 4);
        trace["visa"]["hints"].as_array().expect("a list").len()
    };
    assert!(hints(false) > 0);
    assert_eq!(hints(true), 0);
}

#[test]
fn partial_writes() {
    let (before, after) = (by_256_bytes((1 << 30) + 128), by_256_bytes(1 << 30));
    promised(HintKind::PartialWrites, &before, &after, 10);
}

#[test]
fn idle_cluster() {
    promised(HintKind::IdleCluster, &by_256_bytes(1 << 30), &in_both_clusters(), 10);
}

/// Two columns of each row lie together in DM, or all of them.
fn fetched<Element: M>() -> Report {
    of_rows(|ctx, x| {
        let x = x.to_dm::<m![1 # 2], m![R / 4 % 256], Element>(&mut ctx.tdma, 0);
        let passes = (0..8).map(|_| {
            (ctx.main.begin(x.view()).fetch::<f32, m![R / 1024, R % 4, N / 8], m![N % 8]>())
                .collect::<m![R / 1024, R % 4, N / 8], m![N % 8]>()
                .commit::<m![R / 1024, R % 4, N]>(8192)
        });
        passes.for_each(drop);
    })
}

#[test]
fn narrow_fetch() {
    let (before, after) =
        (fetched::<m![N / 2, R / 1024, R % 4, N % 2]>(), fetched::<m![R / 1024, R % 4, N]>());
    let own = hint(&before, HintKind::NarrowFetch).unwrap_or_else(|| panic!("{before}"));
    assert_eq!(own.cause, "the fetch takes 8 bytes at a time, of 32");
    assert_eq!(hint(&after, HintKind::NarrowFetch), None, "{after}");
    // The transfer is another one too: the passes alone are compared.
    let passes = |report: &Report| -> u64 {
        let own = report.records.iter().filter(|record| record.operation == "commit");
        own.map(|record| record.cycles()).sum()
    };
    let saved = passes(&before) - passes(&after);
    assert!(own.saving.abs_diff(saved) * 10 < saved, "promised {}, saved {saved}", own.saving);
}

mod contractions {
    use super::*;
    axes![R = 16384, C = 16, K = 64];
    type X = HbmTensor<i8, m![1], m![R, K]>;
    type W = HbmTensor<i8, m![1], m![C, K]>;
    type Rows = m![R / 4 % 64];
    type Slice = m![R / 256, R % 4];

    /// Sixteen products with the same weights in `Row` rows, `Group` groups, with `Packets` of `Packet`. `Sums`
    /// are what leaves for the rows: a flit.
    fn product<Row: M, Sums: M, Group: M, Packets: M, Packet: M>() -> Report {
        report(|ctx| {
            let (x, w) = (HostTensor::<i8, m![R, K]>::zero(), HostTensor::<i8, m![C, K]>::zero());
            let x: X = block_on(x.to_hbm(&mut ctx.pdma, AUTO));
            let w: W = block_on(w.to_hbm(&mut ctx.pdma, AUTO));
            let x = x.to_dm::<m![1 # 2], Slice, m![{ Rows }, K]>(&mut ctx.tdma, AUTO);
            let w = w.to_dm::<m![1 # 2], Slice, m![C, K]>(&mut ctx.tdma, AUTO);
            let weights = (ctx.sub.begin(w.view()).fetch::<i8, m![{ Row }, { Group }], m![K]>())
                .collect::<m![{ Row }, { Group }, K / 32], m![K % 32]>()
                .to_trf::<Row, m![{ Group }, K]>(TrfAddress::Full);
            for _ in 0..16 {
                let _y = (ctx.main.begin(x.view()).fetch::<i8, Rows, m![K]>())
                    .collect::<m![{ Rows }, K / 32], m![K % 32]>()
                    .align::<m![{ Rows }, { Packets }, { Group }], Packet, _, _>(&weights)
                    .contract::<m![1]>()
                    .accumulate::<m![{ Rows }, { Group }], Sums>(AccumulationKind::Interleaved)
                    .commit::<m![{ Rows }, { Group }, { Sums }]>(64 << 10);
            }
        })
    }

    #[test]
    fn few_rows() {
        let before = product::<m![C % 2], m![C % 2 # 8], m![C / 2], m![1], m![K]>();
        let after = product::<m![C % 8], m![C % 8], m![C / 8], m![1], m![K]>();
        promised(HintKind::FewRows, &before, &after, 10);
    }

    /// Turns of a load of weights and sixteen products with them.
    fn turns(halves: [TrfAddress; 2]) -> Report {
        report(|ctx| {
            let (x, w) = (HostTensor::<i8, m![R, K]>::zero(), HostTensor::<i8, m![C, K]>::zero());
            let x: X = block_on(x.to_hbm(&mut ctx.pdma, AUTO));
            let w: W = block_on(w.to_hbm(&mut ctx.pdma, AUTO));
            let x = x.to_dm::<m![1 # 2], Slice, m![{ Rows }, K]>(&mut ctx.tdma, AUTO);
            let w = w.to_dm::<m![1 # 2], Slice, m![C, K]>(&mut ctx.tdma, AUTO);
            for turn in 0..16 {
                let weights = (ctx.sub.begin(w.view()).fetch::<i8, m![C % 8, C / 8], m![K]>())
                    .collect::<m![C % 8, C / 8, K / 32], m![K % 32]>()
                    .to_trf::<m![C % 8], m![C / 8, K]>(halves[turn % 2]);
                let _y = (ctx.main.begin(x.view()).fetch::<i8, Rows, m![K]>())
                    .collect::<m![{ Rows }, K / 32], m![K % 32]>()
                    .align::<m![{ Rows }, 1, C / 8], m![K], _, _>(&weights)
                    .contract::<m![1]>()
                    .accumulate::<m![{ Rows }, C / 8], m![C % 8]>(AccumulationKind::Interleaved)
                    .commit::<m![{ Rows }, C / 8, C % 8]>(64 << 10);
            }
        })
    }

    #[test]
    fn one_buffer_in_the_register_file() {
        let before = turns([TrfAddress::FirstHalf; 2]);
        let after = turns([TrfAddress::FirstHalf, TrfAddress::SecondHalf]);
        let own = hint(&before, HintKind::OneBuffer).unwrap_or_else(|| panic!("{before}"));
        assert_eq!(own.cause, "15 times it waits until its half of the register file is free");
        assert_eq!(own.edit, "use the other half in turns");
        promised(HintKind::OneBuffer, &before, &after, 10);
    }

    #[test]
    fn one_flit() {
        let before = product::<m![C % 8], m![C % 8], m![C / 8], m![K / 32], m![K % 32 # 64]>();
        let after = product::<m![C % 8], m![C % 8], m![C / 8], m![1], m![K]>();
        promised(HintKind::OneFlit, &before, &after, 10);
        // The zeros are no products.
        assert_eq!(before.totals.products, after.totals.products);
    }
}

mod loops {
    use super::*;
    axes![B = 4, R = 16384, L = 256];
    type X = HbmTensor<i8, m![1], m![B, R, L]>;
    type Part = HbmTensor<i8, m![1], m![R, L]>;
    type Slice = m![R / 64];
    type Rows = m![R % 64];
    type Dm = DmTensor<i8, m![1], m![1 # 2], Slice, m![{ Rows }, L]>;

    const BLOCK: u64 = 16 << 10;

    fn load(ctx: &mut Context, x: &X, block: usize, buffer: u64) -> Dm {
        let own = x.view().tile::<m![B], 1, m![1 # 4, R, L]>(block);
        own.to_dm::<m![1 # 2], Slice, m![{ Rows }, L]>(&mut ctx.tdma, buffer * BLOCK)
    }

    fn pass(ctx: &mut Context, x: &Dm, buffer: u64) -> Dm {
        (ctx.main.begin(x.view()).fetch::<i8, m![{ Rows }, L / 32], m![L % 32]>())
            .collect::<m![{ Rows }, L / 32], m![L % 32]>()
            .commit::<m![{ Rows }, L]>(buffer * BLOCK)
    }

    fn store(ctx: &mut Context, y: Dm, block: u64) -> Part {
        y.to_hbm(&mut ctx.tdma, (1 << 30) + (block << 24))
    }

    fn run(program: impl FnOnce(&mut Context, &X)) -> Report {
        report(|ctx| {
            let x = HostTensor::<i8, m![B, R, L]>::zero();
            let x: X = block_on(x.to_hbm(&mut ctx.pdma, 0));
            program(ctx, &x);
        })
    }

    #[test]
    fn late_load() {
        let before = run(|ctx, x| {
            for block in 0..4 {
                let x = load(ctx, x, block, block as u64 % 2);
                let y = pass(ctx, &x, 2 + block as u64 % 2);
                store(ctx, y, block as u64);
            }
        });
        let after = run(|ctx, x| {
            let mut next = Some(load(ctx, x, 0, 0));
            for block in 0..4 {
                let own = next.take().expect("it was loaded");
                let y = pass(ctx, &own, 2 + block as u64 % 2);
                next = (block < 3).then(|| load(ctx, x, block + 1, (block as u64 + 1) % 2));
                store(ctx, y, block as u64);
            }
        });
        promised(HintKind::LateLoad, &before, &after, 10);
    }

    /// Loads that are given earlier run beside passes, which go first at the banks of DM.
    #[test]
    fn late_load_beside_passes() {
        let passes = |ctx: &mut Context, x: &Dm, block: u64| {
            (0..5).for_each(|_| drop(pass(ctx, x, 4)));
            pass(ctx, x, 2 + block % 2)
        };
        let before = run(|ctx, x| {
            for block in 0..4 {
                let x = load(ctx, x, block, block as u64 % 2);
                let y = passes(ctx, &x, block as u64);
                store(ctx, y, block as u64);
            }
        });
        let after = run(|ctx, x| {
            let mut next = Some(load(ctx, x, 0, 0));
            for block in 0..4 {
                let own = next.take().expect("it was loaded");
                let y = passes(ctx, &own, block as u64);
                next = (block < 3).then(|| load(ctx, x, block + 1, (block as u64 + 1) % 2));
                store(ctx, y, block as u64);
            }
        });
        let delayed = |report: &Report| -> u64 {
            let loads = report.records.iter().filter(|record| record.operation == "to_dm");
            loads.flat_map(|record| &record.beside).map(|(_, delay)| delay).sum()
        };
        assert!(delayed(&before) == 0 && delayed(&after) > 100, "{} {}", delayed(&before), delayed(&after));
        promised(HintKind::LateLoad, &before, &after, 1);
    }

    #[test]
    fn one_buffer() {
        let of = |buffers: u64| {
            run(move |ctx, x| {
                for block in 0..4 {
                    let x = load(ctx, x, block, block as u64 % buffers);
                    pass(ctx, &x, 4);
                }
            })
        };
        promised(HintKind::OneBuffer, &of(1), &of(2), 10);
    }

    #[test]
    fn loaded_again() {
        let of = |loads: usize| {
            run(move |ctx, x| {
                let mut own = load(ctx, x, 0, 0);
                for turn in 0..4 {
                    if turn > 0 && turn < loads {
                        own = load(ctx, x, 0, 0);
                    }
                    pass(ctx, &own, 4);
                }
            })
        };
        promised(HintKind::LoadedAgain, &of(4), &of(1), 10);
        // Other blocks are other bytes.
        let others = run(|ctx, x| (0..4).for_each(|block| drop(load(ctx, x, block, 0))));
        assert_eq!(hint(&others, HintKind::LoadedAgain), None, "{others}");
    }
}

/// Loops that are longer than what is kept of them: what a hint counts is what ran.
mod folded {
    use super::*;
    axes![B = 4, R = 256, L = 1024];
    type X = HbmTensor<i8, m![1], m![B, R, L]>;
    type Dm = DmTensor<i8, m![1], m![1 # 2], m![R], m![L]>;

    const TURNS: usize = 600;

    fn load(ctx: &mut Context, x: &X, turn: usize, address: u64) -> Dm {
        let own = x.view().tile::<m![B], 1, m![1 # 4, R, L]>(turn % 4);
        own.to_dm::<m![1 # 2], m![R], m![L]>(&mut ctx.tdma, address)
    }

    fn pass(ctx: &mut Context, x: &Dm, address: u64) -> Dm {
        (ctx.main.begin(x.view()).fetch::<i8, m![L / 32], m![L % 32]>())
            .collect::<m![L / 32], m![L % 32]>()
            .commit::<m![L]>(address)
    }

    /// The report, and the operations of the trace, which has all of them.
    fn run(program: impl FnOnce(&mut Context, &X)) -> (Report, Vec<serde_json::Value>) {
        let out = Shared::default();
        let traced = report(|ctx| {
            ctx.trace(out.clone());
            let x: X = block_on(HostTensor::<i8, m![B, R, L]>::zero().to_hbm(&mut ctx.pdma, 0));
            program(ctx, &x);
        });
        let bytes = out.0.lock().expect("nobody holds it").clone();
        let trace: serde_json::Value = serde_json::from_slice(&bytes).expect("it is whole");
        let events = trace["traceEvents"].as_array().expect("a list").iter();
        let of_tdma = events.filter(|own| own["cat"] == "operation" && own["args"]["context"] == "tdma");
        let mut all: Vec<_> = of_tdma.map(|own| own["args"].clone()).collect();
        all.sort_by_key(|own| own["op"].as_u64());
        (traced, all)
    }

    fn waits(own: &serde_json::Value, hazards: &[&str]) -> bool {
        let text = own["waited for"].as_str().expect("a text");
        hazards.iter().any(|hazard| text.contains(hazard))
    }

    #[test]
    fn loaded_again() {
        let of = |loads: usize| {
            run(move |ctx, x| {
                let own: Vec<Dm> = (0..4).map(|block| load(ctx, x, block, block as u64 * 1024)).collect();
                for turn in 4..TURNS {
                    if turn < loads {
                        drop(load(ctx, x, turn, 4096));
                    }
                    pass(ctx, &own[turn % 4], 8192);
                }
            })
        };
        let (before, all) = of(TURNS);
        assert_eq!(all.len(), TURNS);
        assert!(before.records.len() < TURNS, "some are not kept");
        let own = hint(&before, HintKind::LoadedAgain).unwrap_or_else(|| panic!("{before}"));
        // All but the first ones of four blocks.
        assert!(own.cause.starts_with("596 times it loads"), "{}", own.cause);
        assert_eq!(own.operations, TURNS as u64);
        let (after, _) = of(0);
        let saved = before.headline().cycles - after.headline().cycles;
        assert!(own.saving.abs_diff(saved) * 10 < saved, "promised {}, saved {saved}", own.saving);
    }

    #[test]
    fn one_buffer() {
        let (before, all) = run(|ctx, x| {
            (0..TURNS).for_each(|turn| {
                let own = load(ctx, x, turn, 0);
                pass(ctx, &own, 8192);
            });
        });
        assert!(before.records.len() < all.len(), "some are not kept");
        let waiting = all.iter().filter(|own| waits(own, &["write after"])).count();
        assert_eq!(waiting, TURNS - 1);
        let own = hint(&before, HintKind::OneBuffer).unwrap_or_else(|| panic!("{before}"));
        assert!(own.cause.starts_with(&format!("{waiting} times it waits")), "{}", own.cause);
    }

    #[test]
    fn late_load() {
        let (before, all) = run(|ctx, x| {
            (0..TURNS).for_each(|turn| {
                let own = load(ctx, x, turn, 1024 * (turn as u64 % 2));
                let y = pass(ctx, &own, 8192 + 1024 * (turn as u64 % 2));
                let _y: HbmTensor<i8, m![1], m![R, L]> = y.to_hbm(&mut ctx.tdma, 1 << 30);
            });
        });
        assert!(before.records.len() < all.len(), "some are not kept");
        // Each load but the first one is behind a store that waits for its pass.
        let behind = all.windows(2).filter(|pair| {
            let waited = pair[0]["idle before"] != 0 && waits(&pair[0], &["after"]);
            pair[0]["operation"] == "to_hbm" && pair[1]["operation"] == "to_dm" && waited
        });
        let behind = behind.count();
        assert_eq!(behind, TURNS - 1);
        let own = hint(&before, HintKind::LateLoad).unwrap_or_else(|| panic!("{before}"));
        assert!(own.cause.starts_with(&format!("{behind} times it is behind to_hbm")), "{}", own.cause);
    }
}

mod tables {
    use super::*;
    axes![S = 256, L = 8192];

    /// Looks elements of a byte up, 16 of them for each packet.
    fn looked_up<Element: M>() -> Report {
        report(|ctx| {
            let x = HostTensor::<f8e4m3, m![S, { Element }]>::zero();
            let x: HbmTensor<f8e4m3, m![1], m![S, { Element }]> = block_on(x.to_hbm(&mut ctx.pdma, 0));
            let x = x.to_dm::<m![1 # 2], m![S], Element>(&mut ctx.tdma, 0);
            let table = LookupTable::<f8e4m3, bf16>::from_fn(|_| bf16::default());
            for _ in 0..8 {
                let stream =
                    ctx.main.begin(x.view()).fetch_with_table::<bf16, m![L / 16], m![L % 16]>(&table);
                drop(stream.collect::<m![L / 16], m![L % 16]>().commit::<m![L]>(1 << 17));
            }
        })
    }

    /// A table takes 32 bytes in 5 cycles, whatever is read at a time: reads of 2 bytes can become 3.2 times as fast, not 16 times, and
    /// those of 16 bytes no faster.
    #[test]
    fn narrow_fetch_before_a_table() {
        promised(
            HintKind::NarrowFetch,
            &looked_up::<m![L / 2 % 8, L / 16, L % 2]>(),
            &looked_up::<m![L]>(),
            10,
        );
    }
}

/// Loads in short runs, and with 256 bytes that go to other slices afterwards.
mod spread {
    use super::*;
    axes![J = 16, S = 256, E = 8, T = 256, N = 16, H = 256, P = 4096];

    type Load<D, Element> = fn(&mut Context, &HbmTensor<D, m![1], Element>);

    /// The load gets no hint of short runs: the one in longer runs is slower, with its move.
    #[track_caller]
    fn a_move_is_slower<D: Scalar, Element: M>(load: Load<D, Element>, longer: Load<D, Element>) {
        let [before, after] = [load, longer].map(|load| {
            report(|ctx| {
                let x = block_on(HostTensor::<D, Element>::zero().to_hbm(&mut ctx.pdma, 0));
                load(ctx, &x);
            })
        });
        assert_eq!(hint(&before, HintKind::ShortRuns), None, "{before}");
        assert!(after.headline().cycles > before.headline().cycles);
    }

    /// A slice has a run of eight bytes.
    #[test]
    fn loads_of_a_run() {
        a_move_is_slower::<i8, m![T, E]>(
            |ctx, x| drop(x.to_dm::<m![1 # 2], m![T], m![E]>(&mut ctx.tdma, 0)),
            |ctx, x| {
                let few = x.to_dm::<m![1 # 2], m![T / 32, 1 # 32], m![T % 32, E]>(&mut ctx.tdma, 0);
                drop(few.to_dm::<m![T], m![E]>(&mut ctx.tdma, 4096));
            },
        );
    }

    /// Eight bytes at a time, sixteen times: neighbours of HBM belong to other slices, and the move has as short runs.
    #[test]
    fn loads_of_many_runs() {
        a_move_is_slower::<i8, m![J, S, E]>(
            |ctx, x| drop(x.to_dm::<m![1 # 2], m![S], m![J, E]>(&mut ctx.tdma, 0)),
            |ctx, x| {
                let few = x.to_dm::<m![1 # 2], m![J, S / 32, 1 # 2], m![S % 32, E]>(&mut ctx.tdma, 0);
                drop(few.to_dm::<m![S], m![J, E]>(&mut ctx.tdma, 4096));
            },
        );
    }

    /// Loads the first bytes of each of 256 rows of 4096.
    fn of_columns<Wide: M, Tile: M, Slice: M, Element: M>() -> Report {
        report(|ctx| {
            let x = HostTensor::<i8, m![H, P]>::zero();
            let x: HbmTensor<i8, m![1], m![H, P]> = block_on(x.to_hbm(&mut ctx.pdma, 0));
            let x = x.view().tile::<Wide, 1, Tile>(0);
            drop(x.to_dm::<m![1 # 2], Slice, Element>(&mut ctx.tdma, 0));
        })
    }

    /// Rows of 256 bytes of a tile can be runs of 256 bytes. Those of 128 cannot: there are no longer ones in HBM.
    #[test]
    fn loads_of_a_tile() {
        type Wide = m![H, 1 # 16, P % 256];
        let before = of_columns::<m![P / 256], Wide, m![H / 16, P / 64 % 4, 1 # 4], m![H % 16, P % 64]>();
        let after = of_columns::<m![P / 256], Wide, m![H / 4, 1 # 4], m![H % 4, P % 256]>();
        promised(HintKind::ShortRuns, &before, &after, 10);
        type Narrow = m![H, 1 # 32, P % 128];
        let narrow = of_columns::<m![P / 128], Narrow, m![H / 8, P / 64 % 2, 1 # 4], m![H % 8, P % 64]>();
        assert_eq!(hint(&narrow, HintKind::ShortRuns), None, "{narrow}");
    }

    /// Stores the first bytes of each of 256 rows of 4096, from the slices of the load or from others.
    fn to_columns<Wide: M, Tile: M, Slice: M, Element: M, Slice2: M, Element2: M>(is_moved: bool) -> Report {
        report(|ctx| {
            let zero = |ctx: &mut Context, address: u64| -> HbmTensor<i8, m![1], m![H, P]> {
                block_on(HostTensor::<i8, m![H, P]>::zero().to_hbm(&mut ctx.pdma, address))
            };
            let (x, mut y) = (zero(ctx, 0), zero(ctx, 1 << 24));
            let x = x.view().tile::<Wide, 1, Tile>(0).to_dm::<m![1 # 2], Slice, Element>(&mut ctx.tdma, 0);
            let y = y.view_mut().tile::<Wide, 1, Tile>(0);
            if is_moved {
                let x = x.to_dm::<Slice2, Element2>(&mut ctx.tdma, 4096);
                x.view().to_hbm_view(&mut ctx.tdma, y);
            } else {
                x.view().to_hbm_view(&mut ctx.tdma, y);
            }
        })
    }

    /// As for loads: it is the side in HBM that counts, and a slice gets what follows there. Rows of 128 bytes are no more.
    #[test]
    fn stores_of_a_tile() {
        let of_store = |report: &Report| {
            let is_store = |own: &Hint| own.kind == HintKind::ShortRuns && own.operation == "to_hbm";
            report.hints().into_iter().find(is_store)
        };
        let promised = |[before, after]: [Report; 2], slices: &str| {
            let own = of_store(&before).unwrap_or_else(|| panic!("{before}"));
            assert_eq!(own.changes[0].after, format!("y.to_dm::<{slices}>(…).view().to_hbm_view(…)"));
            let saved = before.headline().cycles - after.headline().cycles;
            assert!(own.saving.abs_diff(saved) * 10 <= saved, "promised {}, saved {saved}", own.saving);
            assert_eq!(of_store(&after), None, "{after}");
        };
        type Wide = m![H, 1 # 16, P % 256];
        let wide = [false, true].map(
            to_columns::<
                m![P / 256],
                Wide,
                m![H / 16, P / 64 % 4, 1 # 4],
                m![H % 16, P % 64],
                m![H / 16, 1 # 16],
                m![H % 16, P % 256],
            >,
        );
        promised(wide, "m![H / 16, 1 # 16], m![H % 16, P % 256]");
        type Narrow = m![H, 1 # 32, P % 128];
        let narrow = [false, true].map(
            to_columns::<
                m![P / 128],
                Narrow,
                m![H / 8, P / 64 % 2, 1 # 4],
                m![H % 8, P % 64],
                m![H / 8, 1 # 8],
                m![H % 8, P % 128],
            >,
        );
        promised(narrow, "m![H / 8, 1 # 8], m![H % 8, P % 128]");
    }

    /// The move takes longer than what longer runs save.
    #[test]
    fn a_move_that_eats_the_saving_is_no_hint() {
        a_move_is_slower::<f32, m![T, N]>(
            |ctx, x| drop(x.to_dm::<m![1 # 2], m![T], m![N]>(&mut ctx.tdma, 0)),
            |ctx, x| {
                let few = x.to_dm::<m![1 # 2], m![T / 4, 1 # 4], m![T % 4, N]>(&mut ctx.tdma, 0);
                drop(few.to_dm::<m![T], m![N]>(&mut ctx.tdma, 4096));
            },
        );
    }
}

mod by_index {
    use super::*;
    axes![R = 8192, S = 4096, L = 256];
    type Table = HbmTensor<i8, m![1], m![R, L]>;
    type Rows = HbmTensor<i8, m![1], m![S, L]>;
    type Index = HbmTensor<i32, m![1], m![S]>;
    type Dm = DmTensor<i8, m![1], m![1 # 2], m![S / 16], m![S % 16, L]>;

    fn of_table(at: u64, program: impl FnOnce(&mut Context, Table, &Index)) -> Report {
        report(|ctx| {
            let table = HostTensor::<i8, m![R, L]>::zero();
            let table: Table = block_on(table.to_hbm(&mut ctx.pdma, (1 << 30) + at));
            let index = HostTensor::<i32, m![S]>::zero();
            let index: Index = block_on(index.to_hbm(&mut ctx.pdma, 2 << 30));
            program(ctx, table, &index);
        })
    }

    fn scatter(at: u64) -> Report {
        of_table(at, |ctx, mut table, index| {
            let rows: Rows = block_on(HostTensor::<i8, m![S, L]>::zero().to_hbm(&mut ctx.pdma, 0));
            let rows: Dm = rows.to_dm(&mut ctx.tdma, 0);
            rows.dma_scatter_rows(&mut ctx.tdma, index, &mut table, Duplicates::Equal);
        })
    }

    fn gather(at: u64) -> Report {
        of_table(at, |ctx, table, index| {
            let _rows: Dm = table.dma_gather_rows(&mut ctx.tdma, index, 0);
        })
    }

    /// Rows of 256 bytes that begin inside of a unit: parts of two units are written.
    #[test]
    fn partial_writes_of_a_scatter() {
        promised(HintKind::PartialWrites, &scatter(128), &scatter(0), 1);
        let hint = hint(&scatter(64), HintKind::PartialWrites).expect("it begins inside of a unit");
        assert_eq!(hint.operation, "dma_scatter_rows");
        assert_eq!(hint.edit, "start the tensor in HBM at a multiple of 256 bytes");
    }

    #[test]
    fn split_reads_of_a_gather() {
        promised(HintKind::SplitReads, &gather(128), &gather(0), 1);
    }
}

/// A load whose runs begin inside of a unit of HBM.
#[test]
fn split_reads() {
    let of = |at: u64| {
        report(move |ctx| {
            let x = HostTensor::<f32, m![R, N]>::zero();
            let x: X = block_on(x.to_hbm(&mut ctx.pdma, at));
            drop(x.to_dm::<m![1 # 2], m![R / 64], m![R % 64, N]>(&mut ctx.tdma, 0));
        })
    };
    promised(HintKind::SplitReads, &of(64), &of(0), 1);
}
