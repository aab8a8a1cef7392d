//! Limits of the derivation: cuts, shares, rounding, peeling and refusals.

use super::worked_examples::{DM, DMN, HBM, SINGLE, SLICE, book, bytes, derived, entries, fast};
use super::*;
use furiosa_visa_rules::command::{Memory, Step, TransferLoop};
use furiosa_visa_rules::mapping::{GuardDigit, GuardSum};
use furiosa_visa_rules::scalar::ElementType;

#[test]
fn nests_that_are_too_deep_are_peeled() {
    // Loops that cannot merge: nine with the packet, so that the outermost one becomes commands.
    let loops: Vec<_> = (0..8).map(|k| (2, 0, 16 << (2 * k), 0, 16 << (2 * (7 - k)))).collect();
    let of = |loops: &[_]| {
        let all = [loops, &[(8, 0, 1, 0, 1)]].concat();
        bytes((Memory::Hbm, 1 << 20), (Memory::Hbm, 1 << 20), &all)
    };
    let strict = DmaOptions { peel: false, ..SINGLE };
    assert_eq!(derived(&of(&loops[1..]), &strict).commands().count(), 1);
    let peeled = derived(&of(&loops), &SINGLE);
    assert_eq!(peeled.commands().count(), 2);
    assert_eq!(peeled.engines[0].commands[1].source_base, 16 << 14);
    let error = derive(&of(&loops), &strict).expect_err("too deep");
    assert_eq!(error.rule(), "sequencer entry limit");
}

#[test]
fn too_many_commands_are_refused() {
    let deep = |n| {
        let mut loops = vec![(n, 0, 1 << 20, 0, 16)];
        let inner = |k| (2, 0, 16usize << (2 * k), 0, 1usize << 20 << (2 * (6 - k)));
        loops.extend((0..7).map(inner));
        loops.push((8, 0, 1, 0, 1));
        bytes((Memory::Hbm, 1 << 35), (Memory::Hbm, 1 << 34), &loops)
    };
    assert_eq!(derived(&deep(1 << 14), &SINGLE).commands().count(), 1 << 14);
    let error = derive(&deep((1 << 14) + 1), &SINGLE).expect_err("too many");
    assert_eq!(error.rule(), "DMA commands");
    assert!(error.to_string().contains("takes more than 16384 commands of 8 entries"), "{error}");
}

#[test]
fn long_loops_are_cut() {
    let copies =
        |n| bytes((Memory::Hbm, 1 << 34), (Memory::Hbm, 1 << 34), &[(n, 0, 16, 0, 24), (8, 0, 1, 0, 1)]);
    let limits = |n| {
        let operation = derived(&copies(n), &SINGLE);
        assert_eq!(operation.requests(), n as u64);
        let limits = |command: &PairedSequencer| command.entries.iter().map(|e| e.limit).collect::<Vec<_>>();
        operation.commands().map(limits).collect::<Vec<_>>()
    };
    assert_eq!(limits(65536), [vec![65536]]);
    assert_eq!(limits(65538), [vec![2, 32769]]);
    // A prime number.
    assert_eq!(limits(65537), [vec![65536], vec![]]);
}

#[test]
fn outermost_loops_are_shared_by_up_to_eight_engines() {
    let shares = |n: usize| {
        let loops = [(n, 0, 1 << 12, 0, 256), (16, 0, 256, 0, 1 << 16), (256, 0, 1, 0, 1)];
        let operation =
            derived(&bytes((Memory::Hbm, 1 << 21), (Memory::Hbm, 1 << 21), &loops), &DmaOptions::default());
        let share = |queue: &EngineQueue| queue.commands.iter().map(|c| c.requests() / 16).sum::<u64>();
        operation.engines.iter().map(share).collect::<Vec<_>>()
    };
    assert_eq!(shares(16), [2; 8]);
    assert_eq!(shares(15), [2, 2, 2, 2, 2, 2, 2, 1]);
    assert_eq!(shares(12), [2; 6]);
    assert_eq!(shares(3), [1; 3]);
}

#[test]
fn broadcasts_read_again() {
    // 64 bytes to every slice of a cluster.
    let loops = [(256, 0, 0, 1, 0), (64, 0, 1, 0, 1)];
    let operation = derived(&bytes((Memory::Hbm, 64), (Memory::Dm, 64), &loops), &DmaOptions::default());
    assert!(operation.is_homogeneous());
    assert_eq!(operation.engines.len(), 4);
    let first = &operation.engines[0].commands[0];
    let expected = PairedSequencer::new((HBM, 0), (DM, 0), 64).with_entries(&[(32, 0, SLICE), (2, 0, DMN)]);
    assert_eq!(first, &expected);
}

