//! Orders of execution: a kernel whose result depends on them, what is reported of it, and kernels that do not.
//!
//! ```text
//!   tdma   x.to_dm(…, 0) ─────────────────────── writes 0..64
//!   main            begin(bare(0)).….commit(1024) ── reads 0..64: nothing orders the two
//!   tdma                          begin(bare(1024)).to_hbm(…)
//! ```
//!
//! With all checks the launch says `fetch: unordered access`, with both lines. Without that check
//! (`VISA_CHECKS=-order`) the program runs, and `VISA_ORDER=late` shows another result than `VISA_ORDER=early`.
#![allow(unsafe_code)] // Bare addresses are the question.

// The tutorials, which end in assertions about their results.
#[path = "../../examples/00_hello.rs"]
#[allow(dead_code)]
mod hello;
#[path = "../../examples/03_matmul_tiled.rs"]
#[allow(dead_code)]
mod matmul_tiled;
#[path = "../../examples/04_timeline.rs"]
#[allow(dead_code)]
mod timeline;

use crate::{A, B, Cluster, DmX, X, Z, block_on};
use furiosa_visa_std::chip::{CheckOptions, ExecutionOrder, Fault, FaultKind};
use furiosa_visa_std::prelude::*;

type Y = HbmTensor<i8, m![1], m![A, B]>;

const UNORDERED: CheckOptions = CheckOptions { order: false, register_reuse: false, ..CheckOptions::ALL };

macro_rules! copied {
    ($context:expr, $from:expr, $to:expr) => {{
        let stream = $context.begin($from.view()).fetch::<i8, m![1], m![B]>();
        stream.collect::<m![B / 32], m![B % 32]>().commit::<m![B]>($to)
    }};
}

/// `main` copies what `tdma` has written, or what was there before.
#[device(chip = 1)]
fn races(ctx: &mut Context, x: &X, y: &X) -> Y {
    let _: DmX = y.to_dm(&mut ctx.tdma, 0);
    let before = unsafe { DmX::from_addr(0) };
    let copy: DmX = copied!(ctx.main, before, 1024);
    let kept = copy.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
    let _: DmX = x.to_dm(&mut ctx.tdma, 0);
    kept
}

/// The same through the handle.
#[device(chip = 1)]
fn ordered(ctx: &mut Context, x: &X, y: &X) -> Y {
    let dm: DmX = y.to_dm(&mut ctx.tdma, 0);
    let copy: DmX = copied!(ctx.main, dm, 1024);
    let kept = copy.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
    let _: DmX = x.to_dm(&mut ctx.tdma, 0);
    kept
}

fn value(k: usize) -> Opt<i8> {
    Opt::Init((k % 251) as u8 as i8)
}

/// What the kernel returns, downloaded.
fn result<K>(checks: CheckOptions, order: ExecutionOrder, seed: u64, kernel: K) -> Result<Vec<Opt<i8>>, Fault>
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X, &'a X), Output = Y>,
{
    block_on(async {
        let mut ctx = Context::with(SimOptions { checks, order, seed, ..SimOptions::default() });
        let x = HostTensor::<i8, m![A, B]>::from_buf((0..256).map(value).collect());
        let y = HostTensor::<i8, m![A, B]>::from_buf((0..256).map(|k| value(k + 100)).collect());
        let (x, y) = (x.to_hbm(&mut ctx.pdma, 0).await, y.to_hbm(&mut ctx.pdma, 4096).await);
        let kept = try_launch(kernel, (&mut *ctx, &x, &y)).await?;
        Ok(kept.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf())
    })
}

