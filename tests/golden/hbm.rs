//! HBM: the golden rows, sanity values and ratios.

use furiosa_visa_std::clock::hbm::{
    Detailed, Estimate, HbmAddress, HbmMap, HbmReport, Request, Strided, StridedLoop, core_cycles,
};
use furiosa_visa_std::spec::{
    HBM_ACTIVATION_TICKS, HBM_BYTES, HBM_CHANNELS, HBM_COMMAND_BYTES, HBM_CONTROLLER_CYCLE_TICKS,
    HBM_ESTIMATE_ROW_SWITCH_TICKS, HBM_PARTIAL_WRITE_TICKS, HBM_ROW_SWITCH_TICKS, HBM_UNIT_TICKS,
};

const BIT_17: HbmMap = HbmMap { hash_bit_17: true };
const NO_BIT_17: HbmMap = HbmMap { hash_bit_17: false };

/// Packets of 256 bytes, loops outermost first as (size, stride).
fn stream<const N: usize>(base: u64, loops: [(u64, i64); N]) -> Strided {
    let loops = loops.map(|(size, stride)| StridedLoop { size, stride });
    Strided::new(base, &loops, 256).unwrap_or_else(|error| panic!("{error}"))
}

/// The same on engines (cluster, PE), at the base of each.
fn engines<const N: usize>(loops: [(u64, i64); N]) -> Vec<Strided> {
    let base = |engine: u64| ((engine / 4) << 20) + ((engine % 4) << 18);
    (0..8).map(|engine| stream(base(engine), loops)).collect()
}

// The worked examples.

fn example_1() -> Strided {
    stream(0, [(8, 2048), (8, 256)])
}

fn example_2() -> Strided {
    stream(0, [(256, 65_536), (4, 256), (32, 1024), (2, 32_768)])
}

fn example_4() -> Vec<Strided> {
    engines([(256, 1024), (4, 256), (32, 1 << 21), (2, 1 << 26)])
}

fn example_5() -> Vec<Strided> {
    engines([(8, 512), (32, 4096), (2, 131_072)])
}

fn cube_writes() -> Strided {
    stream(1 << 24, [(256, 256), (256, 65_536)]).writes()
}

fn detailed_of<S: Iterator<Item = Request>>(map: HbmMap, mut streams: Vec<S>) -> HbmReport {
    Detailed::new(map).run(&mut streams)
}

/// Core cycles until the last data.
fn detailed<S: Iterator<Item = Request>>(streams: Vec<S>) -> f64 {
    detailed_of(BIT_17, streams).finish_ticks as f64 / 3.0
}

fn estimate(map: HbmMap, streams: &[Strided]) -> Estimate {
    let mut estimate = Estimate::new(map);
    streams.iter().enumerate().for_each(|(engine, stream)| estimate.add(engine, *stream));
    estimate
}

#[track_caller]
fn within_10_percent(what: &str, found: f64, expected: f64) {
    let off = found / expected - 1.0;
    assert!(off.abs() <= 0.1, "{what}: {found:.3}, expected {expected}, {:+.1} %", 100.0 * off);
}

/// The unit in channel 0 with this place.
fn in_channel_0(slice: u64, group: u64, bank: u64, row: u64, column: u64) -> Request {
    let place = HbmAddress {
        slice: slice as u8,
        bank_group: group as u8,
        bank: bank as u8,
        row: row as u16,
        column: column as u16 * 256,
        ..HbmAddress::default()
    };
    Request::read(BIT_17.encode(place), 256)
}

/// Pseudo-random numbers.
fn randoms(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 20
    })
}

// How fast one channel is, fed by one engine with a request per core cycle.

const UNITS: u64 = 30_000;

/// Units per core cycle that channel 0 serves.
fn channel_rate(request: impl Fn(u64) -> Request) -> f64 {
    UNITS as f64 / detailed(vec![(0..UNITS).map(request)])
}

/// Rows of 8 units, the bank group changes with every unit.
fn channel_stream_rate() -> f64 {
    channel_rate(|k| in_channel_0(0, k % 2 + 2 * (k / 64 % 2), k / 16 % 4, k / 128, k / 2 % 8))
}

