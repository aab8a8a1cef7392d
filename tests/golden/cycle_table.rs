//! The golden table of the cycle model: every row by its id.
//!
//! A row is met by a test here or elsewhere. Where the documentation is wrong, the corrected value stands.

use furiosa_visa_std::chip::RegisterType;
use furiosa_visa_std::clock::Channels;
use furiosa_visa_std::clock::tensor_unit::{
    access_bytes, accumulate_cycles, contract_cycles, fetch_cycles, switch_cycles, transpose_cycles,
    tree_latency, vector_cycles, vector_latency,
};
use furiosa_visa_std::command::{AdapterStage, StreamShape, Vector, VectorStep};
use furiosa_visa_std::engine::collect::CollectPlan;
use furiosa_visa_std::engine::commit::{CommitConfig, CommitRequest, derive_commit};
use furiosa_visa_std::engine::commit_stages::CommitStages;
use furiosa_visa_std::engine::contraction::{AlignPlan, AlignRequest, derive_align};
use furiosa_visa_std::engine::fetch::{FetchConfig, FetchRequest, derive_fetch};
use furiosa_visa_std::engine::switch::{SwitchRequest, derive_switch, derive_switch_to};
use furiosa_visa_std::engine::transpose::TransposePlan;
use furiosa_visa_std::engine::vector::{InterSlicePlan, ReduceRequest, derive_reduce};
use furiosa_visa_std::explain::StageExplanation;
use furiosa_visa_std::mapping::{Guard, M};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::scalar::ElementType::{self, Bf16, F32, I4, I8, I32};
use furiosa_visa_std::spec;

/// Where a row is met.
enum Met {
    /// By an assertion of this file, which names the row.
    Here,
    /// By a test of another file, which names the row.
    In(&'static str, &'static str),
}
use Met::{Here, In};

/// Rows without a figure to compute: a transpose in the stream adapter, which no call asks for, a row of sizes, a bound on a
/// number of blocks, and one without cycles.
const NO_FIGURE: [usize; 4] = [53, 97, 100, 101];

macro_rules! file {
    ($path:literal) => {
        In($path, include_str!(concat!("../../", $path)))
    };
}

/// First row, last row, where.
const ROWS: [(usize, usize, Met); 16] = [
    (1, 7, Here),
    (8, 13, file!("tests/golden/fetch.rs")),
    (14, 14, Here),
    (15, 15, file!("tests/golden/fetch.rs")),
    (16, 16, Here),
    (17, 17, file!("tests/golden/fetch.rs")),
    (18, 52, Here),
    (54, 64, Here),
    (65, 65, file!("crates/clock/src/banks/timing_tests.rs")),
    (66, 66, Here),
    (67, 70, file!("crates/clock/src/banks/timing_tests.rs")),
    (71, 75, file!("tests/golden/hbm.rs")),
    (76, 94, file!("crates/clock/src/dma/worked_examples_tests.rs")),
    (95, 96, Here),
    (98, 98, Here),
    (99, 99, file!("crates/clock/src/dma/worked_examples_tests.rs")),
];

/// Rows that a text names: `G12`, and `G76 to G94` in one go.
fn names(text: &str, row: usize) -> bool {
    let number = |text: &str| -> Option<(usize, usize)> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        Some((text[..digits].parse().ok()?, digits))
    };
    text.match_indices('G').any(|(at, _)| {
        let Some((first, digits)) = number(&text[at + 1..]) else { return false };
        let rest = &text[at + 1 + digits..];
        let last = rest.strip_prefix(" to G").and_then(number).map_or(first, |(last, _)| last);
        (first..=last).contains(&row)
    })
}

