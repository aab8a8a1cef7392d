//! Where operations write: over what they still read, outside of their tensor, one place twice.

use crate::commands::{
    commit, dma, fetch, give, hbm, lanes_below, moves as loops, pass, region, steps_below, system, unit,
    written,
};
use crate::{A, B, Cluster, DmX, Slice, X, Z, check, fine, flagged, launched};
use furiosa_visa_std::chip::{Addresses, Check, CheckOptions, Compute, Fault, FaultKind, System};
use furiosa_visa_std::command::{
    Contraction, FillId, HostBuffer, HostTransfer, Operation, Region, Sink, Start, Step, TensorUnit,
    TransferLoop, TrfAddress, TrfRegion,
};
use furiosa_visa_std::mapping::{Guard, GuardDigit, GuardSum};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType::{self, I4, I8, I32};
use furiosa_visa_std::sequencer::{Config, Entry};

/// Runs one command on a system with 256 elements from DM address 0 on.
#[track_caller]
fn run(checks: CheckOptions, operation: Operation) -> Result<(), Fault> {
    run_on(checks, I8, operation)
}

#[track_caller]
fn run_on(checks: CheckOptions, element: ElementType, operation: Operation) -> Result<(), Fault> {
    let mut system = system(checks);
    written(&mut system, 0, element, 256);
    give(&mut system, operation)
}

/// Streams `time` packets of 32 bytes and commits them to a tensor of so many elements.
fn commits(
    elements: usize,
    time: usize,
    entries: &[(usize, isize)],
    window: usize,
    guard: Guard,
) -> Operation {
    let stream = fetch(region(0, I8, 256), I8, &[(time, 32), (32, 1)], time, 32);
    pass(stream, commit(region(4096, I8, elements), entries, window, guard))
}

