//! Addresses: inside of their memory, and where the engines reach them.

use crate::commands::{self, commit, dma, fetch, give, hbm, pass, region, system, written};
use crate::{A, B, DmX, X, Z, check, fine, flagged, launched};
use furiosa_visa_std::chip::{Check, CheckOptions, Fault, FaultKind};
use furiosa_visa_std::command::{
    FillId, HostBuffer, HostTransfer, Operation, Region, Sink, TrfAddress, TrfRegion,
};
use furiosa_visa_std::mapping::{Guard, GuardDigit, GuardSum};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType::{Bf16, F32, I8, I32};
use std::panic::Location;

const DM: u64 = 512 << 10;
const HBM: u64 = 48 << 30;

macro_rules! at_the_end {
    ($to_dm:ident, $commit:ident, $to_hbm:ident, $short:literal) => {
        #[device(chip = 1)]
        fn $to_dm(ctx: &mut Context, x: &X, _: &Z) {
            let _: DmX = x.to_dm(&mut ctx.tdma, DM - $short);
        }

        #[device(chip = 1)]
        fn $commit(ctx: &mut Context, x: &X, _: &Z) {
            let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
            let stream = ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>();
            let _: DmX = stream.collect::<m![B / 32], m![B % 32]>().commit(DM - $short);
        }

        #[device(chip = 1)]
        fn $to_hbm(ctx: &mut Context, x: &X, _: &Z) {
            let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
            dm.to_hbm::<m![A, B]>(&mut ctx.tdma, HBM - 4 * $short);
        }
    };
}
at_the_end!(dm_past, commit_past, hbm_past, 56); // past
at_the_end!(dm_inside, commit_inside, hbm_inside, 64);

/// A load of so many bytes into half of the TRF.
#[track_caller]
fn half(checks: CheckOptions, row_elements: usize) -> Result<(), Fault> {
    let mut system = system(checks);
    written(&mut system, 0, I8, 1 << 15);
    let destination = TrfRegion {
        address: TrfAddress::SecondHalf,
        fill: FillId(9),
        element: I8,
        rows: 4,
        row_elements,
        guard: Guard::always(5),
    };
    let stream = fetch(region(0, I8, 1 << 15), I8, &[(1024, 32), (32, 1)], 1024, 32);
    give(&mut system, pass(stream, Sink::Trf { destination, guard: Guard::always(5) }))
}

#[test]
fn bounds() {
    let kind = FaultKind::OutOfBounds;
    check(
        Check::Bounds,
        &[
            flagged(
                "a transfer past DM",
                |checks| launched(checks, dm_past),
                kind,
                &["past"],
                &[
                    "the tensor at DM address 524232 has 64 bytes per slice, but DM has 524288 bytes per slice",
                    "DM, bytes 524288..524296 of chip 0, cluster 0, slice 0",
                    "element: i![A: 0, B: 56]",
                ],
            ),
            flagged(
                "a commit past DM",
                |checks| launched(checks, commit_past),
                kind,
                &["past"],
                &["commit: out of bounds", "bytes 524288..524296"],
            ),
            flagged(
                "a transfer past HBM",
                |checks| launched(checks, hbm_past),
                kind,
                &["past"],
                &["HBM, bytes 51539607552..51539607584 of chip 0", "element: i![A: 3, B: 32]"],
            ),
            flagged(
                "more than half of the TRF",
                |checks| half(checks, 8193), // half
                FaultKind::Capacity,
                &["half"],
                &["4 rows of 8193 bytes are 32772 bytes, but TrfAddress::SecondHalf holds 32768"],
            ),
            flagged(
                "an upload past HBM",
                |checks| uploaded(checks, HBM - 14), // sent past HBM
                kind,
                &["sent past HBM"],
                &["to_hbm: out of bounds", "HBM, bytes 51539607552..51539607554 of chip 0"],
            ),
            flagged(
                "an upload behind HBM",
                |checks| uploaded(checks, HBM + 4096), // sent behind HBM
                kind,
                &["sent behind HBM"],
                &["to_hbm: out of bounds"],
            ),
            flagged(
                "an upload whose last live element leaves HBM",
                |checks| upload(checks, half_live(HBM - 10)), // half of it
                kind,
                &["half of it"],
                &["HBM, bytes 51539607552..51539607554 of chip 0"],
            ),
            fine("an upload to the end of HBM", |checks| uploaded(checks, HBM - 16)),
            fine("an upload whose padding leaves HBM", |checks| upload(checks, half_live(HBM - 12))),
            fine("a transfer to the end of DM", |checks| launched(checks, dm_inside)),
            fine("a commit to the end of DM", |checks| launched(checks, commit_inside)),
            fine("a transfer to the end of HBM", |checks| launched(checks, hbm_inside)),
            fine("all of half of the TRF", |checks| half(checks, 8192)),
        ],
    );
}

