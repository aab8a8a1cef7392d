//! Tiles of tensors: read, written and cut again where they lie.

use crate::replay::{in_other_orders, kept};
use crate::{Cluster, assert_same, block_on, init, panic_message};
use furiosa_visa_std::prelude::*;

axes![G = 2, K = 24, S = 256, B = 64, Q = 4, P = 8, R = 5, C = 2, N = 4];

fn bytes(count: usize) -> Vec<i8> {
    (0..count).map(|k| crate::code(5, k) as i8).collect()
}

/// The elements of a tensor of mapping `Math` after a kernel, from those before it.
fn run<F, In: M, Out: M>(kernel: F, values: &[i8]) -> Vec<Opt<i8>>
where
    F: FnOnce(&mut Context, &HbmTensor<i8, m![1], In>) -> HbmTensor<i8, m![1], Out>,
{
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, In>::from_buf(init(values));
    let x = block_on(host.to_hbm::<m![1], In>(&mut ctx.pdma, 0));
    let y = kernel(&mut ctx, &x);
    block_on(y.to_host::<Out>(&mut ctx.pdma)).to_buf()
}

/// Five values of an inner axis, and the tiles of tiles of it.
#[test]
fn tiles_of_hbm() {
    let values = bytes(48);
    for start in [0, 3, 19] {
        let found = run::<_, m![G, K], m![G, K = 5 # 24]>(
            |ctx, x| {
                let tile = x.view().tile::<m![K], 5, m![G, K = 5 # 24]>(start);
                assert_eq!(tile.address(), x.address());
                tile.to_hbm(&mut ctx.tdma, 1 << 20)
            },
            &values,
        );
        let expected: Vec<i8> = (0..10).map(|k| values[k / 5 * 24 + start + k % 5]).collect();
        assert_same(&found, &expected);
    }
    let found = run::<_, m![G, K], m![G, K % 4]>(
        |ctx, x| {
            let view = x.view();
            let pair = view.tile::<m![K / 4], 2, m![G, K / 4 = 2 # 6, K % 4]>(3);
            pair.tile::<m![K / 4 = 2], 1, m![G, 1 # 6, K % 4]>(1).to_hbm(&mut ctx.tdma, 1 << 20)
        },
        &values,
    );
    let expected: Vec<i8> = (0..8).map(|k| values[k / 4 * 24 + 16 + k % 4]).collect();
    assert_same(&found, &expected);
}

/// The first `ROWS` values of the inner axis.
fn head<const ROWS: usize>(values: &[i8]) {
    let found = run::<_, m![G, K], m![G, K = { ROWS } # 24]>(
        |ctx, x| {
            let tile = x.view().tile::<m![K], ROWS, m![G, K = { ROWS } # 24]>(24 - ROWS);
            tile.to_hbm(&mut ctx.tdma, 1 << 20)
        },
        values,
    );
    let expected: Vec<i8> = (0..2 * ROWS).map(|k| values[k / ROWS * 24 + 24 - ROWS + k % ROWS]).collect();
    assert_same(&found, &expected);
}

/// A pass over rows in packets of a size that the caller chooses.
fn in_packets_of<const BYTES: usize>(values: &[i8]) -> u64 {
    let mut cycles = 0;
    let found = run::<_, m![S, B], m![S, B]>(
        |ctx, x| {
            let x = x.to_dm::<Cluster, m![S], m![B]>(&mut ctx.tdma, 0);
            let y = (ctx.main.begin(x.view()).fetch::<i8, m![B / { BYTES }], m![B % { BYTES }]>())
                .collect::<m![B / { BYTES }], m![B % { BYTES } # 32]>()
                .commit::<m![B]>(4096);
            let y = y.to_hbm(&mut ctx.tdma, 1 << 20);
            cycles = ctx
                .report()
                .records
                .iter()
                .find(|record| record.operation == "commit")
                .expect("ran")
                .cycles();
            y
        },
        values,
    );
    assert_same(&found, values);
    cycles
}

/// One function for all sizes: constants in braces.
#[test]
fn sizes_of_tiles_and_packets_are_parameters() {
    let values = bytes(256 * 64);
    head::<1>(&values[..48]);
    head::<5>(&values[..48]);
    head::<24>(&values[..48]);
    let cycles = [in_packets_of::<8>(&values), in_packets_of::<16>(&values), in_packets_of::<32>(&values)];
    assert!(cycles.is_sorted_by(|a, b| a > b), "{cycles:?}");
}

#[test]
fn a_tile_comes_to_the_host_and_gets_what_another_one_has() {
    let values = bytes(48);
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, m![G, K]>::from_buf(init(&values));
    let mut x = block_on(host.to_hbm::<m![1], m![G, K]>(&mut ctx.pdma, 0));
    let y = block_on(host.to_hbm::<m![1], m![G, K]>(&mut ctx.pdma, 1 << 20));
    let second = y.view().tile::<m![G], 1, m![1 # 2, K]>(1);
    let row = block_on(second.clone().to_host::<m![K]>(&mut ctx.pdma)).to_buf();
    assert_same(&row, &values[24..]);
    second.to_hbm_view(&mut ctx.tdma, x.view_mut().tile::<m![G], 1, m![1 # 2, K]>(0));
    let x = block_on(x.to_host::<m![G, K]>(&mut ctx.pdma)).to_buf();
    assert_same(&x, &[&values[24..], &values[24..]].concat());
}

#[device(chip = 1)]
fn slices(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, B]>) -> HbmTensor<i8, m![1], m![S / 64, B]> {
    let x = x.to_dm::<Cluster, m![S], m![B]>(&mut ctx.tdma, 0);
    let mut y = DmTensor::<i8, m![1], Cluster, m![1 # 64, S / 64], m![B]>::reserved(4096);
    for row in 0..4 {
        // Slice `64 * row + 5` to slice `row`.
        let from = x.view().slice_tile::<m![S], 1, m![1 # 256]>(64 * row + 5);
        let mut all = y.view_mut();
        from.to_dm_view(&mut ctx.tdma, all.slice_tile::<m![S / 64], 1, m![1 # 256]>(row));
    }
    y.to_hbm(&mut ctx.tdma, 1 << 20)
}

trait Reserved {
    fn reserved(address: Address) -> Self;
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> Reserved
    for DmTensor<D, Chip, Cluster, Slice, Element>
{
    #[allow(unsafe_code)] // It is written before it is read.
    fn reserved(address: Address) -> Self {
        unsafe { DmTensor::from_addr(address) }
    }
}

#[test]
fn tiles_of_slices() {
    let values = bytes(256 * 64);
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, m![S, B]>::from_buf(init(&values));
    let found = block_on(async {
        let x = host.to_hbm::<m![1], m![S, B]>(&mut ctx.pdma, 0).await;
        let y = launch(slices, (&mut *ctx, &x)).await;
        y.to_host::<m![S / 64, B]>(&mut ctx.pdma).await.to_buf()
    });
    let expected: Vec<i8> = (0..4).flat_map(|row| values[(64 * row + 5) * 64..][..64].to_vec()).collect();
    assert_same(&found, &expected);
}

/// Loads go into one half while the other half is fetched and committed, all through tiles of two tensors.
#[device(chip = 1)]
fn double_buffered(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![Q, S, B]>,
) -> HbmTensor<i8, m![1], m![Q, S, B]> {
    let mut buffer = DmTensor::<i8, m![1], Cluster, m![S], m![G, B]>::reserved(0);
    let mut out = DmTensor::<i8, m![1], Cluster, m![S], m![Q, B]>::reserved(1024);
    for q in 0..4 {
        let part = x.view().tile::<m![Q], 1, m![1 # 4, S, B]>(q);
        part.to_dm_view(&mut ctx.tdma, buffer.view_mut().tile::<m![G], 1, m![1 # 2, B]>(q % 2));
        let half = buffer.view().tile::<m![G], 1, m![1 # 2, B]>(q % 2);
        ctx.main
            .begin(half)
            .fetch::<i8, m![1], m![B]>()
            .collect::<m![B / 32], m![B % 32]>()
            .commit_view(out.view_mut().tile::<m![Q], 1, m![1 # 4, B]>(q));
    }
    out.to_hbm(&mut ctx.tdma, 1 << 24)
}

#[test]
fn double_buffering_in_every_order() {
    let values = bytes(4 * 256 * 64);
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, m![Q, S, B]>::from_buf(init(&values));
    let x = block_on(host.to_hbm::<m![1], m![Q, S, B]>(&mut ctx.pdma, 0));
    let (y, commands) = kept(&mut ctx, |ctx| block_on(launch(double_buffered, (ctx, &x))));
    // A load overlaps with the pass that uses the other half.
    let records: Vec<_> =
        ctx.report().records.iter().map(|record| (record.operation, record.start, record.end)).collect();
    let load = records.iter().filter(|record| record.0 == "to_dm").nth(1).expect("four loads");
    let pass = records.iter().find(|record| record.0 == "commit").expect("four passes");
    assert!(load.1 < pass.2, "{records:?}");
    let orders = in_other_orders(&mut ctx, &commands, |ctx, _| {
        assert_same(&block_on(y.to_host::<m![Q, S, B]>(&mut ctx.pdma)).to_buf(), &values);
    });
    assert!(orders > 3, "{orders}");
}

/// The least number of bytes of a packet goes into a tile: 8 of 32.
#[device(chip = 1)]
fn committed_rows(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![S, P]>,
) -> HbmTensor<i8, m![1], m![S, Q, P]> {
    let x = x.to_dm::<Cluster, m![S], m![P]>(&mut ctx.tdma, 0);
    let mut out = DmTensor::<i8, m![1], Cluster, m![S], m![Q, P]>::reserved(1024);
    for q in [2, 0, 3, 1] {
        ctx.main
            .begin(x.view())
            .fetch::<i8, m![1], m![P]>()
            .collect::<m![1], m![P # 32]>()
            .commit_view(out.view_mut().tile::<m![Q], 1, m![1 # 4, P]>(q));
    }
    out.to_hbm(&mut ctx.tdma, 1 << 24)
}

#[test]
fn a_commit_writes_no_other_tile() {
    let values = bytes(256 * 8);
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, m![S, P]>::from_buf(init(&values));
    let found = block_on(async {
        let x = host.to_hbm::<m![1], m![S, P]>(&mut ctx.pdma, 0).await;
        let y = launch(committed_rows, (&mut *ctx, &x)).await;
        y.to_host::<m![S, Q, P]>(&mut ctx.pdma).await.to_buf()
    });
    let expected: Vec<i8> = (0..256 * 32).map(|k| values[k / 32 * 8 + k % 8]).collect();
    assert_same(&found, &expected);
}

#[test]
fn starts_at_the_end_and_behind_it() {
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, m![G, K]>::from_buf(init(&bytes(48)));
    let x = block_on(host.to_hbm::<m![1], m![G, K]>(&mut ctx.pdma, 0));
    let tile = |start| x.view().tile::<m![K], 5, m![G, K = 5 # 24]>(start);
    tile(19);
    let message = panic_message(|| tile(20));
    assert!(
        message.contains("a tile of 5 of `m![K]` starts at 20, but ends behind its 24 positions")
            && message.contains("the highest start is 19"),
        "{message}"
    );
    assert!(panic_message(|| tile(usize::MAX)).contains("the highest start is 19"));
    let padded = block_on(host.to_hbm::<m![1], m![G, K # 32]>(&mut ctx.pdma, 4096));
    let one = |start| padded.view().tile::<m![K # 32], 1, m![G, 1 # 32]>(start);
    one(23);
    assert!(panic_message(|| one(24)).contains("the highest start is 23"));
}

/// What a kernel that is given a tensor of rows says.
fn fault<K>(kernel: K) -> String
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a HbmTensor<i8, m![1], m![S, B]>), Output = ()>,
{
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, m![S, B]>::from_buf(init(&bytes(256 * 64)));
    block_on(async {
        let x = host.to_hbm::<m![1], m![S, B]>(&mut ctx.pdma, 0).await;
        try_launch(kernel, (&mut *ctx, &x)).await.expect_err("it is refused").to_string()
    })
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

/// Rows of 5 bytes: 8 bytes of the last one reach into the next tile.
#[device(chip = 1)]
fn narrow_rows(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, B]>) {
    let x = x.to_dm::<Cluster, m![S], m![B]>(&mut ctx.tdma, 0);
    let x = x.view().tile::<m![B], 5, m![B = 5 # 64]>(0);
    let mut out = DmTensor::<i8, m![1], Cluster, m![S], m![B = 5 # 64]>::reserved(1024);
    let mut rows = DmTensor::<i8, m![1], Cluster, m![S], m![B]>::reserved(2048);
    // The padding behind a whole tensor of 5 elements is its own, that of a tile is not.
    let stream = ctx.main.begin(x.clone()).fetch::<i8, m![1], m![B = 5 # 8]>();
    stream.collect::<m![1], m![B = 5 # 32]>().commit_view(out.view_mut());
    let stream = ctx.main.begin(x).fetch::<i8, m![1], m![B = 5 # 8]>();
    let stream = stream.collect::<m![1], m![B = 5 # 32]>();
    stream.commit_view(rows.view_mut().tile::<m![B], 5, m![B = 5 # 64]>(8));
}

#[test]
fn a_commit_that_would_write_beside_its_tile() {
    says(
        &fault(narrow_rows),
        &[
            "commit: refused: a packet writes 8 bytes",
            "there is i![S: 0, B: 13]",
            "help: pad the rows of the tensor to multiples of 8 bytes",
        ],
    );
}

#[device(chip = 1)]
fn odd_start(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, B]>) {
    let x = x.to_dm::<Cluster, m![S], m![B]>(&mut ctx.tdma, 0);
    let mut out = DmTensor::<i8, m![1], Cluster, m![S], m![B]>::reserved(1024);
    let stream = ctx.main.begin(x.view().tile::<m![B], 8, m![B = 8 # 64]>(3)).fetch::<i8, m![1], m![B = 8]>();
    stream
        .collect::<m![1], m![B = 8 # 32]>()
        .commit_view(out.view_mut().tile::<m![B], 8, m![B = 8 # 64]>(12));
}

#[device(chip = 1)]
fn other_slices(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, B]>) {
    let x = x.to_dm::<Cluster, m![S], m![B]>(&mut ctx.tdma, 0);
    let tile = |start| x.view().slice_tile::<m![S / 64], 1, m![1 # 4, S % 64]>(start);
    let stream = ctx.main.begin(tile(0)).fetch::<i8, m![1], m![B]>();
    stream.collect::<m![B / 32], m![B % 32]>().commit::<m![B]>(4096);
    let _ = ctx.main.begin(tile(2));
}

/// 4 bytes of each row: HBM is read and DM is written in units of 8.
#[device(chip = 1)]
fn narrow_transfer(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![S, B]>) {
    let mut out = DmTensor::<i8, m![1], Cluster, m![S], m![B]>::reserved(0);
    let from = x.view().tile::<m![B], 12, m![S, B = 12 # 64]>(8);
    from.to_dm_view(&mut ctx.tdma, out.view_mut().tile::<m![B], 12, m![B = 12 # 64]>(16));
}

#[test]
fn starts_that_engines_do_not_have() {
    says(
        &fault(odd_start),
        &[
            "commit: refused: the tile starts 12 bytes behind the start of its tensor, at address 1036",
            "pad the rows",
        ],
    );
    says(
        &fault(other_slices),
        &[
            "begin: refused: the tile lies from slice 128 on of its tensor",
            "help: move it first with `.to_dm_view(…)`",
        ],
    );
    says(
        &fault(narrow_transfer),
        &[
            "to_dm: refused: a transfer from HBM writes multiples of 8 bytes",
            "i![S: 0, B: 28]",
            "help: pad the innermost axis",
        ],
    );
}

/// The sub context copies tiles, shuffles take them, and one cluster gets a tile of the other one.
#[device(chip = 1)]
fn copies(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![C, S, B]>,
) -> (HbmTensor<i8, m![1], m![S, B]>, HbmTensor<i8, m![1], m![S, B / 8 = 2, B % 8]>) {
    let d = x.to_dm::<m![C], m![S], m![B]>(&mut ctx.tdma, 0);
    let mut there = DmTensor::<i8, m![1], Cluster, m![S], m![B]>::reserved(1024);
    let second = d.view().cluster_tile::<m![C], 1, m![1 # 2]>(1);
    second.to_dm_view(&mut ctx.tdma, there.view_mut());
    let mut parts = DmTensor::<i8, m![1], Cluster, m![S], m![B / 8, B % 8]>::reserved(2048);
    let pair = there.view().tile::<m![B / 8], 2, m![B / 8 = 2 # 8, B % 8]>(5);
    pair.to_dm_view_pcopy(&mut ctx.sub, parts.view_mut().tile::<m![B / 8], 2, m![B / 8 = 2 # 8, B % 8]>(1));
    let pair = parts.view().tile::<m![B / 8], 2, m![B / 8 = 2 # 8, B % 8]>(1);
    let pair = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(pair, &[0, 1]);
    (there.to_hbm(&mut ctx.tdma, 1 << 24), pair.to_hbm(&mut ctx.tdma, 1 << 25))
}

#[test]
fn copies_of_tiles() {
    let values = bytes(2 * 256 * 64);
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, m![C, S, B]>::from_buf(init(&values));
    let (all, part) = block_on(async {
        let x = host.to_hbm::<m![1], m![C, S, B]>(&mut ctx.pdma, 0).await;
        let (all, part) = launch(copies, (&mut *ctx, &x)).await;
        let all = all.to_host::<m![S, B]>(&mut ctx.pdma).await.to_buf();
        (all, part.to_host::<m![S, B / 8 = 2, B % 8]>(&mut ctx.pdma).await.to_buf())
    });
    let second = &values[256 * 64..];
    assert_same(&all, second);
    let expected: Vec<i8> = (0..256 * 16).map(|k| second[k / 16 * 64 + 40 + k % 16]).collect();
    assert_same(&part, &expected);
}

/// The chips of a tensor by `chip_tile`, as a shuffle would have them.
#[device(chip = 4)]
fn rotated(ctx: &mut Context, x: &HbmTensor<i8, m![N], m![B]>, y: &mut HbmTensor<i8, m![N], m![B]>) {
    for chip in 0..4 {
        let from = x.view().chip_tile::<m![N], 1, m![1 # 4]>((chip + 1) % 4);
        from.to_hbm_view(&mut ctx.tdma, y.view_mut().chip_tile::<m![N], 1, m![1 # 4]>(chip));
    }
}

#[test]
fn tiles_of_chips() {
    let values = bytes(256);
    let mut ctx = Context::with(SimOptions { chips: Some(4), ..SimOptions::default() });
    let host = HostTensor::<i8, m![N, B]>::from_buf(init(&values));
    let found = block_on(async {
        let x = host.to_hbm::<m![N], m![B]>(&mut ctx.pdma, 0).await;
        let mut y = host.to_hbm::<m![N], m![B]>(&mut ctx.pdma, 4096).await;
        launch(rotated, (&mut *ctx, &x, &mut y)).await;
        let one = y.view().chip_tile::<m![N], 1, m![1 # 4]>(2).to_host::<m![B]>(&mut ctx.pdma).await.to_buf();
        assert_same(&one, &values[192..]);
        y.to_host::<m![N, B]>(&mut ctx.pdma).await.to_buf()
    });
    assert_same(&found, &[&values[64..], &values[..64]].concat());
}

/// The memory map shows the tensor, whichever tile of it is written first.
#[test]
fn the_map_shows_the_tensor() {
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, m![Q, S, B]>::from_buf(init(&bytes(4 * 256 * 64)));
    let x = block_on(host.to_hbm::<m![1], m![Q, S, B]>(&mut ctx.pdma, 0));
    let mut d = DmTensor::<i8, m![1], Cluster, m![S], m![Q, B]>::reserved(512);
    for (tile, there) in (x.view().tiles::<m![Q], 1, m![1 # 4, S, B]>())
        .zip(d.view_mut().split_tiles_mut::<m![Q], 1, m![1 # 4, B]>())
        .rev()
    {
        tile.to_dm_view(&mut ctx.tdma, there);
    }
    let map = ctx.memory_map();
    let dm = &map.memories[1];
    assert_eq!((dm.count, dm.tensors[0].bytes.clone()), (1, 512..768));
}

#[test]
fn other_names_for_the_same_bytes() {
    axes![T = 16, U = 16, W = 64];
    let values = bytes(256 * 64);
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, m![S, B]>::from_buf(init(&values));
    let x = block_on(host.to_hbm::<m![1], m![S, B]>(&mut ctx.pdma, 0));
    let d = x.to_dm::<Cluster, m![S], m![B]>(&mut ctx.tdma, 64);
    let d: DmTensor<i8, m![1], Cluster, m![T, U], m![B / 8, B % 8]> = d.relabel();
    assert_eq!(d.address(), 64);
    let back = d.to_hbm::<m![U, T, B]>(&mut ctx.tdma, 1 << 20);
    let found = block_on(back.to_host::<m![T, U, B]>(&mut ctx.pdma)).to_buf();
    assert_same(&found, &values);
    #[allow(unsafe_code)] // Slices and elements have the same number of positions.
    let turned = unsafe { d.reshape::<m![1], Cluster, m![S], m![W]>() };
    let back = turned.to_hbm::<m![S, W]>(&mut ctx.tdma, 1 << 20).relabel::<m![1], m![T, U, W]>();
    let found = block_on(back.to_host::<m![T, U, W]>(&mut ctx.pdma)).to_buf();
    assert_same(&found, &values);
}

/// Views under other axes: the whole, tiles of elements and of slices, to read and to write, in HBM and in DM.
#[test]
#[allow(unsafe_code)] // Positions stay what they are.
fn other_axes_for_views() {
    axes![T = 16, U = 16, W = 64, V = 16, E = 20];
    let values = bytes(256 * 64);
    let mut ctx = Context::acquire();
    let host = HostTensor::<i8, m![S, B]>::from_buf(init(&values));
    let x = block_on(host.to_hbm::<m![1], m![S, B]>(&mut ctx.pdma, 0));
    // HBM: slices 16..32 of 256, as a block of 16.
    let part = x.view().tile::<m![S / 16], 1, m![1 # 16, S % 16, B]>(1);
    let part = unsafe { part.reshape::<m![1], m![1 # 16, V, W]>() };
    let mut d: DmTensor<i8, m![1], Cluster, m![S], m![B]> = DmTensor::new(&mut ctx);
    x.view().to_dm_view(&mut ctx.tdma, d.view_mut());
    // DM: slices 16..32 take it, under the names that it now has.
    let there = d.view_mut().slice_tile::<m![S / 16], 1, m![1 # 16, S % 16]>(3);
    let there = unsafe { there.reshape::<m![1], Cluster, m![1 # 16, V], m![W]>() };
    part.to_dm_view(&mut ctx.tdma, there);
    let whole = unsafe { d.view().reshape::<m![1], Cluster, m![T, U], m![W]>() };
    let mut back = HbmTensor::<i8, m![1], m![S, B]>::new(&mut ctx);
    whole.to_hbm_view(&mut ctx.tdma, unsafe { back.view_mut().reshape::<m![1], m![T, U, W]>() });
    let mut expected = values.clone();
    expected.copy_within(16 * 64..32 * 64, 48 * 64);
    let found = block_on(back.to_host::<m![S, B]>(&mut ctx.pdma)).to_buf();
    assert_same(&found, &expected);
    // A stream reads a tile under another name.
    let half = d.view().tile::<m![B / 32], 1, m![1 # 2, B % 32]>(1);
    let half = unsafe { half.reshape::<m![1], Cluster, m![S], m![1 # 2, U, E = 2]>() };
    let stream = ctx.main.begin(half).fetch::<i8, m![1], m![U, E = 2]>().collect::<m![1], m![U, E = 2]>();
    let y = stream.commit::<m![U, E = 2]>(AUTO).to_hbm::<m![S, U, E = 2]>(&mut ctx.tdma, AUTO);
    let found = block_on(y.to_host::<m![S, U, E = 2]>(&mut ctx.pdma)).to_buf();
    let expected: Vec<i8> = (0..256 * 32).map(|k| expected[k / 32 * 64 + 32 + k % 32]).collect();
    assert_same(&found, &expected);
    // What a tile leaves out stays padding.
    let refused = crate::panic_message(|| {
        let half = d.view().tile::<m![B / 32], 1, m![1 # 2, B % 32]>(1);
        unsafe { half.reshape::<m![1], Cluster, m![S], m![W / 2, 1 # 2]>() };
    });
    let text = "reshape: refused: the view is a tile, whose Element `m![1 # 2, B % 32]` ends with position 31, but \
                `m![W / 2, 1 # 2]` has elements up to position 62, which lie behind it";
    assert!(refused.contains(text), "{refused}");
}

/// Views with one outermost padding more and less: a stream has the steps of the padding, and moves leave them out.
#[test]
fn views_are_padded_outermost() {
    axes![A = 3, E = 32];
    for address in [4096, (512 << 10) - 96] {
        let mut ctx = Context::acquire();
        let values = bytes(256 * 96);
        let host = HostTensor::<i8, m![S, A, E]>::from_buf(init(&values));
        let x = block_on(host.to_hbm::<m![1], m![S, A, E]>(&mut ctx.pdma, 0));
        // At the end of DM there is no room for padding, and no element.
        let dm = x.to_dm::<Cluster, m![S], m![A, E]>(&mut ctx.tdma, address);
        let padded = dm.view().pad::<m![A # 4, E]>();
        assert_eq!(padded.address(), dm.address());
        let mut z = HbmTensor::<i8, m![1], m![S, A, E]>::new(&mut ctx);
        padded.clone().unpad::<m![A, E]>().to_hbm_view(&mut ctx.tdma, z.view_mut());
        assert_same(&block_on(z.to_host::<m![S, A, E]>(&mut ctx.pdma)).to_buf(), &values);
        if address == 4096 {
            let y = (ctx.main.begin(padded).fetch::<i8, m![A # 4], m![E]>())
                .collect::<m![A # 4], m![E]>()
                .commit::<m![A # 4, E]>(8192);
            let mut z = HbmTensor::<i8, m![1], m![S, A, E]>::new(&mut ctx);
            y.view().unpad::<m![A, E]>().to_hbm_view(&mut ctx.tdma, z.view_mut());
            assert_same(&block_on(z.to_host::<m![S, A, E]>(&mut ctx.pdma)).to_buf(), &values);
        }
        // From HBM, and a tile of it: the last row alone.
        let tile =
            x.view().pad::<m![[S, A, E] # 32768]>().to_dm::<Cluster, m![S], m![A, E]>(&mut ctx.tdma, 16384);
        let row = tile.view().tile::<m![A], 1, m![1 # 3, E]>(2).pad::<m![1 # 8, E]>();
        let mut last = HbmTensor::<i8, m![1], m![S, E]>::new(&mut ctx);
        row.to_hbm_view(&mut ctx.tdma, last.view_mut());
        let expected: Vec<i8> = (0..256 * 32).map(|k| values[k / 32 * 96 + 64 + k % 32]).collect();
        assert_same(&block_on(last.to_host::<m![S, E]>(&mut ctx.pdma)).to_buf(), &expected);
    }
}
