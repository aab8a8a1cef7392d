//! Copies between units that are built by hand: what each check refuses of them, and their neighbours.

use crate::commands::{give, hbm, moves, region, system, written};
use furiosa_visa_std::chip::{Check, CheckOptions, Fault, FaultKind};
use furiosa_visa_std::command::*;
use furiosa_visa_std::mapping::Guard;
use furiosa_visa_std::scalar::ElementType::I8;
use std::panic::Location;

const BYTES: usize = 64;

/// A tensor in four slices of both clusters.
fn spread(address: u64) -> Region {
    let mut own = region(address, I8, BYTES);
    (own.footprint.clusters, own.footprint.slices) = (2, 4);
    own
}

/// Four slices of one cluster, from a slice on at both sides.
fn part(from: isize, to: isize) -> Transfer {
    let slice = Step { units: 1, elements: 0 };
    let mut own = moves(&[(BYTES, 1, 1)]);
    own.loops.insert(0, TransferLoop { size: 4, source: slice, destination: slice });
    own.guard = Guard::always(2);
    let start = |units| Start { units, elements: 0 };
    Transfer { source_start: start(from), destination_start: start(to), ..own }
}

/// Both clusters from 0 to 4096, by the sub context or exchanged.
fn copy(call: CopyCall, source: Region, destination: Region, moves: Vec<Transfer>) -> UnitCopy {
    let context = if call.is_parallel() { ContextKind::Sub } else { ContextKind::TensorDma };
    UnitCopy { call, context, source, destination, moves }
}

fn exchanged() -> UnitCopy {
    copy(CopyCall::DmClusterShuffle, spread(0), spread(4096), vec![part(256, 0), part(0, 256)])
}

fn kept() -> UnitCopy {
    copy(CopyCall::ParallelCopy, spread(0), spread(4096), vec![part(0, 0), part(256, 256)])
}

/// Runs a copy where slice 0 of cluster 0 holds ones.
#[track_caller]
fn run(checks: CheckOptions, copy: &UnitCopy) -> Result<(), Fault> {
    let mut system = system(checks);
    written(&mut system, 0, I8, BYTES);
    give(&mut system, Operation::UnitCopy(Box::new(copy.clone())))
}

/// A check flags a copy, alone too, and nothing else does.
#[track_caller]
fn flags(check: Check, kind: FaultKind, copy: UnitCopy, parts: &[&str]) {
    for checks in [CheckOptions::ALL, CheckOptions::NONE.with(check, true)] {
        let fault = run(checks, &copy).expect_err("it is flagged");
        let text = fault.to_string();
        assert_eq!((fault.kind, fault.operation), (kind, copy.call.name()), "{text}");
        assert!(parts.iter().all(|part| text.contains(part)) && text.contains("\nhelp: "), "{text}");
        assert_eq!(fault.location.file(), Location::caller().file());
    }
    let other = run(CheckOptions::ALL.with(check, false), &copy);
    assert!(other.as_ref().err().is_none_or(|fault| fault.kind != kind), "{other:?}");
    assert_eq!(run(CheckOptions::NONE, &copy), Ok(()));
}

/// Whatever is checked.
#[track_caller]
fn refused(kind: FaultKind, copy: UnitCopy, part: &str) {
    for checks in [CheckOptions::ALL, CheckOptions::NONE] {
        let fault = run(checks, &copy).expect_err("it is refused");
        let text = fault.to_string();
        assert!(fault.kind == kind && text.contains(part) && text.contains("\nhelp: "), "{text}");
    }
}

#[test]
fn copies_of_clusters_are_done() {
    for copy in [exchanged(), kept()] {
        assert_eq!(run(CheckOptions::ALL, &copy), Ok(()));
        let ends_at_the_limit = UnitCopy { destination: spread((512 << 10) - BYTES as u64), ..copy };
        assert_eq!(run(CheckOptions::ALL, &ends_at_the_limit), Ok(()));
        let none = UnitCopy { moves: Vec::new(), ..ends_at_the_limit };
        assert_eq!(run(CheckOptions::ALL, &none), Ok(()));
    }
}

#[test]
fn copies_without_a_meaning() {
    let kind = FaultKind::Refused;
    for context in [ContextKind::Main, ContextKind::Sub, ContextKind::PcieDma] {
        let copy = UnitCopy { context, ..exchanged() };
        refused(kind, copy, &format!("the context `{context}` is to copy, but it has no such call"));
    }
    let copy = UnitCopy { context: ContextKind::TensorDma, ..kept() };
    refused(kind, copy, "give shuffles to `tdma`, and parallel copies to `sub`");
    let eight = UnitCopy { moves: vec![part(0, 0); 8], ..kept() };
    assert_eq!(run(CheckOptions::NONE, &eight), Ok(()));
    let nine = UnitCopy { moves: vec![part(0, 0); 9], ..kept() };
    refused(kind, nine, "the copy has 9 parts, but there are at most 8 chips");
    let mut wide = exchanged();
    wide.destination.footprint.element = furiosa_visa_std::scalar::ElementType::F32;
    refused(kind, wide, "a tensor of i8 is to be copied to a tensor of f32");
    let mut far = exchanged();
    far.moves[1].source_start.units = -1;
    refused(kind, far, "before the tensor");
}

#[test]
fn memories_that_a_copy_does_not_reach() {
    let kind = FaultKind::Unsupported;
    let copy = UnitCopy { source: hbm(1 << 30, I8, BYTES), ..exchanged() };
    refused(kind, copy, "dm_cluster_shuffle: unsupported: the tensor at address 1073741824 lies in HBM");
    let copy = UnitCopy { call: CopyCall::HbmChipShuffle, ..exchanged() };
    refused(kind, copy, "lies in DM, but this operation reaches HBM only");
}

