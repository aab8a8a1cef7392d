//! Uses of elements that nobody wrote.

use crate::commands::{self, give, pass, region, system, written};
use crate::{A, B, Cluster, DmX, Slice, X, Z, check, fine, flagged, launched, launched_with};
use furiosa_visa_std::chip::{Addresses, Check, CheckOptions, Fault, FaultKind};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType;

type DmZ = DmTensor<i32, m![1], Cluster, Slice, m![B]>;

axes![I = 2];

/// Row 1, column 36.
const HOLE: &[usize] = &[100];

#[device(chip = 1)]
fn contracted(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0); // moved
    let w = x.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, 1024);
    let weights = (ctx.sub.begin(w.view()).fetch::<i8, m![A], m![B]>())
        .collect::<m![A, B / 32], m![B % 32]>()
        .to_trf::<m![A], m![B]>(TrfAddress::Full);
    let _: DmTensor<i32, m![1], Cluster, Slice, m![A # 8]> = (ctx.main.begin(dm.view()))
        .fetch::<i8, m![1], m![B]>()
        .collect::<m![B / 32], m![B % 32]>()
        .align::<m![1], m![B], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![1], m![A # 8]>(AccumulationKind::Interleaved)
        .commit(1 << 16); // contracted
}

#[device(chip = 1)]
fn widened(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0); // moved
    let stream = ctx.main.begin(dm.view()).fetch::<i32, m![B / 8], m![B % 8]>();
    let _: DmZ = stream.collect::<m![B / 8], m![B % 8]>().commit(1024); // widened
}

#[device(chip = 1)]
fn looked_up(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0); // moved
    let table = LookupTable::from_fn(|x: i8| x.wrapping_add(1));
    let stream = ctx.main.begin(dm.view()).fetch_with_table::<i8, m![1], m![B]>(&table);
    let _: DmX = stream.collect::<m![B / 32], m![B % 32]>().commit(1024); // looked up
}

#[device(chip = 1)]
fn shifted(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0); // moved
    let stream = ctx.sub.begin(dm.view()).fetch_with_zero_point::<i32, m![B / 8], m![B % 8]>(3);
    let _: DmZ = stream.collect::<m![B / 8], m![B % 8]>().commit(1024); // shifted
}