/// Another row with every unit, going round `banks` banks.
fn conflict_rate(banks: u64) -> f64 {
    channel_rate(|k| in_channel_0(0, k % banks % 4, k % banks / 4, k / banks % 16_384, 0))
}

/// G71: 64 bytes per controller cycle are 48 GB/s per channel, 1.536 TB/s per chip. A stream reaches it.
#[test]
fn g71_rates_of_a_channel_and_of_the_chip() {
    // Bytes per tick of 1/3 ns, times 3: GB/s.
    let peak = HBM_COMMAND_BYTES as f64 / HBM_CONTROLLER_CYCLE_TICKS as f64 * 3.0;
    assert_eq!(peak, 48.0);
    assert_eq!(peak * HBM_CHANNELS as f64, 1536.0);
    let channel = channel_stream_rate() * 256.0;
    assert!(channel > 0.99 * peak && channel <= peak, "{channel} GB/s");
    let together = (0..8).map(|engine| stream(engine << 8, [(1 << 15, 2048)])).collect();
    let chip = (8 << 23) as f64 / detailed::<Strided>(together);
    assert!(chip > 0.99 * 1536.0 && chip <= 1536.0, "{chip} GB/s");
}

/// G72: a row switch takes 40 to 50 ns, 60 to 75 command cycles, 30 to 37.5 times as long as 64 bytes.
#[test]
fn g72_a_row_switch() {
    for ticks in [HBM_ESTIMATE_ROW_SWITCH_TICKS, HBM_ROW_SWITCH_TICKS] {
        assert!((40 * 3..=50 * 3).contains(&ticks), "{ticks} ticks");
        assert!((60 * 2..=75 * 2).contains(&ticks), "{ticks} ticks");
        assert!((30.0..=37.5).contains(&(ticks as f64 / HBM_CONTROLLER_CYCLE_TICKS as f64)));
    }
    // In the model: from the last command of a unit to the first of the next in the bank pass exactly 44 ns.
    let one = |rows: u64| detailed_of(BIT_17, vec![(0..rows).map(|row| in_channel_0(0, 0, 0, row, 0))]);
    let unit = 3 * 8;
    assert_eq!(one(1).finish_ticks, HBM_ACTIVATION_TICKS + unit + 4);
    assert_eq!(one(2).finish_ticks - one(1).finish_ticks, 44 * 3 + unit);
    // In the estimate: the first opening is free, a switch costs 40.
    let mut same = Estimate::new(BIT_17);
    same.add(0, (0..3).map(|row| in_channel_0(0, 0, 0, row, 0)));
    assert_eq!((same.ticks(), same.row_switches()), (HBM_UNIT_TICKS + 2 * 40 * 3, 2));
    // Another engine has its own view.
    same.add(1, [in_channel_0(0, 0, 0, 7, 0)]);
    assert_eq!((same.ticks(), same.row_switches()), (2 * HBM_UNIT_TICKS + 2 * 40 * 3, 2));
}

/// G73: the rates of commands that go on in another bank group, in another slice, in the same bank group.
#[test]
fn g73_tccd_classes() {
    let other_group = channel_stream_rate();
    let other_slice = channel_rate(|k| in_channel_0(k % 2, 0, k / 16 % 4, k / 64, k / 2 % 8));
    let same_group = channel_rate(|k| in_channel_0(0, 0, k / 8 % 4, k / 32, k % 8));
    let close = |found: f64, expected: f64| (found - expected).abs() < 0.003;
    assert!(close(other_group * 16.0 / 3.0, 1.0), "{other_group}");
    assert!(close(other_slice / other_group, 2.0 / 3.0), "{other_slice} of {other_group}");
    assert!(close(same_group / other_group, 0.5), "{same_group} of {other_group}");
}

/// G74: a packet of 2800 bytes is ten whole units and one write of 240 bytes.
#[test]
fn g74_a_packet_of_2800_bytes_is_one_partial_write() {
    let packet = Strided::new(0, &[], 2800).expect("inside").writes();
    let total = detailed_of(BIT_17, vec![packet]).total();
    assert_eq!((total.units, total.partial_writes), (11, 1));
    assert_eq!(total.busy_ticks, 10 * HBM_UNIT_TICKS + HBM_PARTIAL_WRITE_TICKS);
    assert_eq!(estimate(BIT_17, &[packet]).ticks(), HBM_PARTIAL_WRITE_TICKS);
}