#[test]
fn the_sub_context_stays_in_its_cluster() {
    let crossing = UnitCopy { moves: vec![part(256, 0)], ..kept() };
    let text = "the loops go from one cluster to another one, but the sub context copies between the slices";
    flags(Check::Contexts, FaultKind::Unsupported, crossing, &[text]);
    // From slice to slice of one cluster, the last ones as well.
    let mut last = UnitCopy { moves: vec![part(252, 0)], ..kept() };
    last.source.footprint.slices = 256;
    assert_eq!(run(CheckOptions::ALL, &last), Ok(()));
    last.moves = vec![part(253, 0)];
    flags(Check::Contexts, FaultKind::Unsupported, last, &[text]);
}

#[test]
fn addresses_of_parallel_copies() {
    let text = "the DM address of the destination is 4100, but the sub context writes at multiples of 8";
    let odd = UnitCopy { destination: spread(4100), ..kept() };
    flags(Check::Alignment, FaultKind::Misaligned, odd.clone(), &[text]);
    let shuffle = UnitCopy { destination: spread(4100), ..exchanged() };
    assert_eq!(run(CheckOptions::ALL, &shuffle), Ok(()), "DMA writes any byte of DM");
    assert_eq!(run(CheckOptions::ALL, &UnitCopy { destination: spread(4104), ..odd }), Ok(()));
}

#[test]
fn parts_write_in_their_tensor_and_once() {
    let outside = UnitCopy { moves: vec![part(256, 0), part(0, 257)], ..exchanged() };
    flags(Check::Views, FaultKind::OutsideView, outside, &["1 chip with 2 clusters of 4 slices each"]);
    let twice = UnitCopy { moves: vec![part(256, 0), part(0, 0)], ..exchanged() };
    flags(Check::OverlappingWrites, FaultKind::OverlappingWrites, twice, &["is written twice"]);
    // Slices between those of the other part.
    let mut beside = exchanged();
    (beside.source.footprint.slices, beside.destination.footprint.slices) = (8, 8);
    beside.moves = vec![part(256, 0), part(0, 4)];
    assert_eq!(run(CheckOptions::ALL, &beside), Ok(()));
    beside.moves[1].destination_start.units = 3;
    flags(Check::OverlappingWrites, FaultKind::OverlappingWrites, beside, &["is written twice"]);
}

#[test]
fn parts_over_the_source_of_each_other() {
    let over = |shift: u64| UnitCopy { destination: spread(shift), ..exchanged() };
    let parts = ["byte 0 is read as ", "so that it may be written before it is read"];
    flags(Check::DmaOverwrites, FaultKind::Overwrite, over(0), &parts);
    flags(Check::DmaOverwrites, FaultKind::Overwrite, over(BYTES as u64 - 1), &["byte 63 is read as "]);
    assert_eq!(run(CheckOptions::ALL, &over(BYTES as u64)), Ok(()));
    // One part over what the other one reads, and each over its own bytes.
    let one_way = UnitCopy { destination: spread(0), moves: vec![part(0, 0), part(0, 256)], ..exchanged() };
    assert_eq!(run(CheckOptions::ALL, &one_way), Ok(()), "nobody reads the second cluster");
    let both = UnitCopy { destination: spread(0), moves: vec![part(256, 0), part(256, 256)], ..exchanged() };
    assert_eq!(run(CheckOptions::ALL, &both), Ok(()), "each byte of the second cluster stays what it is");
}

/// With the check turned off, everything is read before anything is written.
#[test]
fn clusters_are_exchanged_in_place() {
    let checks = CheckOptions::ALL.with(Check::DmaOverwrites, false);
    let mut system = system(checks);
    let here = Location::caller();
    // Bytes 0.. in the first cluster, 100.. in the second one.
    for (cluster, first) in [(0, 0u8), (256, 100)] {
        let from = hbm(1 << 30, I8, BYTES);
        let host = HostTransfer { region: from, transfer: moves(&[(BYTES, 1, 1)]), host_elements: BYTES };
        let bytes = (0..BYTES as u8).map(|k| first + k).collect();
        system.upload(&host, &HostBuffer { bytes, initialised: None }, here).expect("it fits");
        let mut transfer = part(0, cluster);
        let mut slices = transfer.loops.at(0);
        slices.source = Step { units: 0, elements: 0 };
        transfer.loops.set(0, slices);
        let dma = Dma { source: from, destination: spread(0), transfer, pcie: false };
        give(&mut system, Operation::Dma(Box::new(dma))).expect("it is legal");
    }
    let exchange = UnitCopy { destination: spread(0), ..exchanged() };
    give(&mut system, Operation::UnitCopy(Box::new(exchange))).expect("the check is off");
    for (unit, first) in [(0, 100u8), (3, 100), (256, 0), (259, 0)] {
        let mut transfer = moves(&[(BYTES, 1, 1)]);
        transfer.source_start.units = unit;
        let to = hbm(2 << 30, I8, BYTES);
        let dma = Dma { source: spread(0), destination: to, transfer, pcie: false };
        give(&mut system, Operation::Dma(Box::new(dma))).expect("it is legal");
        let host = HostTransfer { region: to, transfer: moves(&[(BYTES, 1, 1)]), host_elements: BYTES };
        let found = system.download(&host, here).expect("it was written");
        assert_eq!(found.bytes, (0..BYTES as u8).map(|k| first + k).collect::<Vec<_>>(), "unit {unit}");
    }
}
