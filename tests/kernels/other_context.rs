//! What belongs to one context is refused by another one.

use crate::{Cluster, assert_same, block_on, init, numbers, panic_message};
use furiosa_visa_std::chip::{CheckOptions, Fault, FaultKind};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::{ContextGuard, Dma as DmaKind};
use std::mem::swap;

axes![A = 256, B = 64];
type X = HbmTensor<i8, m![1], m![A, B]>;
type D = DmTensor<i8, m![1], Cluster, m![A], m![B]>;

#[device(chip = 1)]
fn copy(ctx: &mut Context, x: &X) -> X {
    let d: D = x.to_dm(&mut ctx.tdma, 0); // mark: moved
    d.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// The Tensor Unit of one context, the DMA engines of another one, and no tensor that would tell.
#[device(chip = 1)]
fn nothing(main: &mut TuContext<{ Tu::Main }>, dma: &mut DmaContext<{ DmaKind::Tensor }>) {
    let _ = (main, dma);
}

#[device(chip = 1)]
fn through(main: &mut TuContext<{ Tu::Main }>, dma: &mut DmaContext<{ DmaKind::Tensor }>, x: &X) {
    let _ = main;
    let _: D = x.to_dm(dma, 0);
}

#[device(chip = 1)]
fn writes(ctx: &mut Context, x: &X, y: &mut X) {
    let d: D = x.to_dm(&mut ctx.tdma, 0);
    d.view().to_hbm_view(&mut ctx.tdma, y.view_mut()); // mark: written
}

fn values(seed: u32) -> Vec<i8> {
    numbers(seed, 256 * 64)
}

fn context() -> (ContextGuard, u32) {
    (Context::acquire(), line!()) // mark: made
}

async fn upload(ctx: &mut Context, seed: u32) -> X {
    HostTensor::<i8, m![A, B]>::from_buf(init(&values(seed))).to_hbm(&mut ctx.pdma, 4096).await
}

/// The text of the line of this file that a fault names.
fn line(location: &std::panic::Location<'_>) -> &'static str {
    assert!(location.file().ends_with("other_context.rs"), "{location}");
    include_str!("other_context.rs").lines().nth(location.line() as usize - 1).expect("the line exists")
}

#[track_caller]
fn refused<T>(result: Result<T, Fault>, mark: &str, parts: &[&str]) {
    let Err(fault) = result else { panic!("another context's tensor is refused") };
    let text = fault.to_string();
    assert_eq!(fault.kind, FaultKind::OtherContext, "{text}");
    assert!(line(fault.location).ends_with(mark), "{text}");
    // Both contexts are named, by the place at which they were made.
    assert_eq!(fault.places.len(), 2, "{text}");
    assert!(fault.places.iter().all(|place| line(place.location).contains("acquire()")), "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

/// A check that is off changes nothing: there is no switch.
#[test]
fn a_tensor_is_used_with_its_own_context() {
    block_on(async {
        let ((mut c1, _), (mut c2, _)) = (context(), context());
        let (x1, x2) = (upload(&mut c1, 1).await, upload(&mut c2, 2).await);
        let found = try_launch(copy, (&mut *c2, &x1)).await;
        refused(
            found,
            "// mark: moved",
            &[
                "fault: DMA: another context: the tensor in HBM 4096..20480 belongs to context ",
                "but the call is on context ",
                "note: the context of the tensor was made here\n  --> ",
                "note: the context of the call was made here\n  --> ",
                "help: use the tensor with its own context; `to_host` and `to_hbm` take its elements",
            ],
        );
        // Nothing was done, and both go on.
        for (ctx, x, seed) in [(&mut c1, &x1, 1), (&mut c2, &x2, 2)] {
            let y = try_launch(copy, (&mut **ctx, x)).await.expect("its own tensor");
            let found = y.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf();
            assert_same(&found, &values(seed));
        }
        let none = SimOptions { checks: CheckOptions::NONE, ..SimOptions::default() };
        let mut c3 = Context::with(none);
        assert_eq!(
            try_launch(copy, (&mut *c3, &x1)).await.map_err(|fault| fault.kind).err(),
            Some(FaultKind::OtherContext)
        );
    });
}

#[test]
fn destinations_belong_to_a_context() {
    block_on(async {
        let ((mut c1, _), (mut c2, _)) = (context(), context());
        let (x1, mut y2) = (upload(&mut c1, 1).await, upload(&mut c2, 2).await);
        let found = try_launch(writes, (&mut *c1, &x1, &mut y2)).await;
        refused(found, "// mark: written", &["the tensor in HBM 4096..20480 belongs to context "]);
        assert_same(&y2.to_host::<m![A, B]>(&mut c2.pdma).await.to_buf(), &values(2));
    });
}

#[test]
fn a_download_is_from_its_own_context() {
    let ((mut c1, _), (mut c2, _)) = (context(), context());
    let x1 = block_on(upload(&mut c1, 1));
    let message = panic_message(|| {
        block_on(x1.to_host::<m![A, B]>(&mut c2.pdma));
    });
    assert!(
        message.starts_with("fault: to_host: another context: the tensor in HBM 4096..20480"),
        "{message}"
    );
}

#[test]
fn a_handle_does_not_outlive_its_context() {
    block_on(async {
        let (mut c1, _) = context();
        let x1 = upload(&mut c1, 1).await;
        drop(c1);
        let (mut c2, _) = context();
        let found = try_launch(copy, (&mut *c2, &x1)).await;
        let parts = [
            ", which has ended, but the call is on context ",
            "help: make the tensor on the context of the call, with `to_hbm` from the host; what the other context held ended",
        ];
        refused(found, "// mark: moved", &parts);
    });
}

#[test]
fn a_launch_runs_on_one_context() {
    block_on(async {
        let ((mut c1, _), (mut c2, _)) = (context(), context());
        let x2 = upload(&mut c2, 2).await;
        let found = try_launch(nothing, (&mut c1.main, &mut c2.tdma)).await; // mark: two contexts
        let parts_of = [
            "fault: launch: another context: the kernel uses parts of context ",
            "a launch runs on one context",
        ];
        refused(found, "// mark: two contexts", &parts_of);
        let found = try_launch(through, (&mut c1.main, &mut c2.tdma, &x2)).await; // mark: two contexts
        refused(found, "// mark: two contexts", &parts_of);
        let c2 = &mut *c2;
        try_launch(through, (&mut c2.main, &mut c2.tdma, &x2)).await.expect("one context");
    });
}

#[test]
fn exchanged_parts_are_those_of_two_contexts() {
    block_on(async {
        let ((mut c1, _), (mut c2, _)) = (context(), context());
        let x1 = upload(&mut c1, 1).await;
        swap(&mut c1.main, &mut c2.main);
        let found = try_launch(copy, (&mut *c1, &x1)).await; // mark: exchanged
        refused(found, "// mark: exchanged", &["the kernel uses parts of context "]);
        // Whole contexts may be exchanged: a guard is a handle of its own.
        swap(&mut c1.main, &mut c2.main);
        swap(&mut c1, &mut c2);
        try_launch(copy, (&mut *c2, &x1)).await.expect("its own context");
    });
}

/// Reports and maps do not tell how many contexts there were before.
#[test]
fn what_is_printed_does_not_depend_on_other_contexts() {
    let run = || {
        block_on(async {
            let (mut ctx, _) = context();
            let x = upload(&mut ctx, 1).await;
            let y = launch(copy, (&mut *ctx, &x)).await;
            let map = ctx.memory_map();
            let _ = y;
            (format!("{}", ctx.report()), format!("{map}{map:?}"))
        })
    };
    assert_eq!(run(), run());
}
