//! Maps of programs that are built by hand, and of random ones against a byte-by-byte model.

use super::{SimOptions, System};
use crate::clock::map::LISTED;
use crate::clock::{Allocation, Allocations, End};
use crate::command::{
    Command, Dma, FillId, Footprint, HostBuffer, HostTransfer, Memory, Operation, Region, Step, Transfer,
    TransferLoop,
};
use crate::mapping::Guard;
use crate::scalar::ElementType;
use crate::spec::{DM_BYTES, HBM_BYTES};
use core::ops::Range;
use core::panic::Location;

fn region(memory: Memory, fill: u64, address: u64, bytes: usize) -> Region {
    let guard = Guard::always(4);
    let footprint =
        Footprint { element: ElementType::I8, chips: 1, clusters: 1, slices: 1, elements: bytes, guard };
    Region::whole(memory, address, FillId(fill), footprint)
}

fn transfer(elements: usize) -> Transfer {
    let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
    let step = Step { units: 0, elements: 1 };
    transfer.loops.push(TransferLoop { size: elements, source: step, destination: step });
    transfer
}

/// A system whose HBM holds fill 1: 4096 bytes at address 0.
fn system() -> System {
    let mut system = System::new(SimOptions { chips: Some(1), ..SimOptions::default() });
    let host = HostTransfer {
        region: region(Memory::Hbm, 1, 0, 4096),
        transfer: transfer(4096),
        host_elements: 4096,
    };
    let buffer = HostBuffer { bytes: vec![3; 4096], initialised: None };
    system.upload(&host, &buffer, Location::caller()).expect("it lies in HBM");
    system
}

fn give(system: &mut System, from: Region, to: Region) {
    let transfer = transfer(from.footprint.elements.min(to.footprint.elements));
    let dma = Dma { source: from, destination: to, transfer, pcie: false };
    let command = Command { operation: Operation::Dma(Box::new(dma)), location: Location::caller() };
    system.execute(&command).unwrap_or_else(|fault| panic!("{fault}"));
}

fn dm(fill: u64, address: u64, bytes: usize) -> Region {
    region(Memory::Dm, fill, address, bytes)
}

fn hbm(fill: u64, address: u64, bytes: usize) -> Region {
    region(Memory::Hbm, fill, address, bytes)
}