/// G75: a read across a boundary takes twice as long, a write of a part about 50 times.
#[test]
fn g75_unaligned_reads_and_partial_writes() {
    let loops = [StridedLoop { size: 4096, stride: 256 }];
    let packets = |base, bytes| Strided::new(base, &loops, bytes).expect("inside");
    let (aligned, shifted) = (packets(0, 256), packets(8, 256));
    let twice = detailed(vec![shifted]) / detailed(vec![aligned]);
    assert!((twice - 2.0).abs() < 0.01, "{twice}");
    let ticks = |stream: Strided| estimate(BIT_17, &[stream]).ticks();
    assert_eq!(ticks(shifted) / ticks(aligned), 2);
    // One channel, fed as fast as it goes.
    let writes = |bytes| {
        let request = move |k: u64| Request { write: true, bytes, ..in_channel_0(0, k % 2, 0, 0, k / 2 % 8) };
        detailed(vec![(0..2000).map(request)])
    };
    let slower = writes(255) / writes(256);
    assert!((slower / 50.0 - 1.0).abs() < 0.01, "{slower}");
    assert_eq!(ticks(packets(0, 255).writes()), 50 * ticks(aligned));
}

/// G80: the write side of the 256^3 transposition switches 64 512 rows and takes 80 810.7 cycles.
#[test]
fn g80_the_write_side_of_the_cube() {
    let side = estimate(BIT_17, &[cube_writes()]);
    assert_eq!(side.row_switches(), 64_512);
    assert_eq!((side.write_ticks(), side.read_ticks()), (242_432, 0), "80 810.7 cycles");
}

/// G81: example 2 is bound by its engine, 65 536 requests, and not by HBM.
#[test]
fn g81_example_2_is_bound_by_its_engine() {
    assert_eq!(example_2().count(), 65_536);
    assert!(estimate(BIT_17, &[example_2()]).ticks() <= 65_536 * 3);
}

/// G84: example 4, 16 384 requests per channel: 654 250.7 cycles, 0.17 % less than 40 cycles for each of them.
#[test]
fn g84_example_4() {
    let estimate = estimate(BIT_17, &example_4());
    assert_eq!(estimate.ticks(), 1_962_752, "654 250.7 cycles");
    assert_eq!(core_cycles(estimate.ticks()), 654_251);
    let printed = 16_384.0 * 40.0;
    let off = estimate.read_ticks() as f64 / 3.0 / printed - 1.0;
    assert_eq!((off * 1e4).round(), -17.0);
}

/// G86: example 5 is 512 requests per engine, 4096 in all, 256 in each of 16 channels, whichever hash.
/// G87: that is 1365.3 cycles.
#[test]
fn g86_g87_example_5() {
    assert!(example_5().iter().all(|stream| stream.count() == 512));
    for map in [BIT_17, NO_BIT_17] {
        let report = detailed_of(map, example_5());
        let units: Vec<_> = report.channels.iter().map(|channel| channel.units).collect();
        assert_eq!(units, [[256; 16], [0; 16]].concat());
        assert_eq!(estimate(map, &example_5()).ticks(), 4096, "1365.3 cycles");
    }
}

/// G88: the same with the stack bit in use takes half of it, 682.7 cycles.
#[test]
fn g88_example_5_on_both_stacks() {
    // The half of D alone: `[A8, B64, C8, D256]`.
    let base = |engine: u64| ((engine / 4) << 19) + ((engine % 4) << 17);
    let engine = |engine| stream(base(engine), [(8, 256), (32, 2048), (2, 65_536)]);
    let streams: Vec<_> = (0..8).map(engine).collect();
    assert_eq!(estimate(BIT_17, &streams).ticks(), 2048, "682.7 cycles");
    assert!(detailed_of(BIT_17, streams).channels.iter().all(|channel| channel.units == 128));
}

