//! Tests of whole passes against loops over single elements.

use crate::memory::row::{Line, Row};
use crate::{ChipOptions, Chips, Fault, FaultKind};
use ElementType::{Bf16, F32, I4, I8, I32};
use core::panic::Location;
use furiosa_visa_rules::command::*;
use furiosa_visa_rules::command::{CheckOptions, MemoryKind};
use furiosa_visa_rules::mapping::{Guard, GuardDigit, GuardSum};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::{ChipKind, DM_BYTES};
use furiosa_visa_rules::testing::{config, walked_by_definition};

mod contraction;
mod register_files;
mod straight;
mod switch;

fn here() -> &'static Location<'static> {
    Location::caller()
}

fn region(fill: u64, address: u64, element: ElementType, slices: usize, elements: usize) -> Region {
    let guard = Guard::always(4);
    let footprint = Footprint { element, chips: 1, clusters: 2, slices, elements, guard };
    Region::whole(Memory::Dm, address, FillId(fill), footprint)
}

/// Guard over `variables` variables: `variable < limit`.
fn below(variables: usize, variable: usize, limit: usize) -> Guard {
    let mut guard = Guard::always(variables);
    guard.digits.push(GuardDigit { variable, base: 1, extent: 1 << 20, weight: 1 });
    guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit });
    guard
}

fn fetch(
    source: Region,
    output: ElementType,
    entries: &[(usize, isize)],
    time: usize,
    packet: usize,
) -> Fetch {
    Fetch::new(source, config(entries, packet), time, packet, output)
}

fn pass(fetch: Fetch, contraction: Option<Contraction>, cast: Option<Cast>, sink: Sink) -> Command {
    let unit = TensorUnit { contraction, cast, ..TensorUnit::new(fetch, sink) };
    Command { operation: Operation::TensorUnit(Box::new(unit)), location: here() }
}

fn commit(destination: Region, entries: &[(usize, isize)], window: usize, guard: Guard) -> Sink {
    Sink::Commit { destination, config: config(entries, window), commit_size: 8, guard }
}

fn poke(system: &mut Chips, unit: usize, address: u64, element: ElementType, bytes: &[u8]) {
    let mut row = Row::new(element);
    let len = bytes.len() * 8 / element.bits();
    row.push(bytes, len, None);
    row.write(0, &mut system.units, Line { unit, address, position: 0, stride: 1, len }, 0);
}

fn peek(system: &Chips, unit: usize, address: u64, element: ElementType, len: usize) -> (Vec<u8>, Vec<bool>) {
    let mut row = Row::new(element);
    row.read(&system.units, Line { unit, address, position: 0, stride: 1, len });
    (row.bytes().to_vec(), row.flags().map_or(vec![true; len], <[bool]>::to_vec))
}

fn codes(element: ElementType, len: usize, seed: usize) -> Vec<u8> {
    match element {
        Bf16 => (0..len)
            .flat_map(|k| {
                let value = ((k * 37 + seed * 11) % 29) as f32 * 0.37 - 4.1;
                ((value.to_bits() >> 16) as u16).to_le_bytes()
            })
            .collect(),
        _ => (0..len * element.bits() / 8).map(|k| (k * 73 + k / 5 + seed * 19) as u8).collect(),
    }
}

fn value(element: ElementType, bytes: &[u8], k: usize) -> f64 {
    match element {
        I4 => f64::from(((bytes[k / 2] >> (4 * (k % 2)) & 15) << 4) as i8 >> 4),
        I8 => f64::from(bytes[k] as i8),
        _ => f64::from(f32::from_bits(u32::from(u16::from_le_bytes([bytes[2 * k], bytes[2 * k + 1]])) << 16)),
    }
}

