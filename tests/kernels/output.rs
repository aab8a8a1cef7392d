//! What a context prints when it ends.

use crate::block_on;
use furiosa_visa_std::prelude::*;
use std::fs::File;
use std::process::{Command, Stdio};

/// Names the process that prints; not one of the variables of the library.
const PRINTS: &str = "KERNELS_OUTPUT_PRINTS";

/// A context that ends while a panic unwinds, in a process of its own: see the test below.
#[test]
fn a_context_that_prints() {
    if std::env::var_os(PRINTS).is_none() {
        return;
    }
    let mut ctx = Context::acquire();
    axes![A = 64];
    let x = HostTensor::<i8, m![A]>::zero();
    let _: HbmTensor<i8, m![1], m![A]> = block_on(x.to_hbm(&mut ctx.pdma, 0));
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _ctx = ctx;
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(unwound.is_err());
    drop(Context::acquire());
}

/// Launches in two contexts, in a process of its own: see the test below.
#[test]
fn launches_that_may_stop() {
    if std::env::var_os(PRINTS).is_none() {
        return;
    }
    axes![A = 256, B = 8];
    type X = HbmTensor<i32, m![1], m![A, B]>;
    #[device(chip = 1)]
    fn copy(ctx: &mut Context, x: &X) -> X {
        x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0).to_hbm(&mut ctx.tdma, AUTO)
    }
    for first in [0, 5] {
        let mut ctx = Context::acquire();
        let numbers: Vec<i32> = (first..first + 2048).collect();
        let copied = block_on(async {
            let x: X = HostTensor::<i32, m![A, B]>::from_slice(&numbers).to_hbm(&mut ctx.pdma, AUTO).await;
            let copied = launch(copy, (&mut *ctx, &x)).await;
            copied.to_host::<m![A, B]>(&mut ctx.pdma).await.to_vec()
        });
        println!("\ncopied {copied:?}");
    }
}

/// Nobody can answer: the program says so once, and its results are those of a run without stops.
#[test]
fn no_stops_without_a_terminal() {
    let run = |step: &str| {
        let test = std::env::current_exe().expect("this is a process");
        let output = Command::new(test)
            .args(["--exact", "output::launches_that_may_stop", "--nocapture"])
            .envs([(PRINTS, "1"), ("VISA_STEP", step)])
            .stdin(Stdio::piped())
            .output()
            .expect("it runs");
        let [told, printed] =
            [output.stderr, output.stdout].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(output.status.success(), "{told}");
        let copied = printed.lines().filter(|line| line.starts_with("copied ")).map(str::to_string);
        (told, copied.collect::<Vec<_>>())
    };
    let [(told, copied), (silent, without)] = ["1", "0"].map(run);
    const LINE: &str =
        "VISA_STEP=1: input and error stream are no terminal, so the program runs without stops";
    assert_eq!(told.lines().filter(|line| *line == LINE).count(), 1, "{told}");
    assert!(!silent.contains("VISA_STEP"), "{silent}");
    assert_eq!((copied.len(), copied), (2, without));
}

/// Where nobody can read it, the program goes on.
#[cfg(target_os = "linux")]
#[test]
fn a_full_stream_is_no_fault() {
    let run = |stderr: Stdio| {
        let test = std::env::current_exe().expect("this is a process");
        Command::new(test)
            .args(["--exact", "output::a_context_that_prints", "--nocapture"])
            .envs([(PRINTS, "1"), ("VISA_REPORT", "1"), ("VISA_MAP", "1"), ("VISA_TRACE", "/dev/full")])
            .stderr(stderr)
            .output()
            .expect("it runs")
    };
    let read = run(Stdio::piped());
    let text = String::from_utf8_lossy(&read.stderr).into_owned();
    assert!(read.status.success() && text.contains("total "), "{text}");
    assert!(text.contains("the trace is not complete: "), "{text}");
    let full = File::options().write(true).open("/dev/full").expect("Linux has it");
    let unread = run(full.into());
    assert!(unread.status.success(), "{unread:?}");
}
