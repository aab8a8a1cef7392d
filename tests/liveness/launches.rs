//! Tensors that have their bytes from the first to the last command that uses them: what fits so, what is said where it does
//! not, and that nothing else changes.

use crate::{Cluster, Slice, block_on, code, init};
use furiosa_visa_std::chip::{CheckOptions, Fault, FaultKind};
use furiosa_visa_std::clock::Report;
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::{Placement, try_launch_placed};
use furiosa_visa_std::spec::DM_BYTES;

axes![S = 256, L = 32768, B = 64, T = 4];
/// 128 KiB in a slice: four of them fill DM.
type Quarter = HbmTensor<i32, m![1], m![L]>;
type QuarterDm = DmTensor<i32, m![1], Cluster, Slice, m![L]>;
type X = HbmTensor<i32, m![1], m![S, B]>;
type Dm = DmTensor<i32, m![1], Cluster, m![S], m![B]>;

fn quarter() -> Vec<i32> {
    (0..L::SIZE).map(|k| code(7, k) as i32 % 1000).collect()
}

fn numbers() -> Vec<i32> {
    (0..256 * 64).map(|k| code(3, k) as i32 % 1000).collect()
}

fn options(placement: Placement) -> SimOptions {
    SimOptions { placement, ..SimOptions::default() }
}

/// Runs a kernel on the quarter.
fn on_quarter<Y: DeviceSend>(
    placement: Placement,
    kernel: impl for<'a> DeviceFn<(&'a mut Context, &'a Quarter), Output = Y>,
) -> (Result<Y, Fault>, furiosa_visa_std::runtime::ContextGuard) {
    block_on(async {
        let mut ctx = Context::with(options(placement));
        let x = HostTensor::<i32, m![L]>::from_buf(init(&quarter())).to_hbm(&mut ctx.pdma, AUTO).await;
        let y = try_launch(kernel, (&mut *ctx, &x)).await;
        (y, ctx)
    })
}

/// Runs a kernel on the small tensor.
fn on_small<Y: DeviceSend>(
    placement: Placement,
    kernel: impl for<'a> DeviceFn<(&'a mut Context, &'a X), Output = Y>,
) -> (Result<Y, Fault>, furiosa_visa_std::runtime::ContextGuard) {
    block_on(async {
        let mut ctx = Context::with(options(placement));
        let x = HostTensor::<i32, m![S, B]>::from_buf(init(&numbers())).to_hbm(&mut ctx.pdma, AUTO).await;
        let y = try_launch(kernel, (&mut *ctx, &x)).await;
        (y, ctx)
    })
}