#[test]
fn fetch_cast_and_commit_with_padding() {
    let checks = CheckOptions { uninitialised: false, ..CheckOptions::default() };
    let mut system = Chips::new(ChipOptions { checks, ..ChipOptions::default() });
    let data = codes(Bf16, 64, 4);
    poke(&mut system, 5, 0, Bf16, &data);
    poke(&mut system, 5, 4096, Bf16, &[0xee; 256]);
    // Eight packets of 8, widened to f32 and narrowed back. Six lanes are live, and the two halves of the time steps
    // are interleaved in DM.
    let stream = fetch(region(0, 0, Bf16, 8, 64), F32, &[(8, 8), (8, 1)], 8, 8);
    let cast = Cast { input: F32, output: Bf16 };
    let sink = commit(region(1, 4096, Bf16, 8, 128), &[(2, 8), (4, 16), (8, 1)], 8, below(5, 4, 6));
    system.execute(&pass(stream, None, Some(cast), sink)).unwrap_or_else(|fault| panic!("{fault}"));
    let (bytes, written) = peek(&system, 5, 4096, Bf16, 64);
    for t in 0..8 {
        let start = t / 4 * 8 + t % 4 * 16;
        for lane in 0..8 {
            // The padding of a packet is written with undefined values.
            assert_eq!(written[start + lane], lane < 6, "time {t} lane {lane}");
            let expected = &data[(t * 8 + lane) * 2..][..2];
            assert!(lane >= 6 || &bytes[(start + lane) * 2..][..2] == expected, "time {t} lane {lane}");
        }
    }
    // No element of the new tensor is written behind the last packet.
    assert!(peek(&system, 5, 4096 + 128, Bf16, 64).1.iter().all(|&flag| !flag));
    // Slices without data write uninitialised elements.
    assert!(peek(&system, 6, 4096, Bf16, 64).1.iter().all(|&flag| !flag));
}

/// A cast and then a transpose: 200 flits of `f32` in matrices of 4 rows. Of each row, 6 elements leave. Blocks of the
/// fetch hold whole matrices for packets of any size.
#[test]
fn cast_and_transpose() {
    for flits in [1, 2, 5] {
        let (steps, lanes) = (200, 8);
        let mut system = Chips::new(ChipOptions::default());
        let values: Vec<f32> = (0..steps * lanes).map(|k| (k * 7 % 4001) as f32 * 0.5).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        poke(&mut system, 0, 0, F32, &bytes);
        let packet = flits * lanes;
        // Only slice 0 was written.
        let mut source = region(0, 0, F32, 1, steps * lanes);
        source.footprint.clusters = 1;
        let stream =
            fetch(source, F32, &[(steps / flits, packet as isize), (packet, 1)], steps / flits, packet);
        let transpose = Transpose { element: Bf16, in_rows: 4, in_cols: 8, out_rows: 6, iterations: 50 };
        let out_steps = transpose.out_time();
        let target = region(2, 65536, Bf16, 256, out_steps * 4);
        let sink = commit(target, &[(out_steps, 4), (4, 1)], 4, Guard::always(5));
        let cast = Some(Cast { input: F32, output: Bf16 });
        let unit = TensorUnit { cast, transpose: Some(transpose), ..TensorUnit::new(stream, sink) };
        let command = Command { operation: Operation::TensorUnit(Box::new(unit)), location: here() };
        system.execute(&command).unwrap_or_else(|fault| panic!("{fault}"));
        let (found, written) = peek(&system, 0, 65536, Bf16, out_steps * 4);
        assert!(written.iter().all(|&written| written));
        for (k, code) in found.as_chunks::<2>().0.iter().enumerate() {
            let (packet, row) = (k / 4, k % 4);
            let source = (packet / 6 * 4 + row) * lanes + packet % 6;
            let expected = half::bf16::from_f32(values[source]).to_bits();
            assert_eq!(u16::from_le_bytes(*code), expected, "packet {packet}, row {row}");
        }
    }
}

/// The packets of a tile end with its tensor, though a multiple of packets would not: what lies behind it stays.
#[test]
fn a_committed_tile_ends_with_its_tensor() {
    let one = |fill, address, elements| {
        let mut region = region(fill, address, F32, 1, elements);
        region.footprint.clusters = 1;
        region
    };
    for (neighbour, is_lost) in [(256, false), (248, true)] {
        let mut system = Chips::new(ChipOptions::default());
        poke(&mut system, 0, 1024, F32, &[0; 128]);
        let stream = |packets: usize| fetch(one(0, 1024, 32), F32, &[(packets, 8), (8, 1)], packets, 8);
        let older = one(1, neighbour, 8);
        let sink = commit(older, &[(1, 8), (8, 1)], 8, Guard::always(5));
        system.execute(&pass(stream(1), None, None, sink)).expect("it fits");
        // The last 36 of the 40 elements in bytes 96 to 255. Four packets of 8 go there.
        let mut tile = one(2, 112, 40);
        tile.footprint.guard = below(4, 3, 36);
        tile.part = Part { offset: 16, units: [0; 3], elements: Some(36) };
        let sink = commit(tile, &[(4, 8), (8, 1)], 8, Guard::always(5));
        system.execute(&pass(stream(4), None, None, sink)).expect("it fits");
        let sink = commit(one(3, 2048, 8), &[(1, 8), (8, 1)], 8, Guard::always(5));
        let read = pass(fetch(older, F32, &[(8, 1)], 1, 8), None, None, sink);
        let found = system.execute(&read).map(drop).map_err(|fault| fault.kind);
        assert_eq!(found, if is_lost { Err(FaultKind::StaleRead) } else { Ok(()) }, "{neighbour}");
    }
}

