//! What compiles with the vendor's SDK and goes wrong on the chip, as users report: noted unless said otherwise, at the line
//! of the user, once; refused where it is asked for; and silent where it is turned off. Close neighbours are never noted.

use crate::{A, B, Cluster, DmX, Slice, X, Z, block_on, context, line_of};
use furiosa_visa_std::chip::{
    Addresses, CheckOptions, Fault, FaultKind, SdkNote, SdkReport, SdkReports, SimOptions,
};
use furiosa_visa_std::prelude::*;
use std::process::Command;

axes![C = 2, D = 1, E = 4, K = 8];

type Copies = DmTensor<i8, m![1], m![C], Slice, m![B]>;

/// What a kernel gives, and what is noted of it.
fn run<K>(checks: CheckOptions, addresses: Addresses, kernel: K) -> (Result<(), Fault>, Vec<SdkNote>)
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X, &'a Z), Output = ()>,
{
    block_on(async {
        let mut ctx = Context::with(SimOptions { checks, addresses, ..SimOptions::default() });
        let x: Vec<i8> = (0..256).map(|k| (k % 251) as u8 as i8).collect();
        let z: Vec<i32> = (0..256).map(|k| k * 1001).collect();
        let x = HostTensor::<i8, m![A, B]>::from_slice(&x).to_hbm(&mut ctx.pdma, 0).await;
        let z = HostTensor::<i32, m![A, B]>::from_slice(&z).to_hbm(&mut ctx.pdma, 4096).await;
        let result = try_launch(kernel, (&mut *ctx, &x, &z)).await;
        (result, ctx.report().notes)
    })
}

/// A kernel of which the lines marked `reported` are noted so many times each, and refused first of all.
#[track_caller]
fn reported<K>(kernel: K, report: SdkReport, operation: &str, times: &[u64], text: &str) -> Fault
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X, &'a Z), Output = ()> + Copy,
{
    for addresses in [Addresses::AsGiven, Addresses::Separate] {
        let (result, notes) = run(CheckOptions::ALL, addresses, kernel);
        result.unwrap_or_else(|fault| panic!("a report stops nothing:\n{fault}"));
        let found: Vec<u64> = notes.iter().map(|note| note.commands).collect();
        assert_eq!(found, times, "{notes:?}");
        for note in &notes {
            assert_eq!((note.report, note.operation), (report, operation));
            assert!(line_of(note.location).ends_with("// reported"), "{note}");
            let head = if note.commands > 1 {
                format!("note: {operation}, {} times: ", note.commands)
            } else {
                format!("note: {operation}: ")
            };
            let message = format!("{head}reported of the SDK: {text}");
            let end = format!(
                "; users of the SDK 0.6.0 report {} (a report, no rule of the chip)\n  --> {}",
                report.outcome(),
                note.location
            );
            let note = note.to_string();
            assert!(note.starts_with(&message) && note.ends_with(&end), "{note}");
        }
    }
    for sdk in [SdkReports::Off, SdkReports::Note] {
        let (result, notes) = run(CheckOptions { sdk, ..CheckOptions::NONE }, Addresses::AsGiven, kernel);
        result.unwrap_or_else(|fault| panic!("nothing is refused:\n{fault}"));
        assert_eq!(notes.len(), if sdk == SdkReports::Off { 0 } else { times.len() });
    }
    let checks = CheckOptions { sdk: SdkReports::Fault, ..CheckOptions::ALL };
    let (result, notes) = run(checks, Addresses::AsGiven, kernel);
    let fault = result.expect_err("it is refused");
    assert!(notes.is_empty(), "a fault is no note: {notes:?}");
    assert_eq!((fault.kind, fault.operation), (FaultKind::Reported, operation));
    assert!(line_of(fault.location).ends_with("// reported"), "{fault}");
    let message = format!("fault: {operation}: reported of the SDK: {text}");
    let printed = fault.to_string();
    assert!(printed.starts_with(&message) && printed.contains("\nhelp: "), "{fault}");
    fault
}

/// A kernel of which nothing is said.
#[track_caller]
fn unreported<K>(kernel: K)
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X, &'a Z), Output = ()> + Copy,
{
    for sdk in [SdkReports::Note, SdkReports::Fault] {
        let checks = CheckOptions { sdk, ..CheckOptions::ALL };
        let (result, notes) = run(checks, Addresses::AsGiven, kernel);
        result.unwrap_or_else(|fault| panic!("it must not be flagged:\n{fault}"));
        assert!(notes.is_empty(), "it must not be noted: {notes:?}");
    }
}

