//! A tensor begins uninitialised, whatever its bytes held: elements that its first write leaves out are nobody's.

use crate::{A, B, Cluster, DmX, Slice, X, Z, block_on, context, fine, flagged, launched};
use furiosa_visa_std::chip::{Addresses, Check, CheckOptions, FaultKind, FreshMemory};
use furiosa_visa_std::prelude::*;

type DmZ = DmTensor<i32, m![1], Cluster, Slice, m![B]>;
type Half = m![B / 8 = 4 # 8, B % 8];

/// The bytes of a tensor that was here, in DM from address 0 on.
macro_rules! older {
    ($ctx:expr, $x:expr) => {
        drop($x.to_dm::<Cluster, Slice, m![B]>(&mut $ctx.tdma, 0));
    };
}

/// Computes with all of a tensor.
macro_rules! widened {
    ($ctx:expr, $dm:expr) => {
        $ctx.main.begin($dm.view()).fetch::<i32, m![B / 8], m![B % 8]>().collect::<m![B / 8], m![B % 8]>()
    };
}

#[device(chip = 1)]
fn elements_from_hbm(ctx: &mut Context, x: &X, _: &Z) {
    older!(ctx, x);
    let part = x.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(0);
    let dm: DmX = part.to_dm(&mut ctx.tdma, 0); // half of each row
    let _: DmZ = widened!(ctx, dm).commit(1024); // widened
}

#[device(chip = 1)]
fn slices_from_hbm(ctx: &mut Context, x: &X, _: &Z) {
    older!(ctx, x);
    let part = x.view().tile::<m![A], 2, m![A = 2 # 4, B]>(0);
    let dm: DmX = part.to_dm(&mut ctx.tdma, 0); // two rows
    let _: DmZ = widened!(ctx, dm).commit(1024); // widened
}

#[device(chip = 1)]
fn elements_inside_dm(ctx: &mut Context, x: &X, _: &Z) {
    older!(ctx, x);
    let part = x.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(0);
    let half = part.to_dm::<Cluster, Slice, Half>(&mut ctx.tdma, 4096);
    let dm: DmX = half.to_dm(&mut ctx.tdma, 0); // half of each row
    let _: DmZ = widened!(ctx, dm).commit(1024); // widened
}

/// Over the bytes of its own source, of which it takes what it needs first.
#[device(chip = 1)]
fn over_its_source(ctx: &mut Context, x: &X, _: &Z) {
    older!(ctx, x);
    let part = x.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(0);
    let half = part.to_dm::<Cluster, Slice, Half>(&mut ctx.tdma, 0);
    let dm: DmX = half.to_dm(&mut ctx.tdma, 0); // half of each row
    let _: DmZ = widened!(ctx, dm).commit(1024); // widened
}

#[device(chip = 1)]
fn inside_hbm(ctx: &mut Context, x: &X, _: &Z) {
    drop(x.to_hbm::<{ Dma::Tensor }, m![A, B]>(&mut ctx.tdma, 1 << 20));
    let part = x.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(0);
    let mut there = part.to_hbm::<{ Dma::Tensor }, m![A, B]>(&mut ctx.tdma, 1 << 20);
    let _ = there.view_mut();
    let dm: DmX = there.to_dm(&mut ctx.tdma, 0); // all of it
    let _: DmZ = widened!(ctx, dm).commit(1024); // widened
}

/// The operand has all of `B`; of its second half nobody wrote anything.
#[device(chip = 1)]
fn operands(ctx: &mut Context, _: &X, z: &Z) {
    let all: DmZ = z.to_dm(&mut ctx.tdma, 0);
    let wide = |ctx: &mut Context| {
        let stream = ctx.sub.begin(all.view()).fetch::<i32, m![B / 8], m![B % 8]>();
        drop(stream.collect::<m![B / 8], m![B % 8]>().to_vrf::<m![B]>(0));
    };
    wide(ctx);
    let part = z.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(0);
    let half = part.to_dm::<Cluster, Slice, m![B / 8 = 4, B % 8]>(&mut ctx.tdma, 1024);
    let stream = ctx.sub.begin(half.view()).fetch::<i32, m![B / 8 = 4], m![B % 8]>();
    let operand = stream.collect::<m![B / 8 = 4], m![B % 8]>().to_vrf::<m![B]>(0); // half of it
    let stream = ctx.main.begin(all.view()).fetch::<i32, m![B / 8], m![B % 8]>();
    let _: DmZ = (stream.collect::<m![B / 8], m![B % 8]>().vector_init())
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp(FxpBinaryOp::AddFxp, &operand)
        .vector_final()
        .commit(2048); // added
}

/// All of it is written, in two steps.
#[device(chip = 1)]
fn the_rest_by_a_view(ctx: &mut Context, x: &X, _: &Z) {
    older!(ctx, x);
    let part = x.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(0);
    let mut dm: DmX = part.to_dm(&mut ctx.tdma, 0);
    let rest = x.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(4);
    rest.to_dm_view(&mut ctx.tdma, dm.view_mut().tile::<m![B / 8], 4, Half>(4));
    let _: DmZ = widened!(ctx, dm).commit(1024);
}

/// A view keeps the rest of its tensor.
#[device(chip = 1)]
fn a_view_of_all(ctx: &mut Context, x: &X, _: &Z) {
    let mut dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let part = x.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(0);
    part.to_dm_view(&mut ctx.tdma, dm.view_mut().tile::<m![B / 8], 4, Half>(4));
    let _: DmZ = widened!(ctx, dm).commit(1024);
}

/// A new tensor, of which a view of all of it gets a part.
#[device(chip = 1)]
fn part_by_a_view_of_all(ctx: &mut Context, x: &X, _: &Z) {
    let mut dm: DmX = DmTensor::new(ctx);
    let part = x.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(0);
    part.to_dm_view(&mut ctx.tdma, dm.view_mut()); // half of each row
    let _: DmZ = widened!(ctx, dm).commit(1 << 16); // widened
}

/// What is used was written.
#[device(chip = 1)]
fn only_the_part(ctx: &mut Context, x: &X, _: &Z) {
    older!(ctx, x);
    let part = x.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(0);
    let dm: DmX = part.to_dm(&mut ctx.tdma, 0);
    let tile = dm.view().tile::<m![B / 8], 4, Half>(0);
    let stream = ctx.main.begin(tile).fetch::<i32, m![B / 8 = 4], m![B % 8]>();
    stream.collect::<m![B / 8 = 4], m![B % 8]>().commit::<m![B / 8 = 4, B % 8]>(1024);
}

/// A transfer moves no padding: what lies there stays.
#[device(chip = 1)]
fn padding_keeps_its_bytes(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 64);
    let part = x.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(0);
    part.to_dm::<Cluster, Slice, m![B / 8 = 4 # 16, B % 8]>(&mut ctx.tdma, 0);
    let _: DmZ = widened!(ctx, dm).commit(1024);
}

#[test]
fn controls() {
    let kind = FaultKind::Uninitialised;
    let began = &["which nobody wrote: DMA wrote other elements of the tensor only"];
    crate::check(
        Check::Uninitialised,
        &[
            flagged(
                "elements from HBM",
                |c| launched(c, elements_from_hbm),
                kind,
                &["widened", "half of each row"],
                began,
            ),
            flagged(
                "slices from HBM",
                |c| launched(c, slices_from_hbm),
                kind,
                &["widened", "two rows"],
                began,
            ),
            flagged(
                "elements inside of DM",
                |c| launched(c, elements_inside_dm),
                kind,
                &["widened", "half of each row"],
                began,
            ),
            flagged(
                "over its source",
                |c| launched(c, over_its_source),
                kind,
                &["widened", "half of each row"],
                began,
            ),
            flagged(
                "inside of HBM",
                |c| launched(c, inside_hbm),
                kind,
                &["widened", "all of it"],
                &["which DMA copied from HBM 1048576..1048832, where it was uninitialised"],
            ),
            flagged(
                "an operand",
                |c| launched(c, operands),
                kind,
                &["added", "half of it"],
                &["which nobody wrote: to_vrf wrote other elements of the tensor only"],
            ),
            flagged(
                "part by a view of all",
                |checks| launched(checks, part_by_a_view_of_all),
                kind,
                &["widened", "half of each row"],
                began,
            ),
            fine("the rest by a view", |c| launched(c, the_rest_by_a_view)),
            fine("a view of all", |c| launched(c, a_view_of_all)),
            fine("only the part", |c| launched(c, only_the_part)),
            fine("padding keeps its bytes", |c| launched(c, padding_keeps_its_bytes)),
        ],
    );
}

/// The fault says the same in fresh memory, over older bytes, and where each tensor has bytes of its own.
#[test]
fn the_fault_does_not_depend_on_older_bytes() {
    #[device(chip = 1)]
    fn in_fresh_memory(ctx: &mut Context, x: &X, _: &Z) {
        let part = x.view().tile::<m![B / 8], 4, m![A, B / 8 = 4 # 8, B % 8]>(0);
        let dm: DmX = part.to_dm(&mut ctx.tdma, 0);
        let _: DmZ = widened!(ctx, dm).commit(1024);
    }
    let message =
        |result: Result<(), furiosa_visa_std::chip::Fault>| result.expect_err("half is missing").message;
    let fresh = message(launched(CheckOptions::ALL, in_fresh_memory));
    assert!(fresh.contains("DMA wrote other elements of the tensor only"), "{fresh}");
    assert_eq!(fresh, message(launched(CheckOptions::ALL, elements_from_hbm)));
}

/// What the host reads is uninitialised, not what lay there.
#[test]
fn uploads_and_downloads() {
    for (addresses, fresh_memory) in [
        (Addresses::AsGiven, FreshMemory::Poison),
        (Addresses::AsGiven, FreshMemory::Zero),
        (Addresses::Separate, FreshMemory::Random),
    ] {
        block_on(async {
            let options = SimOptions { addresses, fresh_memory, ..SimOptions::default() };
            let mut ctx = Context::with(options);
            let all = |start: i32| (0..256).map(|k| Opt::Init((start + k % 100) as i8)).collect::<Vec<_>>();
            let old = HostTensor::<i8, m![A, B]>::from_buf(all(0))
                .to_hbm::<m![1], m![A, B]>(&mut ctx.pdma, 0)
                .await;
            drop(old);
            let half = HostTensor::<i8, m![A, B / 8 = 4, B % 8]>::from_buf(all(20)[..128].to_vec());
            let new = half.to_hbm::<m![1], m![A, B]>(&mut ctx.pdma, 0).await;
            let found = new.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf();
            for (k, value) in found.into_iter().enumerate() {
                let (a, b) = (k / 64, k % 64);
                let expected = if b < 32 { Opt::Init((20 + (a * 32 + b) % 100) as i8) } else { Opt::Uninit };
                assert_eq!(value, expected, "{a}, {b}: {addresses}");
            }
        });
    }
}

/// Rows for which the index has no number.
#[test]
fn gathered_rows() {
    axes![R = 4];
    #[device(chip = 1)]
    fn kernel(ctx: &mut Context, table: &X, ids: &HbmTensor<i32, m![1], m![R = 2]>) -> X {
        older!(ctx, table);
        let rows = table.dma_gather_rows::<Cluster, m![R # 256], m![B], _>(&mut ctx.tdma, ids, 0);
        let out: HbmTensor<i8, m![1], m![R, B]> = rows.to_hbm(&mut ctx.tdma, 1 << 20);
        out.relabel()
    }
    block_on(async {
        let mut ctx = context(CheckOptions::ALL);
        let values: Vec<Opt<i8>> = (0..256).map(|k| Opt::Init((k % 100) as i8)).collect();
        let table: X = HostTensor::<i8, m![A, B]>::from_buf(values.clone()).to_hbm(&mut ctx.pdma, 0).await;
        let ids = HostTensor::<i32, m![R = 2]>::from_buf(vec![Opt::Init(3), Opt::Init(1)]);
        let ids = ids.to_hbm(&mut ctx.pdma, 4096).await;
        let found =
            launch(kernel, (&mut *ctx, &table, &ids)).await.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf();
        assert_eq!(found[..64], values[192..]);
        assert_eq!(found[64..128], values[64..128]);
        assert!(found[128..].iter().all(|value| *value == Opt::Uninit));
    });
}

/// Two elements of 4 bits share a byte, and its mark.
#[test]
fn halves_of_a_byte() {
    axes![P = 4, S = 4];
    block_on(async {
        let mut ctx = context(CheckOptions::ALL);
        let three = |count: usize| (0..count).map(|_| Opt::Init(i4::from_i32(3))).collect::<Vec<_>>();
        drop(
            HostTensor::<i4, m![P, S]>::from_buf(three(16)).to_hbm::<m![1], m![P, S]>(&mut ctx.pdma, 0).await,
        );
        let even = HostTensor::<i4, m![P, S = 2]>::from_buf(three(8));
        let even = even.to_hbm::<m![1], m![P, S]>(&mut ctx.pdma, 0).await;
        let found = even.to_host::<m![P, S]>(&mut ctx.pdma).await.to_buf();
        assert!(
            found.iter().enumerate().all(|(k, value)| (*value == Opt::Uninit) == (k % 4 > 1)),
            "{found:?}"
        );
        let padded = HostTensor::<i4, m![P, S = 3]>::from_buf(three(12));
        padded.to_hbm::<m![1], m![P, S = 3 # 4]>(&mut ctx.pdma, 0).await;
    });
    let odd = std::panic::catch_unwind(|| {
        block_on(async {
            let mut ctx = context(CheckOptions::ALL);
            let host = HostTensor::<i4, m![P, S = 3]>::from_buf(
                (0..12).map(|_| Opt::Init(i4::from_i32(5))).collect(),
            );
            host.to_hbm::<m![1], m![P, S]>(&mut ctx.pdma, 0).await;
        });
    });
    let message = *odd.expect_err("half a byte is left out").downcast::<String>().expect("it is a message");
    assert!(
        message.contains("element 3 of the new tensor in HBM 0..8 shares a byte with one that is written"),
        "{message}"
    );
}
