//! Streams of windows: what they read is checked where they read it.

use crate::{B, DmX, X, Z, check, fine, flagged, launched, launched_with};
use furiosa_visa_std::chip::{Check, FaultKind};
use furiosa_visa_std::prelude::*;

axes![O = 32, E = 16, F = 5, G = 6, P = 2];

/// Columns of a row in windows, as wider numbers: what is not initialised cannot be converted.
fn widened<Output: M, Inside: M, const STRIDE: usize, const DILATION: usize>(ctx: &mut Context, x: &X) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0); // moved
    let view = dm.view().windows::<m![B], Output, Inside, STRIDE, DILATION>();
    let stream = ctx.main.begin(view).fetch::<i32, m![{ Inside }, { Output } / 8], m![{ Output } % 8]>();
    let stream = stream.collect::<m![{ Inside }, { Output } / 8], m![{ Output } % 8]>();
    stream.commit::<m![{ Inside }, { Output }]>(1024); // in windows
}

/// Columns 0 to 36.
#[device(chip = 1)]
fn up_to_the_hole(ctx: &mut Context, x: &X, _: &Z) {
    widened::<m![O], m![G], 1, 1>(ctx, x);
}

/// Columns 0 to 35.
#[device(chip = 1)]
fn before_the_hole(ctx: &mut Context, x: &X, _: &Z) {
    widened::<m![O], m![F], 1, 1>(ctx, x);
}

/// Columns 0, 1, 4, 5, 8, 9, …
#[device(chip = 1)]
fn two_of_four(ctx: &mut Context, x: &X, _: &Z) {
    widened::<m![E], m![P], 4, 1>(ctx, x);
}

/// Columns 0, 2, 4, …, 40.
#[device(chip = 1)]
fn every_second(ctx: &mut Context, x: &X, _: &Z) {
    widened::<m![E], m![G], 2, 2>(ctx, x);
}

/// Element of the row that nobody wrote.
const fn hole(column: usize) -> [usize; 1] {
    [64 + column]
}

const TEXT: &[&str] = &["DM, bytes 36..37 of chip 0, cluster 0, slice 1"];

#[test]
fn holes_count_where_a_window_reads_them() {
    let lines = &["in windows", "moved"];
    check(
        Check::Uninitialised,
        &[
            flagged(
                "the last window reads the hole",
                |checks| launched_with(checks, up_to_the_hole, &hole(36)),
                FaultKind::Uninitialised,
                lines,
                TEXT,
            ),
            flagged(
                "an output reads the hole",
                |checks| launched_with(checks, two_of_four, &hole(36)),
                FaultKind::Uninitialised,
                lines,
                TEXT,
            ),
            flagged(
                "windows with gaps read the hole",
                |checks| launched_with(checks, every_second, &hole(36)),
                FaultKind::Uninitialised,
                lines,
                TEXT,
            ),
            fine("windows end before the hole", |checks| launched_with(checks, before_the_hole, &hole(36))),
            fine("the hole is between windows", |checks| launched_with(checks, two_of_four, &hole(38))),
            fine("the hole is in the gaps", |checks| launched_with(checks, every_second, &hole(37))),
        ],
    );
}

/// Reads windows after other operations.
fn read(ctx: &mut Context, dm: &DmX, to: u64) {
    let view = dm.view().windows::<m![B], m![O], m![G], 1, 1>();
    let stream = ctx.main.begin(view).fetch::<i8, m![G], m![O]>().collect::<m![G], m![O]>();
    stream.commit::<m![G, O]>(to); // read
}

#[device(chip = 1)]
fn overwritten(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0); // written first
    let _: DmX = x.to_dm(&mut ctx.tdma, 32); // written over it
    read(ctx, &dm, 1024);
}

#[device(chip = 1)]
fn overwritten_at_the_start(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 64); // written first
    let _: DmX = x.to_dm(&mut ctx.tdma, 8); // written over it
    read(ctx, &dm, 1024);
}

#[device(chip = 1)]
fn overwritten_by_windows(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let other: DmX = x.to_dm(&mut ctx.tdma, 1152); // written first
    let view = dm.view().windows::<m![B], m![O], m![G], 1, 1>();
    let stream = ctx.main.begin(view).fetch::<i8, m![G], m![O]>().collect::<m![G], m![O]>();
    stream.commit::<m![G, O]>(1024); // written over it
    read(ctx, &other, 2048);
}

#[device(chip = 1)]
fn beside(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 64);
    let _: DmX = x.to_dm(&mut ctx.tdma, 0);
    let _: DmX = x.to_dm(&mut ctx.tdma, 128);
    read(ctx, &dm, 1024);
}

#[device(chip = 1)]
fn after_the_read(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    read(ctx, &dm, 1024);
    let _: DmX = x.to_dm(&mut ctx.tdma, 32);
}

#[device(chip = 1)]
fn written_again(ctx: &mut Context, x: &X, _: &Z) {
    let mut dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let _: DmX = x.to_dm(&mut ctx.tdma, 32);
    x.view().to_dm_view(&mut ctx.tdma, dm.view_mut());
    read(ctx, &dm, 1024);
}

#[test]
fn windows_of_a_tensor_that_was_overwritten() {
    let lines = &["read", "written first", "written over it"];
    let bad = |name, program| flagged(name, program, FaultKind::StaleRead, lines, &["stale read"]);
    check(
        Check::StaleReads,
        &[
            bad("overwritten", |checks| launched(checks, overwritten)),
            bad("overwritten at its start", |checks| launched(checks, overwritten_at_the_start)),
            bad("overwritten by a copy of windows", |checks| launched(checks, overwritten_by_windows)),
            fine("written beside it", |checks| launched(checks, beside)),
            fine("written after the read", |checks| launched(checks, after_the_read)),
            fine("written again", |checks| launched(checks, written_again)),
        ],
    );
}