#[test]
fn every_row_of_the_table_is_accounted_for() {
    let own = include_str!("cycle_table.rs");
    let tests = own.split_once("the rows of this file").expect("this text").1;
    let rows = ROWS.iter().flat_map(|(first, last, met)| (*first..=*last).map(move |row| (row, met)));
    let mut listed: Vec<usize> = rows.clone().map(|(row, _)| row).chain(NO_FIGURE).collect();
    listed.sort_unstable();
    assert!(listed.iter().copied().eq(1..=101), "{listed:?}");
    let mut missing = Vec::new();
    for (row, met) in rows {
        match met {
            Here if !tests.contains(&format!("\"G{row}\"")) => missing.push(format!("assert G{row} here")),
            In(path, text) if !names(text, row) => missing.push(format!("name G{row} in {path}")),
            _ => {}
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

// ---- the rows of this file ----

fn fetch<Element: M, Time: M, Packet: M>(input: ElementType, output: ElementType) -> FetchConfig {
    derive_fetch(&FetchRequest::new(input, output, Element::EXPR, Time::EXPR, Packet::EXPR))
        .expect("it is legal")
}

fn entries(config: &FetchConfig) -> String {
    config.derived.to_string()
}

/// G1 to G7: sequencers.
#[test]
fn sequencers() {
    mod runs {
        furiosa_visa_std::prelude::axes![N = 4, C = 3, H = 4, W = 8];
    }
    {
        use runs::{C, H, N, W};
        let run = |config: FetchConfig| config.contiguous_sram_access_size;
        assert_eq!(run(fetch::<m![N, C, H, W], m![N, C, H], m![W]>(I8, I8)), 384, "G1");
        assert_eq!(run(fetch::<m![N, C, H, W], m![C, N, H], m![W]>(I8, I8)), 32);
        assert_eq!(run(fetch::<m![N, C, H, W], m![N, H, C], m![W]>(I8, I8)), 8);
    }
    {
        axes![A = 8, B = 8, C = 8];
        let config = fetch::<m![A, B, C # 32], m![B, A], m![C # 16]>(I8, I8);
        assert_eq!(
            (entries(&config).as_str(), config.fetch_size),
            ("[8 : 32, 8 : 256, 16 : 1] : 16", 16),
            "G2"
        );
    }
    {
        axes![A = 8, B = 8, C = 4];
        let config = fetch::<m![A, B, C # 8], m![A % 2, B % 4, A / 2, B / 4], m![C # 32]>(I8, I8);
        let printed = "[2 : 64, 4 : 8, 4 : 128, 2 : 32, 32 : 1] : 32";
        assert_eq!((entries(&config).as_str(), config.fetch_size), (printed, 32), "G3");
    }
    {
        axes![A = 16, B = 8, C = 8];
        let config = fetch::<m![A, B, C], m![A / 4, A % 4 = 3, B / 4, B % 4 = 2], m![C]>(I8, I8);
        let printed = "[4 : 256, 3 : 64, 2 : 32, 2 : 8, 8 : 1] : 8";
        assert_eq!((entries(&config).as_str(), config.fetch_size), (printed, 8), "G4");
    }
    {
        axes![A = 16, T = 4, P = 4];
        let config = fetch::<m![A], m![T, A], m![P]>(I8, I8);
        assert_eq!((entries(&config).as_str(), config.fetch_size), ("[4 : 0, 16 : 1, 4 : 0] : 4", 4), "G5");
    }
    {
        axes![N = 8, C = 8, H = 8, W = 32];
        type Time = m![W / 16, H % 2, H / 2, C / 2, C % 2, N / 2, N % 2, W / 8 % 2];
        let config = fetch::<m![N, C, H, W], Time, m![W % 8]>(I8, I8);
        assert_eq!(config.derived.entries.len(), 9, "G6");
        assert_eq!(config.config.to_string(), "[2 : 16, 2 : 32, 4 : 64, 8 : 256, 8 : 2048, 16 : 1] : 16");
        // A packet has 8 elements still: merging joins loops, not what a packet holds.
        assert_eq!((config.packet, config.fetch_size), (8, 8));
    }
    {
        axes![N = 4, C = 3, H = 8, W = 8];
        type Plan = furiosa_visa_std::sequencer::BufferPlan<i8, m![N, C, H, W], m![W, H, C, N], m![1]>;
        assert_eq!(Plan::READ.derived.to_string(), "[8 : 1, 8 : 8, 3 : 64, 4 : 192] : 1", "G7");
    }
}

/// G14: a packet of 20 bytes wastes 37.5 % of a flit; one of 40 bytes as much of two.
#[test]
fn waste_of_a_flit() {
    axes![T = 3, P = 5, L = 10];
    let wasted = |explanation: StageExplanation, flits: usize| {
        let padding = explanation.value("padding").and_then(|text| text.strip_suffix(" bytes per packet"));
        let padding: usize = padding.expect("it pads").parse().expect("a number");
        (padding, 1000 * padding / (flits * spec::FLIT_BYTES))
    };
    type Short = CollectPlan<f32, m![T], m![P], m![T], m![P # 8]>;
    assert_eq!(wasted(Short::explain(), Short::CONFIG.flits), (12, 375), "G14");
    type Long = CollectPlan<f32, m![T], m![L], m![T, L # 16 / 8], m![L # 16 % 8]>;
    assert_eq!(wasted(Long::explain(), Long::CONFIG.flits), (24, 375));
}

/// G16: packets of 32 i8 as i32, 8 bytes at a time. G18: steps and channels of a stream. G19, G20: conversion, dual channel.
#[test]
fn fetches() {
    axes![A = 512, B = 32];
    let config = fetch::<m![A, B], m![A], m![B]>(I8, I32);
    assert_eq!(
        (config.time, config.packet * 4, config.fetch_size, config.cycles),
        (512, 128, 8, 2048),
        "G16"
    );
    {
        // Two channels are 8 bytes in f32: a packet of 4 bytes, as documented, is refused (E17).
        axes![N = 4, C = 64, H = 32, W = 32];
        let config = fetch::<m![N, H, W, C % 2], m![N, H, W], m![C % 2]>(F32, F32);
        assert_eq!((config.time, <m![C / 2]>::SIZE * config.packet), (4096, 64), "G18");
    }
    assert_eq!(AdapterStage::Cast.latency(), 1, "G19");
    let cycles = |channels, size: usize, packet: usize, run: usize| {
        fetch_cycles(100, packet as u64, access_bytes(channels, size, packet, run) as u64)
    };
    assert_eq!(cycles(Channels::Single, 32, 128, 256), 400);
    assert_eq!(cycles(Channels::Dual, 32, 128, 256), 200, "G20");
    // Only whole pairs of 32 bytes that lie together join.
    assert_eq!(cycles(Channels::Dual, 32, 96, 192), 300);
    assert_eq!(cycles(Channels::Dual, 32, 128, 96), 400);
    assert_eq!(cycles(Channels::Dual, 16, 128, 128), 800);
}

/// G21, G22, G27: geometry of the register files and of DM. G66: of HBM. G48: of the accumulator.
#[test]
fn capacities() {
    assert_eq!((TrfAddress::Full.capacity(), TrfAddress::FirstHalf.capacity()), (65_536, 32_768));
    assert_eq!(
        spec::TRF_CACHE_ROWS * spec::TRF_COLUMNS * spec::TRF_BANK_ROWS * spec::TRF_LINE_BYTES,
        2048,
        "G21"
    );
    let elements = |element| RegisterType::of(element).expect("it is documented").elements_per_line();
    assert_eq!([elements(I4), elements(I8), elements(Bf16)], [64, 32, 16], "G22");
    assert_eq!(spec::DM_BYTES * spec::SLICES * spec::CLUSTERS, 256 << 20);
    assert_eq!((spec::TRF_BANK_ROW_BYTES * spec::TRF_BANK_ROWS, spec::VRF_BYTES), (64 << 10, 8 << 10), "G27");
    assert_eq!(spec::HBM_BYTES, 48 << 30, "G66");
    assert_eq!(spec::ACCUMULATOR_CELLS, 1024, "G48");
    assert_eq!((spec::ACCUMULATOR_INTERLEAVED, spec::ACCUMULATOR_SEQUENTIAL), (128, 32));
}

/// G23 to G26: what TRF sequencer and stream adapter are told, and how long the contraction takes.
#[test]
fn contractions() {
    let mut packet_bytes = Vec::new();
    {
        axes![A = 32, N = 8, K = 32];
        let config = AlignPlan::<bf16, m![A, K / 16], m![K % 16], m![N], m![K], m![A], m![K]>::CONFIG;
        let (trf, adapter) = (&config.trf_sequencer, &config.stream_adapter);
        assert_eq!((trf.reg_read_size, trf.config.to_string().as_str()), (64, "[32 : 0] : 32"), "G23");
        assert_eq!(contract_cycles(32, adapter.collect_flits as u64, adapter.tile as u64), 64);
        packet_bytes.push(adapter.collect_flits * spec::FLIT_BYTES);
    }
    {
        axes![A = 32, N = 8, K = 16, L = 2, O = 2];
        type Plan = AlignPlan<bf16, m![A, L], m![K], m![N], m![L, K], m![A, L], m![K # 32]>;
        let trf = &Plan::CONFIG.trf_sequencer;
        assert_eq!(
            (trf.reg_read_size, trf.config.to_string().as_str()),
            (32, "[32 : 0, 2 : 32] : 16"),
            "G24"
        );
        packet_bytes.insert(0, Plan::CONFIG.stream_adapter.collect_flits * spec::FLIT_BYTES);
        // The tensor has O outermost, 1024 bytes apart.
        type Outer = AlignPlan<bf16, m![A, O], m![K], m![1], m![O, A, K], m![A, O], m![K # 32]>;
        let trf = &Outer::CONFIG.trf_sequencer;
        assert_eq!(trf.config.to_string(), "[32 : 32, 2 : 1024] : 16", "G25");
    }
    // One flit uses half of a row's multipliers, two all of them; three, 96 bytes, are more than a packet holds.
    assert_eq!((packet_bytes, spec::MAC_BYTES), (vec![32, 64], 64), "G26");
    axes![A = 32, N = 8, K = 48];
    let three = derive_align(&AlignRequest {
        element: Bf16,
        time: <m![A, K / 16]>::EXPR,
        packet: <m![K % 16]>::EXPR,
        row: <m![N]>::EXPR,
        trf_element: <m![K]>::EXPR,
        out_time: <m![A]>::EXPR,
        out_packet: <m![K]>::EXPR,
    });
    let text = three.expect_err("it is refused").to_string();
    assert!(text.contains("96 bytes"), "{text}");
}

/// Cycles of a switch of packets of so many bytes.
fn switched<S: M, T: M, S2: M, T2: M>(config: SwitchConfig, packet_bytes: u64) -> u64 {
    let request = SwitchRequest::new(S::EXPR, T::EXPR, S2::EXPR, T2::EXPR);
    let switch = derive_switch(&request, &config).unwrap_or_else(|error| panic!("{error}")).switch;
    switch_cycles(switch.ring_size as u64, switch.in_time as u64, packet_bytes)
}

/// G28 to G36: rings, in i8 and, where the documented program has it, in f32.
#[test]
fn switches() {
    use SwitchConfig::{
        Broadcast01, Broadcast1, CustomBroadcast, InterTranspose, Transpose, TransposedBroadcast1,
    };
    {
        // Two slices of a ring, two packets each: two orders of emission, and a hop until the first packet is there.
        axes![S = 256, P = 2, X = 2];
        type Both = m![S / 2, X];
        let whole = Broadcast01 { slice1: 2, slice0: 1, time0: 2 };
        let turns = Broadcast01 { slice1: 1, slice0: 2, time0: 1 };
        assert_eq!(switched::<m![S], m![P], Both, m![S % 2, P]>(whole, 32), 4, "G28");
        assert_eq!(switched::<m![S], m![P], Both, m![P, S % 2]>(turns, 32), 4);
        let forwarding = SwitchRequest::new(<m![S]>::EXPR, <m![P]>::EXPR, <m![S]>::EXPR, <m![P]>::EXPR);
        let ring = derive_switch_to(&forwarding).expect("it is legal").switch.ring_size;
        assert_eq!((ring, switch_cycles(ring as u64, 2, 128)), (1, 8), "G29");
    }
    {
        axes![A = 256, B = 64, X = 2, Y = 2, U = 4, V = 8];
        let config = Broadcast01 { slice1: 2, slice0: 2, time0: 4 };
        type Time = m![B / 4, A / 2 % 2, B % 4, A % 2];
        let cycles = |bytes| switched::<m![A], m![B], m![A / 4, X, Y], Time>(config, bytes);
        assert_eq!((cycles(64), cycles(256)), (512, 2048), "G30");
        assert_eq!(cycles(64), 512, "G34");
        let config = Broadcast1 { slice1: 4, slice0: 8 };
        let broadcast1 = switched::<m![A], m![B], m![A / 32, U, A % 8], m![B, A / 8 % 4]>(config, 64);
        let config = Transpose { slice1: 32, slice0: 2 };
        let transpose = switched::<m![A], m![B], m![A / 64, A % 2, A / 2 % 32], m![B]>(config, 64);
        axes![C = 8, D = 16];
        let config = InterTranspose { slice1: 2, slice0: 16, time0: 2 };
        type Slice = m![A / 32, C / 2 % 2, A % 16];
        let inter = switched::<m![A], m![C], Slice, m![C / 4, C % 2, A / 16 % 2]>(config, 32);
        let config = TransposedBroadcast1 { slice1: 8, slice0: 8 };
        let transposed = switched::<m![A], m![D], m![A / 64, V, A / 8 % 8], m![D, A % 8]>(config, 32);
        assert_eq!([broadcast1, transpose, inter, transposed], [4096, 8192, 256, 1024], "G35");
    }
    {
        axes![A = 16, B = 16, C = 8, X = 2, Y = 2, Z = 4];
        let custom = |ring_size| CustomBroadcast { ring_size };
        type Reversed = m![B % 4, B / 4, A % 4, A / 4];
        let cycles = |bytes| switched::<m![A, B], m![C], Reversed, m![C]>(custom(256), bytes);
        assert_eq!((cycles(64), cycles(256)), (4096, 16_384), "G31");
        type Slice = m![A / 2, X, B / 2, Y];
        let cycles = |bytes| switched::<m![A, B], m![C], Slice, m![C, A % 2, B % 2]>(custom(32), bytes);
        assert_eq!((cycles(64), cycles(256)), (512, 2048), "G32");
        // Documented are 128, which is 4 * 8 * 4; 64 bytes are 2 flits.
        type Part = m![A, B / 4, Z];
        let cycles = |bytes| switched::<m![A, B], m![C], Part, m![C, B % 4 = 3]>(custom(4), bytes);
        assert_eq!((cycles(64), cycles(256)), (64, 256), "G33");
        // A later edition of the documentation counts the 24 steps that leave: 96.
        assert_eq!(cycles(32), 32, "G36");
    }
}

/// G37 to G41: matrices in and out of the buffers of the Transpose Engine.
#[test]
fn transposes() {
    {
        axes![C = 8, D = 8, E = 8];
        type Square = TransposePlan<i8, m![C, D], m![E # 32], m![C, E], m![D # 32]>;
        assert_eq!(transpose_cycles(&Square::CONFIG), 72, "G37");
    }
    {
        axes![A = 4, B = 2];
        type Trimmed = TransposePlan<i8, m![A], m![B # 32], m![B], m![A # 32]>;
        assert_eq!(transpose_cycles(&Trimmed::CONFIG), 6, "G38");
    }
    {
        axes![B = 2, C = 8, D = 4, E = 8];
        type Wide = TransposePlan<i8, m![B, C, D], m![E # 32], m![B, D, E], m![C # 32]>;
        assert_eq!(transpose_cycles(&Wide::CONFIG), 128, "G39");
    }
    {
        axes![C = 8, D = 4, E = 8];
        type Halves = TransposePlan<bf16, m![C, D], m![E # 16], m![C, E], m![D # 16]>;
        assert_eq!(transpose_cycles(&Halves::CONFIG), 68, "G40");
    }
    {
        axes![N = 2, R = 8, P = 2, E = 8];
        type Pairs = TransposePlan<i8, m![N, R, P], m![E # 32], m![N, P, E], m![R # 32]>;
        assert_eq!(transpose_cycles(&Pairs::CONFIG), 48, "G41");
    }
    {
        axes![N = 4, R = 16, E = 16];
        type Nibbles = TransposePlan<i4, m![N, R], m![E # 64], m![N, E], m![R # 64]>;
        assert_eq!(transpose_cycles(&Nibbles::CONFIG), 80, "G41");
    }
    {
        axes![N = 4, R = 2, E = 8];
        type Words = TransposePlan<f32, m![N, R], m![E], m![N, E], m![R # 8]>;
        assert_eq!(transpose_cycles(&Words::CONFIG), 34, "G41");
    }
    axes![U = 3, R = 4, G = 2, K = 6];
    type Own = TransposePlan<bf16, m![U, R, G], m![K # 16], m![U, G, K], m![R # 16]>;
    assert_eq!(transpose_cycles(&Own::CONFIG), 44);
}

/// G42: depth of the tree. G44: 8 packets of 2 flits and the tree are 21 cycles, pipelined. G46, G47: the accumulator.
#[test]
fn reductions() {
    assert_eq!([I4, I8, Bf16].map(tree_latency), [7, 6, 5], "G42");
    assert_eq!([I4, I8, Bf16].map(|element| spec::MAC_BYTES * 8 / element.bits()), [128, 64, 32]);
    assert_eq!(contract_cycles(8, 1, 1) + tree_latency(Bf16), 13);
    assert_eq!(contract_cycles(8, 2, 1) + tree_latency(Bf16), 21, "G44");
    assert_eq!(accumulate_cycles(AccumulationKind::Interleaved, 8, 8, 1), 8);
    assert_eq!(accumulate_cycles(AccumulationKind::Interleaved, 4, 8, 4), 16);
    assert_eq!(accumulate_cycles(AccumulationKind::Sequential, 4, 8, 8), 32);
    // K64, M4, N8: 4 * 4 columns of 128, 4 * 8 * 1 row sets of 32.
    axes![S = 2, P = 4, Q = 4, G = 8, V = 8];
    use furiosa_visa_std::engine::contraction::{AccumulateRequest, derive_accumulate};
    let cells = |packet, out_time, out_packet, kind| {
        let request = AccumulateRequest {
            row: <m![G]>::EXPR,
            time: <m![S, P]>::EXPR,
            packet,
            out_time,
            out_packet,
            kind,
        };
        let config = derive_accumulate(&request).expect("it is legal");
        (config.buffer, config.buffer_limit())
    };
    let interleaved = cells(<m![Q]>::EXPR, <m![P, Q]>::EXPR, <m![G]>::EXPR, AccumulationKind::Interleaved);
    assert_eq!(interleaved, (16, 128), "G47");
    let sequential = cells(<m![V]>::EXPR, <m![P, G]>::EXPR, <m![V]>::EXPR, AccumulationKind::Sequential);
    assert_eq!(sequential, (32, 32));
    {
        // B / 4 outermost, A % 8 inside: 16 packets into 8 slots, the last of which is complete with the last packet.
        axes![A = 16, B = 8, R = 8];
        let trace = derive_accumulate(&AccumulateRequest {
            kind: AccumulationKind::Interleaved,
            row: <m![R]>::EXPR,
            time: <m![B / 4, A % 8]>::EXPR,
            packet: <m![1]>::EXPR,
            out_time: <m![A % 8]>::EXPR,
            out_packet: <m![R]>::EXPR,
        })
        .expect("it is legal");
        assert_eq!((trace.slots.positions(), trace.slot_count), (16, 8), "G46");
        assert_eq!(trace.slots.to_string(), "[2 : 0, 8 : 1] : 1");
    }
}

fn commit<Time: M, Packet: M, Element: M>(element: ElementType) -> Result<CommitConfig, &'static str> {
    let (time, packet, destination) = (Time::EXPR, Packet::EXPR, Element::EXPR);
    let stages = CommitStages::NONE;
    derive_commit(&CommitRequest { sub_context: false, element, time, packet, destination, stages })
        .map_err(|error| error.rule())
}

fn sizes(config: Result<CommitConfig, &'static str>) -> (usize, usize, usize, usize) {
    let own = config.expect("it is legal");
    (own.contiguous_bytes, own.commit_in_size, own.commit_size, own.cycles)
}

/// G54 to G58: contiguous bytes, bytes of a flit that are kept, bytes of a write, cycles.
#[test]
fn commits() {
    axes![A = 4, K = 2, W = 8, N = 8];
    assert_eq!(sizes(commit::<m![A, K], m![W # 32], m![A, K, W]>(I8)), (64, 8, 8, 8), "G54");
    let (run, kept, size, cycles) = sizes(commit::<m![A, K], m![W], m![K, A, W]>(F32));
    assert_eq!((run.min(32), kept, size, cycles), (32, 32, 32, 8), "G55");
    let (run, kept, size, cycles) = sizes(commit::<m![A, K], m![N # 16], m![K, A, N]>(Bf16));
    assert_eq!((run.min(16), kept, size, cycles), (16, 16, 16, 8), "G56");
    // The last documented example keeps 64 bytes of a step: it is refused.
    assert_eq!(commit::<m![K], m![A, W], m![K, A, W # 16]>(I8), Err("commit width"), "G57");
    // Truncation keeps whole multiples of 8 bytes.
    axes![E = 8, F = 16];
    assert_eq!(sizes(commit::<m![K], m![E # 32], m![K, E]>(I8)).1, 8, "G58");
    assert_eq!(sizes(commit::<m![K], m![F # 32], m![K, F]>(I8)).1, 16);
    assert_eq!(sizes(commit::<m![K], m![E # 16], m![K, E]>(Bf16)).1, 16);
    assert_eq!(sizes(commit::<m![K], m![E], m![K, E]>(F32)).1, 32);
}

/// G59 to G64: kernels that copy.
#[test]
fn copies() {
    {
        axes![A = 3, B = 5, C = 2];
        let config = commit::<m![A, B], m![C # 32], m![B, A, C # 8]>(I8).expect("it is legal");
        assert_eq!(
            (config.derived.to_string().as_str(), config.cycles),
            ("[3 : 8, 5 : 24, 8 : 1] : 8", 15),
            "G59"
        );
        let whole = commit::<m![A], m![[B, C] # 32], m![A, [B, C] # 32]>(I8).expect("it is legal");
        assert_eq!((whole.cycles, config.cycles / whole.cycles), (3, 5), "G60");
    }
    {
        axes![A = 65, B = 2];
        // Padded by 7, 15, 23 and 31 elements, in flits of which 24, 16, 8 and 32 bytes are kept.
        let commits = [
            commit::<m![B, A # 72 / 24], m![A # 72 % 24 # 32], m![B, A # 72]>(I8),
            commit::<m![B, A # 80 / 16], m![A # 80 % 16 # 32], m![B, A # 80]>(I8),
            commit::<m![B, A # 88 / 8], m![A # 88 % 8 # 32], m![B, A # 88]>(I8),
            commit::<m![B, A # 96 / 32], m![A # 96 % 32], m![B, A # 96]>(I8),
        ];
        let commits = commits.map(|own| own.expect("it is legal").cycles);
        assert_eq!(commits, [6, 10, 22, 6], "G61");
        assert_eq!(100 * commits[2] / commits[3], 366, "G63");
        let fetches = [
            fetch::<m![B, A # 72], m![B, A # 72 / 24], m![A # 72 % 24]>(I8, I8),
            fetch::<m![B, A # 80], m![B, A # 80 / 16], m![A # 80 % 16]>(I8, I8),
            fetch::<m![B, A # 88], m![B, A # 88 / 8], m![A # 88 % 8]>(I8, I8),
            fetch::<m![B, A # 96], m![B, A # 96 / 32], m![A # 96 % 32]>(I8, I8),
        ];
        // Documented are 6 for the first: 24 bytes are no size of a fetch.
        assert_eq!(fetches.map(|own| own.cycles), [18, 10, 22, 6]);
        let stored =
            [<m![B, A # 72]>::SIZE, <m![B, A # 80]>::SIZE, <m![B, A # 88]>::SIZE, <m![B, A # 96]>::SIZE];
        let overhead = stored.map(|stored| 10_000 * (stored - <m![B, A]>::SIZE) / stored);
        assert_eq!(overhead, [972, 1875, 2613, 3229], "G62");
    }
    {
        axes![A = 2048, B = 32];
        assert_eq!(fetch::<m![A, B], m![A = 1024], m![B]>(I8, I8).cycles, 1024, "G64");
    }
}

/// G95: a flit per cycle.
#[test]
fn flits() {
    assert_eq!(fetch_cycles(4096, 32, 32), 4096, "G95");
}

/// A program of the Vector Engine, and the stream of so many flits that enters it.
fn program(steps: &[VectorStep], flits: usize) -> (Vector, StreamShape) {
    let mut vector = Vector::new(F32, Guard::always(5));
    vector.steps.extend_from_slice(steps);
    (vector, StreamShape { element: F32, time: flits, lanes: 8 })
}

/// A function of an element.
fn function(op: FpUnaryOp) -> VectorStep {
    VectorStep::Unary { op, ids: ValidBranchIds::ValidAlways }
}

/// G49: a cycle per arithmetic unit. G50: a split halves the rate. G51: eight sums are open at once, twelve are too many.
#[test]
fn vector_operators() {
    let float = [VectorStep::Split, function(FpUnaryOp::Sqrt), function(FpUnaryOp::Exp), VectorStep::Concat];
    let (split, stream) = program(&float, 24);
    assert_eq!(vector_latency(&split), 2, "G49");
    assert_eq!(vector_cycles(&split, stream), 2 * 24, "G50");
    let (trimmed, _) = program(&[VectorStep::Trim, function(FpUnaryOp::Exp), VectorStep::Pad], 24);
    assert_eq!(vector_cycles(&trimmed, stream), 24, "four of eight lanes");

    axes![R = 5, A = 6, B = 8];
    let slots = |time: &'static Expr, out_time: &'static Expr| {
        let [one, lane] = [<m![1]>::EXPR, <m![1 # 4]>::EXPR];
        let request =
            ReduceRequest { axis: R::NAME, units: [one; 3], time, packet: lane, out_time, out_packet: lane };
        derive_reduce(&request).map(|config| config.slots).map_err(|error| error.rule())
    };
    assert_eq!(slots(<m![R, A % 2, B % 4]>::EXPR, <m![A % 2, B % 4]>::EXPR), Ok(8), "G51");
    assert_eq!(slots(<m![R, A % 3, B % 4]>::EXPR, <m![A % 3, B % 4]>::EXPR), Err("reduce slots"));
}

/// G43: 65 536 elements summed over a packet of 32, 8 time steps and 256 slices. G45: in all, pipelined (E26). G52: a ring of
/// the slices of a group.
#[test]
fn sums_over_slices() {
    axes![S = 256, G = 32, J = 8, L = 8];
    type Whole = InterSlicePlan<m![1], m![1 # 2], m![S], m![1], m![L], m![1 # 256], m![1]>;
    type Part = InterSlicePlan<m![1], m![1 # 2], m![G, J], m![1], m![L], m![G, 1 # 8], m![1]>;
    let ring = Whole::CONFIG.group as u64;
    let (spatial, temporal) = (tree_latency(Bf16), contract_cycles(8, 1, 1));
    assert_eq!([spatial, temporal, ring], [5, 8, 256], "G43");
    assert_eq!(spatial + temporal + ring, 269, "G45");
    assert_eq!((ring, Part::CONFIG.group), (256, 8), "G52");
}

/// G96: two partial sums of 4096 flits, interleaved. G98: n of them take n fetches; a sum over slices is the alternative.
#[test]
fn split_reduce() {
    let flits = 2 * 4096;
    let zip = VectorStep::Zip {
        op: furiosa_visa_std::command::BinaryOperator::ClipF32(ClipBinaryOpF32::Add),
        mode: BinaryArgMode::Mode01,
    };
    let (vector, stream) = program(&[VectorStep::Unzip { step: 8 }, zip], flits);
    let fetched = fetch_cycles(flits as u64, 32, 32);
    assert_eq!((fetched, vector_cycles(&vector, stream)), (8192, 8192), "G96");
    assert_eq!(vector.shape(stream).time, 4096);
    assert_eq!([2, 3, 4].map(|n| fetch_cycles(n * 4096, 32, 32) / 4096), [2, 3, 4], "G98");
}