macro_rules! in_place {
    ($name:ident, $from:literal, $to:literal, $element:ty) => {
        #[device(chip = 1)]
        fn $name(ctx: &mut Context, x: &X, _: &Z) {
            let x = x.to_dm::<Cluster, m![1 # 256], m![A, B]>(&mut ctx.tdma, $from);
            (ctx.main.begin(x.view()))
                .fetch::<i8, m![A, B / 32], m![B % 32]>()
                .collect::<m![A, B / 32], m![B % 32]>()
                .commit::<$element>($to);
        }
    };
}
in_place!(upwards, 128, 160, m![A, B]); // committed
in_place!(reordered, 128, 128, m![B / 32, A, B % 32]); // committed
in_place!(exactly, 128, 128, m![A, B]);
in_place!(downwards, 128, 96, m![A, B]);
in_place!(beside, 128, 384, m![B / 32, A, B % 32]);

/// The result is four times as large as its source.
#[device(chip = 1)]
fn wider(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let stream = ctx.main.begin(dm.view()).fetch::<i32, m![B / 8], m![B % 8]>();
    let stream = stream.collect::<m![B / 8], m![B % 8]>();
    stream.commit::<m![B]>(0); // wider
}

/// The sums are committed when all of the source has been fetched.
#[device(chip = 1)]
fn sums(ctx: &mut Context, x: &X, _: &Z) {
    let dm: DmX = x.to_dm(&mut ctx.tdma, 0);
    let w = x.to_dm::<Cluster, Slice, m![A, B]>(&mut ctx.tdma, 1024);
    let weights = (ctx.sub.begin(w.view()).fetch::<i8, m![A], m![B]>())
        .collect::<m![A, B / 32], m![B % 32]>()
        .to_trf::<m![A], m![B]>(TrfAddress::Full);
    (ctx.main.begin(dm.view()).fetch::<i8, m![1], m![B]>())
        .collect::<m![B / 32], m![B % 32]>()
        .align::<m![1], m![B], _, _>(&weights)
        .contract::<m![1]>()
        .accumulate::<m![1], m![A # 8]>(AccumulationKind::Interleaved)
        .commit::<m![A # 8]>(0);
}

/// Copies two packets of 32 bytes from address 0 on, where the slices before slice 2 are leading padding.
#[track_caller]
fn in_slice_2(checks: CheckOptions, to: u64) -> Result<(), Fault> {
    let mut guard = Guard::always(5);
    guard.digits.push(GuardDigit { variable: 2, base: 1, extent: 256, weight: 1 });
    guard.sums.push(GuardSum { first: 0, len: 1, start: 2, limit: 3 });
    let mut system = system(checks);
    let in_slices = |address: u64| {
        let mut own = region(address, I8, 64);
        own.footprint.slices = 4;
        own
    };
    let mut all = in_slices(0);
    all.fill = FillId(7);
    let from = hbm(1 << 20, I8, 64);
    let host = HostTransfer { region: from, transfer: loops(&[(64, 1, 1)]), host_elements: 64 };
    let buffer = HostBuffer { bytes: vec![1; 64], initialised: None };
    system.upload(&host, &buffer, std::panic::Location::caller())?;
    let Operation::Dma(mut fill) = dma(from, all, &[(64, 1, 1)]) else { unreachable!("it is a DMA") };
    let (none, slice) = (Step { units: 0, elements: 0 }, Step { units: 1, elements: 0 });
    fill.transfer.loops.push(TransferLoop { size: 4, source: none, destination: slice });
    fill.transfer.guard = Guard::always(2);
    give(&mut system, Operation::Dma(fill))?;
    let mut destination = in_slices(to);
    destination.fill = FillId(8);
    let stream = fetch(all, I8, &[(2, 32), (32, 1)], 2, 32);
    give(&mut system, pass(stream, commit(destination, &[(2, 32), (32, 1)], 32, guard)))
}

/// Adds the operand in the VRF at 0 to each element, and loads the result to the VRF.
macro_rules! to_the_vrf {
    ($name:ident, $element:ty, $to:literal) => {
        #[device(chip = 1)]
        fn $name(ctx: &mut Context, _: &X, z: &Z) {
            let dm: DmTensor<i32, m![1], Cluster, Slice, m![B]> = z.to_dm(&mut ctx.tdma, 0);
            let stream = ctx.sub.begin(dm.view()).fetch::<i32, m![B / 8], m![B % 8]>();
            let operand = stream.collect::<m![B / 8], m![B % 8]>().to_vrf::<m![B]>(0);
            let stream = ctx.main.begin(dm.view()).fetch::<i32, m![B / 8], m![B % 8]>();
            (stream.collect::<m![B / 8], m![B % 8]>().vector_init())
                .vector_intra_slice_branch(BranchMode::Unconditional)
                .vector_fxp(FxpBinaryOp::AddFxp, &operand)
                .vector_final()
                .to_vrf::<$element>($to);
        }
    };
}
to_the_vrf!(vrf_turned, m![B % 8, B / 8], 0); // turned in the VRF
to_the_vrf!(vrf_later, m![B], 32); // later in the VRF
to_the_vrf!(vrf_in_place, m![B], 0);
to_the_vrf!(vrf_beside, m![B % 8, B / 8], 256);

/// Four rows of 32 bytes, of which so many hold an element, committed in the same form so many bytes further on.
#[track_caller]
fn padded_rows(checks: CheckOptions, live: usize, further: u64) -> Result<(), Fault> {
    let mut system = system(checks);
    written(&mut system, 0, I8, 128);
    let rows = |address| {
        let mut own = region(address, I8, 128);
        own.footprint.guard.digits.push(GuardDigit { variable: 3, base: 1, extent: 32, weight: 1 });
        own.footprint.guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit: live });
        own
    };
    let stream = fetch(Region { fill: FillId(1), ..rows(0) }, I8, &[(4, 32), (32, 1)], 4, 32);
    give(&mut system, pass(stream, commit(rows(further), &[(4, 32), (32, 1)], 32, lanes_below(live))))
}

/// Sums 2^33 packets of the same 32 bytes, and commits the sums to the place of their source.
#[track_caller]
fn repeated(compute: Compute) -> Result<(), Fault> {
    let mut system = System::new(SimOptions { chips: Some(1), compute, ..SimOptions::default() });
    let steps = 1 << 33;
    let stream = fetch(region(0, I8, 32), I8, &[(steps, 0), (32, 1)], steps, 32);
    let mut unit = unit(stream, commit(region(0, I32, 8), &[(1, 0), (8, 1)], 8, Guard::always(5)));
    let in_place = |packet: usize| {
        let mut config = Config::new(packet);
        config.entries.push(Entry { size: steps, stride: 0 });
        config
    };
    let weights = TrfRegion {
        address: TrfAddress::Full,
        fill: FillId(8),
        element: I8,
        rows: 8,
        row_elements: 32,
        guard: Guard::always(5),
    };
    unit.contraction = Some(Contraction {
        trf: weights,
        stream_guard: Guard::always(5),
        collect_flits: 1,
        tile: 1,
        trf_config: in_place(32),
        steps,
        step_guard: Guard::always(2),
        depth: 5,
        columns: 1,
        slots: in_place(1),
        slot_count: 1,
        kind: AccumulationKind::Interleaved,
        output: I32,
    });
    give(&mut system, Operation::TensorUnit(Box::new(unit)))
}

/// However long a stream is, the checks of a commit inside of its source end: with values it is refused.
#[test]
fn long_streams_over_their_source_end() {
    repeated(Compute::ShapesOnly).expect("sums are committed when all was fetched");
    let fault = repeated(Compute::Values).expect_err("the values take too much memory");
    assert_eq!(fault.kind, FaultKind::TooLarge, "{fault}");
}

/// Where each tensor has bytes of its own, tensors from bare addresses are told apart by these.
#[test]
fn separate_tensors_do_not_overwrite_each_other() {
    let run = |addresses: Addresses, step: isize, to: u64| {
        let mut system = System::new(SimOptions { chips: Some(1), addresses, ..SimOptions::default() });
        let bare = |address: u64| Region { fill: FillId::ANY, ..region(address, I8, 64) };
        let stream = fetch(bare(0), I8, &[(2, step), (32, 1)], 2, 32);
        let sink = commit(bare(to), &[(2, 32), (32, 1)], 32, Guard::always(5));
        give(&mut system, pass(stream, sink)).map_err(|fault| (fault.kind, fault.to_string()))
    };
    let hint = "`VISA_ADDRESSES=separate` shows";
    let (kind, text) = run(Addresses::AsGiven, 32, 32).expect_err("packet 1 is overwritten");
    assert!(kind == FaultKind::Overwrite && text.contains(hint), "{text}");
    assert_eq!(run(Addresses::Separate, 32, 32), Ok(()));
    // It is one tensor.
    let (kind, text) = run(Addresses::Separate, 0, 0).expect_err("packet 1 is overwritten");
    assert!(kind == FaultKind::Overwrite && !text.contains(hint), "{text}");
}

#[test]
fn overwrites() {
    let kind = FaultKind::Overwrite;
    check(
        Check::Overwrites,
        &[
            flagged(
                "upwards by a packet",
                |checks| launched(checks, upwards),
                kind,
                &["committed"],
                &[
                    "time step 0 writes byte 160 of each slice, which packet 1 of the same stream",
                    "element: i![A: 0, B: 32]",
                ],
            ),
            flagged(
                "in another order",
                |checks| launched(checks, reordered),
                kind,
                &["committed"],
                &["time step 1 writes byte 256 of each slice, which packet 4"],
            ),
            flagged(
                "wider than its source",
                |checks| launched(checks, wider),
                kind,
                &["wider"],
                &[
                    "time step 0 writes byte 8 of each slice, which packet 1",
                    "the source takes 0..64, the destination 0..256",
                ],
            ),
            flagged(
                "upwards by a packet, in slice 2 only",
                |checks| in_slice_2(checks, 32), // in slice 2
                kind,
                &["in slice 2"],
                &[
                    "time step 0 writes byte 32 of each slice, which packet 1 of the same stream",
                    "DM, bytes 32..33 of chip 0, cluster 0, slice 2",
                ],
            ),
            flagged(
                "padding of packets, over the next ones",
                |checks| padded_rows(checks, 24, 8), // padded rows
                kind,
                &["padded rows"],
                &[
                    "time step 0 writes byte 32 of each slice, padding of the packet, which packet 1 of the same stream",
                ],
            ),
            flagged(
                "the VRF, over an operand in another order",
                |checks| launched(checks, vrf_turned),
                kind,
                &["turned in the VRF"],
                &[
                    "to_vrf: source overwritten: time step 0 writes byte 32 of the VRF of each slice, which step 1 of the same \
                     stream still takes as an operand: the operand takes 0..256, the destination 0..256",
                    "element: i![A: 0, B: 8]",
                    "help: load to another address, or in the order of the operand",
                ],
            ),
            flagged(
                "the VRF, over what the next step takes",
                |checks| launched(checks, vrf_later),
                kind,
                &["later in the VRF"],
                &["time step 0 writes byte 32 of the VRF of each slice, which step 1"],
            ),
            fine("padding of packets, over padding", |checks| padded_rows(checks, 24, 0)),
            fine("padding of packets, over what was fetched", |checks| padded_rows(checks, 24, 128)),
            fine("the VRF, each element to its own place", |checks| launched(checks, vrf_in_place)),
            fine("the VRF, beside the operand", |checks| launched(checks, vrf_beside)),
            fine("each packet to its own place", |checks| launched(checks, exactly)),
            fine("in slice 2 only, each packet to its own place", |checks| in_slice_2(checks, 0)),
            fine("downwards", |checks| launched(checks, downwards)),
            fine("in another order, beside it", |checks| launched(checks, beside)),
            fine("sums over their source", |checks| launched(checks, sums)),
        ],
    );
}

/// Moves in HBM, from address 4096 on.
#[track_caller]
fn moves(
    checks: CheckOptions,
    to: u64,
    elements: usize,
    loops: &[(usize, usize, usize)],
) -> Result<(), Fault> {
    run(checks, dma(hbm(4096, I8, 256), hbm(to, I8, elements), loops))
}

/// Two mutable tiles of one tensor, 16 bytes each: the first one moves to the second one, which starts at a row of 8 bytes.
macro_rules! onto_another_tile {
    ($name:ident, $start:literal) => {
        #[device(chip = 1)]
        fn $name(ctx: &mut Context, x: &X, _: &Z) {
            let mut dm: DmX = x.to_dm(&mut ctx.tdma, 0);
            let mut all = dm.view_mut();
            let from = all.tile::<m![B / 8], 2, m![B / 8 = 2 # 8, B % 8]>(0);
            let to = all.tile::<m![B / 8], 2, m![B / 8 = 2 # 8, B % 8]>($start);
            DmTensorView::from(from).to_dm_view(&mut ctx.tdma, to);
        }
    };
}
onto_another_tile!(onto_half_of_itself, 1); // onto another tile
onto_another_tile!(onto_the_next_tile, 2);

#[test]
fn dma_overwrites() {
    let kind = FaultKind::Overwrite;
    check(
        Check::DmaOverwrites,
        &[
            flagged(
                "a byte up",
                |checks| moves(checks, 4097, 256, &[(256, 1, 1)]), // up
                kind,
                &["up"],
                &["DMA: source overwritten: byte 4097 is read as element 1", "written as element 0"],
            ),
            flagged(
                "a byte down",
                |checks| moves(checks, 4095, 256, &[(256, 1, 1)]), // down
                kind,
                &["down"],
                &["byte 4096 is read as element 0", "written as element 1"],
            ),
            flagged(
                "rows become columns",
                |checks| moves(checks, 4096, 256, &[(16, 16, 1), (16, 1, 16)]), // columns
                kind,
                &["columns"],
                &["byte 4097 is read as element 1", "HBM, bytes 4097..4098 of chip 0"],
            ),
            flagged(
                "one row to all",
                |checks| moves(checks, 4096 - 32, 256, &[(4, 0, 64), (64, 1, 1)]), // row
                kind,
                &["row"],
                &["byte 4096 is read as element 0", "written as element 32"],
            ),
            flagged(
                "eight bytes up in DM",
                |checks| run(checks, dma(region(0, I8, 256), region(8, I8, 256), &[(256, 1, 1)])), // in_dm
                kind,
                &["in_dm"],
                &["byte 8 is read as element 8", "written as element 0", "DM, bytes 8..9 of chip 0"],
            ),
            flagged(
                "a tile to one that shares half of it",
                |checks| launched(checks, onto_half_of_itself),
                kind,
                &["onto another tile"],
                &[
                    "byte 8 is read as i![A: 0, B: 8]",
                    "DM 0..16, a tile of the one in 0..64",
                    "DM, bytes 8..9",
                ],
            ),
            fine("a tile to the next one", |checks| launched(checks, onto_the_next_tile)),
            fine("to its own place in DM", |checks| {
                run(checks, dma(region(0, I8, 256), region(0, I8, 256), &[(256, 1, 1)]))
            }),
            fine("to its own place", |checks| moves(checks, 4096, 256, &[(256, 1, 1)])),
            fine("one row to its own place and behind", |checks| {
                moves(checks, 4096, 256, &[(4, 0, 64), (64, 1, 1)])
            }),
            fine("behind itself", |checks| moves(checks, 4096 + 256, 256, &[(16, 16, 1), (16, 1, 16)])),
            fine("even rows to odd ones", |checks| moves(checks, 4096 + 32, 256, &[(4, 64, 64), (32, 1, 1)])),
        ],
    );
}

/// A load of `time` flits into a tensor of so many bytes.
fn loads(row_elements: usize, time: usize, guard: Guard) -> Operation {
    let destination = TrfRegion {
        address: TrfAddress::Full,
        fill: FillId(9),
        element: I8,
        rows: 1,
        row_elements,
        guard: Guard::always(5),
    };
    let stream = fetch(region(0, I8, 256), I8, &[(time, 32), (32, 1)], time, 32);
    pass(stream, Sink::Trf { destination, guard })
}

/// Loads sums of 64 products into so many elements of one row: two slots of eight rows of one column.
fn loads_sums(row_elements: usize) -> Operation {
    let weights = TrfRegion {
        address: TrfAddress::FirstHalf,
        fill: FillId(8),
        element: I8,
        rows: 8,
        row_elements: 64,
        guard: Guard::always(5),
    };
    let fill = FillId(9);
    let destination =
        TrfRegion { address: TrfAddress::SecondHalf, fill, element: I32, rows: 1, row_elements, ..weights };
    let stream = fetch(region(0, I8, 128), I8, &[(2, 64), (64, 1)], 2, 64);
    let mut unit = unit(stream, Sink::Trf { destination, guard: Guard::always(5) });
    let steps = |stride: isize, packet: usize| {
        let mut config = Config::new(packet);
        config.entries.push(Entry { size: 2, stride });
        config
    };
    unit.contraction = Some(Contraction {
        trf: weights,
        stream_guard: Guard::always(5),
        collect_flits: 2,
        tile: 1,
        trf_config: steps(0, 64),
        steps: 2,
        step_guard: Guard::always(2),
        depth: 6,
        columns: 1,
        slots: steps(1, 1),
        slot_count: 2,
        kind: AccumulationKind::Interleaved,
        output: I32,
    });
    Operation::TensorUnit(Box::new(unit))
}

/// Loads 8 rows of 64 weights, then sums into the other half.
#[track_caller]
fn summed(checks: CheckOptions, row_elements: usize) -> Result<(), Fault> {
    let mut system = system(checks);
    written(&mut system, 0, I8, 512);
    let destination = TrfRegion {
        address: TrfAddress::FirstHalf,
        fill: FillId(8),
        element: I8,
        rows: 8,
        row_elements: 64,
        guard: Guard::always(5),
    };
    let stream = fetch(region(0, I8, 512), I8, &[(16, 32), (32, 1)], 16, 32);
    give(&mut system, pass(stream, Sink::Trf { destination, guard: Guard::always(5) }))?;
    give(&mut system, loads_sums(row_elements))
}

/// Eight elements of the tensor at 0 to a tensor of so many clusters of four slices, from a slice on.
fn to_slices(clusters: usize, first: isize, slices: usize) -> Operation {
    let mut destination = region(4096, I8, 8);
    (destination.footprint.clusters, destination.footprint.slices) = (clusters, 4);
    let Operation::Dma(mut dma) = dma(region(0, I8, 8), destination, &[(8, 1, 1)]) else {
        unreachable!("it is a DMA")
    };
    let (none, slice) = (Step { units: 0, elements: 0 }, Step { units: 1, elements: 0 });
    dma.transfer.loops.push(TransferLoop { size: slices, source: none, destination: slice });
    dma.transfer.guard = Guard::always(2);
    dma.transfer.destination_start = Start { units: first, elements: 0 };
    Operation::Dma(dma)
}

/// Copies a tensor in four slices of both clusters to one in so many clusters. So many time steps are live.
#[track_caller]
fn to_clusters(checks: CheckOptions, clusters: usize, steps: usize) -> Result<(), Fault> {
    let spread = |address: u64, clusters: usize| {
        let mut own = region(address, I8, 64);
        (own.footprint.clusters, own.footprint.slices) = (clusters, 4);
        own
    };
    let stream = fetch(spread(0, 2), I8, &[(2, 32), (32, 1)], 2, 32);
    let sink = commit(spread(4096, clusters), &[(2, 32), (32, 1)], 32, steps_below(steps));
    run(checks, pass(stream, sink))
}

const ALWAYS: fn() -> Guard = || Guard::always(5);

#[test]
fn outside_of_the_tensor() {
    let kind = FaultKind::OutsideView;
    check(
        Check::Views,
        &[
            flagged(
                "a commit of a packet too many",
                |checks| run(checks, commits(224, 8, &[(8, 32), (32, 1)], 32, ALWAYS())), // a packet more
                kind,
                &["a packet more"],
                &[
                    "time step 7, lane 0 writes element 224 of the tensor in DM 4096..4320, which has 224 elements",
                ],
            ),
            flagged(
                "a commit before its start",
                |checks| run(checks, commits(256, 8, &[(8, -32), (32, 1)], 32, ALWAYS())), // backwards
                kind,
                &["backwards"],
                &["time step 1, lane 0 writes element -32"],
            ),
            flagged(
                "a transfer one element too long",
                |checks| run(checks, dma(region(0, I8, 256), hbm(4096, I8, 255), &[(256, 1, 1)])), // long
                kind,
                &["long"],
                &["DMA: write outside of the tensor", "writes element 255 of the tensor in HBM 4096..4351"],
            ),
            flagged(
                "a load longer than its tensor",
                |checks| run(checks, loads(224, 8, ALWAYS())), // loaded
                kind,
                &["loaded"],
                &[
                    "time step 7, lane 0 is element 224 of the tensor in TrfAddress::Full, which has 224 elements",
                ],
            ),
            flagged(
                "sums for more than their registers",
                |checks| summed(checks, 15), // one sum too many
                kind,
                &["one sum too many"],
                &[
                    "time step 1, lane 7 is element 15 of the tensor in TrfAddress::SecondHalf, which has 15 elements",
                ],
            ),
            flagged(
                "a transfer to slices of the other cluster",
                |checks| run(checks, to_slices(1, 256, 4)), // to the other cluster
                kind,
                &["to the other cluster"],
                &[
                    "writes where the tensor in DM 4096..4104 does not lie: it spans 1 chip with 1 cluster of 4 slices",
                    "cluster 1, slice 0",
                ],
            ),
            flagged(
                "a transfer to one slice more than the tensor spans, in the other cluster",
                |checks| run(checks, to_slices(2, 256, 5)), // to five slices
                kind,
                &["to five slices"],
                &["cluster 1, slice 4"],
            ),
            flagged(
                "a commit in slices of the other cluster",
                |checks| to_clusters(checks, 1, 2), // in both clusters
                kind,
                &["in both clusters"],
                &["commit: write outside of the tensor", "cluster 1, slice 0"],
            ),
            fine("sums that fill their registers", |checks| summed(checks, 16)),
            fine("a transfer to slices of the other cluster of the tensor", |checks| {
                run(checks, to_slices(2, 256, 4))
            }),
            fine("a commit in both clusters of the tensor", |checks| to_clusters(checks, 2, 2)),
            fine("a commit of padding", |checks| to_clusters(checks, 1, 0)),
            fine("a commit to the end", |checks| {
                run(checks, commits(256, 8, &[(8, 32), (32, 1)], 32, ALWAYS()))
            }),
            fine("a read past the end", |checks| {
                let stream = fetch(region(0, I8, 224), I8, &[(8, 32), (32, 1)], 8, 32);
                run(checks, pass(stream, commit(region(4096, I8, 256), &[(8, 32), (32, 1)], 32, ALWAYS())))
            }),
            fine("a transfer to the end", |checks| {
                run(checks, dma(region(0, I8, 256), hbm(4096, I8, 256), &[(256, 1, 1)]))
            }),
            fine("a load to the end", |checks| run(checks, loads(256, 8, ALWAYS()))),
            fine("a load with padding past the end", |checks| run(checks, loads(224, 8, steps_below(7)))),
        ],
    );
}

#[test]
fn overlapping() {
    let kind = FaultKind::OverlappingWrites;
    check(
        Check::OverlappingWrites,
        &[
            flagged(
                "a commit with a stride of 0",
                |checks| run(checks, commits(64, 4, &[(2, 0), (2, 32), (32, 1)], 32, ALWAYS())), // still
                kind,
                &["still"],
                &[
                    "element 0 of the tensor in DM 4096..4160 is written twice: by time step 0 and by time step 2, lane 0",
                    "DM, bytes 4096..4097",
                ],
            ),
            flagged(
                "packets that overlap",
                |checks| run(checks, commits(256, 8, &[(8, 24), (32, 1)], 32, ALWAYS())), // narrow
                kind,
                &["narrow"],
                &["element 24 of the tensor", "by time step 0 and by time step 1, lane 0"],
            ),
            flagged(
                "a transfer of all rows to one",
                |checks| run(checks, dma(region(0, I8, 256), hbm(4096, I8, 64), &[(4, 64, 0), (64, 1, 1)])), // rows
                kind,
                &["rows"],
                &["DMA: overlapping writes: element 0 of the tensor in HBM 4096..4160 is written twice"],
            ),
            flagged(
                "loops that meet",
                |checks| run(checks, dma(region(0, I8, 256), hbm(4096, I8, 64), &[(3, 16, 2), (2, 1, 4)])), // meet
                kind,
                &["meet"],
                &["element 4 of the tensor"],
            ),
            fine("packets side by side", |checks| {
                run(checks, commits(256, 8, &[(8, 32), (32, 1)], 32, ALWAYS()))
            }),
            fine("loops in any order", |checks| {
                run(checks, commits(256, 8, &[(2, 32), (4, 64), (32, 1)], 32, ALWAYS()))
            }),
            fine("only padding overlaps", |checks| {
                run(checks, commits(256, 8, &[(8, 24), (32, 1)], 32, lanes_below(24)))
            }),
            fine("one row to all", |checks| {
                run(checks, dma(region(0, I8, 256), hbm(4096, I8, 256), &[(4, 0, 64), (64, 1, 1)]))
            }),
            fine("loops that pass each other", |checks| {
                run(checks, dma(region(0, I8, 256), hbm(4096, I8, 64), &[(3, 16, 2), (2, 1, 5)]))
            }),
            fine("two elements in a byte", |checks| {
                run_on(checks, I4, dma(region(0, I4, 256), hbm(4096, I4, 256), &[(2, 1, 1), (128, 2, 2)]))
            }),
        ],
    );
}

/// What a command says of itself does not depend on how it was built.
#[test]
fn commands_by_hand_have_no_axes() {
    let operation = commits(64, 4, &[(2, 0), (2, 32), (32, 1)], 32, Guard::always(5));
    let Operation::TensorUnit(unit) = &operation else { unreachable!("it is a pass") };
    let TensorUnit { sink: Sink::Commit { destination, .. }, .. } = &**unit else {
        unreachable!("it commits")
    };
    assert_eq!(destination.footprint.guard.element(&[0, 0, 0, 0]), None);
    let fault = run(CheckOptions::ALL, operation).expect_err("it overlaps");
    assert_eq!(fault.extent.expect("it is somewhere").element, None);
}
