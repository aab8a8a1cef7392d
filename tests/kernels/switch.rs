//! The Switch Engine in kernels: every variant, from HBM to HBM, by the positions that the guide gives (switch).

use crate::{Cluster, block_on, init, numbers};
use furiosa_visa_std::prelude::*;

axes![A = 256, T = 8, P = 32, X = 4, Y = 8, Z = 32];

type Source = HbmTensor<i8, m![1], m![A, T, P]>;

/// One kernel: slices and time before, after, and how.
macro_rules! switched {
    ($name:ident, $slice:ty, $time:ty, |$stream:ident| $switch:expr) => {
        mod $name {
            use super::*;
            type Result = HbmTensor<i8, m![1], m![{ $slice }, { $time }, P]>;

            #[device(chip = 1)]
            fn kernel(ctx: &mut Context, x: &Source) -> Result {
                let x = x.to_dm::<Cluster, m![A], m![T, P]>(&mut ctx.tdma, 0);
                let $stream = ctx.main.begin(x.view()).fetch::<i8, m![T], m![P]>();
                let stream: SwitchTensor<_, i8, m![1], Cluster, $slice, $time, m![P]> = $switch;
                let y = stream.collect::<$time, m![P]>().commit::<m![{ $time }, P]>(64 << 10);
                y.to_hbm(&mut ctx.tdma, 1 << 20)
            }

            /// What lies in each slice at each time: slice and time of its packet before.
            pub fn run() -> Vec<Vec<(usize, usize)>> {
                let mut ctx = Context::acquire();
                let values = init(&numbers::<i8>(7, 256 * 8 * 32));
                let host = HostTensor::<i8, m![A, T, P]>::from_buf(values.clone());
                let source: Source = block_on(host.to_hbm(&mut ctx.pdma, 0));
                let result = block_on(launch(kernel, (&mut *ctx, &source)));
                let back: HostTensor<i8, m![{ $slice }, { $time }, P]> =
                    block_on(result.to_host(&mut ctx.pdma));
                // Packets are told by their bytes.
                let places: std::collections::HashMap<_, _> = (values.chunks(32).enumerate())
                    .map(|(k, packet)| (format!("{packet:?}"), (k / 8, k % 8)))
                    .collect();
                assert_eq!(places.len(), 256 * 8, "all packets differ");
                let found = back.to_buf();
                let steps = found.len() / 256 / 32;
                let packets: Vec<_> = found.chunks(32).map(|packet| places[&format!("{packet:?}")]).collect();
                packets.chunks(steps).map(<[_]>::to_vec).collect()
            }
        }
    };
}

switched!(broadcast01, m![A / 8, Y], m![T / 2, A / 2 % 4, T % 2, A % 2], |stream| {
    stream.switch(SwitchConfig::Broadcast01 { slice1: 4, slice0: 2, time0: 2 })
});
switched!(broadcast1, m![A / 32, X, A % 8], m![T, A / 8 % 4], |stream| {
    stream.switch(SwitchConfig::Broadcast1 { slice1: 4, slice0: 8 })
});
switched!(transpose, m![A / 64, A % 2, A / 2 % 32], m![T], |stream| {
    stream.switch(SwitchConfig::Transpose { slice1: 32, slice0: 2 })
});
switched!(inter_transpose, m![A / 16, T / 2 % 2, A % 8], m![T / 4, T % 2, A / 8 % 2], |stream| {
    stream.switch(SwitchConfig::InterTranspose { slice1: 2, slice0: 8, time0: 2 })
});
switched!(transposed_broadcast1, m![A / 64, Y, A / 8 % 8], m![T, A % 8], |stream| {
    stream.switch(SwitchConfig::TransposedBroadcast1 { slice1: 8, slice0: 8 })
});
switched!(custom, m![A / 32, X, A / 4 % 2, A / 8 % 4], m![T, A % 4], |stream| {
    stream.switch(SwitchConfig::CustomBroadcast { ring_size: 32 })
});
switched!(forwarding, m![A / 8, A % 8], m![T, 1], |stream| stream.switch(SwitchConfig::Forwarding));
switched!(derived, m![A / 32, X, A % 8], m![T, A / 8 % 4], |stream| stream.switch_to());

