//! Gathers and scatters that are built by hand: what each check refuses of them, and their neighbours.

use crate::commands::{give, hbm, moves, region, system, written};
use furiosa_visa_std::chip::{Check, CheckOptions, Fault, FaultKind, System};
use furiosa_visa_std::command::*;
use furiosa_visa_std::mapping::Guard;
use furiosa_visa_std::scalar::ElementType::{F32, I8, I32};
use std::panic::Location;

/// Rows of the table, and bytes of a row.
const ROWS: usize = 8;
const BYTES: usize = 16;

const TABLE: u64 = 1 << 20;
const INDEX: u64 = 1 << 21;

fn table() -> Region {
    hbm(TABLE, I8, ROWS * BYTES)
}

fn index() -> Region {
    hbm(INDEX, I32, 4)
}

/// Four rows in the elements of slice 0.
fn gather() -> IndexedDma {
    let mut rows = moves(&[(4, 1, BYTES)]);
    rows.guard = Guard::always(1);
    IndexedDma {
        call: IndexedCall::GatherRows,
        source: table(),
        destination: region(4096, I8, 4 * BYTES),
        index: index(),
        rows,
        payload: moves(&[(BYTES, 1, 1)]),
        count: ROWS,
        stride: BYTES,
        scale: 1,
        duplicates: Duplicates::Equal,
        list: None,
    }
}

fn scatter() -> IndexedDma {
    let gather = gather();
    let (source, destination) = (region(0, I8, 4 * BYTES), gather.source);
    IndexedDma { call: IndexedCall::ScatterRows, source, destination, ..gather }
}

/// Writes numbers to the index; `None` stays as it was.
fn upload(system: &mut System, numbers: [Option<i32>; 4]) {
    let transfer = HostTransfer { region: index(), transfer: moves(&[(4, 1, 1)]), host_elements: 4 };
    let bytes = numbers.iter().flat_map(|number| number.unwrap_or(0).to_le_bytes()).collect();
    let buffer = HostBuffer { bytes, initialised: Some(numbers.iter().map(Option::is_some).collect()) };
    system.upload(&transfer, &buffer, Location::caller()).expect("it is legal");
}

/// Runs a move by this index, over a table of zeros and rows `k, k, …` in DM.
fn run_with(checks: CheckOptions, own: &IndexedDma, numbers: [Option<i32>; 4]) -> Result<(), Fault> {
    let mut system = system(checks);
    upload(&mut system, numbers);
    let bytes = (0..4 * BYTES).map(|k| (k / BYTES) as u8).collect();
    let staging = hbm(1 << 22, I8, 4 * BYTES);
    let there =
        HostTransfer { region: staging, transfer: moves(&[(4 * BYTES, 1, 1)]), host_elements: 4 * BYTES };
    let buffer = HostBuffer { bytes, initialised: None };
    system.upload(&there, &buffer, Location::caller()).expect("it is legal");
    let source = region(0, I8, 4 * BYTES);
    let transfer = moves(&[(4 * BYTES, 1, 1)]);
    let dma = Dma { source: staging, destination: source, transfer, pcie: false };
    give(&mut system, Operation::Dma(Box::new(dma))).expect("it is legal");
    give(&mut system, Operation::Indexed(Box::new(own.clone())))
}

const GOOD: [Option<i32>; 4] = [Some(7), Some(0), Some(3), Some(1)];

#[track_caller]
fn flags(check: Check, kind: FaultKind, own: &IndexedDma, numbers: [Option<i32>; 4], parts: &[&str]) {
    for checks in [CheckOptions::ALL, CheckOptions::NONE.with(check, true)] {
        let fault = run_with(checks, own, numbers).expect_err("it is flagged");
        let text = fault.to_string();
        assert_eq!((fault.kind, fault.operation), (kind, own.call.name()), "{text}");
        assert!(parts.iter().all(|part| text.contains(part)) && text.contains("\nhelp: "), "{text}");
    }
    let other = run_with(CheckOptions::ALL.with(check, false), own, numbers);
    assert!(other.as_ref().err().is_none_or(|fault| fault.kind != kind), "{other:?}");
    assert_eq!(run_with(CheckOptions::NONE, own, numbers), Ok(()));
}

