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