/// The formulas of positions, variant by variant (guide: switch).
#[test]
fn every_variant_moves_packets_to_its_positions() {
    let check = |found: Vec<Vec<(usize, usize)>>, expected: &dyn Fn(usize, usize) -> (usize, usize)| {
        for (slice, packets) in found.iter().enumerate() {
            for (time, packet) in packets.iter().enumerate() {
                assert_eq!(*packet, expected(slice, time), "slice {slice}, time {time}");
            }
        }
    };
    check(broadcast01::run(), &|s, t| {
        let (s0, t0, s1, t1) = (t % 2, t / 2 % 2, t / 4 % 4, t / 16);
        (s / 8 * 8 + s1 * 2 + s0, t1 * 2 + t0)
    });
    check(broadcast1::run(), &|s, t| (s / 32 * 32 + t % 4 * 8 + s % 8, t / 4));
    check(derived::run(), &|s, t| (s / 32 * 32 + t % 4 * 8 + s % 8, t / 4));
    check(transpose::run(), &|s, t| (s / 64 * 64 + s % 32 * 2 + s / 32 % 2, t));
    check(inter_transpose::run(), &|s, t| {
        let (s1, t0, t2, t1) = (t % 2, t / 2 % 2, t / 4, s / 8 % 2);
        (s / 16 * 16 + s1 * 8 + s % 8, t2 * 4 + t1 * 2 + t0)
    });
    check(transposed_broadcast1::run(), &|s, t| (s / 64 * 64 + s % 8 * 8 + t % 8, t / 8));
    check(forwarding::run(), &|s, t| (s, t));
    check(custom::run(), &|s, t| (s / 32 * 32 + s % 4 * 8 + s / 4 % 2 * 4 + t % 4, t / 4));
}