#[test]
fn towards_dm_packets_are_rounded_into_padding() {
    // m![A # 8] with A = 5 on both sides.
    let rows = |elements| {
        bytes((Memory::Hbm, elements), (Memory::Dm, elements), &[(4, 0, 8, 0, 8), (5, 0, 1, 0, 1)])
    };
    let operation = derived(&rows(32), &DmaOptions::default());
    assert_eq!((entries(&operation), operation.coverage), ((vec![(4, 8, 8)], 8), Coverage::Rounded));
    // Without room for the rounding.
    let error = derive(&rows(29), &DmaOptions::default()).expect_err("no room");
    assert_eq!(error.rule(), "write past tensor end");
    let mut tight = rows(32);
    tight.transfer.loops.set(
        0,
        TransferLoop {
            size: 4,
            source: Step { units: 0, elements: 5 },
            destination: Step { units: 0, elements: 5 },
        },
    );
    // Then it is one run of 20 bytes, which becomes 24.
    assert_eq!(entries(&derived(&tight, &DmaOptions::default())), (vec![], 24));
    // Out of DM single bytes move.
    let back = bytes((Memory::Dm, 32), (Memory::Hbm, 29), &[(4, 0, 8, 0, 8), (5, 0, 1, 0, 1)]);
    let operation = derived(&back, &DmaOptions::default());
    assert_eq!((entries(&operation), operation.coverage), ((vec![(4, 8, 8)], 5), Coverage::Exact));
    assert_eq!(time(&operation, SameMedium::Sum, &mut book).engines[0].write.partial_writes, 4);
}

#[test]
fn overlapping_packets_are_refused() {
    let dma = bytes((Memory::Hbm, 64), (Memory::Dm, 64), &[(4, 0, 8, 0, 6), (5, 0, 1, 0, 1)]);
    let error = derive(&dma, &DmaOptions::default()).expect_err("no room");
    assert_eq!(error.rule(), "DMA run");
    assert!(error.to_string().contains("packets of 8 bytes are written 6 bytes apart"), "{error}");
}

#[test]
fn half_bytes_do_not_move_alone() {
    let mut dma = bytes((Memory::Hbm, 64), (Memory::Hbm, 64), &[(4, 0, 3, 0, 3), (2, 0, 1, 0, 1)]);
    dma.source.footprint.element = ElementType::I4;
    let error = derive(&dma, &DmaOptions::default()).expect_err("half a byte");
    assert_eq!(error.rule(), "whole bytes");
    assert!(error.to_string().contains("steps by half a byte"), "{error}");
}

#[test]
fn addresses_are_multiples_of_the_element() {
    let mut dma = bytes((Memory::Hbm, 64), (Memory::Hbm, 64), &[(4, 0, 1, 0, 1)]);
    (dma.source.footprint.element, dma.destination.footprint.element) =
        (ElementType::Bf16, ElementType::Bf16);
    dma.source.address = 2;
    assert!(derive(&dma, &DmaOptions::default()).is_ok());
    dma.source.address = 3;
    let error = derive(&dma, &DmaOptions::default()).expect_err("odd");
    assert_eq!(error.rule(), "unaligned tensor address");
    assert!(error.to_string().contains("a tensor of bf16 at address 3"), "{error}");
}

#[test]
fn the_vrf_is_not_reached() {
    let error = derive(&bytes((Memory::Hbm, 64), (Memory::Vrf, 64), &[]), &DmaOptions::default());
    assert_eq!(error.expect_err("VRF").rule(), "DMA memory");
}

#[test]
fn too_ragged_padding_is_an_upper_bound() {
    let mut dma =
        bytes((Memory::Hbm, 1 << 22), (Memory::Hbm, 1 << 22), &[(1 << 20, 0, 2, 0, 4), (2, 0, 1, 0, 1)]);
    let guard = &mut dma.transfer.guard;
    guard.digits.push(GuardDigit { variable: 0, base: 1, extent: 1 << 20, weight: 2 });
    guard.digits.push(GuardDigit { variable: 1, base: 1, extent: 2, weight: 1 });
    guard.sums.push(GuardSum { first: 0, len: 2, start: 0, limit: usize::MAX });
    guard.digits.push(GuardDigit { variable: 2, base: 1, extent: 7, weight: 1 });
    guard.sums.push(GuardSum { first: 2, len: 1, start: 0, limit: 3 });
    let operation = derived(&dma, &SINGLE);
    assert_eq!((operation.coverage, operation.bytes()), (Coverage::Hull, 1 << 21));
    let text = time(&operation, SameMedium::Sum, &mut fast).to_string();
    assert!(text.contains("this is an upper bound"), "{text}");
}

#[test]
fn dm_is_written_slowly_in_parts() {
    // From DM to DM in runs of 4 bytes: every write is a partial one and takes three cycles.
    let dma = bytes((Memory::Dm, 64), (Memory::Dm, 64), &[(8, 0, 4, 0, 8), (4, 0, 1, 0, 1)]);
    let operation = derived(&dma, &DmaOptions::default());
    let time = time(&operation, SameMedium::Sum, &mut fast);
    assert_eq!((time.engines[0].write.partial_writes, time.cycles()), (8, 500 + 8 + 24));
}