#[track_caller]
fn refused(kind: FaultKind, own: &IndexedDma, part: &str) {
    for checks in [CheckOptions::ALL, CheckOptions::NONE] {
        let fault = run_with(checks, own, GOOD).expect_err("it is refused");
        let text = fault.to_string();
        assert!(fault.kind == kind && text.contains(part) && text.contains("\nhelp: "), "{text}");
    }
}

/// The same move, by byte offsets.
fn offsets_of(own: &IndexedDma) -> IndexedDma {
    IndexedDma { scale: BYTES, ..own.clone() }
}

#[test]
fn rows_that_are_there() {
    for own in [gather(), scatter()] {
        assert_eq!(run_with(CheckOptions::ALL, &own, GOOD), Ok(()));
    }
    // A gather may read a row twice.
    assert_eq!(run_with(CheckOptions::ALL, &gather(), [Some(7); 4]), Ok(()));
}

#[test]
fn rows_that_are_not_there() {
    for own in [gather(), scatter()] {
        for row in [-1, 8, i32::MAX, i32::MIN] {
            let numbers = [Some(0), Some(1), Some(row), Some(2)];
            let text = format!("the index says row {row} at element 2 of unit 0");
            flags(
                Check::Bounds,
                FaultKind::OutOfBounds,
                &own,
                numbers,
                &[&text, "use row numbers from 0 to 7"],
            );
        }
        let offsets = offsets_of(&own);
        let numbers = [Some(0), Some(16), Some(112), Some(32)];
        assert_eq!(run_with(CheckOptions::ALL, &offsets, numbers), Ok(()));
        let numbers = [Some(0), Some(128), Some(112), Some(32)];
        let parts = ["the index says byte 128 at element 1", "has 8 rows of 16 bytes", "0, 16, … to 112"];
        flags(Check::Bounds, FaultKind::OutOfBounds, &offsets, numbers, &parts);
        // As many offsets as there are rows, and as an index holds.
        for (count, offsets) in [
            (1, "byte offsets of rows: 0\n"),
            (2, "byte offsets of rows: 0 and 16\n"),
            (3, "byte offsets of rows: 0, 16, … to 32\n"),
            (1 << 27, "byte offsets of rows: 0, 16, … to 2147483632\n"),
            ((1 << 27) + 1, "… to 2147483632, or the numbers of rows: `i32` holds no more bytes\n"),
        ] {
            let own = IndexedDma { count, ..offsets_of(&gather()) };
            let fault = run_with(CheckOptions::ALL, &own, [Some(-16); 4]).expect_err("it is flagged");
            assert!(format!("{fault}\n").contains(offsets), "{fault}");
        }
        let numbers = [Some(0), Some(17), Some(112), Some(32)];
        let parts = ["the index says byte 17 at element 1", "no multiple of the 16 bytes of a row"];
        flags(Check::Bounds, FaultKind::Misaligned, &offsets, numbers, &parts);
        let numbers = [Some(7), Some(0), None, Some(1)];
        let parts = ["is asked for element 2 of unit 0"];
        flags(Check::Uninitialised, FaultKind::Uninitialised, &own, numbers, &parts);
    }
}

#[test]
fn rows_that_are_written_twice() {
    let numbers = [Some(7), Some(0), Some(3), Some(7)];
    let parts =
        ["row 7 of the table", "names it at element 0 of unit 0 and at element 3 of unit 0", "LastWins"];
    flags(Check::OverlappingWrites, FaultKind::OverlappingWrites, &scatter(), numbers, &parts);
    let last = IndexedDma { duplicates: Duplicates::LastWins, ..scatter() };
    assert_eq!(run_with(CheckOptions::ALL, &last, numbers), Ok(()));
}