/// A pass that forwards is the pass that collects at once, in both profiles and in time, values and checks: its command
/// is the same. Slices of padding send nothing.
#[test]
fn forwarding_is_collecting_at_once() {
    use furiosa_visa_std::clock::Profile;

    axes![B = 200];

    let run = |profile: Profile, forwards: bool| {
        let mut ctx = Context::with(SimOptions { profile, ..SimOptions::default() });
        let host = HostTensor::<i8, m![B, T, P]>::from_buf(init(&numbers::<i8>(3, 200 * 8 * 32)));
        let x = block_on(host.to_hbm::<m![1], m![B, T, P]>(&mut ctx.pdma, 0));
        let dm = x.to_dm::<Cluster, m![B # 256], m![T, P]>(&mut ctx.tdma, 0);
        let fetched = ctx.main.begin(dm.view()).fetch::<i8, m![T], m![P]>();
        let y = if forwards {
            let switched = fetched.switch::<m![B # 256], m![T]>(SwitchConfig::Forwarding);
            switched.collect::<m![T], m![P]>().commit::<m![T, P]>(4096)
        } else {
            fetched.collect::<m![T], m![P]>().commit::<m![T, P]>(4096)
        };
        let y = y.to_hbm::<m![B, T, P]>(&mut ctx.tdma, 1 << 20);
        let values = block_on(y.to_host::<m![B, T, P]>(&mut ctx.pdma)).to_buf();
        assert_eq!(values, host.to_buf());
        let records = ctx.report().records;
        let time = records
            .iter()
            .map(|record| (record.operation, record.start, record.end, record.configuration.clone()));
        time.collect::<Vec<_>>()
    };
    for profile in [Profile::Book, Profile::Detailed] {
        assert_eq!(run(profile, true), run(profile, false));
    }
}

/// The bitmap of a custom switch waits for the DMA engines and the sub context, and they for it; in the book profile it
/// takes no time, but it still has to find them idle.
mod bitmaps {
    use super::*;
    use furiosa_visa_std::clock::{Profile, Record, Report};

    type Dm = DmTensor<i8, m![1], Cluster, m![A], m![T, P]>;
    type Swapped = m![A % 16, A / 16];

    #[device(chip = 1)]
    fn custom(ctx: &mut Context, x: &Source) {
        let dm: Dm = x.to_dm(&mut ctx.tdma, 0);
        // The DMA engines are at work.
        let _other: Dm = x.to_dm(&mut ctx.tdma, 128 << 10);
        let _ = (ctx.main.begin(dm.view()).fetch::<i8, m![T], m![P]>())
            .switch::<Swapped, m![T]>(SwitchConfig::CustomBroadcast { ring_size: 256 })
            .collect::<m![T], m![P]>()
            .commit::<m![T, P]>(64 << 10);
        let _last: Dm = x.to_dm(&mut ctx.tdma, 256 << 10);
    }

    #[device(chip = 1)]
    fn regular(ctx: &mut Context, x: &Source) {
        let dm: Dm = x.to_dm(&mut ctx.tdma, 0);
        let _other: Dm = x.to_dm(&mut ctx.tdma, 128 << 10);
        let _ = (ctx.main.begin(dm.view()).fetch::<i8, m![T], m![P]>())
            .switch::<Swapped, m![T]>(SwitchConfig::Transpose { slice1: 16, slice0: 16 })
            .collect::<m![T], m![P]>()
            .commit::<m![T, P]>(64 << 10);
    }

    #[device(chip = 1)]
    fn beside_the_sub_context(ctx: &mut Context, x: &Source) {
        let dm: Dm = x.to_dm(&mut ctx.tdma, 0);
        macro_rules! copy {
            ($address:expr) => {
                let stream = ctx.sub.begin(dm.view()).fetch::<i8, m![T], m![P]>();
                let _ = stream.collect::<m![T], m![P]>().commit::<m![T, P]>($address);
            };
        }
        copy!(128 << 10);
        let _ = (ctx.main.begin(dm.view()).fetch::<i8, m![T], m![P]>())
            .switch::<Swapped, m![T]>(SwitchConfig::CustomBroadcast { ring_size: 256 })
            .collect::<m![T], m![P]>()
            .commit::<m![T, P]>(64 << 10);
        copy!(256 << 10);
    }

    fn report<K>(kernel: K, profile: Profile) -> Report
    where
        K: for<'a> DeviceFn<(&'a mut Context, &'a Source), Output = ()>,
    {
        let mut ctx = Context::with(SimOptions { profile, ..SimOptions::default() });
        let host = HostTensor::<i8, m![A, T, P]>::from_buf(init(&numbers::<i8>(7, 256 * 8 * 32)));
        let source: Source = block_on(host.to_hbm(&mut ctx.pdma, 0));
        block_on(launch(kernel, (&mut *ctx, &source)));
        ctx.report()
    }

    fn named<'a>(report: &'a Report, name: &str) -> Vec<&'a Record> {
        report.records.iter().filter(|record| record.operation == name).collect()
    }

    #[test]
    fn a_bitmap_is_a_conflict_and_no_fixed_stall() {
        for (profile, cycles) in [(Profile::Book, 0), (Profile::Detailed, 719)] {
            let report = report(custom, profile);
            let (bitmaps, moves) = (named(&report, "switch bitmap"), named(&report, "to_dm"));
            let pass = named(&report, "commit")[0];
            assert_eq!((bitmaps.len(), moves.len(), bitmaps[0].cycles()), (1, 3, cycles), "{profile}");
            assert!(bitmaps[0].start >= moves[1].end, "{profile}: the DMA engines are busy until then");
            assert!(pass.start >= bitmaps[0].end && moves[2].start >= bitmaps[0].end, "{profile}");
            assert!(moves[2].start < pass.end, "{profile}: they are free again while the pass runs");
            let text = report.full().to_string();
            assert!(
                text.contains("switch CustomBroadcast, ring 256, snoop[s'] = s' / 16 + s' % 16 * 16"),
                "{text}"
            );
            assert!(text.contains("emission time, source slice, delivered 1/256"), "{text}");
        }
    }

    /// The bitmap goes through the sub context.
    #[test]
    fn a_bitmap_finds_the_sub_context_idle() {
        use furiosa_visa_std::command::ContextKind;
        for profile in [Profile::Book, Profile::Detailed] {
            let report = report(beside_the_sub_context, profile);
            let commits = named(&report, "commit");
            let of = |context| commits.iter().filter(move |record| record.context == context);
            let (copies, pass): (Vec<_>, Vec<_>) =
                (of(ContextKind::Sub).collect(), of(ContextKind::Main).collect());
            let bitmap = named(&report, "switch bitmap")[0];
            assert_eq!((copies.len(), pass.len()), (2, 1), "{profile}");
            let loaded = named(&report, "to_dm")[0].end;
            assert!(
                copies[0].end > loaded && bitmap.start >= copies[0].end,
                "{profile}: it is busy until then"
            );
            assert!(copies[1].start >= bitmap.end && pass[0].start >= bitmap.end, "{profile}");
            assert!(copies[1].start < pass[0].end, "{profile}: it is free again while the pass runs");
        }
    }

    /// Regular variants have generators of their own: the DMA engines go on.
    #[test]
    fn regular_variants_have_no_bitmap() {
        for profile in [Profile::Book, Profile::Detailed] {
            let report = report(regular, profile);
            assert!(named(&report, "switch bitmap").is_empty());
            let (pass, other) = (named(&report, "commit")[0], named(&report, "to_dm")[1]);
            assert!(pass.start < other.end, "{profile}");
            // 256 * 8 packets of a flit, and nothing beside them.
            let furiosa_visa_std::clock::record::Timing::TensorUnit(time) = &pass.timing else {
                panic!("a pass")
            };
            let stage = time.stage(furiosa_visa_std::clock::tensor_unit::Stage::Switch).expect("it switches");
            assert_eq!((stage.occupancy.cycles, stage.latency.cycles), (2048, 0), "{profile}");
            assert_eq!(pass.timing.bottleneck(), "switch");
        }
    }
}