#[test]
fn a_result_that_depends_on_the_order() {
    let expected: Vec<_> = (0..256).map(|k| value(k + 100)).collect();
    for order in ExecutionOrder::ALL {
        // It is refused, whichever order is tried.
        let fault = result(CheckOptions::ALL, order, 0, races).expect_err("nothing orders it");
        assert_eq!(fault.kind, FaultKind::Unordered, "{fault}");
        let text = fault.to_string();
        assert!(text.contains("`main` reads DM 0..64 while `tdma` may not have finished the DMA"), "{text}");
    }
    let of = |order| result(UNORDERED, order, 0, races).expect("nothing is checked");
    assert_eq!(of(ExecutionOrder::Program), expected);
    assert_eq!(of(ExecutionOrder::EarlyDma), expected, "the copy needs the first transfer only");
    assert_eq!(of(ExecutionOrder::LateDma), vec![Opt::Uninit; 256], "the copy was made before the transfer");
    let random: Vec<_> = (0..16)
        .map(|seed| result(UNORDERED, ExecutionOrder::Random, seed, races).expect("nothing is checked"))
        .collect();
    assert!(random.contains(&expected) && random.iter().any(|found| *found != expected));
    for order in ExecutionOrder::ALL {
        for seed in 0..4 {
            assert_eq!(result(CheckOptions::ALL, order, seed, ordered).as_ref(), Ok(&expected), "{order:?}");
        }
    }
}

type DmZ = DmTensor<i32, m![1], Cluster, m![A # 256], m![B]>;

/// The second pass converts what nobody wrote; the third one converts the result of the second.
#[device(chip = 1)]
fn incomplete(ctx: &mut Context, x: &X, _: &X) -> Y {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let copy: DmX = copied!(ctx.main, dm, 1024);
    let kept = copy.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
    let hole = unsafe { DmX::from_addr(2048) };
    let stream = ctx.main.begin(hole.view()).fetch::<i32, m![B / 8], m![B % 8]>();
    let wide: DmZ = stream.collect::<m![B / 8], m![B % 8]>().commit(4096); // converted
    let stream = ctx.main.begin(wide.view()).fetch::<i32, m![B / 8], m![B % 8]>();
    let _: DmX = (stream.collect::<m![B / 8], m![B % 8]>()).cast::<i8, m![B % 8 # 32]>().commit(8192);
    kept
}

/// Refused after the hole: by a rule that needs no values.
#[device(chip = 1)]
fn incomplete_and_stale(ctx: &mut Context, x: &X, _: &X) -> Y {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let hole = unsafe { DmX::from_addr(2048) };
    let stream = ctx.sub.begin(hole.view()).fetch::<i32, m![B / 8], m![B % 8]>();
    let _: DmZ = stream.collect::<m![B / 8], m![B % 8]>().commit(4096); // converted
    let _: DmX = x.to_dm(&mut ctx.tdma, 32);
    dm.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20)
}

/// A stream is dropped after the hole.
#[device(chip = 1)]
fn incomplete_and_dropped(ctx: &mut Context, x: &X, _: &X) -> Y {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let hole = unsafe { DmX::from_addr(2048) };
    let stream = ctx.main.begin(hole.view()).fetch::<i32, m![B / 8], m![B % 8]>();
    let _: DmZ = stream.collect::<m![B / 8], m![B % 8]>().commit(4096); // converted
    let _ = ctx.main.begin(dm.view());
    dm.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20)
}

/// Faults that depend on values are the same in every order, and come back from the launch.
#[test]
fn faults_of_values_come_back_from_the_launch() {
    let outcome = |order, seed, which: usize| match which {
        0 => result(CheckOptions::ALL, order, seed, incomplete),
        1 => result(CheckOptions::ALL, order, seed, incomplete_and_stale),
        _ => result(CheckOptions::ALL, order, seed, incomplete_and_dropped),
    };
    for which in 0..3 {
        let expected = outcome(ExecutionOrder::Program, 0, which).expect_err("it has a hole");
        assert_eq!(expected.kind, FaultKind::Uninitialised, "{expected}");
        assert!(crate::line_of(expected.location).ends_with("// converted"), "{expected}");
        for order in ExecutionOrder::ALL {
            for seed in 0..4 {
                let fault = outcome(order, seed, which).expect_err("it has a hole");
                assert_eq!((fault.kind, fault.location), (expected.kind, expected.location), "{fault}");
                assert_eq!(fault.message, expected.message);
            }
        }
    }
}

