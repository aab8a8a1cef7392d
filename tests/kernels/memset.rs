//! Memsets as a kernel writes them: every type, padding, tiles, order, faults, time and reports.

use crate::{Cluster, block_on};
use furiosa_visa_std::chip::{Addresses, Fault, FaultKind};
use furiosa_visa_std::clock::record::Timing;
use furiosa_visa_std::clock::tensor_unit::Stage;
use furiosa_visa_std::clock::{CostClass, Profile, Report};
use furiosa_visa_std::command::{ContextKind, MemoryKind};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::runtime::{Placement, try_launch_placed};

axes![A = 256, C = 2, N = 4, B = 8, D = 5];

fn addresses(addresses: Addresses) -> impl std::ops::DerefMut<Target = Context> {
    Context::with(SimOptions { addresses, ..SimOptions::default() })
}

/// A tensor of a type with the value in all of its elements, as the host reads it.
macro_rules! all_of {
    ($($type:ident: $value:expr;)*) => { $(
        {
            #[device(chip = 1)]
            fn set(ctx: &mut Context) -> HbmTensor<$type, m![1], m![A, N, B]> {
                let mut all = DmTensor::<$type, m![1], Cluster, m![A], m![N, B]>::new(ctx);
                all.view_mut().memset($value, &mut ctx.sub);
                all.to_hbm(&mut ctx.tdma, AUTO)
            }
            for kind in [Addresses::AsGiven, Addresses::Separate] {
                let mut ctx = addresses(kind);
                let found = block_on(async {
                    let whole = launch(set, &mut *ctx).await;
                    whole.to_host::<m![A, N, B]>(&mut ctx.pdma).await.to_vec()
                });
                assert_eq!(found, vec![$value; 256 * 32], stringify!($type));
            }
        }
    )* };
}

/// The value, and not its bits: 1.5 is 1.5 in every type of floats.
#[test]
fn every_type_has_values() {
    all_of! {
        i4: i4::from_i32(-3);
        i8: -100;
        i16: -30_000;
        i32: -2_000_000_001;
        f8e4m3: f8e4m3::from_f32(1.5);
        bf16: bf16::from_f32(1.5);
        f32: 1.000_000_1;
    }
}

type X = HbmTensor<i32, m![1], m![C, A, N, B]>;
type Dm = DmTensor<i32, m![1], m![C], m![A], m![N, B]>;