fn plus(ctx: &mut Context, x: &QuarterDm, k: i32) -> QuarterDm {
    (ctx.main.begin(x.view()).fetch::<i32, m![L / 8], m![L % 8]>())
        .collect::<m![L / 8], m![L % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp(FxpBinaryOp::AddFxp, k)
        .vector_final()
        .commit(AUTO)
}

fn plus_small(ctx: &mut Context, x: &Dm, k: i32) -> Dm {
    (ctx.main.begin(x.view()).fetch::<i32, m![B / 8], m![B % 8]>())
        .collect::<m![B / 8], m![B % 8]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp(FxpBinaryOp::AddFxp, k)
        .vector_final()
        .commit(AUTO)
}

/// Six tensors of a quarter of DM, each under the name of the one before.
#[device(chip = 1)]
fn shadowed(ctx: &mut Context, x: &Quarter) -> Quarter {
    let x: QuarterDm = x.to_dm(&mut ctx.tdma, AUTO);
    let x = plus(ctx, &x, 1);
    let x = plus(ctx, &x, 2);
    let x = plus(ctx, &x, 3);
    let x = plus(ctx, &x, 4);
    let x = plus(ctx, &x, 5);
    x.to_hbm(&mut ctx.tdma, AUTO)
}

#[test]
fn shadowed_tensors_give_their_bytes_back() {
    let fault = on_quarter(Placement::Handles, shadowed).0.expect_err("the handles live");
    assert_eq!(fault.kind, FaultKind::Capacity, "{fault}");
    let (y, mut ctx) = on_quarter(Placement::Liveness, shadowed);
    let y = block_on(y.expect("two of them live at a time").to_host::<m![L]>(&mut ctx.pdma)).to_vec();
    assert_eq!(y, quarter().into_iter().map(|v| v + 15).collect::<Vec<_>>());
    let map = ctx.memory_map();
    let dm = &map.memories[1];
    assert_eq!(dm.count, 6, "{map}");
    // A launch can ask for it.
    let (placed, ..) = block_on(async {
        let mut ctx = Context::with(options(Placement::Handles));
        let x = HostTensor::<i32, m![L]>::from_buf(init(&quarter())).to_hbm(&mut ctx.pdma, AUTO).await;
        let placed = try_launch_placed(shadowed, (&mut *ctx, &x), Placement::Liveness).await.is_ok();
        assert!(
            try_launch(shadowed, (&mut *ctx, &x)).await.is_err(),
            "the next one has the option of the context"
        );
        (placed, ctx)
    });
    assert!(placed);
}

/// Tensors that are made before a loop, in it, and by tiles.
#[test]
fn loops_and_tiles() {
    #[device(chip = 1)]
    fn filled(ctx: &mut Context, x: &Quarter) -> Quarter {
        let mut kept = Vec::new();
        let x: QuarterDm = x.to_dm(&mut ctx.tdma, AUTO);
        for k in 0..20 {
            let mut all = QuarterDm::new(ctx);
            for part in [3, 1, 0, 2] {
                let from = x.view().tile::<m![L / 8192], 1, m![1 # 4, L % 8192]>(part);
                from.to_dm_view(
                    &mut ctx.tdma,
                    all.view_mut().tile::<m![L / 8192], 1, m![1 # 4, L % 8192]>(part),
                );
            }
            kept.push(plus(ctx, &all, k));
            kept.push(all);
        }
        let last = kept.len() - 2;
        kept[last].to_hbm(&mut ctx.tdma, AUTO)
    }
    let (y, mut ctx) = on_quarter(Placement::Liveness, filled);
    let y = block_on(y.expect("three live at a time").to_host::<m![L]>(&mut ctx.pdma)).to_vec();
    assert_eq!(y, quarter().into_iter().map(|v| v + 19).collect::<Vec<_>>());
}

/// Five quarters that live at once: the call that makes the last one is named, and what lives then.
#[test]
fn what_lives_is_named_when_dm_is_full() {
    #[device(chip = 1)]
    fn five(ctx: &mut Context, x: &Quarter, small: &X) -> Quarter {
        let small: Dm = small.to_dm(&mut ctx.tdma, AUTO);
        let a: QuarterDm = x.to_dm(&mut ctx.tdma, AUTO);
        let b = plus(ctx, &a, 1);
        let c = plus(ctx, &b, 1);
        let d = plus(ctx, &c, 1);
        let _small = plus_small(ctx, &small, 1);
        let [a, b, c, d] = [a, b, c, d].map(|x| plus(ctx, &x, 1));
        let y = a.to_hbm(&mut ctx.tdma, AUTO);
        let _ = [b, c, d].map(|x| x.to_hbm::<m![L]>(&mut ctx.tdma, AUTO));
        y
    }
    let fault = block_on(async {
        let mut ctx = Context::with(options(Placement::Liveness));
        let x = HostTensor::<i32, m![L]>::from_buf(init(&quarter())).to_hbm(&mut ctx.pdma, AUTO).await;
        let small = HostTensor::<i32, m![S, B]>::from_buf(init(&numbers())).to_hbm(&mut ctx.pdma, AUTO).await;
        let fault = try_launch(five, (&mut *ctx, &x, &small)).await.expect_err("it is full");
        // What came before it was executed.
        let report = ctx.report();
        let done: Vec<&str> = report.records.iter().map(|record| record.operation).collect();
        assert_eq!(done, ["upload", "upload", "to_dm", "to_dm", "commit", "commit"]);
        // The context stays usable, and no byte is lost.
        let y = try_launch(shadowed, (&mut *ctx, &x)).await.expect("there is room again");
        assert_eq!(y.to_host::<m![L]>(&mut ctx.pdma).await.to_vec()[0], quarter()[0] + 15);
        fault
    });
    let text = fault.to_string();
    assert_eq!(fault.kind, FaultKind::Capacity, "{text}");
    let first = "fault: commit: capacity exceeded: 131072 bytes do not fit: of the 524288 bytes of DM at most 126720 are free in one \
                 piece as long as it lives: 4 other tensors live when it is made, with 393472 bytes\n";
    assert!(text.starts_with(first), "{text}");
    assert!(
        text.contains(
            "help: use those that live sooner, make them again, split the tensor over more slices, or work"
        ),
        "{text}"
    );
    let labels: Vec<&str> = fault.places.iter().map(|place| place.label.as_ref()).collect();
    assert_eq!(
        labels,
        ["131072 bytes live, of what was made here"; 3]
            .into_iter()
            .chain(["256 bytes live, of what was made here"])
            .collect::<Vec<_>>()
    );
    assert!(fault.places.iter().all(|place| place.location.file().ends_with("launches.rs")));
}

/// A look at what is there has the commands before it executed. Tensors whose handles live keep their bytes.
#[test]
fn a_look_in_the_middle() {
    #[device(chip = 1)]
    fn looks(ctx: &mut Context, x: &Quarter) -> Quarter {
        let x: QuarterDm = x.to_dm(&mut ctx.tdma, AUTO);
        let operations = ctx.report().records.len();
        let y = plus(ctx, &x, 1);
        assert_eq!(ctx.report().records.len(), operations + 1);
        drop(x);
        let y = plus(ctx, &y, 1);
        ctx.settle();
        let y = plus(ctx, &y, 1);
        assert_eq!(ctx.chips(), 1);
        let z = plus(ctx, &y, 1);
        let z = plus(ctx, &z, 1);
        ctx.settle();
        z.to_hbm(&mut ctx.tdma, AUTO)
    }
    let (y, mut ctx) = on_quarter(Placement::Liveness, looks);
    let fault = y.expect_err("three handles live when another tensor is made");
    assert_eq!((fault.kind, fault.places.len()), (FaultKind::Capacity, 3), "{fault}");
    let map = ctx.memory_map();
    assert_eq!(map.memories[1].count, 4, "{map}");

    #[device(chip = 1)]
    fn fits(ctx: &mut Context, x: &Quarter) -> Quarter {
        let x: QuarterDm = x.to_dm(&mut ctx.tdma, AUTO);
        ctx.settle();
        let y = plus(ctx, &x, 1);
        drop(x);
        for _ in 0..4 {
            ctx.settle();
            let z = plus(ctx, &y, 1);
            let _z = plus(ctx, &z, 1);
        }
        y.to_hbm(&mut ctx.tdma, AUTO)
    }
    let (y, mut ctx) = on_quarter(Placement::Liveness, fits);
    let y = block_on(y.expect("handles end").to_host::<m![L]>(&mut ctx.pdma)).to_vec();
    assert_eq!(y[9], quarter()[9] + 1);
}

/// Operands in the VRF, which are looked at in the middle.
#[test]
fn the_vrf_is_free_after_the_last_use() {
    #[device(chip = 1)]
    fn operands(
        ctx: &mut Context,
        x: &HbmTensor<i32, m![1], m![L / 16]>,
    ) -> HbmTensor<i32, m![1], m![L / 16]> {
        let mut x = x.to_dm::<Cluster, Slice, m![L / 16]>(&mut ctx.tdma, AUTO);
        let mut kept = Vec::new();
        for k in 0..6 {
            // All of the VRF.
            let own = (ctx.sub.begin(x.view()).fetch::<i32, m![L / 128], m![L / 16 % 8]>())
                .collect::<m![L / 128], m![L / 16 % 8]>()
                .to_vrf::<m![L / 16]>(AUTO);
            x = (ctx.main.begin(x.view()).fetch::<i32, m![L / 128], m![L / 16 % 8]>())
                .collect::<m![L / 128], m![L / 16 % 8]>()
                .vector_init()
                .vector_intra_slice_branch(BranchMode::Unconditional)
                .vector_fxp(FxpBinaryOp::AddFxp, &own)
                .vector_final()
                .commit(AUTO);
            if k == 5 {
                kept.clear();
                assert_eq!(own.inspect::<m![L / 16]>(ctx).to_vec()[3], 3 << 5);
            }
            kept.push(own);
        }
        x.to_hbm(&mut ctx.tdma, AUTO)
    }
    let run = |placement| {
        block_on(async {
            let mut ctx = Context::with(options(placement));
            let x: Vec<i32> = (0..2048).collect();
            let x = HostTensor::<i32, m![L / 16]>::from_buf(init(&x)).to_hbm(&mut ctx.pdma, AUTO).await;
            let y = try_launch(operands, (&mut *ctx, &x)).await?;
            Ok::<_, Fault>(y.to_host::<m![L / 16]>(&mut ctx.pdma).await.to_vec())
        })
    };
    assert_eq!(run(Placement::Handles).map_err(|fault| fault.kind), Err(FaultKind::Capacity));
    assert_eq!(run(Placement::Liveness), Ok((0..2048).map(|k| k << 6).collect()));
}

/// Bytes rest before they are used again: a load need not wait for the pass that has read the tensor before.
#[test]
fn loads_need_not_wait() {
    #[device(chip = 1)]
    fn blocks(ctx: &mut Context, x: &HbmTensor<i32, m![1], m![T, L]>) {
        let mut sums = DmTensor::<i32, m![1], Cluster, Slice, m![T, L % 8192]>::new(ctx);
        for t in 0..4 {
            let block = x
                .view()
                .tile::<m![T], 1, m![1 # 4, L]>(t)
                .tile::<m![L / 8192], 1, m![1 # 4, 1 # 4, L % 8192]>(0);
            let block = block.to_dm::<Cluster, Slice, m![L % 8192]>(&mut ctx.tdma, AUTO);
            (ctx.main.begin(block.view()).fetch::<i32, m![L / 8 % 1024], m![L % 8]>())
                .collect::<m![L / 8 % 1024], m![L % 8]>()
                .vector_init()
                .vector_intra_slice_branch(BranchMode::Unconditional)
                .vector_fxp(FxpBinaryOp::AddFxp, 1)
                .vector_final()
                .commit_view(sums.view_mut().tile::<m![T], 1, m![1 # 4, L % 8192]>(t));
        }
    }
    let [handles, liveness] = [Placement::Handles, Placement::Liveness].map(|placement| {
        block_on(async {
            let mut ctx = Context::with(options(placement));
            let x = HostTensor::<i32, m![T, L]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
            try_launch(blocks, (&mut *ctx, &x)).await.expect("it fits");
            let report = ctx.report();
            let of = |name| report.records.iter().filter(move |record| record.operation == name);
            let (loads, passes) = (of("to_dm").skip(1), of("commit"));
            let overlapped = loads.zip(passes).filter(|(load, pass)| load.start < pass.end).count();
            (overlapped, report.kernels[0].makespan())
        })
    });
    assert_eq!((handles.0, liveness.0), (0, 3));
    assert!(liveness.1 < handles.1, "{liveness:?} {handles:?}");
}

/// Faults come from the call that causes them, whatever stops the kernel later.
#[test]
fn faults_are_those_of_handles() {
    #[device(chip = 1)]
    fn unwritten(ctx: &mut Context, x: &X) {
        let _ = x;
        let empty = Dm::new(ctx);
        let y = plus_small(ctx, &empty, 1);
        let _: X = y.to_hbm(&mut ctx.tdma, AUTO);
        panic!("the fault comes first");
    }
    #[device(chip = 1)]
    fn stream(ctx: &mut Context, x: &X) {
        let x: Dm = x.to_dm(&mut ctx.tdma, AUTO);
        let _ = ctx.main.begin(x.view());
    }
    #[device(chip = 1)]
    fn stale(ctx: &mut Context, x: &X) {
        let a: Dm = x.to_dm(&mut ctx.tdma, 64);
        let b: Dm = x.to_dm(&mut ctx.tdma, 0);
        let _ = (plus_small(ctx, &b, 1), plus_small(ctx, &a, 1));
    }
    let told = |fault: Fault| {
        (
            fault.kind,
            fault.operation,
            fault.location,
            fault.places.iter().map(|place| place.location).collect::<Vec<_>>(),
        )
    };
    let both = |run: &dyn Fn(Placement) -> Fault, kind| {
        let [handles, liveness] =
            [Placement::Handles, Placement::Liveness].map(|placement| told(run(placement)));
        assert_eq!(handles, liveness);
        assert_eq!(liveness.0, kind);
    };
    both(
        &|placement| on_small(placement, unwritten).0.expect_err("nobody wrote it"),
        FaultKind::Uninitialised,
    );
    both(
        &|placement| on_small(placement, stream).0.expect_err("the stream is dropped"),
        FaultKind::DroppedStream,
    );
    both(&|placement| on_small(placement, stale).0.expect_err("it is overwritten"), FaultKind::StaleRead);
}

/// The same commands in the same order: a report says the same, if bytes are used once.
#[test]
fn reports_are_those_of_handles() {
    #[device(chip = 1)]
    fn chain(ctx: &mut Context, x: &X) -> X {
        let x: Dm = x.to_dm(&mut ctx.tdma, AUTO);
        let y = plus_small(ctx, &x, 1);
        let z = plus_small(ctx, &y, 1);
        let mut all = Dm::new(ctx);
        for t in 0..4 {
            let part = z.view().tile::<m![B / 16], 1, m![1 # 4, B % 16]>(t);
            part.to_dm_view(&mut ctx.tdma, all.view_mut().tile::<m![B / 16], 1, m![1 # 4, B % 16]>(t));
        }
        let back: X = all.to_hbm(&mut ctx.tdma, AUTO);
        drop(back);
        let mut last = X::new(ctx);
        all.view().to_hbm_view(&mut ctx.tdma, last.view_mut());
        last
    }
    let reports: Vec<(Report, Vec<i32>, Vec<usize>)> = [Placement::Handles, Placement::Liveness]
        .map(|placement| {
            let (y, mut ctx) = on_small(placement, chain);
            let y = block_on(y.expect("it fits").to_host::<m![S, B]>(&mut ctx.pdma)).to_vec();
            let map = ctx.memory_map();
            (ctx.report(), y, map.memories.iter().map(|memory| memory.count as usize).collect())
        })
        .into();
    let [(handles, x, map), (liveness, y, other)] = &reports[..] else { unreachable!() };
    assert_eq!((x, map), (y, other));
    assert_eq!(y[5], numbers()[5] + 2);
    let told = |report: &Report| -> Vec<_> {
        let records = report.records.iter();
        records.map(|record| (record.operation, record.start, record.end, record.location)).collect()
    };
    assert_eq!(told(handles), told(liveness));
    assert_eq!(handles.totals.end, liveness.totals.end);
}

/// Addresses that the program names itself, and marks, are left alone. So are bare handles of names.
#[test]
fn given_addresses_are_left_alone() {
    #[device(chip = 1)]
    #[allow(unsafe_code)] // A contract about the memory of the chip.
    fn mixed(ctx: &mut Context, x: &X) -> X {
        let named: Dm = x.to_dm(&mut ctx.tdma, 4096);
        let mark = ctx.alloc_dm::<i32, m![B]>();
        let marked: Dm = x.to_dm(&mut ctx.tdma, mark);
        let mut kept = Vec::new();
        for k in 0..3000 {
            let own: Dm = x.to_dm(&mut ctx.tdma, AUTO);
            if k == 2500 {
                let marked = plus_small(ctx, &marked, 1);
                let named = plus_small(ctx, &named, 1);
                // SAFETY: the tensor is there.
                let bare = unsafe { Dm::from_addr(marked.address()) };
                kept.extend([named, bare, marked]);
            }
            kept.push(own);
        }
        ctx.free_dm_from(mark);
        let sum = [&kept[2500], &kept[2501], &kept[2502]].map(|x| plus_small(ctx, x, 10));
        let [a, b, c] = sum.map(|x| x.to_hbm::<m![S, B]>(&mut ctx.tdma, AUTO));
        drop((a, c));
        b
    }
    let checks = CheckOptions::ALL;
    let y = block_on(async {
        let mut ctx = Context::with(SimOptions { checks, ..options(Placement::Liveness) });
        let x = HostTensor::<i32, m![S, B]>::from_buf(init(&numbers())).to_hbm(&mut ctx.pdma, AUTO).await;
        let y = try_launch(mixed, (&mut *ctx, &x)).await.unwrap_or_else(|fault| panic!("{fault}"));
        y.to_host::<m![S, B]>(&mut ctx.pdma).await.to_vec()
    });
    assert_eq!(y, numbers().into_iter().map(|v| v + 11).collect::<Vec<_>>());
}

/// A launch in a launch: commands of the outer one come first, and its tensors stay.
#[test]
fn launches_nest() {
    #[device(chip = 1)]
    fn outer(ctx: &mut Context, x: &Quarter) -> Quarter {
        let a: QuarterDm = x.to_dm(&mut ctx.tdma, AUTO);
        let b = plus(ctx, &a, 1);
        drop(a);
        let y = block_on(launch(inner, (&mut *ctx, x)));
        let c = plus(ctx, &b, 1);
        let from_inner: QuarterDm = y.to_dm(&mut ctx.tdma, AUTO);
        let _ = plus(ctx, &from_inner, 0);
        c.to_hbm(&mut ctx.tdma, AUTO)
    }
    #[device(chip = 1)]
    fn inner(ctx: &mut Context, x: &Quarter) -> Quarter {
        let x: QuarterDm = x.to_dm(&mut ctx.tdma, AUTO);
        let x = plus(ctx, &x, 1);
        let x = plus(ctx, &x, 1);
        let x = plus(ctx, &x, 1);
        x.to_hbm(&mut ctx.tdma, AUTO)
    }
    let (y, mut ctx) = on_quarter(Placement::Liveness, outer);
    let y = block_on(y.unwrap_or_else(|fault| panic!("{fault}")).to_host::<m![L]>(&mut ctx.pdma)).to_vec();
    assert_eq!(y, quarter().into_iter().map(|v| v + 2).collect::<Vec<_>>());
}

/// More commands than wait at most.
#[test]
fn long_kernels_are_executed_in_parts() {
    #[device(chip = 1)]
    fn long(ctx: &mut Context, x: &X) -> X {
        let mut x: Dm = x.to_dm(&mut ctx.tdma, AUTO);
        for _ in 0..10_000 {
            x = plus_small(ctx, &x, 1);
            let _empty = Dm::new(ctx);
        }
        x.to_hbm(&mut ctx.tdma, AUTO)
    }
    let y = block_on(async {
        let compute = furiosa_visa_std::chip::Compute::ShapesOnly;
        let mut ctx = Context::with(SimOptions { compute, ..options(Placement::Liveness) });
        let x = HostTensor::<i32, m![S, B]>::from_buf(init(&numbers())).to_hbm(&mut ctx.pdma, AUTO).await;
        let y = try_launch(long, (&mut *ctx, &x)).await;
        (y.map(|_| ()), ctx.memory_map().memories[1].count)
    });
    assert_eq!(y, (Ok(()), 10_001));
}

/// All of DM, and one byte less than that is free.
#[test]
fn the_last_byte_of_dm() {
    axes![C = 65536, D = 65535];
    #[device(chip = 1)]
    fn two(ctx: &mut Context, half: &HbmTensor<i32, m![1], m![C]>) {
        let first = half.to_dm::<Cluster, Slice, m![C]>(&mut ctx.tdma, AUTO);
        let second = half.to_dm::<Cluster, Slice, m![C]>(&mut ctx.tdma, AUTO);
        for x in [&first, &second] {
            let _: HbmTensor<i32, m![1], m![C]> = x.to_hbm(&mut ctx.tdma, AUTO);
        }
    }
    #[device(chip = 1)]
    fn third(ctx: &mut Context, half: &HbmTensor<i32, m![1], m![C]>, x: &X) {
        let small: Dm = x.to_dm(&mut ctx.tdma, AUTO);
        let first = half.to_dm::<Cluster, Slice, m![C]>(&mut ctx.tdma, AUTO);
        let second = half.to_dm::<Cluster, Slice, m![C]>(&mut ctx.tdma, AUTO);
        for x in [&first, &second] {
            let _: HbmTensor<i32, m![1], m![C]> = x.to_hbm(&mut ctx.tdma, AUTO);
        }
        let _: X = small.to_hbm(&mut ctx.tdma, AUTO);
    }
    block_on(async {
        let mut ctx = Context::with(options(Placement::Liveness));
        let half = HostTensor::<i32, m![C]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        let x = HostTensor::<i32, m![S, B]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        assert_eq!(2 * 4 * C::SIZE, DM_BYTES);
        assert_eq!(try_launch(two, (&mut *ctx, &half)).await, Ok(()));
        let fault = try_launch(third, (&mut *ctx, &half, &x)).await.expect_err("256 bytes are too many");
        assert_eq!((fault.kind, fault.operation), (FaultKind::Capacity, "to_dm"));
    });
}