#[test]
fn lives_of_tensors() {
    let mut system = system();
    let x = |bytes| hbm(1, 0, bytes);
    give(&mut system, x(64), dm(2, 0, 64)); // #1
    give(&mut system, x(64), dm(3, 64, 64)); // #2
    give(&mut system, dm(2, 0, 64), hbm(4, 8192, 64)); // #3
    give(&mut system, x(64), dm(5, 32, 64)); // #4: over both
    give(&mut system, x(32), dm(5, 64, 32)); // #5: part of it again
    let map = system.memory_map();
    let [hbm, dm, trf, vrf] = &map.memories;
    assert_eq!((map.operations, map.left_out), (6, 0));
    assert_eq!((trf.count, vrf.count, trf.peak_at), (0, 0, None));
    let told: Vec<_> = (dm.tensors.iter())
        .map(|life| {
            let end = match &life.end {
                End::Remains => None,
                End::Overwritten(by) => Some(by.number),
            };
            (life.fill.0, life.bytes.clone(), life.made.number, life.last.number, life.reads, end)
        })
        .collect();
    let expected = [(2, 0..64, 1, 3, 1, Some(4)), (3, 64..128, 2, 2, 0, Some(4)), (5, 32..96, 4, 5, 0, None)];
    assert_eq!(told, expected);
    // Fill 2 waits for #3 while fill 3 is made.
    assert_eq!((dm.peak_bytes, dm.peak_at), (128, Some(2)));
    assert_eq!(dm.free, [0..32, 96..DM_BYTES as u64]);
    assert_eq!((hbm.count, hbm.tensors[0].reads, hbm.tensors[0].last.number), (2, 4, 5));
    assert_eq!(hbm.free, [4096..8192, 8256..HBM_BYTES]);
    assert_eq!(dm.tensors[0].made.place, format!("map_tests.rs:{}", dm.tensors[0].made.location.line()));
    let text = map.to_string();
    for part in [
        "memory map: 6 operations, ",
        "\nDM, 524288 bytes per slice: 3 tensors, at most 128 bytes needed at a time, at #2\n",
        "overwritten by #4",
        "free at the end: 0..32, 96..524288\n",
        "\nTRF, 65536 bytes per slice: no tensor\n",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    // Addresses 0, 32, 64, 96, 128; fill 2 is needed until #3, fill 5 covers the middle.
    let rows: Vec<&str> = text.lines().filter(|line| line.ends_with('|') && line.contains(" |")).collect();
    let row = |number: u64| {
        let head = format!("#{number} |");
        let line = text
            .split("\nDM")
            .nth(1)
            .and_then(|part| part.lines().find(|line| line.trim_start().starts_with(&head)));
        let mut marks: Vec<char> = line
            .unwrap_or_else(|| panic!("no row {number} in {rows:?}"))
            .split('|')
            .nth(1)
            .expect("cells")
            .chars()
            .collect();
        marks.dedup();
        marks.into_iter().collect::<String>()
    };
    assert_eq!([row(1), row(2), row(4)], ["a ", "ab", ".c."]);
}

#[test]
fn allocations_are_shown() {
    let mut system = system();
    let here = Location::caller();
    let given = [(0..64, false), (64..164, false), (168..176, true)].map(|(bytes, freed)| Allocation {
        bytes,
        location: here,
        freed,
    });
    give(&mut system, hbm(1, 0, 64), dm(2, 0, 64));
    let allocations =
        [Allocations::default(), Allocations { given: &given, count: 3 }, Allocations::default()];
    let text = system.memory_map_with(allocations).to_string();
    let line = here.line();
    for part in [
        format!("allocated: 0..64 at map_tests.rs:{line}, in use\n"),
        format!("allocated: 64..164 at map_tests.rs:{line}, never written\n"),
        format!("allocated: 168..176 at map_tests.rs:{line}, given back, never written\n"),
    ] {
        assert!(text.contains(&part), "`{part}` is not in:\n{text}");
    }
}

/// A picture stays small, and says what it leaves out.
#[test]
fn pictures_stay_readable() {
    for count in [1, 29, 30, 31, 100] {
        let mut system = system();
        for k in 0..count {
            give(&mut system, hbm(1, 0, 8), dm(100 + k, k * 4096, 8 + 8 * k as usize));
        }
        let text = system.memory_map().memories[1].to_string();
        let picture: Vec<&str> =
            text.lines().filter(|line| line.ends_with('|') && !line.starts_with('|')).collect();
        assert_eq!(picture.len(), 30.min(count as usize), "{text}");
        assert!(text.lines().filter(|line| line.starts_with(' ')).all(|line| line.len() <= 100), "{text}");
        assert_eq!(text.contains("more tensors"), count > 30, "{text}");
        if count > 30 {
            let left_out = format!("            and {} more tensors\n", count - 30);
            assert!(text.contains(&left_out), "{text}");
        }
        assert_eq!(text.lines().any(|line| line == "and 36 more tensors"), count == 100, "{text}");
    }
}

/// Compares maps of random transfers inside DM with a model that remembers the writer of every byte.
#[test]
fn maps_agree_with_a_byte_by_byte_model() {
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    const BYTES: usize = 64;
    for seed in 0..40 {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut system = system();
        // Number of the tensor in each block of 8 bytes. A tensor that was overwritten in part is gone.
        let mut owner: [Option<usize>; BYTES] = [None; BYTES];
        let mut expected: Vec<(Range<usize>, u64, Option<u64>)> = Vec::new();
        for number in 1..40u64 {
            let start = random.random_range(0..BYTES);
            let end = random.random_range(start + 1..=BYTES);
            let bytes = (end - start) * 8;
            give(&mut system, hbm(1, 0, bytes), dm(10 + number, start as u64 * 8, bytes));
            let mut gone: Vec<usize> = owner[start..end].iter().flatten().copied().collect();
            gone.sort_unstable();
            gone.dedup();
            for old in gone {
                expected[old].2 = Some(number);
                owner.iter_mut().filter(|byte| **byte == Some(old)).for_each(|byte| *byte = None);
            }
            owner[start..end].fill(Some(expected.len()));
            expected.push((start * 8..end * 8, number, None));
        }
        let map = system.memory_map();
        let found: Vec<_> = (map.memories[1].tensors.iter())
            .map(|life| {
                let end = match &life.end {
                    End::Remains => None,
                    End::Overwritten(by) => Some(by.number),
                };
                (life.bytes.start as usize..life.bytes.end as usize, life.made.number, end)
            })
            .collect();
        assert_eq!(found, expected, "seed {seed}");
        let free: u64 = map.memories[1].free.iter().map(|range| range.end - range.start).sum();
        let held = owner.iter().filter(|byte| byte.is_some()).count() as u64 * 8;
        assert_eq!(free, DM_BYTES as u64 - held, "seed {seed}");
        // Nothing is read: each tensor is needed while it is made, and not after.
        let most = expected.iter().map(|(bytes, ..)| bytes.len() as u64).max();
        assert_eq!(Some(map.memories[1].peak_bytes), most, "seed {seed}");
    }
}

/// The list is bounded, sums are over all.
#[test]
fn long_programs_are_summed_up() {
    let mut system = System::new(SimOptions {
        chips: Some(1),
        compute: furiosa_visa_std::chip::Compute::ShapesOnly,
        checks: furiosa_visa_std::chip::CheckOptions::NONE,
        profile: furiosa_visa_clock::Profile::Book,
        ..SimOptions::default()
    });
    let count = LISTED as u64 + 5;
    for k in 0..count {
        give(&mut system, hbm(1, 0, 8), dm(2 + k, 0, 8));
    }
    let map = system.memory_map();
    assert_eq!((map.memories[1].tensors.len(), map.memories[1].count), (LISTED, count));
    assert_eq!(map.memories[1].peak_bytes, 8);
}