/// One kernel, as an item: `|ctx, x, z| statements`.
macro_rules! kernels {
    ($($name:ident: |$ctx:ident, $x:ident, $z:ident| $body:block)*) => {$(
        #[device(chip = 1)]
        fn $name($ctx: &mut Context, $x: &X, $z: &Z) {
            let _ = ($x, $z);
            $body
        }
    )*};
}

/// Rows of four slices go to all of them.
macro_rules! switched {
    ($context:expr, $x:expr) => {
        ($context.begin($x.view()).fetch::<i8, m![1], m![B]>())
            .switch::<m![1 # 64, E], m![A]>(SwitchConfig::Broadcast1 { slice1: 4, slice0: 1 })
            .collect::<m![A, B / 32], m![B % 32]>()
    };
}

/// Flits of a tensor.
macro_rules! fetched {
    ($context:expr, $z:expr) => {
        ($context.begin($z.view()).fetch::<i32, m![B / 8], m![B % 8]>()).collect::<m![B / 8], m![B % 8]>()
    };
}

/// The same through the Vector Engine.
macro_rules! worked {
    ($context:expr, $z:expr) => {
        fetched!($context, $z)
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_fxp(FxpBinaryOp::AddFxp, 1)
            .vector_final()
    };
}

kernels! {
    store_with_a_new_axis: |ctx, x, _z| {
        let dm: DmX = x.to_dm(&mut ctx.tdma, AUTO);
        dm.to_hbm::<m![C, A, B]>(&mut ctx.tdma, AUTO); // reported
        for _ in 0..3 {
            dm.to_hbm::<m![A, E, B]>(&mut ctx.tdma, AUTO); // reported
        }
        dm.to_hbm::<m![A, C # 8, B]>(&mut ctx.tdma, AUTO); // reported
        let mut four = x.to_hbm::<{ Dma::Tensor }, m![E, A, B]>(&mut ctx.tdma, AUTO);
        dm.view().to_hbm_view(&mut ctx.tdma, four.view_mut()); // reported
    }
    store_without_a_new_axis: |ctx, x, _z| {
        let dm: DmX = x.to_dm(&mut ctx.tdma, AUTO);
        dm.to_hbm::<m![B, A]>(&mut ctx.tdma, AUTO);
        // One value, whatever its padding.
        dm.to_hbm::<m![A, D # 8, B]>(&mut ctx.tdma, AUTO);
        // Replicated by the load: the source has the axis.
        let copies = x.to_dm::<Cluster, Slice, m![C, B]>(&mut ctx.tdma, AUTO);
        copies.to_hbm::<m![C, A, B]>(&mut ctx.tdma, AUTO);
        let copies: Copies = x.to_dm(&mut ctx.tdma, AUTO);
        copies.to_hbm::<m![C, A, B]>(&mut ctx.tdma, AUTO);
        // No store: from HBM, and to DM.
        x.to_hbm::<{ Dma::Tensor }, m![C, A, B]>(&mut ctx.tdma, AUTO);
        dm.to_dm::<Slice, m![C, B]>(&mut ctx.tdma, AUTO);
        // Each copy by itself.
        let mut two = x.to_hbm::<{ Dma::Tensor }, m![C, A, B]>(&mut ctx.tdma, AUTO);
        for copy in 0..2 {
            let copy = two.view_mut().tile::<m![C], 1, m![1 # 2, A, B]>(copy);
            dm.view().to_hbm_view(&mut ctx.tdma, copy);
        }
    }

    switched_copies: |ctx, x, _z| {
        let copies: Copies = x.to_dm(&mut ctx.tdma, AUTO); // copied
        for _ in 0..2 {
            let _: Spread<m![C]> = switched!(ctx.main, copies).commit(AUTO); // reported
        }
        // Through a pass and a move they stay copies.
        let same: Copies = (ctx.main.begin(copies.view()).fetch::<i8, m![1], m![B]>())
            .collect::<m![B / 32], m![B % 32]>()
            .commit(AUTO);
        let moved = same.to_dm::<Slice, m![B / 8, B % 8, D]>(&mut ctx.tdma, AUTO);
        let moved: Copies = moved.to_dm(&mut ctx.tdma, AUTO);
        let _: Spread<m![C]> = switched!(ctx.sub, moved).commit(AUTO); // reported
    }
    switched_parts: |ctx, x, _z| {
        // One cluster.
        let one: DmX = x.to_dm(&mut ctx.tdma, AUTO);
        let _: Spread<Cluster> = switched!(ctx.main, one).commit(AUTO);
        // Each cluster has its own: from the start, or since a part was written.
        let parts = x.to_dm::<m![B / 32], Slice, m![B % 32]>(&mut ctx.tdma, AUTO);
        let _: DmTensor<i8, m![1], m![B / 32], m![1 # 64, E], m![A, B % 32]> =
            (ctx.main.begin(parts.view()).fetch::<i8, m![1], m![B % 32]>())
                .switch::<m![1 # 64, E], m![A]>(SwitchConfig::Broadcast1 { slice1: 4, slice0: 1 })
                .collect::<m![A], m![B % 32]>()
                .commit(AUTO);
        let mut copies: Copies = x.to_dm(&mut ctx.tdma, AUTO);
        let second = copies.view_mut().cluster_tile::<m![C], 1, m![1 # 2]>(1);
        x.view().to_dm_view(&mut ctx.tdma, second);
        let _: Spread<m![C]> = switched!(ctx.main, copies).commit(AUTO);
        // Copies that no switch sees: none, and one of rings of one slice.
        let copies: Copies = x.to_dm(&mut ctx.tdma, AUTO);
        let _: Copies = (ctx.main.begin(copies.view()).fetch::<i8, m![1], m![B]>())
            .collect::<m![B / 32], m![B % 32]>()
            .commit(AUTO);
        let _: Copies = (ctx.main.begin(copies.view()).fetch::<i8, m![1], m![B]>())
            .switch::<Slice, m![1]>(SwitchConfig::Broadcast1 { slice1: 1, slice0: 1 })
            .collect::<m![B / 32], m![B % 32]>()
            .commit(AUTO);
    }
    vector_to_vrf: |ctx, _x, z| {
        let z = z.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, AUTO);
        let _first: Vrf = worked!(ctx.main, z).to_vrf(AUTO); // reported
        let _second: Vrf = worked!(ctx.main, z).to_vrf(AUTO); // reported
    }
    vector_elsewhere: |ctx, _x, z| {
        let z = z.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, AUTO);
        let _work_of_sub: Vrf = worked!(ctx.sub, z).to_vrf(AUTO);
        let _no_work: Vrf = fetched!(ctx.main, z).to_vrf(AUTO);
        let _no_vrf: DmTensor<i32, m![1], Cluster, Slice, m![B]> = worked!(ctx.main, z).commit(AUTO);
    }
    switch_to_trf: |ctx, x, _z| {
        let one: DmX = x.to_dm(&mut ctx.tdma, AUTO);
        for _ in 0..2 {
            let _: Trf = switched!(ctx.main, one).to_trf(TrfAddress::Full); // reported
        }
    }
    memset_of_tiles: |ctx, x, _z| {
        let mut one: DmX = x.to_dm(&mut ctx.tdma, AUTO);
        for row in [0, 8] {
            one.view_mut().tile::<m![B], 8, m![B = 8 # 64]>(row).memset(1, &mut ctx.sub); // reported
        }
    }
    memset_of_tensors: |ctx, x, _z| {
        let mut one: DmX = x.to_dm(&mut ctx.tdma, AUTO);
        one.view_mut().memset(1, &mut ctx.sub);
        let mut other = DmX::new(ctx);
        other.view_mut().memset(x.address() as i8, &mut ctx.sub);
    }
    switch_elsewhere: |ctx, x, _z| {
        let one: DmX = x.to_dm(&mut ctx.tdma, AUTO);
        let _switch_of_sub: Trf = switched!(ctx.sub, one).to_trf(TrfAddress::FirstHalf);
        let _no_switch: TrfTensor<i8, m![1], Cluster, Slice, m![1], m![B]> =
            (ctx.main.begin(one.view()).fetch::<i8, m![1], m![B]>())
                .collect::<m![B / 32], m![B % 32]>()
                .to_trf(TrfAddress::SecondHalf);
        let _ring_of_one: TrfTensor<i8, m![1], Cluster, Slice, m![1], m![B]> =
            (ctx.main.begin(one.view()).fetch::<i8, m![1], m![B]>())
                .switch::<Slice, m![1]>(SwitchConfig::Broadcast1 { slice1: 1, slice0: 1 })
                .collect::<m![B / 32], m![B % 32]>()
                .to_trf(TrfAddress::SecondHalf);
        let _no_trf: Spread<Cluster> = switched!(ctx.main, one).commit(AUTO);
    }
}

type Spread<Cluster> = DmTensor<i8, m![1], Cluster, m![1 # 64, E], m![A, B]>;
type Vrf = VrfTensor<i32, m![1], Cluster, Slice, m![B]>;
type Trf = TrfTensor<i8, m![1], Cluster, m![1 # 64, E], m![1], m![A, B]>;

#[test]
fn a_store_that_replicates() {
    let text = "the store replicates along `";
    let (result, notes) = run(CheckOptions::ALL, Addresses::AsGiven, store_with_a_new_axis);
    result.unwrap_or_else(|fault| panic!("a report stops nothing:\n{fault}"));
    let axes: Vec<&str> = notes
        .iter()
        .map(
            |note| if note.message.contains("along `C`, which only the destination has") { "C" } else { "E" },
        )
        .collect();
    assert_eq!(axes, ["C", "E", "C", "E"], "{notes:?}");
    reported(store_with_a_new_axis, SdkReport::ReplicatingStore, "DMA", &[1, 3, 1, 1], text);
    unreported(store_without_a_new_axis);
}

#[test]
fn a_switch_of_copies() {
    let text = "both clusters of the switched stream hold the same";
    let fault = reported(switched_copies, SdkReport::SwitchOfCopies, "commit", &[2, 1], text);
    assert_eq!(fault.places.len(), 1, "{fault}");
    assert!(line_of(fault.places[0].location).ends_with("// copied"), "{fault}");
    assert!(fault.to_string().contains("\nnote: both clusters were given the same here\n"), "{fault}");
    unreported(switched_parts);
}

#[test]
fn vector_work_of_main_that_ends_in_the_vrf() {
    let text = "a pass of `main` goes through the Vector Engine and ends in the VRF";
    reported(vector_to_vrf, SdkReport::VectorToVrf, "to_vrf", &[1, 1], text);
    unreported(vector_elsewhere);
}

#[test]
fn a_switch_of_main_that_ends_in_the_trf() {
    let text = "a pass of `main` goes through the Switch Engine and ends in the TRF";
    reported(switch_to_trf, SdkReport::SwitchToTrf, "to_trf", &[2], text);
    unreported(switch_elsewhere);
}

#[test]
fn a_memset_of_a_tile() {
    reported(memset_of_tiles, SdkReport::MemsetOfTile, "memset", &[2], "a tile is set, and no whole tensor");
    unreported(memset_of_tensors);
}

/// The short report has the first three notes, the full one all of them, and so has the one for tools.
#[test]
fn notes_are_in_the_report() {
    block_on(async {
        let mut ctx = context(CheckOptions::ALL);
        let x: X = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        let z: Z = HostTensor::<i32, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 4096).await;
        launch(store_with_a_new_axis, (&mut *ctx, &x, &z)).await;
        let report = ctx.report();
        let (short, full) = (report.to_string(), report.full().to_string());
        let notes = |text: &str| text.lines().filter(|line| line.starts_with("note: DMA")).count();
        assert_eq!((notes(&short), notes(&full)), (3, 4), "{short}");
        assert!(short.contains("and 1 more notes\n"), "{short}");
        assert_eq!(report.to_json().matches("note: DMA").count(), 4);
    });
}

/// Warns: run by the test below, in a process of its own.
#[test]
fn child() {
    for _ in 0..2 {
        match run(CheckOptions::ALL, Addresses::AsGiven, vector_to_vrf).0 {
            Ok(()) => println!("outcome: fine"),
            Err(fault) => println!("outcome: {}", fault.kind),
        }
    }
}

/// A line is warned of once in a process, however often it runs and in however many contexts, unless the environment says
/// that it is refused, or that nobody wants to know.
#[test]
fn a_warning_comes_once_per_line() {
    let program = std::env::current_exe().expect("a test has a file");
    for (value, warnings, outcome) in
        [("", 2, "fine"), ("-sdk", 0, "fine"), ("sdk", 0, "reported of the SDK")]
    {
        let mut command = Command::new(&program);
        command.args(["--exact", "sdk::child", "--nocapture"]).env("VISA_CHECKS", value);
        let output = command.output().expect("it runs");
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert_eq!(stdout.matches(&format!("outcome: {outcome}\n")).count(), 2, "{value}: {stdout}");
        assert_eq!(stderr.matches("warning: ").count(), warnings, "{value}: {stderr}");
        if warnings > 0 {
            let message = "warning: to_vrf: reported of the SDK: a pass of `main` goes through the Vector Engine and ends in \
                           the VRF; users of the SDK 0.6.0 report that the chip hangs, with PXI-601 (a report, no rule of the \
                           chip)\n  --> ";
            assert!(stderr.contains(message) && stderr.contains("sdk.rs:"), "{stderr}");
            let help = "\nhelp: commit it, and load the VRF from DM in `ctx.sub`; `VISA_CHECKS=-sdk` turns such reports off\n";
            assert!(stderr.contains(help), "{stderr}");
        }
    }
}