/// Conversions of commands that were built by hand, which no type has checked.
#[test]
fn conversions_that_a_chip_does_not_have() {
    use ElementType::{I5, I9};
    let try_fetch = |kind: ChipKind, stored: ElementType, output: ElementType| {
        let checks = CheckOptions { uninitialised: false, ..CheckOptions::default() };
        let mut system = Chips::new(ChipOptions { chip_kind: kind, checks, ..ChipOptions::default() });
        let lanes = 256 / output.bits();
        let stream = fetch(region(0, 0, stored, 8, lanes), output, &[(lanes, 1)], 1, lanes);
        let destination = TrfRegion {
            address: TrfAddress::Full,
            fill: FillId(2),
            element: output,
            rows: 1,
            row_elements: lanes,
            guard: Guard::always(5),
        };
        let sink = Sink::Trf { destination, guard: Guard::always(5) };
        system
            .execute(&pass(stream, None, None, sink))
            .map(drop)
            .map_err(|fault| (fault.kind, fault.to_string()))
    };
    for stored in ElementType::ALL {
        for output in ElementType::ALL {
            for kind in [ChipKind::Rngd, ChipKind::RngdS] {
                let result = try_fetch(kind, stored, output);
                let expected = stored.fetch_outputs_on(kind).contains(&output);
                assert_eq!(result.is_ok(), expected, "{stored} to {output} on {kind}: {result:?}");
            }
        }
    }
    let (kind, message) = try_fetch(ChipKind::Rngd, I4, I9).expect_err("RNGD has no such cast");
    assert_eq!(kind, FaultKind::Unsupported);
    assert!(message.contains("i4 are to become i9, which RNGD does not do"), "{message}");
    assert!(message.contains("chip_kind: ChipKind::RngdS"), "{message}");

    let stream = fetch(region(0, 0, I4, 8, 64), I5, &[(64, 1)], 1, 64);
    let sink = commit(region(1, 4096, I4, 8, 64), &[(1, 64), (64, 1)], 64, Guard::always(5));
    let mut system = Chips::new(ChipOptions::default());
    let fault = system.execute(&pass(stream, None, None, sink)).expect_err("no memory holds i5");
    assert_eq!(fault.kind, FaultKind::Unsupported);
    assert!(fault.to_string().contains("elements of type i5 are to be written"), "{fault}");
}

#[test]
fn an_odd_sequencer_reads_what_the_definition_says() {
    let mut system = Chips::new(ChipOptions::default());
    let data = codes(I4, 4096, 4);
    poke(&mut system, 0, 16, I4, &data);
    let entries = [(6, 3), (2, 0), (64, 5)];
    let mut source = region(0, 16, I4, 1, 4096);
    source.footprint.clusters = 1;
    let stream = fetch(source, I4, &entries, 12, 64);
    let positions = walked_by_definition(&stream.config);
    let mut to = region(1, 8192, I4, 1, 12 * 64);
    to.footprint.clusters = 1;
    let sink = commit(to, &[(12, 64), (64, 1)], 64, Guard::always(5));
    system.execute(&pass(stream, None, None, sink)).unwrap_or_else(|fault| panic!("{fault}"));
    let (bytes, _) = peek(&system, 0, 8192, I4, 12 * 64);
    for (k, &position) in positions.iter().enumerate() {
        assert_eq!(value(I4, &bytes, k), value(I4, &data, position as usize), "{k}");
    }
}