/// The context stays usable, and nothing of the kernel is left waiting.
#[test]
fn the_context_goes_on_after_a_late_fault() {
    block_on(async {
        let order = ExecutionOrder::LateDma;
        let mut ctx = Context::with(SimOptions { order, ..SimOptions::default() });
        let x = HostTensor::<i8, m![A, B]>::from_buf((0..256).map(value).collect());
        let x = x.to_hbm(&mut ctx.pdma, 0).await;
        let fault = try_launch(incomplete, (&mut *ctx, &x, &x)).await.expect_err("it has a hole");
        assert_eq!(fault.kind, FaultKind::Uninitialised);
        let kept = launch(ordered, (&mut *ctx, &x, &x)).await;
        let kept = kept.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf();
        assert_eq!(kept, (0..256).map(value).collect::<Vec<_>>());
    });
}

#[device(chip = 1)]
fn only_hole(ctx: &mut Context, _: &X, _: &Z) {
    let hole = unsafe { DmX::from_addr(2048) };
    let stream = ctx.main.begin(hole.view()).fetch::<i32, m![B / 8], m![B % 8]>();
    let _: DmZ = stream.collect::<m![B / 8], m![B % 8]>().commit(4096);
}

/// A launch panics with a fault that was found at its end.
#[test]
#[should_panic(expected = "fault: fetch: uninitialised element")]
fn a_launch_panics_with_a_late_fault() {
    block_on(async {
        let order = ExecutionOrder::EarlyDma;
        let mut ctx = Context::with(SimOptions { order, ..SimOptions::default() });
        let x = HostTensor::<i8, m![A, B]>::from_buf((0..256).map(value).collect());
        let z = HostTensor::<i32, m![A, B]>::from_buf(vec![Opt::Init(1); 256]);
        let (x, z) = (x.to_hbm(&mut ctx.pdma, 0).await, z.to_hbm(&mut ctx.pdma, 4096).await);
        launch(only_hole, (&mut *ctx, &x, &z)).await;
    });
}

/// Without a launch, a command is done when its call returns.
#[test]
fn outside_of_a_launch_nothing_waits() {
    let order = ExecutionOrder::Random;
    let mut ctx = Context::with(SimOptions { order, ..SimOptions::default() });
    let hole = unsafe { DmX::from_addr(2048) };
    let begin = std::panic::AssertUnwindSafe(|| {
        let stream = ctx.main.begin(hole.view()).fetch::<i32, m![B / 8], m![B % 8]>();
        let _: DmZ = stream.collect::<m![B / 8], m![B % 8]>().commit(4096);
    });
    let payload = std::panic::catch_unwind(begin).expect_err("it panics at the commit");
    let text = payload.downcast_ref::<String>().expect("a message");
    assert!(text.starts_with("fault: fetch: uninitialised element"), "{text}");
}

/// Runs the tutorials in the order that the environment says.
#[test]
fn child() {
    hello::main();
    matmul_tiled::main();
    timeline::main();
}

/// They print the same in every order.
#[test]
fn tutorials_do_not_depend_on_the_order() {
    let printed = |order: &str, seed: &str| {
        let program = std::env::current_exe().expect("a test has a file");
        let mut command = std::process::Command::new(program);
        command.args(["--exact", "exploration::child", "--nocapture"]);
        let output = command.env("VISA_ORDER", order).env("VISA_SEED", seed).output().expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(output.status.success(), "VISA_ORDER={order} VISA_SEED={seed}: {text}");
        // What the test program says of itself has a time.
        text.lines().filter(|line| !line.contains("finished in")).map(str::to_string).collect::<Vec<_>>()
    };
    let expected = printed("program", "0");
    assert!(expected.len() > 10, "{expected:?}");
    for (order, seed) in [("early", "0"), ("late", "0"), ("random", "1")] {
        assert_eq!(printed(order, seed), expected, "{order}");
    }
}
