//! Time of kernels: reports and traces.

use furiosa_visa_std::chip::Compute;
use furiosa_visa_std::clock::record::{Record, Timing};
use furiosa_visa_std::clock::schedule::{Resource, Wait};
use furiosa_visa_std::clock::tensor_unit::Stage;
use furiosa_visa_std::clock::{Channels, Profile, Report, hazards, trace};
use furiosa_visa_std::command::{ContextKind, MemoryKind};
use furiosa_visa_std::prelude::*;
use pollster::block_on;
use rand::{SeedableRng, rngs::SmallRng};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

axes![M = 512, N = 8, K = 64];
type Slice = m![M / 2];
type A = HbmTensor<i8, m![1], m![M, K]>;
type B = HbmTensor<i8, m![1], m![N, K]>;
type C = HbmTensor<i32, m![1], m![M, N]>;

#[device(chip = 1)]
fn product(ctx: &mut Context, a: &A, b: &B) -> C {
    let a = a.to_dm::<m![1 # 2], Slice, m![M % 2, K]>(&mut ctx.tdma, 0);
    let b = b.to_dm::<m![1 # 2], Slice, m![N, K]>(&mut ctx.tdma, 1024);
    let weights = (ctx.sub.begin(b.view()).fetch::<i8, m![N], m![K]>())
        .collect::<m![N, K / 32], m![K % 32]>()
        .to_trf::<m![N], m![K]>(TrfAddress::Full);
    let c = (ctx.main.begin(a.view()).fetch::<i8, m![M % 2], m![K]>())
        .collect::<m![M % 2, K / 32], m![K % 32]>()
        .align::<m![M % 2], m![K], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![M % 2], m![N]>(AccumulationKind::Interleaved)
        .commit::<m![M % 2, N]>(2048);
    c.to_hbm(&mut ctx.tdma, 1 << 20)
}

fn context(profile: Profile, compute: Compute) -> impl std::ops::DerefMut<Target = Context> {
    Context::with(SimOptions { profile, compute, ..SimOptions::default() })
}

/// The kernel, twice.
fn run(ctx: &mut Context) -> Vec<Opt<i32>> {
    let a = HostTensor::<i8, m![M, K]>::rand(&mut SmallRng::seed_from_u64(3));
    let b = HostTensor::<i8, m![N, K]>::rand(&mut SmallRng::seed_from_u64(4));
    block_on(async {
        let a: A = a.to_hbm(&mut ctx.pdma, 0).await;
        let b: B = b.to_hbm(&mut ctx.pdma, 1 << 18).await;
        let _ = launch(product, (&mut *ctx, &a, &b)).await;
        let c = launch(product, (&mut *ctx, &a, &b)).await;
        c.to_host::<m![M, N]>(&mut ctx.pdma).await.to_buf()
    })
}

fn times(report: &Report) -> Vec<(&'static str, u64, u64)> {
    report.records.iter().map(|record| (record.operation, record.start, record.end)).collect()
}

#[test]
fn a_report_tells_what_waited_for_what() {
    let mut ctx = context(Profile::Book, Compute::Values);
    run(&mut ctx);
    let report = ctx.report();
    let operations: Vec<_> = report.records.iter().map(|record| record.operation).collect();
    let kernel = ["to_dm", "to_dm", "to_trf (StoTRF)", "commit", "to_hbm"];
    assert_eq!(operations[..2], ["upload"; 2]);
    assert_eq!(operations[2..7], kernel);
    assert_eq!(operations[7..12], kernel);
    assert_eq!(operations[12..], ["to_host"]);

    // Closed formulas: 8 rows of 64 bytes, 8 at a time; 2 rows of 2 flits, tree depth 6, 2 * 1 flits out.
    let load = &report.records[4];
    let pass = &report.records[5];
    assert_eq!((load.cycles(), load.timing.bottleneck()), (64, "fetch"));
    assert_eq!((pass.cycles(), pass.timing.bottleneck()), (4 + 6, "fetch"));
    let hazard = |number: u64| match report.record(number).and_then(|record| record.wait) {
        Some(Wait::Hazard(dependency)) => (dependency.on, dependency.hazard, dependency.memory),
        other => panic!("#{number} waited for {other:?}"),
    };
    use hazards::Hazard::ReadAfterWrite;
    assert_eq!(hazard(4), (3, ReadAfterWrite, MemoryKind::Dm));
    assert_eq!(hazard(5), (4, ReadAfterWrite, MemoryKind::Trf));
    assert_eq!(hazard(6), (5, ReadAfterWrite, MemoryKind::Dm));

    // A launch is awaited: the second one starts when the first one has ended.
    assert_eq!(report.kernels.len(), 2);
    assert_eq!(report.kernels[0].call.name, "product");
    assert_eq!(report.kernels[0].end, report.kernels[1].start);
    assert_eq!(report.kernels[0].makespan(), report.kernels[1].makespan());
    let path: Vec<_> = report.critical_path(&report.kernels[1]).iter().map(|record| record.number).collect();
    assert_eq!(path, [7, 8, 9, 10, 11]);

    let idle = report.idle_hardware().join("\n");
    assert!(idle.contains("chip 0: cluster 1 of 2 never used"), "{idle}");
    let text = report.full().to_string();
    for part in
        ["kernel product: ", "clock.rs:", "read after write of TRF byte 0", "critical path", "D fetch: "]
    {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn time_needs_no_values() {
    for profile in [Profile::Book, Profile::Detailed] {
        let mut with_values = context(profile, Compute::Values);
        let values = run(&mut with_values);
        let mut shapes_only = context(profile, Compute::ShapesOnly);
        let none = run(&mut shapes_only);
        assert!(values.iter().all(|value| *value != Opt::Uninit));
        assert!(none.iter().all(|value| *value == Opt::Uninit));
        assert_eq!(times(&with_values.report()), times(&shapes_only.report()), "{profile}");
        // Looking does not change what comes later.
        let looked = with_values.report();
        assert_eq!(times(&looked), times(&with_values.report()));
    }
}

/// An output that can be read afterwards.
#[derive(Clone, Default)]
pub(crate) struct Shared(pub(crate) Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics").write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The trace of two launches, and the report of the same run.
pub(crate) fn traced() -> (serde_json::Value, Report) {
    let out = Shared::default();
    let mut ctx = context(Profile::Detailed, Compute::Values);
    ctx.trace(out.clone());
    run(&mut ctx);
    let report = ctx.report();
    drop(ctx);
    let bytes = out.0.lock().expect("nobody panics").clone();
    (serde_json::from_slice(&bytes).expect("the trace is JSON"), report)
}

#[test]
fn a_trace_is_a_timeline() {
    let (trace, report) = traced();
    let events = trace["traceEvents"].as_array().expect("a list of events");
    let number = |event: &serde_json::Value, key: &str| event[key].as_u64().expect("a number");
    let mut names = BTreeMap::new();
    let mut slices: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    for event in events {
        match event["ph"].as_str() {
            Some("M") if event["name"] == "thread_name" => {
                let name = event["args"]["name"].as_str().expect("a name").to_string();
                names.insert((number(event, "pid"), number(event, "tid")), name);
            }
            Some("X") => {
                let start = number(event, "ts");
                let slice = (start, start + number(event, "dur"));
                slices.entry((number(event, "pid"), number(event, "tid"))).or_default().push(slice);
            }
            _ => {}
        }
    }
    for (track, slices) in &mut slices {
        slices.sort_unstable();
        let name = &names[track];
        assert!(slices.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{name}: slices overlap: {slices:?}");
    }
    // The operations of each context are those of the report, from start to end.
    for context in ["main", "sub", "tdma", "pdma"] {
        let found: Vec<_> = names.iter().filter(|(_, name)| *name == context).collect();
        assert_eq!(found.len(), 1, "{context}");
        let own = report.records.iter().filter(|record| record.context.name() == context);
        let expected: Vec<_> = own.map(|record| (record.start, record.end)).collect();
        assert_eq!(slices[found[0].0], expected, "{context}");
    }
    assert!(!names.values().any(|name| name.starts_with("cluster 1")), "cluster 1 does nothing");
    for name in ["tdma engine 0", "HBM", "PCIe", "cluster 0 main contract", "cluster 0 sub to_trf", "kernels"]
    {
        assert!(names.values().any(|own| own == name), "{name} is not in {names:?}");
    }
    let unit = trace["otherData"]["unit of ts and dur"].as_str().expect("the unit is named");
    assert!(unit.contains("1 µs in this file is 1 cycle"), "{unit}");

    // Names, and what each touches, and how it lies there.
    let commits: Vec<_> =
        events.iter().filter(|event| event["ph"] == "X" && event["args"]["operation"] == "commit").collect();
    let line = report.records[5].location.line();
    assert_eq!(commits[0]["name"], format!("commit clock.rs:{line} i32 m![M % 2, N]"));
    let commit = serde_json::json!([
        "reads DM bytes 0..128: i8 m![1], m![1 # 2], m![M / 2], m![M % 2, K]",
        "reads TRF bytes 0..65536: i8 m![1], m![1 # 2], m![M / 2], m![N], m![K]",
        "writes DM bytes 2048..2112: i32 m![1], m![1 # 2], m![M / 2], m![M % 2, N]",
    ]);
    assert!(
        commits.len() == 2 && commits.iter().all(|event| event["args"]["tensors"] == commit),
        "{commits:?}"
    );

    // All of DM is free in the end.
    let counters: Vec<_> = events.iter().filter(|event| event["ph"] == "C").collect();
    let levels: Vec<_> =
        counters.iter().map(|event| event["args"]["bytes"].as_i64().expect("a number")).collect();
    // Rows of `a` and all of `b`; when `c` is written, `b` is in the register file.
    let kernel = [128, 128 + 512, 128 + 64, 64];
    assert_eq!(levels, [kernel, kernel].concat().into_iter().chain([0]).collect::<Vec<_>>());
    assert!(counters.windows(2).all(|pair| number(pair[0], "ts") < number(pair[1], "ts")));
}

/// The stages of a pass overlap; the last one ends with the pass, and none before the one that feeds it.
#[test]
fn stages_of_a_trace_feed_each_other() {
    let (trace, report) = traced();
    let events = trace["traceEvents"].as_array().expect("a list of events");
    let number = |event: &serde_json::Value, key: &str| event[key].as_u64().expect("a number");
    let pass = &report.records[5];
    let own = |event: &&serde_json::Value| event["cat"] == "stage" && event["args"]["op"] == pass.number;
    let mut spans: Vec<_> = events.iter().filter(own).collect();
    spans.sort_by_key(|event| number(event, "tid"));
    let stages: Vec<_> = spans.iter().map(|event| event["args"]["stage"].as_str().expect("a name")).collect();
    assert_eq!(stages, ["fetch", "switch", "collect", "contract", "accumulate", "commit"]);
    let ends: Vec<u64> = spans.iter().map(|event| number(event, "ts") + number(event, "dur")).collect();
    assert!(ends.is_sorted() && ends.last() == Some(&pass.end), "{ends:?} of {pass:?}");
    assert!(spans.iter().map(|event| number(event, "ts")).is_sorted());
    for event in &spans {
        assert!(number(&event["args"], "busy cycles") <= number(event, "dur"), "{event}");
    }

    // An arrow per wait, from the last cycle of the operation that was waited for.
    let arrows = |phase: &str| -> BTreeMap<u64, u64> {
        let own = events.iter().filter(|event| event["ph"] == phase);
        own.map(|event| (number(event, "id"), number(event, "ts"))).collect()
    };
    let (starts, ends) = (arrows("s"), arrows("f"));
    for record in &report.records {
        let waited = record.wait.map(|wait| report.record(wait.on()).expect("all are kept").end - 1);
        assert_eq!(starts.get(&record.number), waited.as_ref(), "{record:?}");
        assert_eq!(ends.get(&record.number), waited.map(|_| record.start).as_ref());
    }
    assert!(starts.len() > 5);

    // What is read back finds the critical paths of the report.
    let run = trace::Run::parse(&trace.to_string()).expect("it is whole");
    let of = |path: &Vec<&trace::RunOperation>| path.iter().map(|own| own.number).collect::<Vec<_>>();
    let paths: Vec<_> = run.critical_paths().iter().map(of).collect();
    let of = |kernel| report.critical_path(kernel).iter().map(|own| own.number).collect::<Vec<_>>();
    let expected: Vec<_> = report.kernels.iter().map(of).collect();
    assert_eq!(paths, expected);
    assert_eq!(
        run.kernels.iter().map(|own| own.makespan()).collect::<Vec<_>>(),
        [report.kernels[0].makespan(), report.kernels[1].makespan()]
    );
}

/// Both switch channels: a pass of the main context fetches 64 bytes at once, and the sub context waits for it. Values stay.
#[test]
fn both_channels_carry_a_pass() {
    axes![T = 128, L = 64];
    type Rows = DmTensor<i8, m![1], m![1 # 2], m![1 # 256], m![T, L]>;
    #[device(chip = 1)]
    fn copies(ctx: &mut Context, a: &HbmTensor<i8, m![1], m![T, L]>) -> HbmTensor<i8, m![1], m![T, L]> {
        let a: Rows = a.to_dm(&mut ctx.tdma, 0);
        let b: Rows = (ctx.main.begin(a.view()).fetch::<i8, m![T], m![L]>())
            .collect::<m![T, L / 32], m![L % 32]>()
            .commit(16384);
        let _: Rows = (ctx.sub.begin(a.view()).fetch::<i8, m![T], m![L]>())
            .collect::<m![T, L / 32], m![L % 32]>()
            .commit(32768);
        b.to_hbm(&mut ctx.tdma, 1 << 20)
    }
    let host = HostTensor::<i8, m![T, L]>::rand(&mut SmallRng::seed_from_u64(5));
    let run = |profile, channels| {
        let mut ctx = Context::with(SimOptions { profile, channels, ..SimOptions::default() });
        let result = block_on(async {
            let a = host.to_hbm(&mut ctx.pdma, 0).await;
            let b = launch(copies, (&mut *ctx, &a)).await;
            b.to_host::<m![T, L]>(&mut ctx.pdma).await.to_buf()
        });
        let report = ctx.report();
        let [main, sub] = [2, 3].map(|number| report.record(number).expect("it ran").clone());
        (result, main, sub, report.full().to_string())
    };
    for profile in [Profile::Book, Profile::Detailed] {
        let (values, main, sub, text) = run(profile, Channels::Single);
        let (same, wide, behind, wide_text) = run(profile, Channels::Dual);
        assert_eq!(values, same);
        let fetch = |record: &Record| match &record.timing {
            Timing::TensorUnit(time) => time.stage(Stage::Fetch).expect("it fetches").occupancy.cycles,
            other => panic!("{other:?}"),
        };
        // 128 packets of 64 bytes; 8 bytes at once in the sub context, in either mode.
        assert_eq!((fetch(&main), fetch(&wide)), (256, 128));
        assert_eq!((fetch(&sub), fetch(&behind)), (1024, 1024));
        assert_eq!(sub.start, main.start, "they overlap");
        assert_eq!(behind.start, wide.end, "it waits");
        let held = Wait::Resource(Resource::Context(ContextKind::Sub), wide.number);
        assert_eq!((sub.wait.map(|wait| wait.on()), behind.wait), (Some(1), Some(held)));
        assert!(!text.contains("dual channel") && wide_text.contains("dual channel"), "{wide_text}");
        assert!(wide.configuration.contains("both channels, 64 B at once"), "{}", wide.configuration);
        assert!(!behind.configuration.contains("channels"), "{}", behind.configuration);
    }
}

/// The sub context sums only while the main context is idle, and the report notes it.
#[test]
fn contractions_of_the_sub_context_exclude_the_main_context() {
    macro_rules! product {
        ($name:ident, $context:ident) => {
            #[device(chip = 1)]
            fn $name(ctx: &mut Context, a: &A, b: &B) -> C {
                let a = a.to_dm::<m![1 # 2], Slice, m![M % 2, K]>(&mut ctx.tdma, 0);
                let b = b.to_dm::<m![1 # 2], Slice, m![N, K]>(&mut ctx.tdma, 1024);
                let weights = (ctx.sub.begin(b.view()).fetch::<i8, m![N], m![K]>())
                    .collect::<m![N, K / 32], m![K % 32]>()
                    .to_trf::<m![N], m![K]>(TrfAddress::Full);
                // Two passes that share nothing but the engines.
                let c = (ctx.$context.begin(a.view()).fetch::<i8, m![M % 2, K / 8], m![K % 8]>())
                    .collect::<m![M % 2, K / 8], m![K % 8 # 32]>()
                    .align::<m![M % 2, K / 8], m![K % 8 # 64], _, _>(&weights)
                    .contract::<m![1]>()
                    .accumulate::<m![M % 2], m![N]>(AccumulationKind::Interleaved)
                    .commit::<m![M % 2, N]>(2048);
                let _ = (ctx.main.begin(a.view()).fetch::<i8, m![M % 2], m![K]>())
                    .collect::<m![M % 2, K / 32], m![K % 32]>()
                    .commit::<m![M % 2, K]>(4096);
                c.to_hbm(&mut ctx.tdma, 1 << 20)
            }
        };
    }
    product!(in_sub, sub);
    product!(in_main, main);
    let host = HostTensor::<i8, m![M, K]>::rand(&mut SmallRng::seed_from_u64(3));
    let weights = HostTensor::<i8, m![N, K]>::rand(&mut SmallRng::seed_from_u64(4));
    for profile in [Profile::Book, Profile::Detailed] {
        let mut results = Vec::new();
        for sub in [true, false] {
            let mut ctx = context(profile, Compute::Values);
            results.push(block_on(async {
                let a: A = host.to_hbm(&mut ctx.pdma, 0).await;
                let b: B = weights.to_hbm(&mut ctx.pdma, 1 << 18).await;
                let c = match sub {
                    true => launch(in_sub, (&mut *ctx, &a, &b)).await,
                    false => launch(in_main, (&mut *ctx, &a, &b)).await,
                };
                c.to_host::<m![M, N]>(&mut ctx.pdma).await.to_buf()
            }));
            let report = ctx.report();
            let commits: Vec<&Record> =
                report.records.iter().filter(|record| record.operation == "commit").collect();
            let [sum, copy] = commits[..] else { panic!("two commits, not {}", commits.len()) };
            assert!(copy.start >= sum.end, "{profile}: the copy waits for the engines");
            if sub {
                let held = Wait::Resource(Resource::Compute, sum.number);
                assert_eq!((sum.context, copy.wait), (ContextKind::Sub, Some(held)), "{profile}");
            }
            let note =
                format!("note: #{} sums in the sub context, which has the compute engines only", sum.number);
            assert_eq!(report.full().to_string().contains(&note), sub, "{profile}");
        }
        assert_eq!(results[0], results[1], "{profile}");
        // However often: one note.
        let mut ctx = context(profile, Compute::ShapesOnly);
        block_on(async {
            let a: A = host.to_hbm(&mut ctx.pdma, 0).await;
            let b: B = weights.to_hbm(&mut ctx.pdma, 1 << 18).await;
            for _ in 0..3 {
                launch(in_sub, (&mut *ctx, &a, &b)).await;
            }
        });
        let report = ctx.report();
        let sums: Vec<u64> = (report.records.iter())
            .filter(|record| record.operation == "commit" && record.amount.products.is_some())
            .map(|record| record.number)
            .collect();
        let [first, _, last] = sums[..] else { panic!("three sums, not {sums:?}") };
        let text = report.full().to_string();
        let note = format!("note: 3 operations, from #{first} to #{last}, sum in the sub context, which has");
        assert!(text.contains(&note) && text.matches("in the sub context, which has").count() == 1, "{text}");
    }
}

/// 2^32 steps: nothing is kept for each of them, and their time follows from what repeats.
#[test]
fn long_loops_have_a_time() {
    axes![T = 65536, U = 65536];
    #[device(chip = 1)]
    fn long(ctx: &mut Context, a: &A, b: &B) {
        let a = a.to_dm::<m![1 # 2], Slice, m![M % 2, K]>(&mut ctx.tdma, 0);
        let b = b.to_dm::<m![1 # 2], Slice, m![N, K]>(&mut ctx.tdma, 1024);
        let weights = (ctx.sub.begin(b.view()).fetch::<i8, m![N], m![K]>())
            .collect::<m![N, K / 32], m![K % 32]>()
            .to_trf::<m![N], m![K]>(TrfAddress::FirstHalf);
        let _ = (ctx.main.begin(a.view()).fetch::<i8, m![T, U, M % 2], m![K]>())
            .collect::<m![T, U, M % 2, K / 32], m![K % 32]>()
            .align::<m![T, U, M % 2], m![K], _, _>(&weights)
            .contract::<m![1]>()
            .accumulate::<m![M % 2], m![N]>(AccumulationKind::Interleaved)
            .commit::<m![M % 2, N]>(2048); // long
        // Beside it.
        let _ = (ctx.sub.begin(b.view()).fetch::<i8, m![N], m![K]>())
            .collect::<m![N, K / 32], m![K % 32]>()
            .to_trf::<m![N], m![K]>(TrfAddress::SecondHalf);
        let copy = (ctx.sub.begin(a.view()).fetch::<i8, m![M % 2], m![K]>())
            .collect::<m![M % 2, K / 32], m![K % 32]>()
            .commit::<m![M % 2, K]>(8192);
        let _: A = copy.to_hbm(&mut ctx.tdma, 1 << 20);
    }
    let run = |profile, compute| {
        let mut ctx = context(profile, compute);
        let done = block_on(async {
            let a: A = HostTensor::<i8, m![M, K]>::zero().to_hbm(&mut ctx.pdma, 0).await;
            let b: B = HostTensor::<i8, m![N, K]>::zero().to_hbm(&mut ctx.pdma, 1 << 18).await;
            try_launch(long, (&mut *ctx, &a, &b)).await
        });
        (done, ctx.report())
    };
    let steps = 1u64 << 33;
    for profile in [Profile::Book, Profile::Detailed] {
        let (done, report) = run(profile, Compute::ShapesOnly);
        assert_eq!(done, Ok(()), "{profile}");
        let sum = report.records.iter().find(|record| record.amount.products.is_some()).expect("it ran");
        // Two fetches of 32 bytes per step.
        let cycles = sum.cycles();
        assert!((2 * steps..2 * steps + 300).contains(&cycles), "{profile}: {cycles}");
    }
    let (refused, _) = run(Profile::Book, Compute::Values);
    let text = refused.expect_err("it is too much").to_string();
    assert!(text.starts_with("fault: commit: too large to simulate: the simulator would need "), "{text}");
    assert!(text.contains(" for the values of 8589934592 steps, but keeps 4 GiB at most"), "{text}");
    assert!(text.contains("clock.rs:") && text.contains("Compute::ShapesOnly"), "{text}");
}

/// A fault ends a kernel; what ran before it is in the report.
#[test]
fn what_ran_before_a_fault_is_reported() {
    #[device(chip = 1)]
    fn broken(ctx: &mut Context, a: &A) {
        let _ = a.to_dm::<m![1 # 2], Slice, m![M % 2, K]>(&mut ctx.tdma, 0);
        let _ = a.to_dm::<m![1 # 2], Slice, m![M % 2, K]>(&mut ctx.tdma, 1 << 30);
    }
    let mut ctx = Context::acquire();
    let a = HostTensor::<i8, m![M, K]>::zero();
    let result = block_on(async {
        let a: A = a.to_hbm(&mut ctx.pdma, 0).await;
        try_launch(broken, (&mut ctx, &a)).await
    });
    assert!(result.is_err());
    let report = ctx.report();
    let operations: Vec<_> = report.records.iter().map(|record| record.operation).collect();
    assert_eq!(operations, ["upload", "to_dm"]);
    assert_eq!(report.kernels[0].call.name, "broken");
}

/// A cast of the sub context is stored, and waits for the engines that main holds; a copy does not.
#[device(chip = 1)]
fn narrowed_beside_main(
    ctx: &mut Context,
    x: &HbmTensor<f32, m![1], m![M, K]>,
) -> HbmTensor<bf16, m![1], m![M, K]> {
    let x = x.to_dm::<m![1 # 2], Slice, m![M % 2, K]>(&mut ctx.tdma, 0);
    macro_rules! flits {
        ($context:ident) => {
            (ctx.$context.begin(x.view()))
                .fetch::<f32, m![M % 2, K / 8], m![K % 8]>()
                .collect::<m![M % 2, K / 8], m![K % 8]>()
        };
    }
    flits!(main).commit::<m![M % 2, K]>(4096);
    flits!(sub).commit::<m![M % 2, K]>(8192);
    flits!(main).commit::<m![M % 2, K]>(12288);
    let y = flits!(sub).cast::<bf16, m![K % 8 # 16]>().commit::<m![M % 2, K]>(16384);
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[test]
fn a_cast_of_the_sub_context_waits_for_main() {
    let values: Vec<f32> = (0..512 * 64).map(|k| 1.0 + (k % 1021) as f32 / 1024.0).collect();
    let mut ctx = context(Profile::Book, Compute::Values);
    let x = HostTensor::<f32, m![M, K]>::from_buf(values.iter().copied().map(Opt::Init).collect());
    let x = block_on(x.to_hbm(&mut ctx.pdma, 0));
    let y = block_on(launch(narrowed_beside_main, (&mut *ctx, &x)));
    let found = block_on(y.to_host::<m![M, K]>(&mut ctx.pdma)).to_buf();
    let expected: Vec<_> = values.iter().map(|x| Opt::Init(bf16::from_f32(*x))).collect();
    assert_eq!(found, expected);
    let report = ctx.report();
    let passes: Vec<&Record> = report.records.iter().filter(|record| record.operation == "commit").collect();
    let [first, copy, second, cast] = passes[..] else { panic!("four passes") };
    assert_eq!(copy.start, first.start, "beside main");
    assert!(second.start >= first.end && cast.start >= second.end, "{:?}", times(&report));
    // 16 flits of 16 bytes, 8 at a time.
    let Timing::TensorUnit(time) = &cast.timing else { panic!("a pass of the Tensor Unit") };
    assert_eq!(time.stage(Stage::Commit).map(|own| own.occupancy.cycles), Some(32));
}