/// What a kernel panics with.
macro_rules! refused {
    ($name:ident, $slice:ty, $time:ty, $config:expr, [$($part:literal),* $(,)?]) => {
        #[test]
        fn $name() {
            #[device(chip = 1)]
            fn kernel(ctx: &mut Context, x: &Source) {
                let x = x.to_dm::<Cluster, m![A], m![T, P]>(&mut ctx.tdma, 0);
                let _ = (ctx.main.begin(x.view()).fetch::<i8, m![T], m![P]>())
                    .switch::<$slice, $time>($config)
                    .collect::<$time, m![P]>()
                    .commit::<m![{ $time }, P]>(64 << 10);
            }
            let mut ctx = Context::acquire();
            let host = HostTensor::<i8, m![A, T, P]>::zero();
            let source: Source = block_on(host.to_hbm(&mut ctx.pdma, 0));
            let fault = block_on(try_launch(kernel, (&mut *ctx, &source))).expect_err("it is refused");
            let text = fault.to_string();
            assert!(text.starts_with("fault: switch: refused: `SwitchConfig::"), "{text}");
            for part in [$($part),*] {
                assert!(text.contains(part), "`{part}` is not in {text}");
            }
            let line = include_str!("switch.rs").lines().nth(fault.location.line() as usize - 1);
            assert!(line.is_some_and(|line| line.starts_with("refused!(")), "{text}");
            // Nothing was fetched or committed.
            assert!(ctx.report().records.iter().all(|record| record.operation != "commit"));
        }
    };
}

type Quarter = m![A / 32, X, A % 8];
type QuarterTime = m![T, A / 8 % 4];

refused!(
    a_size_of_zero,
    Quarter,
    QuarterTime,
    SwitchConfig::Broadcast1 { slice1: 0, slice0: 8 },
    [
        "All dimensions must be greater than 0",
        "help: use 1 for a digit that is not there; `SwitchConfig::Broadcast1 { slice1: 4, slice0: 8 }` does it",
    ]
);
refused!(
    sizes_that_do_not_divide_the_slices,
    Quarter,
    QuarterTime,
    SwitchConfig::Broadcast1 { slice1: 3, slice0: 8 },
    ["InSlice::SIZE must be divisible by (slice1 * slice0), but 256 of `m![A]` is not by 3 * 8",]
);
refused!(
    sizes_that_do_not_divide_time,
    Quarter,
    QuarterTime,
    SwitchConfig::Broadcast01 { slice1: 4, slice0: 8, time0: 3 },
    ["`InTime::SIZE`, 8 of `m![T]`, is not divisible by `time0`, 3",]
);
refused!(
    a_time_digit_that_does_not_divide_time,
    Quarter,
    QuarterTime,
    SwitchConfig::InterTranspose { slice1: 4, slice0: 8, time0: 4 },
    ["is not divisible by `(slice1 * time0)`, 4 * 4",]
);
refused!(
    other_outer_slices,
    Quarter,
    QuarterTime,
    SwitchConfig::Broadcast1 { slice1: 2, slice0: 8 },
    ["OutSlice must preserve slice2 from InSlice, but it is `m![A / 16]` in `m![A]`",]
);
refused!(
    old_axes_of_copies,
    Quarter,
    QuarterTime,
    SwitchConfig::Broadcast1 { slice1: 8, slice0: 4 },
    ["`OutSlice` broadcast axes must be new axes, but `A` of `m![X, A / 4 % 2]` is in `InSlice` `m![A]`",]
);
refused!(
    another_output_time,
    Quarter,
    QuarterTime,
    SwitchConfig::Broadcast01 { slice1: 4, slice0: 8, time0: 2 },
    ["`OutSlice` broadcast axes must be new axes",]
);
refused!(
    time_in_another_order,
    m![A / 32, Z],
    m![T, A % 32],
    SwitchConfig::Broadcast01 { slice1: 4, slice0: 8, time0: 8 },
    [
        "OutTime does not match expected layout: it is `m![T, A % 32]`, but `[time1, slice1, time0, slice0]` is `m![A / 8 % 4, T, A % 8]`",
        "`SwitchConfig::Broadcast1 { slice1: 32, slice0: 1 }` does it",
    ]
);
refused!(
    slices_that_are_not_swapped,
    m![A % 16, A / 16],
    m![T],
    SwitchConfig::Transpose { slice1: 32, slice0: 8 },
    [
        "`OutSlice` `m![A % 16, A / 16]` does not match `[slice2, slice0, slice1]`, which is `m![A % 8, A / 8]`",
    ]
);
refused!(
    time_of_another_size,
    Quarter,
    QuarterTime,
    SwitchConfig::Transpose { slice1: 4, slice0: 8 },
    ["input and output time must have the same size, but `m![T]` has 8 steps and `m![T, A / 8 % 4]` has 32",]
);
refused!(
    inner_slices_that_change,
    m![A / 32, A / 8 % 4, Y],
    m![T, A % 8],
    SwitchConfig::Broadcast1 { slice1: 8, slice0: 4 },
    ["`OutSlice` broadcast axes must be new axes"]
);
refused!(
    an_outer_slice_digit_that_is_lost,
    m![A / 32, Y, A / 8 % 4],
    m![T, A % 8],
    SwitchConfig::TransposedBroadcast1 { slice1: 2, slice0: 16 },
    ["switch: refused: `SwitchConfig::TransposedBroadcast1 { slice1: 2, slice0: 16 }`",]
);
refused!(
    a_time_digit_that_does_not_enter,
    m![A / 16, T / 2 % 2, A % 8],
    m![T / 4, T % 2, A / 8 % 2],
    SwitchConfig::InterTranspose { slice1: 2, slice0: 8, time0: 1 },
    ["`time1` of `OutSlice` has to come from `InTime`: it is `m![T / 2 % 2]`", "but `m![T % 2]` in `m![T]`",]
);
refused!(
    a_ring_of_six,
    Quarter,
    QuarterTime,
    SwitchConfig::CustomBroadcast { ring_size: 6 },
    ["the ring size must be a power of 2, but it is 6",]
);
refused!(
    a_larger_ring,
    Quarter,
    QuarterTime,
    SwitchConfig::CustomBroadcast { ring_size: 64 },
    ["has 32 slices, but the ring size is 64", "help: use the expected ring size",]
);
refused!(
    a_smaller_ring,
    Quarter,
    QuarterTime,
    SwitchConfig::CustomBroadcast { ring_size: 16 },
    ["has 32 slices, but the ring size is 16",]
);
refused!(
    time_that_becomes_a_slice,
    m![A / 16, T / 2 % 2, A % 8],
    m![T / 4, T % 2, A / 8 % 2],
    SwitchConfig::CustomBroadcast { ring_size: 16 },
    [
        "the tile `m![T / 2 % 2]` of `OutSlice`",
        "must be new with respect to `InSlice` `m![A]` and `InTime` `m![T]`",
    ]
);