/// Ones, then a value in a part of each row, in row 2, and in one cluster of row 3.
#[device(chip = 1)]
fn parts(ctx: &mut Context, value: i32) -> X {
    let mut all = Dm::new(ctx);
    all.view_mut().memset(1, &mut ctx.sub);
    all.view_mut().tile::<m![B], 5, m![N, B = 5 # 8]>(2).memset(value, &mut ctx.sub);
    all.view_mut().tile::<m![N], 1, m![1 # 4, B]>(2).memset(value + 1, &mut ctx.sub);
    let mut row = all.view_mut().tile::<m![N], 1, m![1 # 4, B]>(3);
    row.cluster_tile::<m![C], 1, m![1 # 2]>(1).memset(value + 2, &mut ctx.sub);
    all.to_hbm(&mut ctx.tdma, AUTO)
}

/// What a tile does not hold stays, and the value may be known at run time alone.
#[test]
fn tiles_leave_the_rest_alone() {
    for kind in [Addresses::AsGiven, Addresses::Separate] {
        let mut ctx = addresses(kind);
        let found = block_on(async {
            let set = launch(parts, (&mut *ctx, 70)).await;
            set.to_host::<m![C, A, N, B]>(&mut ctx.pdma).await.to_vec()
        });
        let expected = (0..2 * 256 * 32).map(|k| match (k / (256 * 32), k / 8 % 4, k % 8) {
            (_, 2, _) => 71,
            (1, 3, _) => 72,
            (_, _, 2..7) => 70,
            _ => 1,
        });
        assert!(found.iter().copied().eq(expected), "{kind:?}: {found:?}");
        let notes = &ctx.report().notes;
        assert!(notes.len() == 3 && notes.iter().all(|note| note.operation == "memset"), "{notes:?}");
    }
}

/// A sum of two tensors of which one was set: the main context waits for the value, and computes with it.
#[device(chip = 1)]
fn added(ctx: &mut Context, x: &X) -> X {
    let x: Dm = x.to_dm(&mut ctx.tdma, AUTO);
    let mut same = Dm::new(ctx);
    same.view_mut().memset(1000, &mut ctx.sub);
    let operand: VrfTensor<i32, m![1], m![C], m![A], m![N, B]> =
        (ctx.sub.begin(same.view()).fetch::<i32, m![N], m![B]>()).collect::<m![N], m![B]>().to_vrf(AUTO);
    let sum: Dm = (ctx.main.begin(x.view()).fetch::<i32, m![N], m![B]>())
        .collect::<m![N], m![B]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp(FxpBinaryOp::AddFxp, &operand)
        .vector_final()
        .commit(AUTO);
    sum.to_hbm(&mut ctx.tdma, AUTO)
}

#[test]
fn engines_read_what_was_set() {
    let found = block_on(async {
        let mut ctx = Context::acquire();
        let x: Vec<i32> = (0..2 * 256 * 32).collect();
        let x: X = HostTensor::<i32, m![C, A, N, B]>::from_slice(&x).to_hbm(&mut ctx.pdma, AUTO).await;
        launch(added, (&mut *ctx, &x)).await.to_host::<m![C, A, N, B]>(&mut ctx.pdma).await.to_vec()
    });
    assert!(found.iter().copied().eq(1000..1000 + 2 * 256 * 32));
}

/// What a first tile leaves out is as unwritten as before.
#[device(chip = 1)]
fn half_written(ctx: &mut Context) -> X {
    let mut all = Dm::new(ctx);
    all.view_mut().tile::<m![N], 2, m![N = 2 # 4, B]>(1).memset(5, &mut ctx.sub);
    let sum: Dm = (ctx.main.begin(all.view()).fetch::<i32, m![N], m![B]>())
        .collect::<m![N], m![B]>()
        .vector_init()
        .vector_intra_slice_branch(BranchMode::Unconditional)
        .vector_fxp(FxpBinaryOp::AddFxp, 1)
        .vector_final()
        .commit(AUTO);
    sum.to_hbm(&mut ctx.tdma, AUTO)
}

/// Another handle of the same bytes carries no order.
#[device(chip = 1)]
fn unordered(ctx: &mut Context) -> X {
    let mut all = Dm::new(ctx);
    all.view_mut().memset(5, &mut ctx.sub);
    #[allow(unsafe_code)] // It is refused.
    let same = unsafe { Dm::from_addr(all.address()) };
    same.to_hbm(&mut ctx.tdma, AUTO)
}

/// A tensor over another one that is read afterwards.
#[device(chip = 1)]
fn overwritten(ctx: &mut Context) -> X {
    let mut first = Dm::new(ctx);
    first.view_mut().memset(5, &mut ctx.sub);
    #[allow(unsafe_code)] // It is refused.
    let mut second = unsafe { Dm::from_addr(first.address() + 64) };
    second.view_mut().memset(6, &mut ctx.sub);
    first.to_hbm(&mut ctx.tdma, AUTO)
}

#[track_caller]
fn fault<K>(kernel: K) -> Fault
where
    K: for<'a> DeviceFn<&'a mut Context, Output = X>,
{
    let mut ctx = Context::acquire();
    let Err(fault) = block_on(try_launch(kernel, &mut *ctx)) else { panic!("it is refused") };
    assert!(fault.location.file().ends_with("memset.rs"), "{fault}");
    fault
}

#[test]
fn memory_knows_what_was_set() {
    for (fault, kind, part) in [
        (fault(half_written), FaultKind::Uninitialised, "nobody has written since DmTensor::new"),
        (fault(unordered), FaultKind::Unordered, "reads DM"),
        (fault(overwritten), FaultKind::StaleRead, "memset"),
    ] {
        let text = fault.to_string();
        assert!(fault.kind == kind && text.contains(part) && text.contains("\nhelp: "), "{text}");
    }
}

axes![L = 49152];
type Large = DmTensor<i32, m![1], Cluster, m![1 # 256], m![L]>;
type LargeOut = HbmTensor<i32, m![1], m![N, L]>;

/// Four tensors of 192 KiB, one after another.
#[device(chip = 1)]
fn one_after_another(ctx: &mut Context) -> LargeOut {
    let mut out = LargeOut::new(ctx);
    let mut kept = Vec::new();
    for n in 0..N::SIZE {
        let mut own = Large::new(ctx);
        own.view_mut().memset(n as i32 - 2, &mut ctx.sub);
        own.view().to_hbm_view(&mut ctx.tdma, out.view_mut().tile::<m![N], 1, m![1 # 4, L]>(n));
        kept.push(own);
    }
    out
}

/// A memset is a first use: bytes are taken from there to the last one.
#[test]
fn liveness_places_what_is_set() {
    let run = |placement| {
        let mut ctx = Context::acquire();
        block_on(async {
            let out = try_launch_placed(one_after_another, &mut *ctx, placement).await?;
            Ok(out.to_host::<m![N, L]>(&mut ctx.pdma).await.to_vec())
        })
    };
    let fault: Fault = run(Placement::Handles).expect_err("three do not fit");
    assert_eq!(fault.kind, FaultKind::Capacity, "{fault}");
    let found: Vec<i32> = run(Placement::Liveness).unwrap_or_else(|fault| panic!("{fault}"));
    assert!(found.chunks(L::SIZE).zip(-2..).all(|(row, value)| row.iter().all(|own| *own == value)));
}

/// 5 of every 8 bytes: two words each. And 32 elements of 2 bytes, which are 16 words.
#[device(chip = 1)]
fn timed(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, N, B]>) -> HbmTensor<bf16, m![1], m![A, N, B]> {
    let mut rows = DmTensor::<i8, m![1], Cluster, m![A], m![N, D # 8]>::new(ctx);
    rows.view_mut().memset(3, &mut ctx.sub);
    let mut halves = DmTensor::<bf16, m![1], Cluster, m![A], m![N, B]>::new(ctx);
    let _beside: DmTensor<i8, m![1], Cluster, m![A], m![N, B]> = x.to_dm(&mut ctx.tdma, AUTO);
    halves.view_mut().memset(bf16::from_f32(0.25), &mut ctx.sub);
    halves.to_hbm(&mut ctx.tdma, AUTO)
}

fn report(profile: Profile) -> Report {
    let mut ctx = Context::with(SimOptions { profile, ..SimOptions::default() });
    block_on(async {
        let x = HostTensor::<i8, m![A, N, B]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        launch(timed, (&mut *ctx, &x)).await;
    });
    ctx.report()
}

/// A word of 4 bytes per cycle, in all slices at once, beside the DMA engines; who reads the tensor waits.
#[test]
fn a_word_takes_a_cycle() {
    for (profile, latency) in [(Profile::Book, 0), (Profile::Detailed, 258 + 1)] {
        let report = report(profile);
        let sets: Vec<_> = report.records.iter().filter(|own| own.operation == "memset").collect();
        let found: Vec<_> = sets.iter().map(|own| (own.context, own.timing.cycles())).collect();
        assert_eq!(found, [(ContextKind::Sub, 8 + latency), (ContextKind::Sub, 16 + latency)], "{profile}");
        let Timing::TensorUnit(time) = &sets[1].timing else { panic!("the Commit Engine writes it") };
        let commit = time.stage(Stage::Commit).expect("it commits").occupancy;
        assert_eq!((commit.cycles, commit.class, time.stage(Stage::Fetch)), (16, CostClass::Assumed, None));
        assert_eq!((sets[1].start, sets[0].memories), (sets[0].end, (None, Some(MemoryKind::Dm))));
        assert_eq!([sets[0].amount.written_bytes, sets[1].amount.written_bytes], [256 * 20, 256 * 64]);
        assert_eq!((sets[1].amount.read_bytes, sets[1].amount.slices.len()), (0, 256));
        let text = "memset, 0x3e803e80 to 16 words of each slice: [16 : 2] : 2";
        assert_eq!(&*sets[1].configuration, text);
        let ran = |name| report.records.iter().find(|own| own.operation == name).expect("it ran");
        assert!(ran("to_dm").start < sets[0].end && ran("to_hbm").start >= sets[1].end, "{report}");
        assert!(report.full().to_string().contains("memset"), "{report}");
    }
}