#[device(chip = 1)]
fn narrowed(ctx: &mut Context, _: &X, z: &Z) {
    let dm: DmZ = z.to_dm(&mut ctx.tdma, 0); // moved
    let stream =
        ctx.main.begin(dm.view()).fetch::<i32, m![B / 8], m![B % 8]>().collect::<m![B / 8], m![B % 8]>();
    let _: DmX = stream.cast::<i8, m![B % 8 # 32]>().commit(1024); // narrowed
}

#[device(chip = 1)]
fn copied(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let stream = ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>().collect::<m![B / 32], m![B % 32]>();
    let copy: DmX = stream.commit(1024);
    copy.to_hbm::<m![B, A]>(&mut ctx.tdma, 1 << 20);
}

#[device(chip = 1)]
fn loaded(ctx: &mut Context, x: &X, z: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    (ctx.sub.begin(dm.view()).fetch::<i8, m![1], m![B]>())
        .collect::<m![B / 32], m![B % 32]>()
        .to_trf::<m![1], m![B]>(TrfAddress::Full);
    let dm: DmZ = z.to_dm(&mut ctx.tdma, 512);
    (ctx.sub.begin(dm.view()).fetch::<i32, m![B / 8], m![B % 8]>())
        .collect::<m![B / 8], m![B % 8]>()
        .to_vrf::<m![B]>(0);
}

/// The padding was never written, and goes through the conversion.
#[device(chip = 1)]
fn padding_is_widened(ctx: &mut Context, x: &X, _: &Z) {
    let dm = x.to_dm::<Cluster, Slice, m![B # 96]>(&mut ctx.tdma, 0);
    let stream = ctx.main.begin(dm.view()).fetch::<i32, m![B # 96 / 8], m![B # 96 % 8]>();
    stream.collect::<m![B # 96 / 8], m![B # 96 % 8]>().commit::<m![B # 96]>(1024);
}

/// Nobody wrote what is read.
#[device(chip = 1)]
fn from_nowhere(ctx: &mut Context, _: &X, _: &Z) {
    #[allow(unsafe_code)] // The check is what is tested.
    let dm = unsafe { DmX::from_addr(4096) };
    let stream = ctx.main.begin(dm.view()).fetch::<i32, m![B / 8], m![B % 8]>();
    let _: DmZ = stream.collect::<m![B / 8], m![B % 8]>().commit(1024); // from nowhere
}

/// Of two rows the second one is filled. Before, the bytes held a tensor that was.
fn half_filled(ctx: &mut Context, x: &X) -> DmTensor<i8, m![1], Cluster, Slice, m![I, B]> {
    for _ in 0..3 {
        let _ = x.to_dm::<Cluster, Slice, m![I, B]>(&mut ctx.tdma, AUTO);
    }
    let mut y = DmTensor::new(ctx); // empty
    x.view().to_dm_view(&mut ctx.tdma, y.view_mut().tile::<m![I], 1, m![1 # 2, B]>(1));
    y
}

#[device(chip = 1)]
fn never_filled(ctx: &mut Context, x: &X, _: &Z) {
    let y = half_filled(ctx, x);
    let stream = ctx.main.begin(y.view()).fetch::<i32, m![I, B / 8], m![B % 8]>();
    stream.collect::<m![I, B / 8], m![B % 8]>().commit::<m![I, B]>(1024); // never filled
}

#[device(chip = 1)]
fn filled(ctx: &mut Context, x: &X, _: &Z) {
    let y = half_filled(ctx, x);
    let row = y.view();
    let row = row.tile::<m![I], 1, m![1 # 2, B]>(1);
    let stream = ctx.main.begin(row).fetch::<i32, m![B / 8], m![B % 8]>();
    let _: DmZ = stream.collect::<m![B / 8], m![B % 8]>().commit(1024);
}

/// A packet of 24 elements, padded to a flit, of which so many lanes are committed as elements.
fn lanes(checks: CheckOptions, live: usize) -> Result<(), Fault> {
    let mut system = system(checks);
    written(&mut system, 0, ElementType::I8, 96);
    let source = region(0, ElementType::I8, 96);
    let stream = commands::fetch(source, ElementType::I8, &[(4, 24), (24, 1)], 4, 24);
    let sink = commands::commit(
        region(4096, ElementType::I8, 128),
        &[(4, 32), (32, 1)],
        32,
        commands::lanes_below(live),
    );
    give(&mut system, pass(stream, sink)) // lanes
}

#[test]
fn controls() {
    check(
        Check::Uninitialised,
        &[
            flagged(
                "contracted",
                |checks| launched_with(checks, contracted, HOLE),
                FaultKind::Uninitialised,
                &["contracted", "moved"],
                &[
                    "contraction: uninitialised element: ",
                    "which DMA copied from HBM 0..256, where it was uninitialised",
                    "element: i![A: 1, B: 36], position 36 of m![B]",
                ],
            ),
            flagged(
                "never filled",
                |checks| launched_with(checks, never_filled, &[]),
                FaultKind::Uninitialised,
                &["never filled", "empty"],
                &[
                    "time step 0 converts element 0 of the tensor at DM address 5",
                    "which nobody has written since DmTensor::new",
                ],
            ),
            fine("filled", |checks| launched_with(checks, filled, &[])),
            flagged(
                "widened by fetch",
                |checks| launched_with(checks, widened, HOLE),
                FaultKind::Uninitialised,
                &["widened", "moved"],
                &[
                    "fetch: uninitialised element: time step 4 converts element 36 of the tensor at DM address 0, which DMA copied",
                    "DM, bytes 36..37 of chip 0, cluster 0, slice 1",
                    "element: i![A: 1, B: 36]",
                ],
            ),
            flagged(
                "index of a table",
                |checks| launched_with(checks, looked_up, HOLE),
                FaultKind::Uninitialised,
                &["looked up", "moved"],
                &["fetch: uninitialised element: ", "element: i![A: 1, B: 36]"],
            ),
            flagged(
                "less a zero point",
                |checks| launched_with(checks, shifted, HOLE),
                FaultKind::Uninitialised,
                &["shifted", "moved"],
                &["fetch: uninitialised element: ", "element: i![A: 1, B: 36]"],
            ),
            flagged(
                "narrowed by the Cast Engine",
                |checks| launched_with(checks, narrowed, HOLE),
                FaultKind::Uninitialised,
                &["narrowed", "moved"],
                &["cast: uninitialised element: time step 4 converts element 36", "DM, bytes 144..148"],
            ),
            flagged(
                "a lane of the padding of collect is committed",
                |checks| lanes(checks, 25),
                FaultKind::Uninitialised,
                &["lanes"],
                &["commit: uninitialised element: lane 24 of time step 0", "has only 24 elements there"],
            ),
            flagged(
                "never written",
                |checks| launched(checks, from_nowhere),
                FaultKind::Uninitialised,
                &["from nowhere"],
                &["element 0 of the tensor at DM address 4096, which was never written"],
            ),
            fine("contracted, all written", |checks| launched(checks, contracted)),
            fine("narrowed, all written", |checks| launched(checks, narrowed)),
            fine("copied by DMA and by a stream", |checks| launched_with(checks, copied, HOLE)),
            fine("copied to the register files", |checks| launched_with(checks, loaded, HOLE)),
            fine("padding is widened", |checks| launched(checks, padding_is_widened)),
            fine("the lanes that hold an element are committed", |checks| lanes(checks, 24)),
        ],
    );
}

/// HBM that nobody wrote, moved to DM: the fault names the move, and what it had to move.
#[test]
fn the_origin_is_named() {
    #[device(chip = 1)]
    fn through_dm(ctx: &mut Context, _: &X, _: &Z) {
        #[allow(unsafe_code)] // The check is what is tested.
        let x = unsafe { X::from_addr(1 << 20) };
        let dm: DmX = x.to_dm(&mut ctx.tdma, 0); // moved from nowhere
        let stream = ctx.main.begin(dm.view()).fetch::<i32, m![B / 8], m![B % 8]>();
        let _: DmZ = stream.collect::<m![B / 8], m![B % 8]>().commit(1024);
    }
    let text = launched(CheckOptions::ALL, through_dm).expect_err("nobody wrote it").to_string();
    let clause = "element 0 of the tensor at DM address 0, which DMA copied from HBM 1048576..1048832, where it was \
                  uninitialised";
    assert!(text.contains(clause), "{text}");
    let line = 1 + include_str!("uninitialised.rs")
        .lines()
        .position(|line| line.ends_with("moved from nowhere"))
        .expect("it is there");
    assert!(
        text.contains("note: it was written here\n  --> ")
            && text.contains(&format!("uninitialised.rs:{line}:")),
        "{text}"
    );

    // A copy of two tensors in turns: which of them it was is not noted.
    #[device(chip = 1)]
    fn in_turns(ctx: &mut Context, x: &X, _: &Z) {
        let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
        let other: DmX = x.to_dm(&mut ctx.tdma, 256);
        let both: DmTensor<i8, m![1], Cluster, Slice, m![I, B]> = (ctx.main)
            .begin_interleaved::<I, _, _, _, _, _>(dm.view(), other.view())
            .fetch::<i8, m![I], m![B]>()
            .collect::<m![I, B / 32], m![B % 32]>()
            .commit(1024); // copied in turns
        let stream = ctx.main.begin(both.view()).fetch::<i32, m![I, B / 8], m![B % 8]>();
        stream.collect::<m![I, B / 8], m![B % 8]>().commit::<m![I, B]>(2048);
    }
    let text = launched_with(CheckOptions::ALL, in_turns, HOLE).expect_err("a hole").to_string();
    let clause = "which commit copied from DM 0..64 or DM 256..320, where it was uninitialised";
    assert!(text.contains(clause), "{text}");

    // With separate addresses, a bare handle is a tensor of its own.
    let options = SimOptions { addresses: Addresses::Separate, ..SimOptions::default() };
    let fault = crate::block_on(async {
        let mut ctx = Context::with(options);
        let x = HostTensor::<i8, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        let z = HostTensor::<i32, m![A, B]>::zero().to_hbm(&mut ctx.pdma, 4096).await;
        try_launch(from_nowhere, (&mut *ctx, &x, &z)).await.expect_err("it is another tensor")
    });
    let text = fault.to_string();
    assert!(
        text.contains("read through a handle of a bare address: with `VISA_ADDRESSES=separate` each"),
        "{text}"
    );
}