/// Sums after an exchange are those of data that DMA has put where the exchange brings it.
mod sums {
    use super::*;

    axes![K = 32, N = 8];

    type Input = HbmTensor<bf16, m![1], m![A, T, K]>;
    type Swapped = m![A % 16, A / 16];
    type Sums = HbmTensor<f32, m![1], m![{ Swapped }, T, N]>;

    macro_rules! multiplied {
        ($name:ident, $slice:ty, |$stream:ident| $exchange:expr) => {
            #[device(chip = 1)]
            fn $name(ctx: &mut Context, x: &Input, w: &HbmTensor<bf16, m![1], m![N, K]>) -> Sums {
                let x = x.to_dm::<Cluster, $slice, m![T, K]>(&mut ctx.tdma, 0);
                let w = w.to_dm::<Cluster, Swapped, m![N, K]>(&mut ctx.tdma, 8192);
                let weights = (ctx.sub.begin(w.view()).fetch::<bf16, m![N], m![K]>())
                    .collect::<m![N, K / 16], m![K % 16]>()
                    .to_trf::<m![N], m![K]>(TrfAddress::Full);
                let $stream = ctx.main.begin(x.view()).fetch::<bf16, m![T], m![K]>();
                let stream = $exchange;
                (stream.collect::<m![T, K / 16], m![K % 16]>())
                    .align::<m![T], m![K], _, _>(&weights)
                    .contract::<m![1]>()
                    .accumulate::<m![T], m![N]>(AccumulationKind::Interleaved)
                    .commit::<m![T, N]>(16384)
                    .to_hbm(&mut ctx.tdma, 1 << 20)
            }
        };
    }
    multiplied!(exchanged, m![A], |stream| stream.switch_to::<Swapped, m![T]>());
    multiplied!(arranged, Swapped, |stream| stream);

    #[test]
    fn sums_of_exchanged_packets() {
        let mut ctx = Context::acquire();
        let x = HostTensor::<bf16, m![A, T, K]>::from_buf(init(&numbers::<bf16>(3, 256 * 8 * 32)));
        let w = HostTensor::<bf16, m![N, K]>::from_buf(init(&numbers::<bf16>(5, 8 * 32)));
        let x: Input = block_on(x.to_hbm(&mut ctx.pdma, 0));
        let w: HbmTensor<bf16, m![1], m![N, K]> = block_on(w.to_hbm(&mut ctx.pdma, 1 << 24));
        let mut values = Vec::new();
        let result = block_on(launch(exchanged, (&mut *ctx, &x, &w)));
        values.push(block_on(result.to_host::<m![A, T, N]>(&mut ctx.pdma)).to_buf());
        let result = block_on(launch(arranged, (&mut *ctx, &x, &w)));
        values.push(block_on(result.to_host::<m![A, T, N]>(&mut ctx.pdma)).to_buf());
        assert_eq!(values[0], values[1]);
        assert!(values[0].iter().filter(|value| **value != Opt::Init(0.0)).count() > 8000);
    }
}