fn dma(source: Region, destination: Region, len: usize) -> Command {
    let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
    let step = Step { units: 0, elements: 1 };
    transfer.loops.push(TransferLoop { size: len, source: step, destination: step });
    Command {
        operation: Operation::Dma(Box::new(Dma { source, destination, transfer, pcie: false })),
        location: here(),
    }
}

#[test]
fn uninitialised_operands_are_refused_before_anything_is_written() {
    let guard = Guard::always(5);
    for checks in [true, false] {
        let checks = CheckOptions { uninitialised: checks, ..CheckOptions::default() };
        let mut system = Chips::new(ChipOptions { checks, ..ChipOptions::default() });
        let one = |mut region: Region| {
            (region.footprint.clusters, region.footprint.slices) = (1, 1);
            region
        };
        poke(&mut system, 0, 0, I8, &[1; 128]);
        let trf = TrfRegion {
            address: TrfAddress::Full,
            fill: FillId(2),
            element: I8,
            rows: 1,
            row_elements: 64,
            guard,
        };
        let weights = fetch(one(region(0, 0, I8, 1, 64)), I8, &[(64, 1)], 2, 32);
        system.execute(&pass(weights, None, None, Sink::Trf { destination: trf, guard })).expect("fits");
        let contraction = |stream_guard| Contraction {
            trf,
            stream_guard,
            collect_flits: 2,
            tile: 1,
            trf_config: config(&[(3, 0)], 64),
            steps: 3,
            depth: 6,
            columns: 1,
            step_guard: Guard::always(2),
            slots: config(&[(3, 1)], 1),
            slot_count: 3,
            kind: AccumulationKind::Interleaved,
            output: I32,
        };
        // The third packet is unwritten.
        let run = |system: &mut Chips, guard_of_stream| {
            let stream = fetch(one(region(0, 0, I8, 1, 192)), I8, &[(192, 1)], 6, 32);
            let sink = commit(one(region(3, 1024, I32, 1, 24)), &[(3, 8), (8, 1)], 8, guard);
            system.execute(&pass(stream, Some(contraction(guard_of_stream)), None, sink)).map(drop)
        };
        let result = run(&mut system, guard);
        let flags = peek(&system, 0, 1024, I32, 24).1;
        if checks.uninitialised {
            let fault: Fault = result.expect_err("packet 2 was never written");
            assert_eq!(fault.kind, FaultKind::Uninitialised);
            let extent = fault.extent.expect("the element is in DM");
            assert_eq!((extent.memory, extent.unit, extent.bytes), (MemoryKind::Dm, 0, 128..129));
            assert!(flags.iter().all(|&flag| !flag), "nothing was written");
            run(&mut system, below(5, 3, 4)).expect("the third packet is padding");
        } else {
            result.expect("not checked");
            assert_eq!((flags[0], flags[8], flags[16]), (true, true, false));
        }
        let (bytes, _) = peek(&system, 0, 1024, I32, 16);
        assert_eq!((bytes[0], bytes[32]), (64, 64));
    }
}

/// A sequencer may leave its tensor. Here the tensor is completely written, and the elements behind it must be, too.
#[test]
fn uninitialised_operands_behind_their_tensor_are_refused() {
    let guard = Guard::always(5);
    let mut system = Chips::new(ChipOptions::default());
    let mut source = region(0, 0, I8, 1, 32);
    source.footprint.clusters = 1;
    poke(&mut system, 0, 0, I8, &[1; 32]);
    let convert = |packets: usize| {
        let stream = fetch(source, I32, &[(8 * packets, 1)], packets, 8);
        let sink = commit(region(1, 4096, I32, 1, 64), &[(packets, 8), (8, 1)], 8, guard);
        pass(stream, None, None, sink)
    };
    system.execute(&convert(4)).expect("all of the tensor is written");
    let extent = |fault: Fault| {
        assert_eq!(fault.kind, FaultKind::Uninitialised);
        fault.extent.map(|extent| (extent.memory, extent.bytes))
    };
    let fault = system.execute(&convert(5)).expect_err("the fifth packet lies behind it");
    assert_eq!(extent(fault), Some((MemoryKind::Dm, 32..33)));
    poke(&mut system, 0, 32, I8, &[1; 8]);
    system.execute(&convert(5)).expect("somebody wrote there");

    let address = TrfAddress::Full;
    let trf = TrfRegion { address, fill: FillId(2), element: I8, rows: 1, row_elements: 32, guard };
    let weights = fetch(source, I8, &[(32, 1)], 1, 32);
    system.execute(&pass(weights, None, None, Sink::Trf { destination: trf, guard })).expect("it fits");
    let multiply = |reads: usize| {
        let contraction = Contraction {
            trf,
            stream_guard: guard,
            collect_flits: 1,
            tile: reads,
            trf_config: config(&[(reads, 32)], 32),
            steps: reads,
            depth: 5,
            columns: 1,
            step_guard: Guard::always(2),
            slots: config(&[(reads, 1)], 1),
            slot_count: reads,
            kind: AccumulationKind::Interleaved,
            output: I32,
        };
        let stream = fetch(source, I8, &[(32, 1)], 1, 32);
        let sink = commit(region(3, 8192, I32, 1, 16), &[(reads, 8), (8, 1)], 8, guard);
        pass(stream, Some(contraction), None, sink)
    };
    system.execute(&multiply(1)).expect("the row is written");
    // Elements behind a row of the register file are padding, and no operands.
    system.execute(&multiply(2)).expect("the second read multiplies nothing");
    assert_eq!(peek(&system, 0, 8192, I32, 9).0[32..36], [0; 4]);
}

