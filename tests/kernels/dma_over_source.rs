//! A DMA over its own source: refused in every form, but where each byte is written with itself.

use crate::{Cluster, block_on};
use furiosa_visa_std::chip::{Fault, FaultKind};
use furiosa_visa_std::prelude::*;

axes![A = 256, B = 64, S = 256];
type X = HbmTensor<i8, m![1], m![A, B]>;
type D = DmTensor<i8, m![1], Cluster, m![A], m![B]>;

/// Runs a kernel over a tensor at HBM address 4096.
fn run<K>(kernel: K) -> Result<(), Fault>
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X), Output = ()>,
{
    block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i8, m![A, B]>::from_buf((0..256 * 64).map(|k| Opt::Init(k as i8)).collect());
        let x: X = x.to_hbm(&mut ctx.pdma, 4096).await;
        try_launch(kernel, (&mut *ctx, &x)).await
    })
}

macro_rules! moves {
    ($($name:ident: |$ctx:ident, $x:ident, $d:ident| $body:expr;)*) => {
        $(
            #[device(chip = 1)]
            fn $name($ctx: &mut Context, $x: &X) {
                let $d: D = $x.to_dm(&mut $ctx.tdma, 128);
                let _ = &$d;
                let _ = $body;
            }
        )*
    };
}

