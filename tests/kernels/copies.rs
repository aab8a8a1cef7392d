//! Shuffles and parallel copies as a kernel writes them: values, addresses, faults, order and time.

use crate::replay::{in_other_orders, kept};
use crate::{Cluster, assert_same, block_on, code, init};
use furiosa_visa_std::chip::{Addresses, Fault, FaultKind};
use furiosa_visa_std::clock::record::Timing;
use furiosa_visa_std::clock::tensor_unit::Stage;
use furiosa_visa_std::clock::{CostClass, Profile, Report};
use furiosa_visa_std::command::ContextKind;
use furiosa_visa_std::prelude::*;

axes![C = 2, G2 = 2, G4 = 4, A = 256, B = 32, V = 8, W = 16, R = 5];

fn numbers(seed: u32, count: usize) -> Vec<i32> {
    (0..count).map(|k| code(seed, k) as i32).collect()
}

/// The rows of an array, `of` elements each, in another order.
fn rows(values: &[i32], of: usize, order: &[usize]) -> Vec<i32> {
    order.iter().flat_map(|&row| values[row * of..(row + 1) * of].to_vec()).collect()
}

fn context(chips: usize, profile: Profile) -> impl std::ops::DerefMut<Target = Context> {
    Context::with(SimOptions { chips: Some(chips), profile, ..SimOptions::default() })
}

/// Runs a kernel over a tensor of one type and reads another one back.
macro_rules! run {
    ($kernel:expr, $chips:expr, $values:expr, $x:ty => $y:ty, $from:ty, $to:ty) => {{
        let values: &[i32] = $values;
        block_on(async {
            let mut ctx = context($chips, Profile::default());
            let x: $x = HostTensor::<i32, $from>::from_buf(init(values)).to_hbm(&mut ctx.pdma, 0).await;
            let y: $y = launch($kernel, (&mut *ctx, &x)).await;
            y.to_host::<$to>(&mut ctx.pdma).await.to_buf()
        })
    }};
}

macro_rules! rotations {
    ($($module:ident: $chips:literal, $axis:ident, $once:expr, $twice:expr;)*) => { $(
        mod $module {
            use super::*;
            type X = HbmTensor<i32, m![$axis], m![A, B]>;

            /// Rotated once and twice, each result at a place of its own.
            #[device(chip = $chips)]
            fn through_dm(ctx: &mut Context, x: &X) -> (X, X) {
                let x = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, 0);
                let once = ctx.tdma.dm_chip_shuffle::<_, $chips, _, _, _, _>(x.view(), &$once);
                let twice = ctx.tdma.dm_chip_shuffle::<_, $chips, _, _, _, _>(once.view(), &$once);
                assert_eq!((once.address(), twice.address()), (508 * 1024 - 128, 508 * 1024 - 256));
                (once.to_hbm(&mut ctx.tdma, 1 << 20), twice.to_hbm(&mut ctx.tdma, 2 << 20))
            }

            #[device(chip = $chips)]
            fn through_hbm(ctx: &mut Context, x: &X) -> (X, X) {
                let once = ctx.tdma.hbm_chip_shuffle(x, &$once);
                let twice = ctx.pdma.hbm_chip_shuffle(&once, &$once);
                (once, twice)
            }

            #[device(chip = $chips)]
            fn broadcast(ctx: &mut Context, x: &X) -> X {
                let x = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, 0);
                let all = ctx.tdma.dm_chip_shuffle::<_, $chips, _, _, _, _>(x.view(), &[1; $chips]);
                all.to_hbm(&mut ctx.tdma, 1 << 20)
            }

            /// Whatever the addresses are, and in every order that the chip may take.
            #[test]
            fn values_go_round() {
                let values = numbers($chips, $chips * 256 * 32);
                let of = 256 * 32;
                for addresses in [Addresses::AsGiven, Addresses::Separate] {
                    block_on(async {
                        let mut ctx = Context::with(SimOptions { addresses, ..SimOptions::default() });
                        let host = HostTensor::<i32, m![$axis, A, B]>::from_buf(init(&values));
                        let x: X = host.to_hbm(&mut ctx.pdma, 0).await;
                        let in_dm = kept(&mut ctx, |ctx| block_on(launch(through_dm, (ctx, &x))));
                        let in_hbm = kept(&mut ctx, |ctx| block_on(launch(through_hbm, (ctx, &x))));
                        for ((once, twice), commands) in [in_dm, in_hbm] {
                            in_other_orders(&mut ctx, &commands, |ctx, _| {
                                for (found, order) in [(&once, $once), (&twice, $twice)] {
                                    let found = block_on(found.to_host::<m![$axis, A, B]>(&mut ctx.pdma));
                                    assert_same(&found.to_buf(), &rows(&values, of, &order));
                                }
                            });
                        }
                        let (all, commands) = kept(&mut ctx, |ctx| block_on(launch(broadcast, (ctx, &x))));
                        in_other_orders(&mut ctx, &commands, |ctx, _| {
                            let found = block_on(all.to_host::<m![$axis, A, B]>(&mut ctx.pdma)).to_buf();
                            assert_same(&found, &rows(&values, of, &[1; $chips]));
                        });
                        assert_eq!(ctx.chips(), $chips);
                    });
                }
            }
        }
    )* };
}

