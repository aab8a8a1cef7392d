//! Streams that a kernel begins and does not end.

use crate::{A, B, Cluster, DmX, Slice, X, Z, block_on, check, context, fine, flagged, launched};
use furiosa_visa_std::chip::{Check, CheckOptions, Fault, FaultKind};
use furiosa_visa_std::prelude::*;

#[device(chip = 1)]
fn only_begun(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let _ = ctx.main.begin(dm.view()); // only begun
}

#[device(chip = 1)]
fn collected(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let stream = ctx.sub.begin(dm.view()); // begun by sub
    let _stream = stream.fetch::<i8, m![1], m![B]>().collect::<m![B / 32], m![B % 32]>();
}

#[device(chip = 1)]
fn summed(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let w = x.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, 1024);
    let weights = (ctx.sub.begin(w.view()).fetch::<i8, m![A], m![B]>())
        .collect::<m![A, B / 32], m![B % 32]>()
        .to_trf::<m![A], m![B]>(TrfAddress::Full);
    let stream = ctx.main.begin(dm.view()); // begun
    let sums = (stream.fetch::<i8, m![1], m![B]>())
        .collect::<m![B / 32], m![B % 32]>()
        .align::<m![1], m![B], _, _>(&weights)
        .contract::<m![1]>();
    drop(sums);
}

#[device(chip = 1)]
fn committed(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let stream = ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>();
    let _: DmX = stream.collect::<m![B / 32], m![B % 32]>().commit(1024);
}

#[device(chip = 1)]
fn loaded(ctx: &mut Context, x: &X, z: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let stream = ctx.sub.begin(dm.view()).fetch::<i8, m![1], m![B]>();
    stream.collect::<m![B / 32], m![B % 32]>().to_trf::<m![1], m![B]>(TrfAddress::Full);
    let dm = z.to_dm::<Cluster, Slice, m![B]>(&mut ctx.tdma, 1024);
    let stream = ctx.sub.begin(dm.view()).fetch::<i32, m![B / 8], m![B % 8]>();
    stream.collect::<m![B / 8], m![B % 8]>().to_vrf::<m![B]>(0);
}

/// A stream that is dropped where no kernel runs.
fn on_the_host(checks: CheckOptions) -> Result<(), Fault> {
    let mut ctx = context(checks);
    let x = HostTensor::<i8, m![A, B]>::from_buf(vec![Opt::Init(1); 256]);
    let x: X = block_on(x.to_hbm(&mut ctx.pdma, 0));
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    drop(ctx.main.begin(dm.view()));
    Ok(())
}

/// A fault while a stream is under way: it is the fault that counts.
#[device(chip = 1)]
fn refused_on_the_way(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let Context { main, tdma, .. } = ctx;
    let stream = main.begin(dm.view()).fetch::<i8, m![1], m![B]>();
    let _: DmX = x.to_dm(tdma, 12); // refused
    let _: DmX = stream.collect::<m![B / 32], m![B % 32]>().commit(1024);
}

#[test]
fn controls() {
    let kind = FaultKind::DroppedStream;
    check(
        Check::DroppedStreams,
        &[
            flagged(
                "only begun",
                |checks| launched(checks, only_begun),
                kind,
                &["only begun"],
                &[
                    "begin: dropped stream: a stream was begun here and dropped",
                    "help: end it in `.commit(…)`",
                ],
            ),
            flagged(
                "collected",
                |checks| launched(checks, collected),
                kind,
                &["begun by sub"],
                &["dropped stream"],
            ),
            flagged("contracted", |checks| launched(checks, summed), kind, &["begun"], &["dropped stream"]),
            fine("committed", |checks| launched(checks, committed)),
            fine("loaded into both register files", |checks| launched(checks, loaded)),
            fine("outside of a kernel", on_the_host),
        ],
    );
    let fault = launched(CheckOptions::ALL, refused_on_the_way).expect_err("12 is no multiple of 8");
    assert_eq!(fault.kind, FaultKind::Refused, "{fault}");
}

/// A kernel that panics while a stream is under way panics once.
#[test]
fn a_panic_stays_a_panic() {
    #[device(chip = 1)]
    fn broken(ctx: &mut Context, x: &X, _: &Z) {
        let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
        let _stream = ctx.main.begin(dm.view());
        panic!("a panic of the kernel");
    }
    let outcome = std::panic::catch_unwind(|| launched(CheckOptions::ALL, broken));
    let payload = outcome.expect_err("it panics");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"a panic of the kernel"));
}