/// Configurations by themselves, on mappings of any size: what `verify` says.
mod verified {
    use super::*;
    use crate::panic_message;

    /// The message of a configuration that does not connect mappings.
    macro_rules! message {
        ($config:expr, [$($before:ty),*], [$($after:ty),*]) => {
            panic_message(|| $config.verify::<$($before),*, $($after),*>())
        };
    }

    #[track_caller]
    fn says(message: &str, parts: &[&str]) {
        assert!(
            message.contains("switch: refused: `SwitchConfig::") && message.contains("help: "),
            "{message}"
        );
        parts.iter().for_each(|part| assert!(message.contains(part), "`{part}` is not in {message}"));
    }

    #[test]
    fn what_connects_mappings_is_accepted() {
        SwitchConfig::Broadcast1 { slice1: 4, slice0: 8 }.verify::<m![A], m![T], Quarter, QuarterTime>();
        SwitchConfig::CustomBroadcast { ring_size: 1 }.verify::<m![Y], m![T], m![Y], m![T]>();
        SwitchConfig::Forwarding.verify::<m![A # 512], m![T], m![A / 8 # 64, A % 8], m![T / 2, T % 2]>();
        // One slice has the data of all.
        axes![I = 256];
        let all = SwitchConfig::Broadcast01 { slice1: 256, slice0: 1, time0: 1 };
        all.verify::<m![1 # 256], m![1], m![I], m![1 # 256]>();
    }

    #[test]
    fn rules_of_all_variants() {
        let trade = SwitchConfig::InterTranspose { slice1: 2, slice0: 8, time0: 2 };
        type Traded = m![A / 16, T / 2 % 2, A % 8];
        let text = message!(trade, [m![A % 32], m![T]], [m![A % 32], m![T]]);
        says(&text, &["the three slice dimensions must multiply to 256, but `m![A % 32]` has 32 slices"]);
        let text = message!(trade, [m![A], m![T]], [Traded, m![T % 2, T / 4, A / 8 % 2]]);
        says(
            &text,
            &["`OutTime` must preserve `time2` from `InTime`: it is `m![T / 4]` in `m![T]`, but `m![T % 2]`"],
        );
        axes![V = 2];
        let text = message!(trade, [m![A], m![T]], [Traded, m![T / 4, V, A / 8 % 2]]);
        says(&text, &["`OutTime` must preserve `time0` from `InTime`: it is `m![T % 2]`", "but `m![V]`"]);
        let text = message!(trade, [m![A], m![T]], [Traded, m![T / 4, T % 2, V]]);
        says(
            &text,
            &["`OutTime` must preserve `slice1` from `InSlice`: it is `m![A / 8 % 2]`", "but `m![V]`"],
        );
        let text = message!(trade, [m![A], m![T]], [Traded, m![T / 4, A / 8 % 2]]);
        says(&text, &["`OutTime` must preserve `time2` from `InTime`, but", "has 8 steps", "has 4"]);
        let text = message!(trade, [m![A], m![T]], [m![A / 16, T / 2 % 2, Y], m![T / 4, T % 2, A / 8 % 2]]);
        says(
            &text,
            &["`OutSlice` must preserve `slice0` of `InSlice`, but it is `m![A % 8]`", "and `m![Y]`"],
        );
        let swap = SwitchConfig::Transpose { slice1: 16, slice0: 16 };
        let text = message!(swap, [m![A], m![T]], [m![A % 16, A / 16], m![Y]]);
        says(&text, &["must match excluding padding, but `InTime` is `m![T]` and `OutTime` is `m![Y]`"]);
        let both = SwitchConfig::TransposedBroadcast1 { slice1: 8, slice0: 8 };
        let text = message!(both, [m![A], m![T]], [m![A / 64, Y, A % 8], m![T, A % 8]]);
        says(
            &text,
            &["`OutSlice` must preserve `slice1` of `InSlice`, but it is `m![A / 8 % 8]`", "and `m![A % 8]`"],
        );
        let text = message!(both, [m![A], m![T]], [m![A / 64, Y, A / 8 % 8], m![A % 8, T]]);
        says(&text, &["OutTime does not match expected layout", "`[time0, slice0]` is `m![T, A % 8]`"]);
        let one = SwitchConfig::Broadcast1 { slice1: 4, slice0: 8 };
        says(
            &message!(one, [m![A], m![T]], [Quarter, m![A / 8 % 4, T]]),
            &["`[time0, slice1]` is `m![T, A / 8 % 4]`"],
        );
        says(
            &message!(one, [m![A], m![T]], [m![Y], QuarterTime]),
            &["`InSlice` `m![A]` has 256 and `OutSlice` `m![Y]` has 8"],
        );
        let same = SwitchConfig::Forwarding;
        let text = message!(same, [m![A], m![T]], [m![A % 2, A / 2], m![T]]);
        says(
            &text,
            &[
                "refused: `SwitchConfig::Forwarding`: slices keep their packets, but `OutSlice` `m![A % 2, A / 2]` is not \
                 `InSlice` `m![A]`",
                "help: write `OutSlice` as `InSlice`",
            ],
        );
        let text = message!(same, [m![A], m![T]], [m![A], m![T % 2, T / 2]]);
        says(
            &text,
            &[
                "packets keep their order, but `OutTime` `m![T % 2, T / 2]` is not `InTime` `m![T]`",
                "as `InTime`",
            ],
        );
        says(&message!(same, [m![A], m![T]], [Quarter, m![T]]), &["slices keep their packets"]);
        says(&message!(same, [m![A], m![T]], [m![Y], m![T]]), &["has 256 and `OutSlice` `m![Y]` has 8"]);
        for zero in [
            SwitchConfig::Broadcast1 { slice1: 4, slice0: 0 },
            SwitchConfig::Broadcast01 { slice1: 4, slice0: 8, time0: 0 },
            SwitchConfig::InterTranspose { slice1: 4, slice0: 8, time0: 0 },
        ] {
            let text = message!(zero, [m![A], m![T]], [Quarter, QuarterTime]);
            says(
                &text,
                &["All dimensions must be greater than 0", "help: use 1 for a digit that is not there"],
            );
        }
        let none = SwitchConfig::CustomBroadcast { ring_size: 0 };
        let text = message!(none, [m![A], m![T]], [Quarter, QuarterTime]);
        says(&text, &["the ring size must be a power of 2, but it is 0"]);
    }

    /// Tests that are written for the vendor's crate expect its words in a panic.
    #[test]
    fn refusals_have_the_words_of_the_vendor() {
        let one = |slice1, slice0| SwitchConfig::Broadcast1 { slice1, slice0 };
        let both = |time0| SwitchConfig::Broadcast01 { slice1: 4, slice0: 8, time0 };
        type All = m![T, A / 8 % 4, A % 8];
        for (words, text) in [
            (
                "All dimensions must be greater than 0",
                message!(one(0, 8), [m![A], m![T]], [Quarter, QuarterTime]),
            ),
            (
                "InSlice::SIZE must be divisible by (slice1 * slice0)",
                message!(one(3, 64), [m![A], m![T]], [Quarter, QuarterTime]),
            ),
            (
                "OutSlice must preserve slice2 from InSlice",
                message!(one(2, 8), [m![A], m![T]], [Quarter, QuarterTime]),
            ),
            (
                "OutTime does not match expected layout",
                message!(both(8), [m![A], m![T]], [m![A / 32, Z], All]),
            ),
        ] {
            assert!(text.contains(words), "`{words}` is not in {text}");
        }
    }

    /// Padding that becomes time has slices of its own, in its place; what is dropped has a coordinate 0.
    #[test]
    fn rules_of_padding_and_of_what_is_dropped() {
        axes![N = 16, J = 3, K = 5];
        let ring = |ring_size| SwitchConfig::CustomBroadcast { ring_size };
        ring(256).verify::<m![Y # 16, N], m![T], m![1 # 16, N], m![T, Y # 16]>();
        let text = message!(ring(256), [m![Y, Z], m![T]], [m![1 # 8, Z], m![T, Y # 16]]);
        says(
            &text,
            &[
                "the innermost digits of `OutTime`, `m![Y # 16]` of `m![T, Y # 16]`, have padding for which `InSlice` \
                 `m![Y, Z]` has no slices",
                "help: cut the padding off",
            ],
        );
        ring(256).verify::<m![1 # 2, Y, N], m![T], m![1 # 16, N], m![T, 1 # 2, Y]>();
        let text = message!(ring(256), [m![1 # 2, Y, N], m![T]], [m![1 # 16, N], m![T, Y, 1 # 2]]);
        says(
            &text,
            &[
                "padding that moves from slice to time keeps its place, but `OutTime` `m![T, Y, 1 # 2]` has it elsewhere \
                 than `InSlice` `m![1 # 2, Y, N]`",
                "help: cut the padding off",
            ],
        );
        ring(8).verify::<m![Z, Y], m![T], m![Z, 1 # 8], m![T]>();
        let text = message!(ring(8), [m![Z, [J, K] % 3], m![T]], [m![Z, 1 # 3], m![T]]);
        says(
            &text,
            &[
                "`m![[J, K] % 3]` of `InSlice` `m![Z, [J, K] % 3]` is neither in `OutSlice` `m![Z, 1 # 3]` nor in `OutTime` \
                 `m![T]`, and has no coordinate 0 by itself",
                "help: keep it in `OutSlice`, or append it to `OutTime`",
            ],
        );
    }

    /// Where nothing connects mappings, the message has a few words for each variant.
    #[test]
    fn what_keeps_each_variant() {
        use furiosa_visa_std::engine::switch::{SwitchRequest, derive_switch_to};
        #[track_caller]
        fn kept(request: SwitchRequest, parts: &[&str]) {
            let error = derive_switch_to(&request).expect_err("nothing connects them");
            let message = error.message();
            assert!(message.starts_with("switch: no configuration turns `Slice` "), "{message}");
            parts.iter().for_each(|part| assert!(message.contains(part), "`{part}` is not in {message}"));
        }
        // Twelve slices: no ring of two or more of them is a power of two that divides them but 4.
        axes![D = 12, E = 12];
        let request = SwitchRequest::new(<m![D]>::EXPR, <m![T]>::EXPR, <m![E]>::EXPR, <m![Y]>::EXPR);
        kept(request, &["Broadcast1 { slice1: 1, slice0: 256 }: the sizes do not divide the slices"]);
        // As many steps as before, in another order.
        let request =
            SwitchRequest::new(<m![A]>::EXPR, <m![T]>::EXPR, <m![A]>::EXPR, <m![T % 2, T / 2]>::EXPR);
        kept(request, &["Transpose { slice1: 1, slice0: 1 }: `OutTime` is not `InTime`"]);
    }

    #[test]
    fn rings_count_places_before_and_after() {
        // A digit that padding lets jump outwards: 8 slices before, 64 after. The vendor's rule has 16.
        axes![J = 4, H = 2, K = 8, Q = 4, N = 16];
        let ring = |ring_size| SwitchConfig::CustomBroadcast { ring_size };
        type Before = m![J # 16, H, K];
        type After = m![H # 4, J, 1 # 2, K];
        ring(256).verify::<Before, m![T], After, m![T]>();
        let text = message!(ring(16), [Before, m![T]], [After, m![T]]);
        says(&text, &["has 256 slices, but the ring size is 16"]);
        // Copies on former padding: the digit that stays is in place, the copies are 64 slices away.
        axes![W = 4, L = 64];
        ring(256).verify::<m![1 # 4, L], m![T], m![W, L], m![T]>();
        let text = message!(ring(1), [m![1 # 4, L], m![T]], [m![W, L], m![T]]);
        says(&text, &["has 256 slices, but the ring size is 1"]);
        // Eight slices would do, but no digit stays in place from there on.
        let text = message!(ring(128), [m![Q # 8, N # 32], m![T]], [m![N # 32, Q # 8], m![T]]);
        says(&text, &["has 256 slices, but the ring size is 128"]);
    }
}

/// Copies along a digit of an axis whose other digit is the cluster: each of four tells its copies apart by `H % 4`.
mod digits_of_the_cluster {
    use super::*;

    axes![H = 8];

    #[device(chip = 1)]
    fn copied(
        ctx: &mut Context,
        x: &HbmTensor<i8, m![1], m![H / 4, A, P]>,
    ) -> HbmTensor<i8, m![1], m![H, A / 4, A % 4, P]> {
        let x = x.to_dm::<m![H / 4], m![A], m![P]>(&mut ctx.tdma, 0);
        let y = (ctx.main.begin(x.view()).fetch::<i8, m![1], m![P]>())
            .switch::<m![A / 4, H % 4], m![A % 4]>(SwitchConfig::CustomBroadcast { ring_size: 4 })
            .collect::<m![A % 4], m![P]>()
            .commit::<m![A % 4, P]>(1024);
        y.to_hbm(&mut ctx.tdma, 1 << 20)
    }

    #[test]
    fn hold_copies() {
        let mut ctx = Context::acquire();
        let values = init(&numbers::<i8>(9, 2 * 256 * 32));
        let host = HostTensor::<i8, m![H / 4, A, P]>::from_buf(values.clone());
        let x: HbmTensor<i8, m![1], m![H / 4, A, P]> = block_on(host.to_hbm(&mut ctx.pdma, 0));
        let y = block_on(launch(copied, (&mut *ctx, &x)));
        let found = block_on(y.to_host::<m![H / 4, H % 4, A, P]>(&mut ctx.pdma)).to_buf();
        let whole = 256 * 32;
        for (k, found) in found.into_iter().enumerate() {
            assert_eq!(found, values[k / whole / 4 * whole + k % whole], "element {k}");
        }
    }
}