moves! {
    transposed_in_place: |ctx, x, d| x.to_hbm::<_, m![B, A]>(&mut ctx.tdma, x.address());
    shifted_up: |ctx, x, d| x.to_hbm::<_, m![A, B]>(&mut ctx.tdma, x.address() + 4096);
    shifted_down: |ctx, x, d| x.to_hbm::<_, m![A, B]>(&mut ctx.tdma, x.address() - 1);
    padded_in_place: |ctx, x, d| x.to_hbm::<_, m![A, B # 80]>(&mut ctx.tdma, x.address());
    dm_shifted: |ctx, x, d| d.to_dm::<m![A], m![B]>(&mut ctx.tdma, 160);
    dm_remapped: |ctx, x, d| d.to_dm::<m![A % 128, A / 128], m![B]>(&mut ctx.tdma, d.view().address());
    dm_rows_exchanged: |ctx, x, d| d.to_dm::<m![A], m![B % 8, B / 8]>(&mut ctx.tdma, 128);
    dm_broadcast_up: |ctx, x, d| {
        let row = x.to_dm::<Cluster, m![A / 2 # 256], m![A % 2, B]>(&mut ctx.tdma, 1024);
        row.to_dm::<m![A], m![B]>(&mut ctx.tdma, 1024)
    };

    in_place: |ctx, x, d| x.to_hbm::<_, m![A, B]>(&mut ctx.tdma, x.address());
    behind_itself: |ctx, x, d| x.to_hbm::<_, m![B, A]>(&mut ctx.tdma, x.address() + 256 * 64);
    before_itself: |ctx, x, d| {
        let y = x.to_hbm::<_, m![A, B]>(&mut ctx.tdma, 1 << 20);
        y.to_hbm::<_, m![B, A]>(&mut ctx.tdma, (1 << 20) - 256 * 64)
    };
    dm_in_place: |ctx, x, d| d.to_dm::<m![A], m![B]>(&mut ctx.tdma, d.address());
    dm_beside: |ctx, x, d| d.to_dm::<m![A % 128, A / 128], m![B]>(&mut ctx.tdma, 192);
    another_memory: |ctx, x, d| d.to_hbm::<m![B, A]>(&mut ctx.tdma, 128);
}

/// One slice to all slices, at the same address: the slice gets its own bytes, no other one is read.
#[device(chip = 1)]
fn dm_broadcast_over_itself(ctx: &mut Context, x: &X) {
    let all = x.to_dm::<Cluster, m![1 # 256], m![A, B]>(&mut ctx.tdma, 0);
    let all = all.to_dm::<m![S], m![A, B]>(&mut ctx.tdma, 0);
    let _ = all.to_hbm::<m![S, A, B]>(&mut ctx.tdma, 1 << 20);
}

/// Rows of one tensor lie in the padding of another one.
#[device(chip = 1)]
fn into_its_padding(ctx: &mut Context, x: &X) {
    let wide = x.to_hbm::<_, m![A, B # 128]>(&mut ctx.tdma, 1 << 20);
    let _ = wide.to_hbm::<_, m![A, B # 128]>(&mut ctx.tdma, (1 << 20) + 64);
}

/// As before, one byte into the rows.
#[device(chip = 1)]
fn past_its_padding(ctx: &mut Context, x: &X) {
    let wide = x.to_hbm::<_, m![A, B # 128]>(&mut ctx.tdma, 1 << 20);
    let _ = wide.to_hbm::<_, m![A, B # 128]>(&mut ctx.tdma, (1 << 20) + 63);
}

/// Two elements in a byte, kept together.
#[device(chip = 1)]
fn pairs_reordered(ctx: &mut Context, x: &X) {
    let _ = x;
    #[allow(unsafe_code)] // What is read means nothing.
    let pairs = unsafe { HbmTensor::<i4, m![1], m![A, B]>::from_addr(1 << 20) };
    let _ = pairs.to_hbm::<_, m![B / 2, A, B % 2]>(&mut ctx.tdma, 1 << 20);
}

#[track_caller]
fn refused<K>(kernel: K, parts: &[&str])
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a X), Output = ()>,
{
    let fault = run(kernel).expect_err("it writes over its source");
    let text = fault.to_string();
    assert_eq!(fault.kind, FaultKind::Overwrite, "{text}");
    assert!(fault.location.file().ends_with("dma_over_source.rs"), "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn bytes_that_are_read_are_not_written() {
    refused(
        transposed_in_place,
        &[
            "fault: DMA: source overwritten: byte 4097 is read as i![A: 0, B: 1], position 1 of m![A, B] of the source in HBM \
             4096..20480, and written as i![B: 0, A: 1], position 1 of m![B, A] of the destination",
            "memory: HBM, bytes 4097..4098 of chip 0",
            "element: i![A: 0, B: 1]",
            "help: write to bytes that the move does not read, for example to HBM address 20480 or above",
        ],
    );
    refused(shifted_up, &["byte 8192 is read as i![A: 64, B: 0]", "written as i![A: 0, B: 0]"]);
    refused(shifted_down, &["byte 4096 is read as i![A: 0, B: 0]", "written as i![A: 0, B: 1]"]);
    refused(padded_in_place, &["byte 4176 is read as i![A: 1, B: 16]", "written as i![A: 1, B: 0]"]);
    refused(
        dm_shifted,
        &["byte 160 is read as i![A: 0, B: 32]", "DM, bytes 160..161 of chip 0, cluster 0, slice 0"],
    );
    refused(dm_remapped, &["byte 128 is read as i![A: 1, B: 0]", "written as i![A: 128, B: 0]", "slice 1"]);
    refused(dm_rows_exchanged, &["byte 129 is read as i![A: 0, B: 1]", "written as i![A: 0, B: 8]"]);
    refused(
        dm_broadcast_up,
        &["byte 1024 is read as i![A: 2, B: 0]", "written as i![A: 1, B: 0]", "slice 1"],
    );
    refused(past_its_padding, &["byte 1048639 is read as"]);
    refused(pairs_reordered, &["byte 1048577 is read as i![A: 0, B: 2]", "written as i![B: 0, A: 1]"]);
}

#[test]
fn bytes_may_be_written_with_themselves() {
    run(in_place).unwrap();
    run(behind_itself).unwrap();
    run(before_itself).unwrap();
    run(dm_in_place).unwrap();
    run(dm_beside).unwrap();
    run(another_memory).unwrap();
    run(dm_broadcast_over_itself).unwrap();
    run(into_its_padding).unwrap();
}