/// Collect pads flits. The added lanes are no operands, even if all fetched elements are written.
#[test]
fn lanes_that_collect_adds_are_no_operands() {
    let guard = Guard::always(5);
    let mut system = Chips::new(ChipOptions::default());
    let mut source = region(0, 0, I8, 1, 32);
    source.footprint.clusters = 1;
    poke(&mut system, 0, 0, I8, &[1; 32]);
    let address = TrfAddress::Full;
    let trf = TrfRegion { address, fill: FillId(2), element: I8, rows: 1, row_elements: 32, guard };
    let weights = fetch(source, I8, &[(32, 1)], 1, 32);
    system.execute(&pass(weights, None, None, Sink::Trf { destination: trf, guard })).expect("it fits");
    let mut multiply = |live_lanes: usize| {
        let contraction = Contraction {
            trf,
            stream_guard: below(5, 4, live_lanes),
            collect_flits: 1,
            tile: 1,
            trf_config: config(&[(1, 0)], 32),
            steps: 1,
            depth: 5,
            columns: 1,
            step_guard: Guard::always(2),
            slots: config(&[(1, 0)], 1),
            slot_count: 1,
            kind: AccumulationKind::Interleaved,
            output: I32,
        };
        // 16 lanes are fetched, the flit has 32.
        let stream = fetch(source, I8, &[(16, 1)], 1, 16);
        let sink = commit(region(3, 8192, I32, 1, 8), &[(1, 8), (8, 1)], 8, guard);
        system.execute(&pass(stream, Some(contraction), None, sink)).map(drop)
    };
    multiply(16).expect("the others are padding");
    let fault = multiply(17).expect_err("one is not");
    assert_eq!(fault.kind, FaultKind::Uninitialised);
    let text =
        "time step 0 takes lane 16 of a packet, but only 16 elements are fetched; collect adds the rest";
    assert_eq!(fault.message, text);
    assert_eq!(peek(&system, 0, 8192, I32, 1).0, 16i32.to_le_bytes());
}