/// Runs a command on a system with 1024 bytes from DM address 0, and as many from HBM address 2^30 on.
#[track_caller]
fn run(checks: CheckOptions, operation: Operation) -> Result<(), Fault> {
    let mut system = system(checks);
    written(&mut system, 0, I8, 1024);
    give(&mut system, operation)
}

/// A packet of 8 `f32` per time step.
fn commits(address: u64, entries: &[(usize, isize)], window: usize) -> Operation {
    let stream = fetch(region(0, F32, 64), F32, &[(8, 8), (8, 1)], 8, 8);
    pass(stream, commit(region(address, F32, 128), entries, window, Guard::always(5)))
}

#[track_caller]
fn uploaded(checks: CheckOptions, address: u64) -> Result<(), Fault> {
    upload(checks, hbm(address, Bf16, 8))
}

/// Of every four elements, the first two are live.
fn half_live(address: u64) -> Region {
    let mut region = hbm(address, Bf16, 8);
    let guard = &mut region.footprint.guard;
    guard.digits.push(GuardDigit { variable: 3, base: 1, extent: 4, weight: 1 });
    guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit: 2 });
    region
}

/// Writes eight elements from the host.
#[track_caller]
fn upload(checks: CheckOptions, region: Region) -> Result<(), Fault> {
    let transfer = HostTransfer { region, transfer: commands::moves(&[(8, 1, 1)]), host_elements: 8 };
    let buffer = HostBuffer { bytes: vec![1; 16], initialised: None };
    system(checks).upload(&transfer, &buffer, Location::caller())
}

#[test]
fn alignment() {
    let kind = FaultKind::Misaligned;
    check(
        Check::Alignment,
        &[
            flagged(
                "a commit between units of 8 bytes",
                |checks| run(checks, commits(4100, &[(8, 8), (8, 1)], 8)), // commit
                kind,
                &["commit"],
                &[
                    "commit: misaligned address: the DM address is 4100, but commit writes at multiples of 8",
                    "bytes 4100..4101",
                ],
            ),
            flagged(
                "packets that are committed 12 bytes apart",
                |checks| run(checks, commits(4096, &[(8, 3), (2, 1)], 2)), // apart
                kind,
                &["apart"],
                &["start 3 elements apart, 96 bits, but commit writes at multiples of 8 bytes"],
            ),
            flagged(
                "from HBM at a multiple of 4",
                |checks| run(checks, dma(hbm((1 << 30) + 4, I8, 64), region(4096, I8, 64), &[(64, 1, 1)])), // from
                kind,
                &["from"],
                &[
                    "HBM source address 1073741828 is no multiple of 8 bytes, which a transfer from HBM to DM needs",
                ],
            ),
            flagged(
                "from HBM to DM at a multiple of 4",
                |checks| run(checks, dma(hbm(1 << 30, I8, 64), region(4100, I8, 64), &[(64, 1, 1)])), // to
                kind,
                &["to"],
                &["DM destination address 4100 is no multiple of 8 bytes"],
            ),
            flagged(
                "a tensor between its elements",
                |checks| run(checks, dma(region(2, I32, 16), hbm(4096, I32, 16), &[(16, 1, 1)])), // between
                kind,
                &["between"],
                &["DM address 2 is no multiple of the 4 bytes of i32"],
            ),
            flagged(
                "an upload between elements",
                |checks| uploaded(checks, 4097), // uploaded
                kind,
                &["uploaded"],
                &["HBM address 4097 is no multiple of the 2 bytes of bf16"],
            ),
            fine("a commit at the next unit", |checks| run(checks, commits(4104, &[(8, 8), (8, 1)], 8))),
            fine("packets 8 bytes apart", |checks| run(checks, commits(4096, &[(8, 2), (2, 1)], 2))),
            fine("packets as one run", |checks| run(checks, commits(4096, &[(64, 1)], 8))),
            fine("from HBM at a multiple of 8", |checks| {
                run(checks, dma(hbm((1 << 30) + 8, I8, 64), region(4104, I8, 64), &[(64, 1, 1)]))
            }),
            fine("from DM to any byte of HBM, and from any byte to any byte of DM", |checks| {
                run(checks, dma(region(3, I8, 64), hbm(4097, I8, 64), &[(64, 1, 1)]))?;
                run(checks, dma(region(3, I8, 64), region(4097, I8, 64), &[(64, 1, 1)]))
            }),
            fine("an upload at an element", |checks| uploaded(checks, 4098)),
        ],
    );
}
