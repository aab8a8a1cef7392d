//! The worked examples of moves (guide: clock). Numbers such as G84 are those of `tests/golden/cycle_table.rs`.

use super::*;
use crate::hbm::{Detailed, HbmMap};
use furiosa_visa_rules::command::{Dma, FillId, Footprint, Memory, Region, Step, Transfer, TransferLoop};
use furiosa_visa_rules::mapping::{Guard, GuardDigit, GuardSum};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec;
use furiosa_visa_std::engine::dma::{AtRest, DmaPlan};
use furiosa_visa_std::prelude::{DmTensor, HbmTensor, axes, m};

pub(super) const HBM: Medium = Medium::Hbm { chip: 0 };
pub(super) const DM: Medium = Medium::Dm { chip: 0, cluster: 0 };
pub(super) const SLICE: u64 = spec::DMA_SLICE_STRIDE;
pub(super) const DMN: u64 = spec::DMA_DMN_STRIDE;
pub(super) const SINGLE: DmaOptions = DmaOptions {
    split: EngineSplit::Single { cluster: 0, pe: 0 },
    packet_bytes: spec::DMA_PACKET_BYTES,
    peel: true,
};

/// The closed rule in ticks of 1/3 cycle (guide: clock), from the bits of the address: 16 for a unit of 256 bytes, 120
/// if the engine switches the row of a bank, 800 for a part of a unit that is written; the slowest channel.
pub(super) fn book(streams: &[HbmStream<'_>]) -> u64 {
    let mut channels = [0u64; 32];
    for stream in streams {
        let mut rows = vec![None; 32 * 48];
        for (address, bytes) in stream.requests() {
            let end = address + bytes as u64;
            for unit in address / 256..end.div_ceil(256) {
                let a = unit * 256;
                let channel =
                    ((a >> 9 ^ a >> 13 ^ a >> 17 ^ a >> 21 ^ a >> 25) & 15 | (a >> 8 & 1) << 4) as usize;
                let (slice, high) =
                    if a >> 34 & 1 == 1 { (2, a >> 20 & 1) } else { (a >> 20 & 1, a >> 35 & 1) };
                let group = a >> 13 & 1 | (a >> 19 & 1) << 1;
                let bank = (slice * 16 + group * 4 + (a >> 17 & 3)) as usize;
                let row = high << 13 | a >> 21 & 0x1fff;
                let part = address > a || end < a + 256;
                let open = rows[channel * 48 + bank].replace(row);
                channels[channel] += match open {
                    _ if part && stream.writes() => 800,
                    Some(open) if open != row => 120,
                    _ => 16,
                };
            }
        }
    }
    let ticks = channels.into_iter().max().unwrap_or(0);
    assert_eq!(BookHbm::default().ticks(streams), ticks);
    ticks
}

/// HBM that takes no time.
pub(super) fn fast(_: &[HbmStream<'_>]) -> u64 {
    0
}

fn cycles(operation: &DmaOperation) -> u64 {
    time(operation, SameMedium::Sum, &mut book).cycles()
}

fn one(command: PairedSequencer) -> DmaOperation {
    queue(0, 0, vec![command])
}

fn queue(cluster: usize, pe: usize, commands: Vec<PairedSequencer>) -> DmaOperation {
    commands.iter().for_each(|command| assert_eq!(command.check(), Ok(())));
    DmaOperation::of(vec![EngineQueue {
        engine: Engine { chip: 0, cluster, pe },
        commands,
        lists: Vec::new(),
    }])
}

fn together(operations: Vec<DmaOperation>) -> DmaOperation {
    DmaOperation::of(operations.into_iter().flat_map(|operation| operation.engines).collect())
}

fn move_of<Source: AtRest, Destination: AtRest>(from: u64, to: u64) -> Dma {
    let region = |shape: furiosa_visa_std::tensor::Shape, address| {
        let footprint = shape.footprint().unwrap_or_else(|error| panic!("{error}"));
        Region::whole(shape.memory, address, FillId(1), footprint)
    };
    Dma {
        source: region(Source::SHAPE, from),
        destination: region(Destination::SHAPE, to),
        transfer: *DmaPlan::<Source, Destination>::TRANSFER,
        pcie: false,
    }
}

/// A move of bytes by hand: loops of `(size, source units, source bytes, destination units, destination bytes)`.
pub(super) fn bytes(
    source: (Memory, usize),
    destination: (Memory, usize),
    loops: &[(usize, usize, usize, usize, usize)],
) -> Dma {
    let region = |(memory, elements)| {
        let (clusters, slices) = if memory == Memory::Dm { (2, 256) } else { (1, 1) };
        let element = ElementType::I8;
        let footprint = Footprint { element, chips: 1, clusters, slices, elements, guard: Guard::always(4) };
        Region::whole(memory, 0, FillId(1), footprint)
    };
    let mut transfer = Transfer { guard: Guard::always(loops.len()), ..Transfer::new() };
    for &(size, units, elements, to_units, to_elements) in loops {
        let (source, destination) =
            (Step { units, elements }, Step { units: to_units, elements: to_elements });
        transfer.loops.push(TransferLoop { size, source, destination });
    }
    Dma { source: region(source), destination: region(destination), transfer, pcie: false }
}

pub(super) fn derived(dma: &Dma, options: &DmaOptions) -> DmaOperation {
    derive(dma, options).unwrap_or_else(|error| panic!("{error}"))
}

/// Entries and `stride0` of an operation of one command.
pub(super) fn entries(operation: &DmaOperation) -> (Vec<(usize, u64, u64)>, usize) {
    assert_eq!(operation.commands().count(), 1, "{operation}");
    let command = &operation.engines[0].commands[0];
    (
        command.entries.iter().map(|e| (e.limit, e.source_stride, e.destination_stride)).collect(),
        command.stride0,
    )
}

mod basic {
    use super::*;
    axes![N = 4, C = 3, H = 8, W = 8];
    type From = HbmTensor<i8, m![1], m![N, C, H, W]>;
    type To = HbmTensor<i8, m![1], m![H, C, N, W]>;

    #[test]
    fn small_transpose() {
        let operation = derived(&move_of::<From, To>(0, 4096), &SINGLE);
        // The documented example has these entries in destination order; the rule for HBM to HBM is source order.
        assert_eq!(entries(&operation), (vec![(4, 192, 8), (3, 64, 32), (8, 8, 96)], 8));
        assert_eq!(operation.requests(), 96);
        let command = PairedSequencer::new((HBM, 0), (HBM, 4096), 8);
        assert_eq!(one(command.with_entries(&[(8, 8, 96), (3, 64, 32), (4, 192, 8)])).requests(), 96);
    }
}

mod example_1 {
    use super::*;
    axes![A = 8, B = 8, C = 256];
    type From = HbmTensor<i8, m![1], m![A, B, C]>;
    type To = HbmTensor<i8, m![1], m![B, A, C]>;

    #[test]
    fn hbm_to_hbm() {
        let dma = move_of::<From, To>(0, 1 << 16);
        let operation = derived(&dma, &SINGLE);
        assert_eq!(entries(&operation), (vec![(8, 2048, 256), (8, 256, 2048)], 256));
        assert_eq!(operation.requests(), 64);
        // G79, both rules.
        assert_eq!(cycles(&operation), 628);
        assert_eq!(time(&operation, SameMedium::Max, &mut book).cycles(), 564);
        // The outermost loop over all engines.
        let all = derived(&dma, &DmaOptions::default());
        assert!(all.is_homogeneous());
        let shares: Vec<_> =
            all.engines.iter().map(|queue| (queue.engine.number(), queue.commands.len())).collect();
        assert_eq!(shares, (0..8).map(|k| (k, 1)).collect::<Vec<_>>());
        assert_eq!((all.requests(), all.bytes()), (64, 16384));
        assert_eq!(all.engines[5].commands[0].source_base, 5 * 2048);
        assert_eq!(all.engines[5].commands[0].destination_base, (1 << 16) + 5 * 256);
    }
}

mod cubes {
    use super::*;
    axes![A = 256, B = 256, C = 256];
    type Hbm<Element> = HbmTensor<i8, m![1], Element>;
    type Dm<Element> = DmTensor<i8, m![1], m![1 # 2], m![A / 4 # 256], Element>;

    #[test]
    fn example_2_hbm_to_dm() {
        let operation =
            derived(&move_of::<Hbm<m![B, A, C]>, Dm<m![A % 4, B, C]>>(0, 0), &DmaOptions::default());
        let expected = vec![(256, 65536, 256), (4, 256, 65536), (32, 1024, SLICE), (2, 32768, DMN)];
        assert_eq!(entries(&operation), (expected, 256));
        assert_eq!(operation.requests(), 65536);
        // G81.
        let time = time(&operation, SameMedium::Sum, &mut book);
        assert_eq!(
            (time.cycles(), time.bound, time.slowest),
            (66036, Bound::Engine, Some(operation.engines[0].engine))
        );
        assert_eq!(time.engines[0].write.medium_ticks, 65536 * 3);
    }

    #[test]
    fn example_3_dm_to_dm() {
        let dma = move_of::<Dm<m![A % 4, B, C]>, Dm<m![B, A % 4, C]>>(0, 262_144);
        let operation = derived(&dma, &DmaOptions::default());
        let expected = vec![(256, 256, 1024), (4, 65536, 256), (32, SLICE, SLICE), (2, DMN, DMN)];
        assert_eq!(entries(&operation), (expected, 256));
        assert_eq!(operation.requests(), 65536);
        // G82.
        assert_eq!(cycles(&operation), 131_572);
    }

    #[test]
    fn hbm_to_hbm() {
        let operation = derived(&move_of::<Hbm<m![A, B, C]>, Hbm<m![B, A, C]>>(0, 1 << 24), &SINGLE);
        assert_eq!(entries(&operation), (vec![(256, 65536, 256), (256, 256, 65536)], 256));
        assert_eq!(
            (operation.requests(), operation.engines[0].commands[0].destination_base),
            (65536, 1 << 24)
        );
        // G80: the sum rule without HBM, the printed maximum, and with HBM: 80 810.7 cycles on the write side.
        assert_eq!(time(&operation, SameMedium::Sum, &mut fast).cycles(), 131_572);
        assert_eq!(time(&operation, SameMedium::Max, &mut fast).cycles(), 66_036);
        let time = time(&operation, SameMedium::Sum, &mut book);
        assert_eq!(time.engines[0].write.medium_ticks, 242_432);
        assert_eq!((time.ticks, time.bound), (440_540, Bound::Hbm));
    }
}

mod example_4 {
    use super::*;
    axes![A = 64, B = 2048, C = 1024];
    type From = HbmTensor<i8, m![1], m![A, B, C]>;
    type To = DmTensor<i8, m![1], m![B / 1024], m![B / 256 % 4, A], m![B % 256, C]>;

    /// As documented, with packets of 256 bytes.
    fn by_hand() -> DmaOperation {
        let engine = |number: u64| {
            let (i, j) = (number / 4, number % 4);
            let medium = Medium::Dm { chip: 0, cluster: i as usize };
            let base = (medium, j * 64 * SLICE);
            let command = PairedSequencer::new((HBM, (i << 20) + (j << 18)), base, 256).with_entries(&[
                (256, 1024, 1024),
                (4, 256, 256),
                (32, 1 << 21, SLICE),
                (2, 1 << 26, DMN),
            ]);
            queue(i as usize, j as usize, vec![command])
        };
        together((0..8).map(engine).collect())
    }

    #[test]
    fn hbm_to_all_engines() {
        let dma = move_of::<From, To>(0, 0);
        let mut expected = by_hand();
        let commands = expected.engines.iter_mut().flat_map(|queue| &mut queue.commands);
        commands.for_each(PairedSequencer::merge);
        assert_eq!(derived(&dma, &DmaOptions { packet_bytes: 256, ..DmaOptions::default() }), expected);
        // The longest packets: a run goes on over B % 256.
        let operation = derived(&dma, &DmaOptions::default());
        let command = &operation.engines[6].commands[0];
        let expected = PairedSequencer::new(
            (HBM, (1 << 20) + (2 << 18)),
            (Medium::Dm { chip: 0, cluster: 1 }, 2 * 64 * SLICE),
            4096,
        );
        let entries = [(64, 4096, 4096), (32, 1 << 21, SLICE), (2, 1 << 26, DMN)];
        assert_eq!(command, &expected.with_entries(&entries));
        // G83: per engine, and in all.
        assert!(operation.engines.iter().all(|queue| queue.commands[0].requests() == 65536));
        assert_eq!(operation.requests(), 524_288);
    }

    #[test]
    fn time_is_that_of_switched_rows() {
        let operation = by_hand();
        assert_eq!(operation.requests(), 524_288);
        let time = time(&operation, SameMedium::Sum, &mut book);
        // G84: 654 250.7 cycles; documented are 655 360 for 16 384 requests per channel (G83), every one a row switch.
        assert_eq!(time.hbm_ticks(), [(0, 1_962_752)]);
        assert_eq!((time.ticks, time.bound, time.slowest), (1_962_752 + 1500, Bound::Hbm, None));
        let switched = 524_288 / 32 * 40 * 3;
        assert!((switched as f64 / 1_962_752.0 - 1.0).abs() < 0.0018);
        // G85: about ten times the engine's own time.
        assert_eq!(time.engines[0].write.ticks, 65536 * 3);
        assert_eq!(time.hbm_ticks()[0].1 / time.engines[0].write.ticks, 9);
    }
}

mod example_5 {
    use super::*;

    /// HBM `[A8, B64, C8, D512]`: the first half of D goes to cluster A/4, slice `[A % 4, B]`, element `[C, D % 256]`.
    fn half() -> Dma {
        bytes(
            (Memory::Hbm, 8 * 64 * 8 * 512),
            (Memory::Dm, 8 * 256),
            &[
                (2, 0, 4 << 18, 256, 0),
                (4, 0, 1 << 18, 64, 0),
                (64, 0, 4096, 1, 0),
                (8, 0, 512, 0, 256),
                (256, 0, 1, 0, 1),
            ],
        )
    }

    #[test]
    fn one_stack() {
        let operation = derived(&half(), &DmaOptions::default());
        for (number, queue) in operation.engines.iter().enumerate() {
            let (i, j) = (number as u64 / 4, number as u64 % 4);
            let medium = Medium::Dm { chip: 0, cluster: i as usize };
            let expected = PairedSequencer::new((HBM, (i << 20) + (j << 18)), (medium, j * 64 * SLICE), 256)
                .with_entries(&[(8, 512, 256), (32, 4096, SLICE), (2, 131_072, DMN)]);
            assert_eq!(queue.commands, [expected]);
            assert_eq!((queue.engine.number(), queue.commands[0].requests()), (number, 512));
        }
        // G86: 4096 requests, 256 in each of 16 channels.
        assert_eq!((operation.engines.len(), operation.requests()), (8, 4096));
        let time = time(&operation, SameMedium::Sum, &mut book);
        // G87.
        assert_eq!(time.hbm_ticks(), [(0, 256 * 16)]);
        assert_eq!((time.cycles(), time.bound), (1866, Bound::Hbm));
        // With queues and banks 1390, within 5 %: a prototype of the detailed model.
        let detailed = &mut Detailed::new(HbmMap::default());
        let cycles = super::super::time(&operation, SameMedium::Sum, detailed).hbm_ticks()[0].1 / 3;
        assert!(cycles.abs_diff(1390) < 70, "{cycles}");
    }

    #[test]
    fn both_stacks() {
        // G88: every second row of C from the other half of D, so that the stack bit is used.
        let mut dma = half();
        let loops =
            [(2, 0, 4 << 18, 256, 0), (4, 0, 1 << 18, 64, 0), (64, 0, 4096, 1, 0), (4, 0, 1024, 0, 512)];
        let inner = [(2, 0, 512 + 256, 0, 256), (256, 0, 1, 0, 1)];
        dma.transfer = bytes((Memory::Hbm, 1), (Memory::Dm, 1), &[&loops[..], &inner[..]].concat()).transfer;
        let operation = derived(&dma, &DmaOptions::default());
        assert_eq!(time(&operation, SameMedium::Sum, &mut book).hbm_ticks(), [(0, 128 * 16)]);
    }
}

mod example_6 {
    use super::*;

    /// 15 blocks of 8 KiB, 256 bytes in each of 32 slices, as the documented example cuts them: 4 blocks in 2 Data
    /// Memory Networks for engines 0 to 2 of a cluster, 2 blocks and then 1 for engine 3.
    fn by_hand() -> DmaOperation {
        let engine = |number: u64| {
            let (i, j) = (number / 4, number % 4);
            let medium = Medium::Dm { chip: 0, cluster: i as usize };
            let (from, to) = (j * 64 * SLICE, i * 15 * 8192 + j * 4 * 8192);
            let command = |from, to| PairedSequencer::new((medium, from), (HBM, to), 256);
            let (blocks, slices, networks) = ((2, 256, 16384), (32, SLICE, 256), (2, DMN, 8192));
            let commands = if j < 3 {
                vec![command(from, to).with_entries(&[blocks, slices, networks])]
            } else {
                vec![
                    command(from, to).with_entries(&[blocks, slices]),
                    command(from + DMN, to + 8192).with_entries(&[slices]),
                ]
            };
            queue(i as usize, j as usize, commands)
        };
        together((0..8).map(engine).collect())
    }

    #[test]
    fn ragged_shares() {
        let operation = by_hand();
        assert!(!operation.is_homogeneous());
        let time = time(&operation, SameMedium::Sum, &mut book);
        assert_eq!(time.requests(), 960);
        // G89, G90, G91.
        for cluster in [0, 4] {
            let cycles: Vec<_> = time.engines[cluster..cluster + 4].iter().map(EngineTime::cycles).collect();
            assert_eq!(cycles, [628, 628, 628, 1192]);
        }
        assert_eq!(time.hbm_ticks(), [(0, 160 * 3)]);
        assert_eq!((time.cycles(), time.bound), (1192, Bound::Startup));
        assert_eq!(time.engines[3].read.medium_ticks, (128 + 64) * 3);
    }

    #[test]
    fn derived_shares() {
        // Cluster K, slice [A / 4, A % 2, B], element [A / 2 % 2, C] to HBM [K, A, B, C], with A = 15.
        let mut dma = bytes(
            (Memory::Dm, 512),
            (Memory::Hbm, 2 * 15 * 8192),
            &[
                (2, 256, 0, 0, 15 * 8192),
                (4, 64, 0, 0, 4 * 8192),
                (2, 0, 256, 0, 2 * 8192),
                (2, 32, 0, 0, 8192),
                (32, 1, 0, 0, 256),
                (256, 0, 1, 0, 1),
            ],
        );
        for (variable, weight) in [(1, 4), (2, 2), (3, 1)] {
            dma.transfer.guard.digits.push(GuardDigit { variable, base: 1, extent: 4, weight });
        }
        dma.transfer.guard.sums.push(GuardSum { first: 0, len: 3, start: 0, limit: 15 });
        let operation = derived(&dma, &DmaOptions::default());
        let requests: Vec<Vec<u64>> = operation
            .engines
            .iter()
            .map(|queue| queue.commands.iter().map(PairedSequencer::requests).collect())
            .collect();
        // 15 = 4 + 4 + 4 + 3, and 3 = 2 + 1.
        let cluster = [vec![128], vec![128], vec![128], vec![64, 32]];
        assert_eq!(requests, [cluster.clone(), cluster].concat());
        assert_eq!(operation.coverage, Coverage::Exact);
        // The other engines execute the documented commands.
        assert_eq!(operation.engines[4..7], by_hand().engines[4..7]);
        // The two documented blocks of engine 3 share a Data Memory Network; here they are in both: 64 cycles less.
        assert_eq!(cycles(&operation), 1192 - 64);
    }
}

#[test]
fn constants_and_packets() {
    // G76, G78, G93.
    assert_eq!(cycles(&one(PairedSequencer::new((HBM, 0), (DM, 0), 8))), 506);
    assert_eq!(
        time(&one(PairedSequencer::new((HBM, 0), (DM, 0), 8)), SameMedium::Sum, &mut fast).cycles(),
        501
    );
    assert_eq!((spec::DMA_STARTUP_CYCLES, spec::DMA_PACKET_BYTES), (500, 256 * 16));
    let engines = spec::CLUSTERS * spec::CLUSTER_PES;
    assert_eq!((spec::DMA_REQUEST_BYTES, engines * spec::DMA_REQUEST_BYTES), (256, 2048));
    assert_eq!((spec::DMN_BYTES_PER_CYCLE, spec::PCIE_BYTES_PER_CYCLE), (128, 30));
    // G94: 256 n bytes are n requests, 256 n + r bytes are n + 1.
    for (stride0, requests) in
        [(256, 1), (1, 1), (255, 1), (257, 2), (512, 2), (513, 3), (4095, 16), (4096, 16)]
    {
        assert_eq!(PairedSequencer::new((HBM, 0), (HBM, 0), stride0).requests(), requests);
    }
}

#[test]
fn a_prime_run_takes_two_commands() {
    // G77: 4099 bytes as 4096 and 3: 17 requests, two startups.
    let dma = bytes((Memory::Dm, 4099), (Memory::Hbm, 4099), &[(4099, 0, 1, 0, 1)]);
    let operation = derived(&dma, &DmaOptions::default());
    let packets: Vec<_> = operation.commands().map(|command| command.stride0).collect();
    assert_eq!((packets, operation.requests()), (vec![4096, 3], 17));
    assert_eq!(time(&operation, SameMedium::Sum, &mut fast).engines[0].startup_ticks, 3000);
}

#[test]
fn four_engines_between_hbm_and_hbm() {
    // G92: 0.75 TB/s each way over 4 engines is 187.5 bytes per cycle and 1.365 cycles per request; the channels make
    // 1.536 TB/s both ways, 192 bytes.
    let engine = |k: u64| {
        let command = PairedSequencer::new((HBM, k << 20), (HBM, (16 + k) << 20), 4096);
        queue(0, k as usize, vec![command.with_entries(&[(256, 4096, 4096)])])
    };
    let operation = together((0..4).map(engine).collect());
    let time = time(&operation, SameMedium::Max, &mut book);
    assert_eq!(time.hbm_ticks(), [(0, 2 * 4 * 4096 / 32 * 16)]);
    let per_request = time.hbm_ticks()[0].1 as f64 / 3.0 / 4096.0;
    assert!((per_request / 1.365 - 1.0).abs() < 0.025, "{per_request}");
    assert_eq!((time.bound, time.slowest), (Bound::Hbm, None));
    // Unreachable if sides are added up: then the engines are slower (E12).
    assert_eq!(super::time(&operation, SameMedium::Sum, &mut book).bound, Bound::Engine);
}

#[test]
fn other_chips_are_reached_over_pcie() {
    let far = |bytes: usize| {
        let to = Medium::Hbm { chip: 1 };
        one(PairedSequencer::new((HBM, 0), (to, 0), 256).with_entries(&[(bytes / 256, 256, 256)]))
    };
    // G99: 64 KiB are 2185 cycles.
    let time = time(&far(65536), SameMedium::Sum, &mut book);
    assert_eq!((time.cycles(), time.bound, time.pcie_ticks), (2685, Bound::Pcie, 2185 * 3));
    // Two engines share the link.
    let both = together(vec![far(65536), queue(0, 1, far(65536).engines[0].commands.clone())]);
    let time = super::time(&both, SameMedium::Sum, &mut book);
    assert_eq!((time.cycles(), time.bound, time.slowest), (500 + 4370, Bound::Pcie, None));
}

#[test]
fn clusters_are_different_media() {
    let far = Medium::Dm { chip: 0, cluster: 1 };
    let command = |to| PairedSequencer::new((DM, 0), (to, 0), 256).with_entries(&[(64, 256, 256)]);
    // One Data Memory Network: 2 cycles per request.
    let near = time(&one(command(DM)), SameMedium::Sum, &mut book);
    assert_eq!(
        (near.cycles(), near.bound, near.same_medium),
        (500 + 256, Bound::Startup, Some(SameMedium::Sum))
    );
    let far = time(&one(command(far)), SameMedium::Sum, &mut book);
    assert_eq!((far.cycles(), far.same_medium), (500 + 128, None));
    let spm = Medium::Spm { chip: 0, cluster: 0, dmn: 1 };
    let spm = PairedSequencer::new((spm, 0), (HBM, 0), 256).with_entries(&[(1024, 256, 256)]);
    let spm = time(&one(spm), SameMedium::Sum, &mut book);
    assert_eq!((spm.cycles(), spm.bound), (500 + 2048, Bound::Spm));
}

#[test]
fn the_host_pays_for_its_own_bytes() {
    let region = bytes((Memory::Hbm, 8), (Memory::Hbm, 8), &[]).source;
    let transfer = |host_elements| furiosa_visa_rules::command::HostTransfer {
        region,
        transfer: Transfer::new(),
        host_elements,
    };
    let cycles = [0, 1, 30, 31, 65536].map(|elements| host_cycles(&transfer(elements)));
    assert_eq!(cycles, [500, 501, 501, 502, 500 + 2185]);
}

#[test]
fn the_report_names_every_number() {
    let command = PairedSequencer::new((HBM, 0), (DM, 0), 256).with_entries(&[(1000, 256, 256)]);
    let text = time(&one(command), SameMedium::Sum, &mut book).to_string();
    for line in [
        "requests                             1000         documented  at most 256 B each",
        "startup, slowest engine               500 cycles  documented  500 per command",
        "write side, slowest engine           2000 cycles  derived     requests or medium",
        "HBM, all engines                    170.7 cycles  assumed     the slowest channel",
        "total                                2500 cycles  assumed     start, then the longest of the above",
        "limited by DMN, engine 0.0.0",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let nothing = time(&DmaOperation::of(Vec::new()), SameMedium::Sum, &mut book);
    assert_eq!((nothing.ticks, nothing.bound), (0, Bound::Nothing));
}
