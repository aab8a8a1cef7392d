//! Contexts that touch the same bytes, and nothing orders them.
#![allow(unsafe_code)] // Bare addresses are the question.

use crate::commands::{self, commit, dma, fetch, give, hbm, moves, pass, region, written};
use crate::{A, B, Cluster, DmX, Slice, X, Z, block_on, check, context, fine, flagged, launched};
use furiosa_visa_std::chip::{Check, CheckOptions, Fault, FaultKind};
use furiosa_visa_std::command::{FillId, HostTransfer, Memory, Region};
use furiosa_visa_std::mapping::Guard;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType::I8;
use std::panic::Location;

axes![S = 256, N = 8, K = 56];

/// From DM to DM.
macro_rules! copied {
    ($context:expr, $from:expr, $to:expr) => {{
        let stream = $context.begin($from.view()).fetch::<i8, m![1], m![B]>();
        stream.collect::<m![B / 32], m![B % 32]>().commit::<m![B]>($to)
    }};
}

fn bare(address: u64) -> DmX {
    unsafe { DmX::from_addr(address) }
}

#[device(chip = 1)]
fn read_after_dma(ctx: &mut Context, x: &X, _: &Z) {
    let _: DmX = x.to_dm(&mut ctx.tdma, 0); // written by tdma
    let dm = bare(0);
    let stream = ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>();
    stream.collect::<m![B / 32], m![B % 32]>().commit::<m![B]>(1024); // read by main
}