/// The sanity values.
#[test]
fn sanity_values_of_the_detailed_model() {
    let sequential = |log: u32| {
        let engine = |engine: u64| stream(engine << log, [(1 << (log - 8), 256)]);
        (0..8).map(engine).collect::<Vec<_>>()
    };
    // Bits 13 and 19 fixed: runs of 8 KiB, 128 requests for each of 8 engines.
    let one_group = (0..8).map(|engine| stream(engine << 16, [(4, 16_384), (32, 256)])).collect::<Vec<_>>();
    let without_17 = detailed_of(NO_BIT_17, example_5()).finish_ticks as f64 / 3.0;
    let values = [
        ("Ex1 reads", detailed(vec![example_1()]), 93.0),
        ("Ex2", detailed(vec![example_2()]), 65_551.0),
        ("Ex4, eight engines", detailed(example_4()), 99_154.0),
        ("Ex4, one engine alone", detailed(vec![example_4()[0]]), 66_695.0),
        ("Ex5", detailed(example_5()), 1390.0),
        ("Ex5 without bit 17", without_17, 1403.0),
        ("8 engines x 1 MiB", detailed(sequential(20)), 5830.0),
        ("8 engines x 2 MiB", detailed(sequential(21)), 14_634.0),
        ("one bank group", detailed(one_group), 385.0),
        ("256^3 write side", detailed(vec![cube_writes()]), 65_585.0),
    ];
    for (what, found, expected) in values {
        println!("{what}: {found:.0}, expected {expected}, {:+.1} %", 100.0 * (found / expected - 1.0));
    }
    for (what, found, expected) in values {
        within_10_percent(what, found, expected);
    }
    // Nothing of these depends on the choices that differ.
    assert_eq!((values[0].1.round(), values[1].1.round()), (93.0, 65_551.0));
}

/// What a simulator of HBM3 gives for units of 256 bytes, over a stream.
#[test]
fn ratios_of_a_simulator_of_hbm3() {
    let stream_rate = channel_stream_rate();
    let random: Vec<_> = randoms(1)
        .take(UNITS as usize)
        .map(|n| in_channel_0(n % 3, (n >> 2) % 4, (n >> 4) % 4, (n >> 6) % 16_384, (n >> 20) % 8))
        .collect();
    let random_in_channel = channel_rate(|k| random[k as usize]);
    // All channels, all engines.
    let engine =
        |seed: u64| randoms(seed + 2).map(|n| Request::read(n % (HBM_BYTES / 256) * 256, 256)).take(16_384);
    let random_chip = 8.0 * 16_384.0 / detailed((0..8).map(engine).collect::<Vec<_>>());
    let together: Vec<_> = (0..8).map(|engine| stream(engine << 8, [(1 << 15, 2048)])).collect();
    let stream_chip = 8.0 * 32_768.0 / detailed(together);
    let ratios = [
        ("random, one channel", random_in_channel / stream_rate, 0.76),
        ("random, chip", random_chip / stream_chip, 0.76),
        ("conflicts in 1 bank", conflict_rate(1) / stream_rate, 0.105),
        ("conflicts in 4 banks", conflict_rate(4) / stream_rate, 0.41),
        ("conflicts in 16 banks", conflict_rate(16) / stream_rate, 1.0),
    ];
    for (what, found, expected) in ratios {
        println!("{what}: {found:.3}, simulator {expected}, {:+.1} %", 100.0 * (found / expected - 1.0));
    }
    for (what, found, expected) in ratios {
        within_10_percent(what, found, expected);
    }
}

/// Reads and writes share the channels: the estimate adds them.
#[test]
fn reads_and_writes_share_the_channels() {
    let mut both = Estimate::new(BIT_17);
    let reads = stream(0, [(1024, 256)]);
    both.add(0, reads);
    let ticks = both.ticks();
    both.add(0, reads.writes());
    assert_eq!((both.read_ticks(), both.write_ticks(), both.ticks()), (ticks, ticks, 2 * ticks));
}

#[test]
fn nothing_takes_no_time() {
    let report = detailed_of::<Strided>(BIT_17, Vec::new());
    assert_eq!((report.finish_ticks, report.total().row_hits()), (0, 0));
    assert_eq!(detailed_of(BIT_17, vec![stream(0, [(0, 0)])]), report);
    assert_eq!(Estimate::new(BIT_17).ticks(), 0);
}