rotations! {
    two_chips: 2, G2, [1, 0], [0, 1];
    four_chips: 4, G4, [1, 2, 3, 0], [2, 3, 0, 1];
}

type Clusters = HbmTensor<i32, m![1], m![C, A, B]>;

#[device(chip = 1)]
fn exchange(ctx: &mut Context, x: &Clusters) -> Clusters {
    let x = x.to_dm::<m![C], m![A], m![B]>(&mut ctx.tdma, 64);
    let exchanged = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(x.view(), &[1, 0]);
    exchanged.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[device(chip = 1)]
fn second_to_both(ctx: &mut Context, x: &Clusters) -> Clusters {
    let x = x.to_dm::<m![C], m![A], m![B]>(&mut ctx.tdma, 64);
    let both = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(x.view(), &[1, 1]);
    both.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[test]
fn clusters_are_exchanged() {
    let values = numbers(1, 2 * 256 * 32);
    let found = run!(exchange, 1, &values, Clusters => Clusters, m![C, A, B], m![C, A, B]);
    assert_same(&found, &rows(&values, 256 * 32, &[1, 0]));
    let found = run!(second_to_both, 1, &values, Clusters => Clusters, m![C, A, B], m![C, A, B]);
    assert_same(&found, &rows(&values, 256 * 32, &[1, 1]));
}

type Parts = HbmTensor<i32, m![G4], m![V, W]>;
type Part = HbmTensor<i32, m![G4], m![V % 2, W]>;

/// Each chip keeps another part of an axis that all have.
#[device(chip = 4)]
fn diagonal(ctx: &mut Context, x: &Parts) -> Part {
    let d = x.to_dm::<Cluster, m![1 # 256], m![V, W]>(&mut ctx.tdma, 0);
    let part: DmTensor<_, _, _, _, m![V % 2, W]> =
        ctx.sub.parallel_copy_chip_slice::<4, m![V / 2], m![1 # 4, V % 2, W], _, _, _, _, _, _>(
            d.view(),
            &[3, 0, 1, 2],
        );
    part.to_hbm(&mut ctx.tdma, 1 << 20)
}

type ClusterParts = HbmTensor<i32, m![1], m![C, R, B]>;
type ClusterPart = HbmTensor<i32, m![1], m![C, W, B]>;

/// Each cluster keeps one row, and repeats it.
#[device(chip = 1)]
fn repeated(ctx: &mut Context, x: &ClusterParts) -> ClusterPart {
    let d = x.to_dm::<m![C], m![1 # 256], m![R # 6, B]>(&mut ctx.tdma, 0);
    let part: DmTensor<_, _, _, _, m![W, B]> = ctx
        .sub
        .parallel_copy_cluster_slice::<2, m![R # 6], m![1 # 6, B], _, _, _, _, _, _>(d.view(), &[4, 1]);
    part.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[test]
fn each_chip_or_cluster_keeps_a_part() {
    let values = numbers(2, 4 * 8 * 16);
    let found = run!(diagonal, 4, &values, Parts => Part, m![G4, V, W], m![G4, V % 2, W]);
    assert_same(&found, &rows(&values, 2 * 16, &[3, 4, 9, 14]));
    let values = numbers(3, 2 * 5 * 32);
    let found = run!(repeated, 1, &values, ClusterParts => ClusterPart, m![C, R, B], m![C, W, B]);
    assert_same(&found, &rows(&values, 32, &[[4; 16], [6; 16]].concat()));
}

/// Each cluster keeps every fourth element, from another one on.
#[device(chip = 1)]
fn every_fourth(ctx: &mut Context, x: &ClusterParts) -> HbmTensor<i32, m![1], m![C, R, B / 8, B % 2]> {
    let d = x.to_dm::<m![C], m![1 # 256], m![R, B]>(&mut ctx.tdma, 0);
    let part: DmTensor<_, _, _, _, m![R, B / 8, B % 2]> = ctx
        .sub
        .parallel_copy_cluster_slice::<2, m![B / 2 % 4], m![R, B / 8, 1 # 4, B % 2], _, _, _, _, _, _>(
            d.view(),
            &[3, 1],
        );
    part.to_hbm(&mut ctx.tdma, 1 << 20)
}

/// Each chip keeps a part of an axis that lies inside of another one.
#[device(chip = 4)]
fn middle(ctx: &mut Context, x: &Parts) -> HbmTensor<i32, m![G4], m![V, W % 4]> {
    let d = x.to_dm::<Cluster, m![1 # 256], m![V, W]>(&mut ctx.tdma, 0);
    let part: DmTensor<_, _, _, _, m![V, W % 4]> =
        ctx.sub.parallel_copy_chip_slice::<4, m![W / 4], m![V, 1 # 4, W % 4], _, _, _, _, _, _>(
            d.view(),
            &[2, 3, 0, 1],
        );
    part.to_hbm(&mut ctx.tdma, 1 << 20)
}

#[test]
fn an_inner_axis_is_sliced() {
    let values = numbers(4, 2 * 5 * 32);
    let found = run!(every_fourth, 1, &values, ClusterParts => HbmTensor<i32, m![1], m![C, R, B / 8, B % 2]>,
        m![C, R, B], m![C, R, B / 8, B % 2]);
    let expected = (0..2 * 5 * 8).map(|k| values[k / 2 * 8 + [3, 1][k / 40] * 2 + k % 2]).collect::<Vec<_>>();
    assert_same(&found, &expected);
    let values = numbers(5, 4 * 8 * 16);
    let found = run!(middle, 4, &values, Parts => HbmTensor<i32, m![G4], m![V, W % 4]>,
        m![G4, V, W], m![G4, V, W % 4]);
    let expected =
        (0..4 * 8 * 4).map(|k| values[k / 4 * 16 + [2, 3, 0, 1][k / 32] * 4 + k % 4]).collect::<Vec<_>>();
    assert_same(&found, &expected);
}

type Plain = HbmTensor<i32, m![1], m![A, B]>;

/// Slices in another order, by the sub context.
#[device(chip = 1)]
fn slices_turned(ctx: &mut Context, x: &Plain, out: &mut Plain) {
    let a = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, 0);
    let mut b = x.to_dm::<Cluster, m![A % 16, A / 16], m![B]>(&mut ctx.tdma, 1024);
    a.view().to_dm_view_pcopy(&mut ctx.sub, b.view_mut());
    b.view().to_hbm_view(&mut ctx.tdma, out.view_mut());
}

#[test]
fn slices_are_remapped() {
    let values = numbers(4, 256 * 32);
    let found = block_on(async {
        let mut ctx = Context::acquire();
        let host = HostTensor::<i32, m![A, B]>::from_buf(init(&values));
        let x: Plain = host.to_hbm(&mut ctx.pdma, 0).await;
        let zero = HostTensor::<i32, m![A, B]>::zero();
        let mut y: Plain = zero.to_hbm(&mut ctx.pdma, 1 << 20).await;
        launch(slices_turned, (&mut *ctx, &x, &mut y)).await;
        y.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf()
    });
    assert_same(&found, &values);
}

/// What a kernel over a tensor of two clusters is refused for.
fn refusal<K>(kernel: K) -> Fault
where
    K: for<'a> DeviceFn<(&'a mut Context, &'a Clusters), Output = ()>,
{
    block_on(async {
        let mut ctx = Context::acquire();
        let host = HostTensor::<i32, m![C, A, B]>::from_buf(init(&numbers(5, 2 * 256 * 32)));
        let x: Clusters = host.to_hbm(&mut ctx.pdma, 0).await;
        try_launch(kernel, (&mut *ctx, &x)).await.expect_err("it is refused")
    })
}

macro_rules! refused {
    ($($name:ident: $kind:ident, $part:literal, |$ctx:ident, $x:ident, $d:ident| $body:expr;)*) => {
        $(
            #[device(chip = 1)]
            fn $name($ctx: &mut Context, $x: &Clusters) {
                let $d: DmTensor<i32, m![1], m![C], m![A], m![B]> = $x.to_dm(&mut $ctx.tdma, 1024);
                let _ = &$d;
                let _ = $body;
            }
        )*

        #[test]
        fn values_are_refused_at_the_call() {
            $(
                let fault = refusal($name);
                let text = fault.to_string();
                assert_eq!(fault.kind, FaultKind::$kind, "{}: {text}", stringify!($name));
                assert!(text.contains($part), "{}: {text}", stringify!($name));
                assert!(text.contains("copies.rs:") && text.contains("help: "), "{text}");
            )*
        }
    };
}

refused! {
    longer: Refused, "fault: dm_cluster_shuffle: refused: the pattern has 3 numbers, but the tensor has 2 clusters",
        |ctx, x, d| ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(d.view(), &[0, 1, 0]);
    shorter: Refused, "the pattern has 1 number, but the tensor has 2 clusters",
        |ctx, x, d| ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(d.view(), &[0]);
    outside: Refused, "the pattern gives cluster 1 what cluster 2 has, but the tensor has 2 clusters",
        |ctx, x, d| ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(d.view(), &[0, 2]);
    chip_outside: Refused, "fault: dm_chip_shuffle: refused: the pattern gives chip 0 what chip 1 has",
        |ctx, x, d| ctx.tdma.dm_chip_shuffle::<_, 1, _, _, _, _>(d.view(), &[1]);
    hbm_longer: Refused, "fault: hbm_chip_shuffle: refused: the pattern has 2 numbers, but the tensor has 1 chip",
        |ctx, x, d| ctx.tdma.hbm_chip_shuffle(x, &[0, 0]);
    hbm_outside: Refused, "the pattern gives chip 0 what chip 1 has, but the tensor has 1 chip",
        |ctx, x, d| ctx.pdma.hbm_chip_shuffle(x, &[1]);
    padding: Refused, "what cluster 1 has, but that one holds no element: it is padding of Cluster",
        |ctx, x, d| {
            let one = x.to_dm::<Cluster, m![A], m![C, B]>(&mut ctx.tdma, 4096);
            ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(one.view(), &[1, 0])
        };
    part_outside: Refused, "fault: parallel_copy_cluster_slice: refused: cluster 1 is to keep part 32, but AxisToSlice has 32",
        |ctx, x, d| {
            let part: DmTensor<i32, m![1], m![C], m![A], m![1]> = ctx.sub
                .parallel_copy_cluster_slice::<2, m![B], m![1 # 32], _, _, _, _, _, _>(d.view(), &[0, 32]);
            part
        };
    beside_a_tile: Refused, "fault: to_dm_pcopy: refused: the sub context writes multiples of 8 bytes, but behind the last",
        |ctx, x, d| {
            let mut other: DmTensor<i32, m![1], m![C], m![A], m![B]> = x.to_dm(&mut ctx.tdma, 4096);
            let tile = other.view_mut().tile::<m![B], 3, m![B = 3 # 32]>(0);
            d.view().tile::<m![B], 3, m![B = 3 # 32]>(0).to_dm_view_pcopy(&mut ctx.sub, tile)
        };
    unaligned: Refused, "fault: to_dm_pcopy: refused: the destination is at address 4100, which is no multiple of the 8 bytes",
        |ctx, x, d| {
            let mut other: DmTensor<i32, m![1], m![C], m![A], m![B]> = d.to_dm(&mut ctx.tdma, 4100);
            d.to_dm_pcopy(&mut ctx.sub, &mut other)
        };
    over_its_source: Overwrite, "so that it may be written before it is read",
        |ctx, x, d| {
            let mut other: DmTensor<i32, m![1], m![C], m![A], m![B]> = x.to_dm(&mut ctx.tdma, 1024 + 64);
            // The bytes of `d` that are left are as good as others: only the order of reads and writes counts.
            let d: DmTensor<i32, m![1], m![C], m![A], m![B]> = bare(d.address());
            d.to_dm_pcopy(&mut ctx.sub, &mut other)
        };
    full: Capacity, "fault: dm_cluster_shuffle: capacity exceeded: 128 bytes do not fit: of the 524288 bytes of DM at most 64 \
                     are free in one piece",
        |ctx, x, d| {
            axes![Q = 524224];
            let _ = ctx.alloc_dm::<i8, m![Q]>();
            ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(d.view(), &[1, 0])
        };
    overwritten: StaleRead, "fault: DMA: stale read: ",
        |ctx, x, d| {
            let first = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(d.view(), &[1, 0]);
            let _over: DmTensor<i32, m![1], m![C], m![A], m![B]> = x.to_dm(&mut ctx.tdma, first.address());
            first.to_hbm::<m![C, A, B]>(&mut ctx.tdma, 1 << 24)
        };
    unordered: Unordered, "fault: to_dm_pcopy: unordered access",
        |ctx, x, d| {
            let mut other: DmTensor<i32, m![1], m![C], m![A], m![B]> = bare(d.address() + 4096);
            let _theirs: DmTensor<i32, m![1], m![C], m![A], m![B]> = x.to_dm(&mut ctx.tdma, d.address() + 4096);
            d.to_dm_pcopy(&mut ctx.sub, &mut other)
        };
}

#[allow(unsafe_code)] // A handle that carries no order: what it does is refused.
fn bare<Slice: M, Element: M>(address: u64) -> DmTensor<i32, m![1], m![C], Slice, Element> {
    unsafe { DmTensor::from_addr(address) }
}

/// The last byte of DM that is free is given, and `alloc_dm` keeps off the results.
#[test]
fn results_are_kept_apart() {
    #[device(chip = 1)]
    fn to_the_limit(ctx: &mut Context, x: &Clusters) {
        axes![Q = 520064];
        let d = x.to_dm::<m![C], m![A], m![B]>(&mut ctx.tdma, 0);
        for _round in 0..10_000 {
            let shuffled = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(d.view(), &[1, 0]);
            assert_eq!(shuffled.address(), 520064, "the bytes of the one before are free again");
        }
        let _shuffled = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(d.view(), &[1, 0]);
        assert_eq!((ctx.alloc_dm::<i8, m![Q]>(), ctx.dm_mark()), (0, 520064));
        let _ = ctx.alloc_dm::<i8, m![1]>();
    }
    let text = refusal(to_the_limit).to_string();
    assert!(text.contains("fault: alloc_dm: capacity exceeded: 1 byte does not fit"), "{text}");
    assert!(text.contains("note: 520064 bytes are held by what was made here"), "{text}");
    assert!(text.contains("note: 128 bytes are held by what was made here"), "{text}");
}

/// The operation of this name in the report.
#[track_caller]
fn ran<'a>(report: &'a Report, name: &str) -> &'a furiosa_visa_std::clock::Record {
    report.records.iter().find(|record| record.operation == name).expect("it ran")
}

fn report<X: DeviceSend, K>(
    kernel: K,
    chips: usize,
    profile: Profile,
    x: impl AsyncFnOnce(&mut Context) -> X,
) -> Report
where
    K: for<'a> DeviceFn<(&'a mut Context, X), Output = ()>,
{
    block_on(async {
        let mut ctx = context(chips, profile);
        let x = x(&mut ctx).await;
        launch(kernel, (&mut *ctx, x)).await;
        ctx.report()
    })
}

use furiosa_visa_std::runtime::DeviceSend;

type Large = HbmTensor<i8, m![G4], m![A, L]>;
axes![L = 256];

/// 64 KiB per chip.
#[device(chip = 4)]
fn timed_rotation(ctx: &mut Context, x: Large) {
    let d = x.to_dm::<Cluster, m![A], m![L]>(&mut ctx.tdma, 0);
    let _ = ctx.tdma.dm_chip_shuffle::<_, 4, _, _, _, _>(d.view(), &[1, 2, 3, 0]);
    let _ = ctx.pdma.hbm_chip_shuffle(&x, &[1, 2, 3, 0]);
}

/// Bytes cross PCIe at 30 per cycle: 500 + 2185 for the 64 KiB of each chip. All links work side by side.
#[test]
fn chips_exchange_at_the_rate_of_their_links() {
    for profile in [Profile::Book, Profile::Detailed] {
        let report = report(timed_rotation, 4, profile, async |ctx| {
            HostTensor::<i8, m![G4, A, L]>::zero().to_hbm::<m![G4], m![A, L]>(&mut ctx.pdma, 0).await
        });
        let shuffle = ran(&report, "dm_chip_shuffle");
        assert_eq!((shuffle.timing.cycles(), shuffle.context), (500 + 2185, ContextKind::TensorDma));
        assert_eq!((shuffle.timing.bottleneck(), shuffle.amount.written_bytes), ("PCIe", 4 << 16));
        let in_hbm = ran(&report, "hbm_chip_shuffle");
        assert_eq!(in_hbm.context, ContextKind::PcieDma);
        assert!(in_hbm.timing.cycles() >= 2685, "{}", in_hbm.timing.cycles());
        let text = report.full().to_string();
        assert!(text.contains("dm_chip_shuffle") && text.contains("hbm_chip_shuffle"), "{text}");
    }
}

type TwoClusters = HbmTensor<i8, m![1], m![C, A, L]>;

#[device(chip = 1)]
fn timed_exchange(ctx: &mut Context, x: TwoClusters) {
    let d = x.to_dm::<m![C], m![A], m![L]>(&mut ctx.tdma, 0);
    let _ = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(d.view(), &[1, 0]);
    let _ = ctx.tdma.dm_cluster_shuffle::<_, 2, _, _, _, _>(d.view(), &[0, 1]);
}

/// Each of the 8 engines writes the 64 slices of its PE, 256 bytes each: 64 requests, which both Data Memory Networks of the PE
/// serve in 64 cycles. Clusters are different media, so that reads and writes go side by side; inside of one they add up.
#[test]
fn clusters_are_different_media() {
    // A cycle of the network of the detailed profile is one of 0.75 GHz: 64 of them are 85.3 of the core.
    for (profile, expected) in
        [(Profile::Book, [500 + 64, 500 + 64 + 64]), (Profile::Detailed, [500 + 86, 500 + 171])]
    {
        let report = report(timed_exchange, 1, profile, async |ctx| {
            HostTensor::<i8, m![C, A, L]>::zero().to_hbm::<m![1], m![C, A, L]>(&mut ctx.pdma, 0).await
        });
        let shuffles = report.records.iter().filter(|own| own.operation == "dm_cluster_shuffle");
        let cycles: Vec<_> = shuffles.map(|own| own.timing.cycles()).collect();
        assert_eq!(cycles, expected, "{report}");
    }
}

type Pair = HbmTensor<i8, m![1], m![A, L]>;

/// The same copy twice: as it lies, and in rows of four bytes.
#[device(chip = 1)]
fn timed_copies(ctx: &mut Context, x: Pair) {
    let d = x.to_dm::<Cluster, m![A], m![L]>(&mut ctx.tdma, 0);
    let mut same = x.to_dm::<Cluster, m![A], m![L]>(&mut ctx.tdma, 1024);
    #[allow(unsafe_code)] // Nobody reads what was there.
    let mut rows = unsafe { DmTensor::<i8, m![1], Cluster, m![A], m![L / 4, L % 4 # 8]>::from_addr(2048) };
    d.to_dm_pcopy(&mut ctx.sub, &mut same);
    d.to_dm_pcopy(&mut ctx.sub, &mut rows);
    let _beside = x.to_dm::<Cluster, m![A], m![L]>(&mut ctx.tdma, 4096);
}

#[test]
fn the_sub_context_copies_8_bytes_per_cycle() {
    for (profile, latency) in [(Profile::Book, 0), (Profile::Detailed, 258 + 4)] {
        let report = report(timed_copies, 1, profile, async |ctx| {
            HostTensor::<i8, m![A, L]>::zero().to_hbm::<m![1], m![A, L]>(&mut ctx.pdma, 0).await
        });
        let copies: Vec<_> =
            report.records.iter().filter(|record| record.operation == "to_dm_pcopy").collect();
        let found: Vec<_> = copies.iter().map(|own| (own.context, own.timing.cycles())).collect();
        // 256 bytes per slice: 8 at a time, and 4 at a time where no more stay together.
        assert_eq!(found, [(ContextKind::Sub, 32 + latency), (ContextKind::Sub, 64 + latency)], "{profile}");
        let Timing::TensorUnit(time) = &copies[0].timing else { panic!("it goes through the Tensor Unit") };
        let fetch = time.stage(Stage::Fetch).expect("it fetches").occupancy;
        assert_eq!((fetch.cycles, fetch.class), (32, CostClass::Derived));
        assert_eq!(copies[1].timing.class(), CostClass::Assumed);
        // DMA goes on beside them.
        let beside = report.records.iter().rfind(|own| own.operation == "to_dm").expect("it ran");
        assert!(beside.start < copies[1].end, "{report}");
        assert_eq!(copies[0].amount.written_bytes, 256 * 256);
    }
}
