//! What users measured on chips, beside what the clock says: `chip.json` has every figure that is public.
//!
//! A row with enough detail to be run has an `id`, and a run here. `real` is what a chip took, `model` what the vendor's
//! own model says of the same, in cycles; where there are both, the chip counts.

use furiosa_visa_std::chip::{CheckOptions, Compute};
use furiosa_visa_std::clock::Report;
use furiosa_visa_std::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

axes![
    R = 4096,
    K = 3840, // rows of a weight
    O = 3840,
    I = 4096,
    U = 15360,
    V = 1920,
    D = 3840,
    E = 7680,
    F = 960,
    C = 2,
    S = 256,
    H = 128,
    X = 7680,
    Y = 15360,
    Z = 8,
    T = 240,
    W = 3,
    P = 32,
    Q = 4,
    L = 30720,
    J = 115200,
    G = 230400,
    M = 8
];

type One = m![1 # 2];

struct Run {
    id: &'static str,
    /// Whether a constant was fitted with this row.
    fitted: bool,
    cycles: fn() -> u64,
}

/// The report of what runs in a context of its own, for its time alone.
pub fn report(run: impl AsyncFnOnce(&mut Context)) -> Report {
    let options =
        SimOptions { compute: Compute::ShapesOnly, checks: CheckOptions::NONE, ..SimOptions::default() };
    let mut ctx = Context::with(options);
    pollster::block_on(run(&mut ctx));
    ctx.report()
}

/// Cycles of the last operation, as if nothing ran beside it.
fn last(run: impl FnOnce(&mut Context)) -> u64 {
    let report = report(async |ctx| run(ctx));
    let last = report.records.last().expect("something ran");
    // As it is scheduled: nothing else runs. The banks of DM may take a little longer.
    assert!(
        last.cycles().abs_diff(last.timing.cycles()) <= 4 + last.timing.cycles() / 100,
        "{}",
        report.full()
    );
    last.cycles()
}

macro_rules! hbm {
    ($element:ty $(, $type:ty)?) => {
        hbm!($element $(, $type)?; 0)
    };
    ($element:ty; $at:expr) => {
        hbm!($element, i8; $at)
    };
    ($element:ty, $type:ty; $at:expr) => {{
        // SAFETY: no memory of the host is at risk.
        #[allow(unsafe_code)]
        let x = unsafe { HbmTensor::<$type, m![1], $element>::from_addr($at) };
        x
    }};
}

macro_rules! dm {
    ($type:ty, $cluster:ty, $slice:ty, $element:ty) => {{
        // SAFETY: no memory of the host is at risk.
        #[allow(unsafe_code)]
        let x = unsafe { DmTensor::<$type, m![1], $cluster, $slice, $element>::from_addr(0) };
        x
    }};
}

macro_rules! load {
    ($id:literal, $fitted:literal, $hbm:ty => $cluster:ty, $slice:ty, $element:ty) => {
        Run {
            id: $id,
            fitted: $fitted,
            cycles: || last(|ctx| drop(hbm!($hbm).to_dm::<$cluster, $slice, $element>(&mut ctx.tdma, 0))),
        }
    };
}

macro_rules! pass {
    ($id:literal, $fitted:literal, |$ctx:ident| $run:expr) => {
        Run {
            id: $id,
            fitted: $fitted,
            cycles: || {
                last(|$ctx| {
                    let _ = $run;
                })
            },
        }
    };
}

fn to_slices(slices: usize) -> u64 {
    last(|ctx| match slices {
        512 => drop(hbm!(m![Z]).to_dm::<m![C], m![S], m![Z]>(&mut ctx.tdma, 0)),
        _ => drop(hbm!(m![Z]).to_dm::<m![C], m![1 # 256], m![Z]>(&mut ctx.tdma, 0)),
    })
}

fn runs() -> Vec<Run> {
    vec![
        load!("columns_128", false, m![O, I] => m![O / 1920], m![O / 240 % 8, I / 128], m![O % 240, I % 128]),
        load!("columns_256", true, m![O, I] => m![O / 1920], m![O / 120 % 16, I / 256], m![O % 120, I % 256]),
        load!("columns_512", false, m![O, I] => m![O / 1920], m![O / 60 % 32, I / 512], m![O % 60, I % 512]),
        load!("columns_1024", true, m![O, I] => m![O / 1920], m![O / 30 % 64, I / 1024], m![O % 30, I % 1024]),
        load!("columns_2048", false, m![O, I] => m![O / 1920], m![O / 15 % 128, I / 2048], m![O % 15, I % 2048]),
        load!("rows_8", false, m![R, K] => m![R / 2048], m![R / 8 % 256], m![R % 8, K]),
        load!("rows_16", true, m![R, K] => m![R / 2048], m![R / 16 % 128, 1 # 2], m![R % 16, K]),
        load!("rows_32", false, m![R, K] => m![R / 2048], m![R / 32 % 64, 1 # 4], m![R % 32, K]),
        load!("half_rows", true, m![R, K] => m![R / 2048], m![R / 16 % 128, K / 1920], m![R % 16, K % 1920]),
        load!("dealt_rows", false, m![R, K] => m![R / 256 % 2], m![R % 256], m![R / 512, K]),
        load!("up", true, m![U, V] => m![U / 7680], m![U / 30 % 256], m![U % 30, V]),
        load!("down_960", false, m![D, E] => m![D / 1920], m![D / 60 % 32, E / 960], m![D % 60, E % 960]),
        load!("down_3840", true, m![D, E] => m![D / 1920], m![D / 15 % 128, E / 3840], m![D % 15, E % 3840]),
        load!("scales_120", false, m![D, F] => m![D / 1920], m![D / 60 % 32, F / 120], m![D % 60, F % 120]),
        load!("scales_240", false, m![D, F] => m![D / 1920], m![D / 30 % 64, F / 240], m![D % 30, F % 240]),
        load!("scales_480", false, m![D, F] => m![D / 1920], m![D / 15 % 128, F / 480], m![D % 15, F % 480]),
        load!("one_cluster", true, m![R, K] => One, m![R / 16], m![R % 16, K]),
        load!("half_slices", false, m![R, K] => m![R / 2048], m![R / 16 % 128 # 256], m![R % 16, K]),
        load!("x_512", false, m![X] => m![C], m![S], m![X]),
        load!("row_128", false, m![Y] => m![H / 64], m![H % 64 # 256], m![Y]),
        load!("small", false, m![Z] => One, m![1 # 256], m![Z]),
        pass!("x_dm_256", false, |ctx| dm!(i8, One, m![1 # 256], m![X])
            .to_dm::<m![S], m![X]>(&mut ctx.tdma, 0)),
        Run { id: "scalar_512", fitted: true, cycles: || to_slices(512) - to_slices(2) },
        pass!("store_240", false, |ctx| dm!(i8, One, m![P # 256], m![T])
            .to_hbm::<m![P, T]>(&mut ctx.tdma, 0)),
        pass!("store_960", false, |ctx| dm!(i8, One, m![M # 256], m![F])
            .to_hbm::<m![M, F]>(&mut ctx.tdma, 0)),
        pass!("gather", true, |ctx| {
            let (table, index) = (hbm!(m![R, K]), hbm!(m![M / 8], i32));
            table.dma_gather_rows::<One, m![1 # 256], m![M / 8, K], _>(&mut ctx.tdma, &index, 0)
        }),
        pass!("scatter", false, |ctx| {
            let (rows, index, mut table) =
                (dm!(i8, One, m![1 # 256], m![M / 8, K]), hbm!(m![M / 8], i32), hbm!(m![R, K]));
            rows.dma_scatter_rows(&mut ctx.tdma, &index, &mut table, Duplicates::LastWins)
        }),
        pass!("pass", false, |ctx| {
            let x = dm!(i8, One, m![1 # 256], m![P]);
            let stream = ctx.main.begin(x.view()).fetch::<i8, m![1], m![P]>().collect::<m![1], m![P]>();
            stream.commit::<m![P]>(1024)
        }),
        pass!("scalar_to_vrf", true, |ctx| {
            let x = dm!(i32, One, m![1 # 256], m![Z]);
            let stream = ctx.sub.begin(x.view()).fetch::<i32, m![1], m![Z]>().collect::<m![1], m![Z]>();
            stream.to_vrf::<m![Z]>(0)
        }),
        pass!("ring_32", false, |ctx| {
            let x = dm!(i8, One, m![S], m![T, P]);
            let stream = ctx.main.begin(x.view()).fetch::<i8, m![T], m![P]>();
            let stream = stream.switch::<m![S / 32, H / 4], m![T, S % 32]>(SwitchConfig::Broadcast1 {
                slice1: 32,
                slice0: 1,
            });
            stream.collect::<m![T, S % 32], m![P]>().commit::<m![T, S % 32, P]>(1024)
        }),
        pass!("ring_256", true, |ctx| {
            let x = dm!(i8, One, m![S], m![W, P]);
            let stream = ctx.main.begin(x.view()).fetch::<i8, m![W], m![P]>();
            let stream =
                stream.switch::<m![S % 16, S / 16], m![W]>(SwitchConfig::CustomBroadcast { ring_size: 256 });
            stream.collect::<m![W], m![P]>().commit::<m![W, P]>(1024)
        }),
        pass!("ring_32_scalar", false, |ctx| {
            let x = dm!(i8, One, m![S], m![P]);
            let stream = ctx.main.begin(x.view()).fetch::<i8, m![1], m![P]>();
            let stream = stream
                .switch::<m![S / 32, H / 4], m![S % 32]>(SwitchConfig::Broadcast1 { slice1: 32, slice0: 1 });
            stream.collect::<m![S % 32], m![P]>().commit::<m![S % 32, P]>(1024)
        }),
        Run {
            id: "switch_set",
            fitted: true,
            cycles: || {
                let report = report(async |ctx| {
                    let x = dm!(i8, One, m![S], m![P]);
                    let stream = ctx.main.begin(x.view()).fetch::<i8, m![1], m![P]>();
                    let ring = SwitchConfig::CustomBroadcast { ring_size: 256 };
                    let stream = stream.switch::<m![S % 16, S / 16], m![1]>(ring);
                    stream.collect::<m![1], m![P]>().commit::<m![P]>(1024);
                });
                report
                    .records
                    .iter()
                    .find(|own| own.operation == "switch bitmap")
                    .expect("it is set")
                    .cycles()
            },
        },
        pass!("table_f8", true, |ctx| {
            let (x, table) = (
                dm!(f8e4m3, One, m![S], m![L]),
                LookupTable::<f8e4m3, bf16>::from_fn(|_| Default::default()),
            );
            let stream = ctx.main.begin(x.view()).fetch_with_table::<bf16, m![L / 16], m![L % 16]>(&table);
            stream.collect::<m![L / 16], m![L % 16]>().commit::<m![L]>(1 << 16)
        }),
        pass!("table_f4", false, |ctx| {
            let (x, table) =
                (dm!(i4, One, m![S], m![J]), LookupTable::<i4, f8e4m3>::from_fn(|_| Default::default()));
            let stream = ctx.main.begin(x.view()).fetch_with_table::<f8e4m3, m![J / 32], m![J % 32]>(&table);
            stream.collect::<m![J / 32], m![J % 32]>().commit::<m![J]>(1 << 16)
        }),
        pass!("table_f4_two", false, |ctx| {
            let (x, table) =
                (dm!(i4, One, m![S], m![G]), LookupTable::<i4, f8e4m3>::from_fn(|_| Default::default()));
            let stream = ctx.main.begin(x.view()).fetch_with_table::<f8e4m3, m![G / 32], m![G % 32]>(&table);
            stream.collect::<m![G / 32], m![G % 32]>().commit::<m![G]>(1 << 18)
        }),
        pass!("contraction_f8", false, |ctx| {
            // SAFETY: no memory of the host is at risk.
            #[allow(unsafe_code)]
            let w =
                unsafe { TrfTensor::<bf16, m![1], One, m![S], m![M], m![K]>::from_addr(TrfAddress::Full) };
            let x = dm!(bf16, One, m![S], m![Q, K]);
            (ctx.main.begin(x.view()).fetch::<bf16, m![Q], m![K]>())
                .collect::<m![Q, K / 16], m![K % 16]>()
                .align::<m![Q, K / 32], m![K % 32], _, _>(&w)
                .contract::<m![1]>()
                .accumulate::<m![Q], m![M]>(AccumulationKind::Interleaved)
                .commit::<m![Q, M]>(1 << 17)
        }),
        pass!("sub_load", false, |ctx| {
            let x = dm!(i8, One, m![S], m![L]);
            let stream = ctx.sub.begin(x.view()).fetch::<i8, m![L / 32], m![L % 32]>();
            stream.collect::<m![L / 32], m![L % 32]>().to_trf::<m![1], m![L]>(TrfAddress::Full)
        }),
        Run {
            id: "meeting",
            fitted: true,
            cycles: || {
                let report = report(async |ctx| {
                    let stored = dm!(i8, One, m![S], m![T]).to_hbm::<m![S, T]>(&mut ctx.tdma, 0);
                    drop(stored.to_dm::<m![S / 128], m![S % 128 # 256], m![T]>(&mut ctx.tdma, 0));
                });
                report
                    .records
                    .iter()
                    .find(|own| own.operation == "clusters meet")
                    .expect("they meet")
                    .cycles()
            },
        },
    ]
}

struct Row {
    section: String,
    id: Option<String>,
    what: String,
    /// Cycles of a chip, or of the vendor's model.
    expected: f64,
    /// Whether a chip took them.
    measured: bool,
    source: String,
}

fn rows() -> Vec<Row> {
    let all: Vec<Value> = serde_json::from_str(include_str!("chip.json")).expect("it is JSON");
    let row = |own: &Value| {
        let text = |key: &str| own[key].as_str().map(String::from);
        Row {
            section: text("section").expect("a row has a section"),
            id: text("id"),
            what: text("what").expect("a row says what it is"),
            expected: own["real"].as_f64().or(own["model"].as_f64()).expect("a row has a figure"),
            measured: own["real"].is_number(),
            source: text("source").expect("a row has a source"),
        }
    };
    all.iter().map(row).collect()
}

/// Rows that the clock cannot say, each with the reason.
const FAR: [(&str, &str); 7] = [
    (
        "scales_120",
        "it was added at the head of a kernel, where any command took 4500 more (V199): 9329 without",
    ),
    ("scales_240", "the same: 6538 without"),
    ("scales_480", "the same: 4904 without"),
    (
        "row_128",
        "the vendor's model says 10 184, as this clock nearly does, and nothing tells the other 26 000 cycles",
    ),
    (
        "ring_32_scalar",
        "the vendor's model says 295, as this clock does; other passes are 40 cycles above it on chips",
    ),
    (
        "store_240",
        "a write of a part of a unit takes 50 times as long by the documentation: it has 32 runs, 8 of parts",
    ),
    (
        "store_960",
        "the same: one such write alone is 267 cycles, of which neither the chip nor the model has any",
    ),
];

/// Rows of the table in the guide.
const IN_GUIDE: [&str; 12] = [
    "pass",
    "table_f8",
    "table_f4",
    "ring_32",
    "columns_256",
    "columns_128",
    "rows_8",
    "one_cluster",
    "half_slices",
    "x_512",
    "scalar_512",
    "gather",
];
const GUIDE: &str = include_str!("../../src/guide/12_clock.md");

/// `12 345`.
fn grouped(cycles: u64) -> String {
    if cycles < 1000 { cycles.to_string() } else { format!("{} {:03}", cycles / 1000, cycles % 1000) }
}

fn median(ratios: &[f64]) -> f64 {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

/// Single operations: the median of what the clock says of what was measured is within a tenth, that of each class within 15 %, and
/// all but the named ones are between 0.7 and 1.4. The guide has these figures.
#[test]
fn single_operations_take_what_chips_take() {
    let (rows, runs) = (rows(), runs());
    let ids: BTreeSet<&str> = rows.iter().filter_map(|row| row.id.as_deref()).collect();
    assert_eq!(ids, runs.iter().map(|run| run.id).collect(), "each row with an id is run");
    let mut sections: BTreeMap<&str, Vec<(f64, bool)>> = BTreeMap::new();
    let (mut text, mut wrong) = (String::new(), Vec::new());
    for run in &runs {
        let row = rows.iter().find(|row| row.id.as_deref() == Some(run.id)).expect("it is there");
        let (cycles, Row { section, what, expected, measured, source, .. }) = ((run.cycles)(), row);
        let ratio = cycles as f64 / expected;
        let mark = if run.fitted { "fitted" } else { "checked" };
        let by = if *measured { "chip" } else { "model" };
        text += &format!(
            "{section:<16} {what:<52} {expected:>7} {cycles:>7} {ratio:>6.2}  {by:<5} {mark:<8} {source}\n"
        );
        let in_guide = IN_GUIDE.contains(&run.id);
        if in_guide && !GUIDE.contains(&format!("| {} |", grouped(cycles))) {
            wrong.push("the guide");
        }
        let is_far = FAR.iter().any(|(id, _)| *id == run.id);
        if (0.7..=1.4).contains(&ratio) == is_far {
            wrong.push(run.id);
        }
        if !is_far {
            sections.entry(section).or_default().push((ratio, run.fitted));
            sections
                .entry(if *measured { "by chips" } else { "by the model" })
                .or_default()
                .push((ratio, run.fitted));
        }
    }
    let all: Vec<(f64, bool)> =
        ["by chips", "by the model"].iter().flat_map(|by| &sections[by]).copied().collect();
    let sums = sections.into_iter().chain([("all", all)]);
    for (section, ratios) in sums {
        for (mark, fitted) in [("fitted", true), ("checked", false)] {
            let own: Vec<f64> = ratios.iter().filter(|own| own.1 == fitted).map(|own| own.0).collect();
            if own.is_empty() {
                continue;
            }
            let worst =
                own.iter().copied().max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs())).unwrap_or(1.0);
            let median = median(&own);
            text += &format!(
                "{section:<16} {mark:<8} {:>3} rows, median {median:.2}, worst {worst:.2}\n",
                own.len()
            );
            let band = if section == "all" || section.starts_with("by ") { 0.9..=1.1 } else { 0.85..=1.15 };
            if !band.contains(&median) {
                wrong.push(mark);
            }
        }
    }
    println!("{text}");
    assert!(wrong.is_empty(), "{wrong:?}");
}