#[test]
fn an_index_is_not_written_by_its_own_move() {
    let mut own = scatter();
    own.destination.address = INDEX - 64;
    flags(Check::DmaOverwrites, FaultKind::Overwrite, &own, GOOD, &["shares bytes with the destination"]);
    own.destination.address = INDEX - (ROWS * BYTES) as u64;
    assert_eq!(run_with(CheckOptions::ALL, &own, GOOD), Ok(()));
}

#[test]
fn addresses_of_rows() {
    let mut own = gather();
    own.destination.address = 4100;
    let parts = ["DM destination address 4100 is no multiple of 8 bytes"];
    flags(Check::Alignment, FaultKind::Misaligned, &own, GOOD, &parts);
    let mut own = scatter();
    own.destination.address += 1;
    assert_eq!(run_with(CheckOptions::ALL, &own, GOOD), Ok(()), "a scatter writes any byte");
}

#[test]
fn writes_outside_of_the_tensor() {
    let mut own = gather();
    own.rows.loops.set(0, TransferLoop { size: 5, ..own.rows.loops.at(0) });
    own.index.footprint.elements = 5;
    let text =
        run_with(CheckOptions::NONE.with(Check::Views, true), &own, GOOD).expect_err("row 4 lies outside");
    assert_eq!(text.kind, FaultKind::OutsideView, "{text}");
    let mut own = scatter();
    own.destination.footprint.elements -= 1;
    flags(Check::Views, FaultKind::OutsideView, &own, GOOD, &["which has 127 elements per unit"]);
    // Rows that run into each other.
    let own = IndexedDma { stride: BYTES - 1, ..scatter() };
    flags(Check::OverlappingWrites, FaultKind::OverlappingWrites, &own, GOOD, &["is written twice"]);
}

#[test]
fn moves_without_a_meaning() {
    let kind = FaultKind::Refused;
    for (count, stride, scale) in [(0, 16, 1), (8, 16, 0), (1 << 40, 1 << 20, 1)] {
        refused(kind, &IndexedDma { count, stride, scale, ..gather() }, "are no table");
    }
    let mut wide = gather();
    wide.index.footprint.element = F32;
    refused(kind, &wide, "a tensor of f32 is an index, which holds i32");
    let mut wide = gather();
    wide.destination.footprint.element = F32;
    refused(kind, &wide, "a tensor of i8 is to be moved to a tensor of f32");
    let unsupported = FaultKind::Unsupported;
    refused(
        unsupported,
        &IndexedDma { source: region(0, I8, ROWS * BYTES), ..gather() },
        "this operation reaches HBM only",
    );
    refused(
        unsupported,
        &IndexedDma { source: hbm(1 << 23, I8, 64), ..scatter() },
        "this operation reaches DM only",
    );
    let mut far = gather();
    far.payload.source_start.elements = -1;
    refused(kind, &far, "before the tensor");
}

/// An index, a table that is read and one whose other rows are kept: none of them may have been overwritten.
#[test]
fn overwritten_tables_and_indices() {
    for (own, address, length) in
        [(gather(), INDEX, 4), (scatter(), INDEX + 8, 4), (gather(), TABLE, 1), (scatter(), TABLE + 127, 1)]
    {
        let mut system = system(CheckOptions::ALL);
        written(&mut system, 0, I8, 4 * BYTES);
        upload(&mut system, GOOD);
        let mut zeros = |region: Region| {
            let elements = region.footprint.elements;
            let transfer =
                HostTransfer { region, transfer: moves(&[(elements, 1, 1)]), host_elements: elements };
            let buffer = HostBuffer { bytes: vec![0; elements], initialised: None };
            system.upload(&transfer, &buffer, Location::caller()).expect("it is legal");
        };
        zeros(table());
        zeros(Region { fill: FillId(99), ..hbm(address, I8, length) });
        let fault = give(&mut system, Operation::Indexed(Box::new(own))).expect_err("it was overwritten");
        assert_eq!(fault.kind, FaultKind::StaleRead, "{fault}");
    }
}
