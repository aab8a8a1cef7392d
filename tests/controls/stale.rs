//! Reads of a tensor where another tensor has been written since.

use crate::{A, B, Cluster, DmX, Slice, X, Z, check, fine, flagged, launched};
use furiosa_visa_std::chip::{Check, FaultKind};
use furiosa_visa_std::prelude::*;

type Weights = TrfTensor<i8, m![1], Cluster, Slice, m![A], m![B]>;

fn weights(ctx: &mut Context, x: &X, at: u64, part: TrfAddress) -> Weights {
    let x = x.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, at);
    let stream = ctx.sub.begin(x.view()).fetch::<i8, m![A], m![B]>();
    stream.collect::<m![A, B / 32], m![B % 32]>().to_trf(part) // loaded
}

fn contracted(
    ctx: &mut Context,
    x: &DmX,
    weights: &Weights,
) -> DmTensor<i32, m![1], Cluster, Slice, m![A # 8]> {
    (ctx.main.begin(x.view()).fetch::<i8, m![1], m![B]>())
        .collect::<m![B / 32], m![B % 32]>()
        .align::<m![1], m![B], _, _>(weights)
        .contract::<m![1]>()
        .accumulate::<m![1], m![A # 8]>(AccumulationKind::Interleaved)
        .commit(1 << 16) // contracted
}

#[device(chip = 1)]
fn in_dm(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0); // written first
    let _: DmX = x.to_dm(&mut ctx.tdma, 40); // written over it
    dm.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20); // read
}

#[device(chip = 1)]
fn beside_in_dm(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let _: DmX = x.to_dm(&mut ctx.tdma, 64);
    dm.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
}

#[device(chip = 1)]
fn after_the_read(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    dm.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
    let _: DmX = x.to_dm(&mut ctx.tdma, 40);
}

#[device(chip = 1)]
fn written_again(ctx: &mut Context, x: &X, _: &Z) {
    let mut dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let _: DmX = x.to_dm(&mut ctx.tdma, 40);
    x.view().to_dm_view(&mut ctx.tdma, dm.view_mut());
    dm.to_hbm::<m![A, B]>(&mut ctx.tdma, 1 << 20);
}

#[device(chip = 1)]
fn in_hbm(ctx: &mut Context, x: &X, _: &Z) {
    let copy: X = x.to_hbm::<{ Dma::Tensor }, m![A, B]>(&mut ctx.tdma, 1 << 20); // copied
    x.to_hbm::<{ Dma::Pcie }, m![A, B]>(&mut ctx.pdma, (1 << 20) - 255); // copied over it
    let _: DmX = copy.to_dm(&mut ctx.tdma, 0); // read from HBM
}

#[device(chip = 1)]
fn beside_in_hbm(ctx: &mut Context, x: &X, _: &Z) {
    let copy: X = x.to_hbm::<{ Dma::Tensor }, m![A, B]>(&mut ctx.tdma, 1 << 20);
    x.to_hbm::<{ Dma::Pcie }, m![A, B]>(&mut ctx.pdma, (1 << 20) - 256);
    let _: DmX = copy.to_dm(&mut ctx.tdma, 0);
}

#[device(chip = 1)]
fn by_a_commit(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let other: DmX = x.to_dm(&mut ctx.tdma, 128); // the source
    let stream = ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>().collect::<m![B / 32], m![B % 32]>();
    let _: DmX = stream.commit(184); // committed over it
    let stream = ctx.main.begin(other.view()).fetch::<i8, m![1], m![B]>().collect::<m![B / 32], m![B % 32]>();
    let _: DmX = stream.commit(1024); // fetched
}

#[device(chip = 1)]
fn in_the_trf(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 4096);
    let first = weights(ctx, x, 0, TrfAddress::FirstHalf);
    weights(ctx, x, 512, TrfAddress::Full);
    contracted(ctx, &dm, &first);
}

#[device(chip = 1)]
fn beside_in_the_trf(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 4096);
    let first = weights(ctx, x, 0, TrfAddress::FirstHalf);
    weights(ctx, x, 512, TrfAddress::SecondHalf);
    contracted(ctx, &dm, &first);
}

/// What is in the first half, as if it were `i8`.
#[allow(unsafe_code)] // Bare addresses are the question.
fn bare() -> Weights {
    // SAFETY: no memory of the host is at risk.
    unsafe { Weights::from_addr(TrfAddress::FirstHalf) }
}

/// Loads the first half by the main context, as this type.
macro_rules! loaded_by_main {
    ($ctx:expr, $x:expr, $ty:ty) => {
        let w = $x.to_dm::<Cluster, Slice, m![A, B]>(&mut $ctx.tdma, 0);
        let stream = $ctx.main.begin(w.view()).fetch::<$ty, m![A], m![B]>();
        let _ = stream.collect::<m![A, B / 32], m![B % 32]>().to_trf::<m![A], m![B]>(TrfAddress::FirstHalf);
    };
}