type Padded = m![# 4 + K + # 4];

/// The program whose fault the README shows.
#[device(chip = 1)]
fn of_the_readme(ctx: &mut Context, x: &HbmTensor<bf16, m![1], m![S, N, K]>) {
    let _ = x.to_dm::<Cluster, m![S], m![N, # 4 + K + # 4]>(&mut ctx.tdma, 1024);
    let dm = unsafe { DmTensor::<bf16, m![1], Cluster, m![S], m![N, # 4 + K + # 4]>::from_addr(1024) };
    (ctx.main.begin(dm.view()))
        .fetch::<bf16, m![N, { Padded } / 16], m![{ Padded } % 16]>()
        .collect::<m![N, { Padded } / 16], m![{ Padded } % 16]>()
        .commit::<m![N, { Padded }]>(4096);
}

/// Words, with the lines of files replaced, so that it does not matter where lines break.
fn words(text: &str) -> Vec<String> {
    let of_a_file = |word: &str| if word.contains(".rs:") { "file".to_string() } else { word.to_string() };
    text.split_whitespace().map(of_a_file).collect()
}

#[test]
fn the_readme_shows_the_fault_as_it_is() {
    let readme = include_str!("../../README.md");
    let start = readme.find("fault: fetch: unordered access").expect("the README shows a fault");
    let shown = readme[start..].split("```").next().expect("the block ends");
    let fault = block_on(async {
        let mut ctx = context(CheckOptions::ALL);
        let x = HostTensor::<bf16, m![S, N, K]>::zero().to_hbm(&mut ctx.pdma, 0).await;
        try_launch(of_the_readme, (&mut *ctx, &x)).await.expect_err("nothing orders the two")
    });
    assert_eq!(words(shown), words(&fault.to_string()), "{fault}");
}

#[device(chip = 1)]
fn read_beside_dma(ctx: &mut Context, x: &X, _: &Z) {
    let _: DmX = x.to_dm(&mut ctx.tdma, 64);
    let dm = bare(0);
    copied!(ctx.main, dm, 1024);
}

#[device(chip = 1)]
fn read_through_the_handle(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    copied!(ctx.main, dm, 1024);
}

#[device(chip = 1)]
fn transferred_after_commit(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let stream = ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>();
    stream.collect::<m![B / 32], m![B % 32]>().commit::<m![B]>(1024); // committed by main
    let copy = bare(1024);
    copy.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20); // read by tdma
}

#[device(chip = 1)]
fn one_handle_to_commit_and_transfer(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let mut copy = bare(1024);
    let stream = ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>();
    stream.collect::<m![B / 32], m![B % 32]>().commit_view(copy.view_mut());
    copy.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
}

#[device(chip = 1)]
fn written_while_read(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let stream = ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>();
    stream.collect::<m![B / 32], m![B % 32]>().commit::<m![B]>(1024); // reads
    let mut other = bare(32);
    x.view().to_dm_view(&mut ctx.tdma, other.view_mut()); // writes
}

#[device(chip = 1)]
fn main_and_sub(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let stream = ctx.sub.begin(dm.view()).fetch::<i8, m![1], m![B]>();
    stream.collect::<m![B / 32], m![B % 32]>().commit::<m![B]>(1024); // committed by sub
    let mut place = bare(1056);
    let stream = ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>();
    stream.collect::<m![B / 32], m![B % 32]>().commit_view(place.view_mut()); // committed by main, too
}

#[device(chip = 1)]
fn one_context(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    copied!(ctx.main, dm, 1024);
    let copy = bare(1024);
    copied!(ctx.main, copy, 2048);
}

/// `main` reads what `tdma` wrote last: before that, `tdma` wrote the other tensor.
#[device(chip = 1)]
fn ordered_by_another_tensor(ctx: &mut Context, x: &X, _: &Z) {
    let _: DmX = x.to_dm(&mut ctx.tdma, 0);
    let last: DmX = x.to_dm(&mut ctx.tdma, 64);
    copied!(ctx.main, last, 1024);
    let first = bare(0);
    copied!(ctx.main, first, 2048);
}

#[device(chip = 1)]
fn only_written(ctx: &mut Context, x: &X, _: &Z) {
    let _: DmX = x.to_dm(&mut ctx.tdma, 0);
}

#[device(chip = 1)]
fn only_read(ctx: &mut Context, _: &X, _: &Z) {
    let dm = bare(0);
    copied!(ctx.main, dm, 1024);
}

/// The first launch writes, the second one reads.
fn two_launches(checks: CheckOptions) -> Result<(), Fault> {
    block_on(async {
        let mut ctx = context(checks);
        let x = HostTensor::<i8, m![A, B]>::from_buf(vec![Opt::Init(1); 256]);
        let z = HostTensor::<i32, m![A, B]>::from_buf(vec![Opt::Init(1); 256]);
        let (x, z) = (x.to_hbm(&mut ctx.pdma, 0).await, z.to_hbm(&mut ctx.pdma, 4096).await);
        try_launch(only_written, (&mut *ctx, &x, &z)).await?;
        try_launch(only_read, (&mut *ctx, &x, &z)).await
    })
}

/// `main` reads DM 0..64, the host downloads a tensor, and `tdma` writes DM 0..64 through a handle that knows nothing.
fn written_after_a_download(checks: CheckOptions, from: Region) -> Result<(), Fault> {
    let mut system = commands::system(checks);
    written(&mut system, 0, I8, 64);
    let stream = fetch(region(0, I8, 64), I8, &[(2, 32), (32, 1)], 2, 32);
    let sink = commit(region(1024, I8, 64), &[(2, 32), (32, 1)], 32, Guard::always(5));
    give(&mut system, pass(stream, sink))?; // read by main first
    let download = HostTransfer { region: from, transfer: moves(&[(64, 1, 1)]), host_elements: 64 };
    let refused = system.download(&download, Location::caller()).is_err();
    assert_eq!(refused, from.memory != Memory::Hbm, "the host reads HBM only");
    let unknown = Region { fill: FillId::ANY, ..region(0, I8, 64) };
    give(&mut system, dma(hbm(1 << 30, I8, 64), unknown, &[(64, 1, 1)])) // written after a download
}

#[test]
fn order() {
    let kind = FaultKind::Unordered;
    check(
        Check::Order,
        &[
            flagged(
                "read by main while tdma writes",
                |checks| launched(checks, read_after_dma),
                kind,
                &["read by main", "written by tdma"],
                &[
                    "fetch: unordered access: `main` reads DM 0..64 while `tdma` may not have finished the DMA that writes \
                     DM 0..64: nothing orders the two, because the handle of the later operation was made from a bare address",
                    "note: written by the other context here",
                    "DM, bytes 0..64 of chip 0, cluster 0, slice 0",
                    "element: i![A: 0, B: 0], position 0 of m![B]",
                ],
            ),
            flagged(
                "after a download that was refused",
                |checks| written_after_a_download(checks, region(0, I8, 64)),
                kind,
                &["written after a download", "read by main first"],
                &["`tdma` writes DM 0..64 while `main` may not have finished the fetch that reads DM 0..64"],
            ),
            fine("after a download", |checks| written_after_a_download(checks, hbm(1 << 30, I8, 64))),
            flagged(
                "transferred while main commits",
                |checks| launched(checks, transferred_after_commit),
                kind,
                &["read by tdma", "committed by main"],
                &[
                    "DMA: unordered access: `tdma` reads DM 1024..1088 while `main` may not have finished the commit",
                ],
            ),
            flagged(
                "written while main reads",
                |checks| launched(checks, written_while_read),
                kind,
                &["writes", "reads"],
                &[
                    "`tdma` writes DM 32..96 while `main` may not have finished the fetch that reads DM 0..64",
                    "DM, bytes 32..64",
                ],
            ),
            flagged(
                "committed by main and by sub",
                |checks| launched(checks, main_and_sub),
                kind,
                &["committed by main, too", "committed by sub"],
                &["commit: unordered access: `main` writes DM 1056..1120", "bytes 1056..1088"],
            ),
            flagged(
                "the same tile of two handles",
                |checks| launched(checks, the_same_tile),
                kind,
                &["in both contexts", "in both contexts"],
                &[
                    "`main` reads DM 24..32, a tile of the one in 0..64 while `tdma` may not have finished the DMA that writes \
                     DM 24..32, a tile of the one in 0..64",
                    "DM, bytes 24..32",
                ],
            ),
            fine("other tiles of two handles", |checks| launched(checks, another_tile)),
            fine("overlapping tiles of one handle", |checks| launched(checks, tiles_of_one_handle)),
            fine("the bytes beside it", |checks| launched(checks, read_beside_dma)),
            fine("through the handle that was written", |checks| launched(checks, read_through_the_handle)),
            fine("one bare handle for both", |checks| launched(checks, one_handle_to_commit_and_transfer)),
            fine("in one context", |checks| launched(checks, one_context)),
            fine("through another tensor", |checks| launched(checks, ordered_by_another_tensor)),
            fine("in two launches", two_launches),
        ],
    );
}

/// Eight bytes of each slice.
macro_rules! tile {
    ($of:expr, $start:expr) => {
        $of.tile::<m![B / 8], 1, m![1 # 8, B % 8]>($start)
    };
}

/// `tdma` writes a tile through one bare handle, `main` reads another one through another handle.
macro_rules! two_tiles {
    ($name:ident, $written:literal, $read:literal) => {
        #[device(chip = 1)]
        fn $name(ctx: &mut Context, x: &X, _: &Z) {
            let (mut dm, same) = (bare(0), bare(0));
            let tile = x.view().tile::<m![B / 8], 1, m![A, 1 # 8, B % 8]>(0);
            x.view().to_dm_view(&mut ctx.tdma, dm.view_mut());
            copied_rows(ctx, &dm);
            tile.to_dm_view(&mut ctx.tdma, tile!(dm.view_mut(), $written));
            let stream = ctx.main.begin(tile!(same.view(), $read)).fetch::<i8, m![1], m![B % 8]>();
            stream.collect::<m![1], m![B % 8 # 32]>().commit::<m![B % 8]>(2048);
        }
    };
}
two_tiles!(the_same_tile, 3, 3); // in both contexts
two_tiles!(another_tile, 3, 4);

/// `main` reads all of a tensor after `tdma` wrote it: what `main` does later comes after that, too.
fn copied_rows(ctx: &mut Context, dm: &DmX) {
    copied!(ctx.main, dm, 1024);
}

/// Tiles of one handle that overlap: what the contexts do to them is ordered.
#[device(chip = 1)]
fn tiles_of_one_handle(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let mut to: DmX = x.to_dm(&mut ctx.tdma, 1024);
    let tile = x.view().tile::<m![B / 8], 2, m![A, B / 8 = 2 # 8, B % 8]>(1);
    tile.to_dm_view(&mut ctx.tdma, to.view_mut().tile::<m![B / 8], 2, m![B / 8 = 2 # 8, B % 8]>(0));
    let stream = ctx.main.begin(tile!(dm.view(), 0)).fetch::<i8, m![1], m![B % 8]>();
    stream.collect::<m![1], m![B % 8 # 32]>().commit_view(tile!(to.view_mut(), 1));
    to.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
}

type Weights = TrfTensor<i8, m![1], Cluster, Slice, m![A], m![B]>;

macro_rules! loaded {
    ($context:expr, $from:expr, $part:expr) => {{
        let stream = $context.begin($from.view()).fetch::<i8, m![A], m![B]>();
        stream.collect::<m![A, B / 32], m![B % 32]>().to_trf::<m![A], m![B]>($part)
    }};
}

fn contracted(ctx: &mut Context, x: &DmX, weights: &Weights) {
    (ctx.main.begin(x.view()).fetch::<i8, m![1], m![B]>())
        .collect::<m![B / 32], m![B % 32]>()
        .align::<m![1], m![B], _, _>(weights)
        .contract::<m![1]>()
        .accumulate::<m![1], m![A # 8]>(AccumulationKind::Interleaved)
        .commit::<m![A # 8]>(1 << 16); // contracted
}

/// `main` loads the TRF and contracts through a bare handle. Then a context loads a part of it.
macro_rules! reuse {
    ($name:ident, $context:ident, $from:expr, $to:expr) => {
        #[device(chip = 1)]
        fn $name(ctx: &mut Context, x: &X, _: &Z) {
            let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
            let w = x.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, 1024);
            loaded!(ctx.main, w, $from);
            let weights = unsafe { Weights::from_addr($from) };
            contracted(ctx, &dm, &weights);
            let stream = ctx.$context.begin(w.view()).fetch::<i8, m![A], m![B]>();
            stream.collect::<m![A, B / 32], m![B % 32]>().to_trf::<m![A], m![B]>($to);
        }
    };
}
reuse!(same_half, sub, TrfAddress::FirstHalf, TrfAddress::FirstHalf); // loaded again
reuse!(whole_over_half, sub, TrfAddress::FirstHalf, TrfAddress::Full); // loaded again
reuse!(half_over_whole, sub, TrfAddress::Full, TrfAddress::FirstHalf); // loaded again
reuse!(other_half, sub, TrfAddress::FirstHalf, TrfAddress::SecondHalf);
reuse!(by_main, main, TrfAddress::FirstHalf, TrfAddress::FirstHalf);

#[device(chip = 1)]
fn known_handle(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let w = x.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, 1024);
    let weights = loaded!(ctx.sub, w, TrfAddress::FirstHalf);
    contracted(ctx, &dm, &weights);
    loaded!(ctx.sub, w, TrfAddress::FirstHalf);
}

#[test]
fn register_reuse() {
    let kind = FaultKind::RegisterReuse;
    check(
        Check::RegisterReuse,
        &[
            flagged(
                "the same half",
                |checks| launched(checks, same_half),
                kind,
                &["loaded again", "contracted"],
                &[
                    "to_trf: register file reused: `sub` writes TrfAddress::FirstHalf (4 rows of 64 bytes) while `main` may \
                     not have finished the contraction that reads TrfAddress::FirstHalf",
                    "because the handle of the earlier operation was made from a bare address",
                    "memory: TRF, bytes 0..64",
                    "help: load the other part of the register file",
                ],
            ),
            flagged(
                "the whole over a half",
                |checks| launched(checks, whole_over_half),
                kind,
                &["loaded again", "contracted"],
                &["`sub` writes TrfAddress::Full"],
            ),
            flagged(
                "a half over the whole",
                |checks| launched(checks, half_over_whole),
                kind,
                &["loaded again", "contracted"],
                &["`sub` writes TrfAddress::FirstHalf", "reads TrfAddress::Full"],
            ),
            fine("the other half", |checks| launched(checks, other_half)),
            fine("by the context that reads", |checks| launched(checks, by_main)),
            fine("through the handle of the load", |checks| launched(checks, known_handle)),
        ],
    );
}
