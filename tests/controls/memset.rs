//! Memsets that are built by hand: what each check refuses of them, and their neighbours.

use crate::commands::{dma, give, hbm, moves, region, system, written};
use furiosa_visa_std::chip::{Check, CheckOptions, Fault, FaultKind};
use furiosa_visa_std::command::*;
use furiosa_visa_std::engine::memset::MEMSET_ELEMENTS;
use furiosa_visa_std::scalar::ElementType::{self, Bf16, I8, I32};
use std::panic::Location;

/// A value in 16 elements at an address.
fn set(element: ElementType, address: u64) -> Memset {
    let immediate = Memset::immediate(5, element.bits());
    Memset { destination: region(address, element, 16), immediate, moves: moves(&[(16, 1, 1)]) }
}

#[track_caller]
fn run(checks: CheckOptions, memset: &Memset) -> Result<(), Fault> {
    let mut system = system(checks);
    written(&mut system, 0, I8, 64);
    give(&mut system, Operation::Memset(Box::new(memset.clone())))
}

/// A check flags a memset, alone too, and nothing else does.
#[track_caller]
fn flags(check: Check, kind: FaultKind, memset: &Memset, parts: &[&str]) {
    for checks in [CheckOptions::ALL, CheckOptions::NONE.with(check, true)] {
        let fault = run(checks, memset).expect_err("it is flagged");
        let text = fault.to_string();
        assert_eq!((fault.kind, fault.operation), (kind, "memset"), "{text}");
        assert!(parts.iter().all(|part| text.contains(part)) && text.contains("\nhelp: "), "{text}");
        assert_eq!(fault.location.file(), Location::caller().file());
    }
    let other = run(CheckOptions::ALL.with(check, false), memset);
    assert!(other.as_ref().err().is_none_or(|fault| fault.kind != kind), "{other:?}");
}

/// Whatever is checked.
#[track_caller]
fn refused(kind: FaultKind, memset: &Memset, part: &str) {
    for checks in [CheckOptions::ALL, CheckOptions::NONE] {
        let fault = run(checks, memset).expect_err("it is refused");
        let text = fault.to_string();
        assert!(fault.kind == kind && text.contains(part) && text.contains("\nhelp: "), "{text}");
    }
}

#[test]
fn types_with_immediates_are_set() {
    for &element in MEMSET_ELEMENTS {
        assert_eq!(run(CheckOptions::ALL, &set(element, 64)), Ok(()), "{element}");
    }
    for element in ElementType::ALL.into_iter().filter(|element| !MEMSET_ELEMENTS.contains(element)) {
        let message = format!("a value of {element} is no immediate of the sub context");
        refused(FaultKind::Unsupported, &set(element, 64), &message);
    }
}

#[test]
fn memsets_without_a_meaning() {
    let kind = FaultKind::Refused;
    for (element, immediate) in [(I8, 0x0505_0504), (Bf16, 0x0005_0006)] {
        let message = format!("the immediate {immediate:#010x} is no value of {element} several times");
        refused(kind, &Memset { immediate, ..set(element, 64) }, &message);
    }
    assert_eq!(run(CheckOptions::ALL, &Memset { immediate: 0x0005_0006, ..set(I32, 64) }), Ok(()));
    let apart = "the loops step apart on the side of the source, but nothing is read";
    refused(kind, &Memset { moves: moves(&[(16, 2, 1)]), ..set(I8, 64) }, apart);
    let mut later = set(I8, 64);
    later.moves.source_start.elements = 1;
    refused(kind, &later, apart);
}

#[test]
fn memsets_of_other_places() {
    let elsewhere = Memset { destination: hbm(1 << 30, I8, 16), ..set(I8, 64) };
    refused(FaultKind::Unsupported, &elsewhere, "HBM");
    let last = (512 << 10) - 16;
    assert_eq!(run(CheckOptions::ALL, &set(I8, last)), Ok(()));
    flags(Check::Bounds, FaultKind::OutOfBounds, &set(I8, last + 1), &["DM"]);
    // A byte lies anywhere.
    assert_eq!(run(CheckOptions::ALL, &set(I8, 67)), Ok(()));
    flags(Check::Alignment, FaultKind::Misaligned, &set(Bf16, 67), &["no multiple of the 2 bytes"]);
    let long = Memset { moves: moves(&[(17, 1, 1)]), ..set(I8, 64) };
    flags(Check::Views, FaultKind::OutsideView, &long, &[]);
    let twice = Memset { moves: moves(&[(2, 0, 0), (16, 1, 1)]), ..set(I8, 64) };
    flags(Check::OverlappingWrites, FaultKind::OverlappingWrites, &twice, &[]);
}

/// The DMA engines read what the sub context sets through a handle that knows nothing of it.
#[test]
fn memsets_without_an_order() {
    let read = |checks, bare: bool| {
        let mut system = system(checks);
        let memset = set(I8, 64);
        let fill = if bare { FillId::ANY } else { memset.destination.fill };
        let source = Region { fill, ..memset.destination };
        give(&mut system, Operation::Memset(Box::new(memset))).expect("nothing is wrong");
        give(&mut system, dma(source, region(4096, I8, 16), &[(16, 1, 1)]))
    };
    assert_eq!(read(CheckOptions::ALL, false), Ok(()));
    let fault = read(CheckOptions::NONE.with(Check::Order, true), true).expect_err("nothing orders them");
    assert!(fault.kind == FaultKind::Unordered && fault.to_string().contains("memset"), "{fault}");
}