#[device(chip = 1)]
fn of_another_type(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 4096);
    loaded_by_main!(ctx, x, i9); // loaded as i9
    contracted(ctx, &dm, &bare());
}

#[device(chip = 1)]
fn of_the_same_type(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 4096);
    loaded_by_main!(ctx, x, i8);
    contracted(ctx, &dm, &bare());
}

/// Eight bytes of each slice.
macro_rules! tile {
    ($of:expr, $start:expr) => {
        tile!($of, $start, m![1 # 8, B % 8])
    };
    ($of:expr, $start:expr, $element:ty) => {
        $of.tile::<m![B / 8], 1, $element>($start)
    };
}

#[device(chip = 1)]
fn in_a_tile(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0); // written as a whole
    let _: DmX = x.to_dm(&mut ctx.tdma, 40); // written over its end
    let mut copy = x.to_hbm::<{ Dma::Tensor }, m![A, B]>(&mut ctx.tdma, 1 << 20);
    let there = copy.view_mut().tile::<m![B / 8], 1, m![A, 1 # 8, B % 8]>(0);
    tile!(dm.view(), 5).to_hbm_view(&mut ctx.tdma, there); // read in part
}

#[device(chip = 1)]
fn beside_a_tile(ctx: &mut Context, x: &X, _: &Z) {
    let mut copy = x.to_hbm::<{ Dma::Tensor }, m![A, B]>(&mut ctx.tdma, 1 << 20);
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let _: DmX = x.to_dm(&mut ctx.tdma, 40);
    tile!(dm.view(), 4)
        .to_hbm_view(&mut ctx.tdma, copy.view_mut().tile::<m![B / 8], 1, m![A, 1 # 8, B % 8]>(0));
}

/// A tile is written again: the other ones stay lost, and it is there.
#[device(chip = 1)]
fn a_tile_written_again(ctx: &mut Context, x: &X, _: &Z) {
    let mut copy = x.to_hbm::<{ Dma::Tensor }, m![A, B]>(&mut ctx.tdma, 1 << 20);
    let mut dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let _: DmX = x.to_dm(&mut ctx.tdma, 40);
    let first = x.view().tile::<m![B / 8], 1, m![A, 1 # 8, B % 8]>(0);
    first.to_dm_view(&mut ctx.tdma, tile!(dm.view_mut(), 6));
    tile!(dm.view(), 6)
        .to_hbm_view(&mut ctx.tdma, copy.view_mut().tile::<m![B / 8], 1, m![A, 1 # 8, B % 8]>(1));
}

/// Eight bytes in each slice, at this address.
macro_rules! eight_bytes {
    ($ctx:expr, $x:expr, $at:expr) => {
        tile!($x.view(), 0, m![A, 1 # 8, B % 8]).to_dm::<Cluster, Slice, m![B % 8]>(&mut $ctx.tdma, $at)
    };
}

/// Commits rows of 24 bytes, which come in packets of 32, to address 0.
macro_rules! padded_packets {
    ($ctx:expr, $x:expr, $element:ty) => {
        let part = $x.view().tile::<m![B % 32], 24, m![A, B / 32, B % 32 = 24 # 32]>(0);
        let dm = part.to_dm::<Cluster, Slice, m![B / 32, B % 32 = 24 # 32]>(&mut $ctx.tdma, 4096);
        let stream = $ctx.main.begin(dm.view()).fetch::<i8, m![B / 32], m![B % 32 = 24 # 32]>();
        stream.collect::<m![B / 32], m![B % 32 = 24 # 32]>().commit::<$element>(0)
    };
}

#[device(chip = 1)]
fn in_padding_lanes(ctx: &mut Context, x: &X, _: &Z) {
    let other = eight_bytes!(ctx, x, 24); // beside the elements
    padded_packets!(ctx, x, m![B / 32, B % 32 = 24 # 32]); // commits its padding
    other.to_hbm::<m![A, B % 8]>(&mut ctx.tdma, 1 << 20); // read behind the commit
}

#[device(chip = 1)]
fn behind_shorter_packets(ctx: &mut Context, x: &X, _: &Z) {
    let other = eight_bytes!(ctx, x, 48);
    padded_packets!(ctx, x, m![B / 32, B % 32 = 24]);
    other.to_hbm::<m![A, B % 8]>(&mut ctx.tdma, 1 << 20);
}

/// Half of the time steps are padding.
macro_rules! padded_steps {
    ($ctx:expr, $x:expr) => {
        let dm = $x.to_dm::<Cluster, Slice, m![B # 128]>(&mut $ctx.tdma, 4096);
        let stream = $ctx.main.begin(dm.view()).fetch::<i8, m![B # 128 / 32], m![B # 128 % 32]>();
        stream.collect::<m![B # 128 / 32], m![B # 128 % 32]>().commit::<m![B # 128]>(0)
    };
}

#[device(chip = 1)]
fn in_padded_steps(ctx: &mut Context, x: &X, _: &Z) {
    let other = eight_bytes!(ctx, x, 96); // beside the elements
    padded_steps!(ctx, x); // commits its padding
    other.to_hbm::<m![A, B % 8]>(&mut ctx.tdma, 1 << 20); // read behind the commit
}

#[device(chip = 1)]
fn behind_padded_steps(ctx: &mut Context, x: &X, _: &Z) {
    let other = eight_bytes!(ctx, x, 128);
    padded_steps!(ctx, x);
    other.to_hbm::<m![A, B % 8]>(&mut ctx.tdma, 1 << 20);
}

/// A transfer moves no padding.
#[device(chip = 1)]
fn in_the_padding_of_a_transfer(ctx: &mut Context, x: &X, _: &Z) {
    let other = eight_bytes!(ctx, x, 96);
    x.to_dm::<Cluster, Slice, m![B # 128]>(&mut ctx.tdma, 0);
    other.to_hbm::<m![A, B % 8]>(&mut ctx.tdma, 1 << 20);
}

#[test]
fn controls() {
    check(
        Check::StaleReads,
        &[
            flagged(
                "written over in DM",
                |checks| launched(checks, in_dm),
                FaultKind::StaleRead,
                &["read", "written first", "written over it"],
                &[
                    "DMA: stale read: the tensor in DM 0..64 that is read here lost bytes 40..64 to the tensor in DM \
                     40..104 that was written over them",
                    "memory: DM, bytes 40..64 of chip 0, cluster 0, slice 0",
                    "element: i![A: 0, B: 40], position 40 of m![B]",
                ],
            ),
            flagged(
                "written over in HBM, by one byte",
                |checks| launched(checks, in_hbm),
                FaultKind::StaleRead,
                &["read from HBM", "copied", "copied over it"],
                &["HBM, bytes 1048576..1048577 of chip 0", "element: i![A: 0, B: 0], position 0 of m![A, B]"],
            ),
            flagged(
                "committed over",
                |checks| launched(checks, by_a_commit),
                FaultKind::StaleRead,
                &["fetched", "the source", "committed over it"],
                &["fetch: stale read", "bytes 184..192", "element: i![A: 0, B: 56]"],
            ),
            flagged(
                "a half of the TRF under the whole",
                |checks| launched(checks, in_the_trf),
                FaultKind::StaleRead,
                &["contracted", "loaded", "loaded"],
                &[
                    "contraction: stale read: the tensor in TrfAddress::FirstHalf",
                    "to a tensor in TrfAddress::Full",
                    "memory: TRF, bytes 0..",
                    "element: i![A: 0, B: 0], position 0 of m![B]",
                ],
            ),
            flagged(
                "a tile of what is gone",
                |checks| launched(checks, in_a_tile),
                FaultKind::StaleRead,
                &["read in part", "written as a whole", "written over its end"],
                &[
                    "the tensor in DM 40..48, a tile of the one in 0..64 that is read here lost bytes 40..48",
                    "memory: DM, bytes 40..48 of chip 0, cluster 0, slice 0",
                ],
            ),
            flagged(
                "in the padding of a commit's packets",
                |checks| launched(checks, in_padding_lanes),
                FaultKind::StaleRead,
                &["read behind the commit", "beside the elements", "commits its padding"],
                &["the tensor in DM 24..32 that is read here lost bytes 24..32 to the tensor in DM 0..64"],
            ),
            flagged(
                "in the padded time steps of a commit",
                |checks| launched(checks, in_padded_steps),
                FaultKind::StaleRead,
                &["read behind the commit", "beside the elements", "commits its padding"],
                &["the tensor in DM 96..104 that is read here lost bytes 96..104 to the tensor in DM 0..128"],
            ),
            flagged(
                "registers of another type",
                |checks| launched(checks, of_another_type),
                FaultKind::StaleRead,
                &["contracted", "loaded as i9"],
                &[
                    "contraction: stale read: the handle of a bare address reads TrfAddress::FirstHalf as i8, but bytes 0..",
                    "were loaded as i9",
                    "help: read the tensor with the type i9, or load it again as i8",
                    "it was loaded here",
                ],
            ),
            fine("registers of the same type", |checks| launched(checks, of_the_same_type)),
            fine("behind packets without padding", |checks| launched(checks, behind_shorter_packets)),
            fine("behind padded time steps", |checks| launched(checks, behind_padded_steps)),
            fine("in the padding of a transfer", |checks| launched(checks, in_the_padding_of_a_transfer)),
            fine("a tile of what is left", |checks| launched(checks, beside_a_tile)),
            fine("a tile that was written again", |checks| launched(checks, a_tile_written_again)),
            fine("beside it in DM", |checks| launched(checks, beside_in_dm)),
            fine("over it after the read", |checks| launched(checks, after_the_read)),
            fine("over it, and then it again", |checks| launched(checks, written_again)),
            fine("beside it in HBM", |checks| launched(checks, beside_in_hbm)),
            fine("in the other half of the TRF", |checks| launched(checks, beside_in_the_trf)),
        ],
    );
}