#[test]
fn bounds_are_exact() {
    let mut system = Chips::new(ChipOptions { chips: Some(1), ..ChipOptions::default() });
    let hbm = |address: u64, elements| {
        let guard = Guard::always(4);
        let footprint = Footprint { element: I8, chips: 1, clusters: 1, slices: 1, elements, guard };
        Region::whole(Memory::Hbm, address, FillId(9), footprint)
    };
    let end = DM_BYTES as u64;
    let at = |address| region(10, address, I8, 256, 64);
    assert_eq!(system.execute(&dma(hbm(0, 64), at(end - 64), 64)).map(drop), Ok(()));
    let fault = system.execute(&dma(hbm(0, 64), at(end - 63), 64)).expect_err("one byte too far");
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert!(
        fault.to_string().contains("address 524225 has 64 bytes per slice, but DM has 524288"),
        "{fault}"
    );
    let top = furiosa_visa_rules::spec::HBM_BYTES;
    assert_eq!(system.execute(&dma(hbm(top - 64, 64), at(0), 64)).map(drop), Ok(()));
    assert!(system.execute(&dma(hbm(top - 63, 64), at(0), 64)).is_err());
    // Padding may stick out.
    let mut tile = at(end - 32);
    tile.footprint.guard = below(4, 3, 32);
    assert_eq!(system.execute(&dma(hbm(0, 64), tile, 32)).map(drop), Ok(()));
    tile.footprint.guard = below(4, 3, 33);
    assert!(system.execute(&dma(hbm(0, 64), tile, 33)).is_err());
    let mut chips = at(0);
    chips.footprint.chips = 2;
    let fault = system.execute(&dma(hbm(0, 64), chips, 64)).expect_err("one chip");
    assert!(fault.message.contains("needs chip 1, but the system has 1 chip"), "{fault}");
    let mut open = Chips::new(ChipOptions::default());
    assert_eq!(open.execute(&dma(hbm(0, 64), chips, 64)).map(drop), Ok(()));
    assert_eq!(open.count(), 2);
}

#[test]
fn register_files_have_limits() {
    let mut system = Chips::new(ChipOptions::default());
    let guard = Guard::always(5);
    for (address, rows, row_elements, fits) in [
        (TrfAddress::Full, 8, 8192, true),
        (TrfAddress::Full, 8, 8193, false),
        (TrfAddress::FirstHalf, 1, 32768, true),
        (TrfAddress::SecondHalf, 1, 32769, false),
        (TrfAddress::Full, 3, 32, false),
    ] {
        let trf = TrfRegion { address, fill: FillId(2), element: I8, rows, row_elements, guard };
        let total = rows * row_elements;
        let stream =
            fetch(region(0, 0, I8, 1, total), I8, &[(total.div_ceil(32) * 32, 1)], total.div_ceil(32), 32);
        let result =
            system.execute(&pass(stream, None, None, Sink::Trf { destination: trf, guard })).map(drop);
        assert_eq!(result.map_err(|fault| fault.kind), if fits { Ok(()) } else { Err(FaultKind::Capacity) });
    }
}

#[test]
fn stale_reads_are_found_in_every_memory() {
    let mut system = Chips::new(ChipOptions::default());
    let guard = Guard::always(5);
    let trf = |fill, address| TrfRegion {
        address,
        fill: FillId(fill),
        element: I8,
        rows: 8,
        row_elements: 64,
        guard,
    };
    poke(&mut system, 0, 0, I8, &[1; 512]);
    let load = |system: &mut Chips, region_of: TrfRegion| {
        let stream = fetch(region(0, 0, I8, 1, 512), I8, &[(512, 1)], 16, 32);
        system.execute(&pass(stream, None, None, Sink::Trf { destination: region_of, guard })).expect("fits");
    };
    load(&mut system, trf(1, TrfAddress::FirstHalf));
    load(&mut system, trf(2, TrfAddress::SecondHalf));
    let contract = |system: &mut Chips, region_of: TrfRegion| {
        let contraction = Contraction {
            trf: region_of,
            stream_guard: guard,
            collect_flits: 2,
            tile: 1,
            trf_config: config(&[], 64),
            steps: 1,
            depth: 6,
            columns: 1,
            step_guard: Guard::always(2),
            slots: config(&[], 1),
            slot_count: 1,
            kind: AccumulationKind::Interleaved,
            output: I32,
        };
        let mut source = region(0, 0, I8, 1, 64);
        source.footprint.clusters = 1;
        let stream = fetch(source, I8, &[(64, 1)], 2, 32);
        let sink = commit(region(7, 4096, I32, 1, 8), &[(8, 1)], 8, guard);
        system.execute(&pass(stream, Some(contraction), None, sink)).map(drop).map_err(|fault| fault.kind)
    };
    assert_eq!(contract(&mut system, trf(1, TrfAddress::FirstHalf)), Ok(()));
    load(&mut system, trf(3, TrfAddress::Full));
    assert_eq!(contract(&mut system, trf(1, TrfAddress::FirstHalf)), Err(FaultKind::StaleRead));
    assert_eq!(contract(&mut system, trf(2, TrfAddress::SecondHalf)), Ok(()));
    assert_eq!(contract(&mut system, trf(3, TrfAddress::Full)), Ok(()));
}
