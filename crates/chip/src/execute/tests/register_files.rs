//! Tests of register files, with commands that no types have made.

use super::*;
use furiosa_visa_rules::spec::VRF_BYTES;

/// A tensor in the VRF of one slice.
fn vrf(fill: u64, address: u64, element: ElementType, elements: usize) -> Region {
    Region { memory: Memory::Vrf, ..region(fill, address, element, 256, elements) }
}

/// Loops of (size, stream step, element step).
fn moves(loops: &[(usize, usize, usize)], guard: Guard) -> Transfer {
    let mut transfer = Transfer { guard, ..Transfer::new() };
    let step = |elements| Step { units: 0, elements };
    for &(size, source, destination) in loops {
        transfer.loops.push(TransferLoop { size, source: step(source), destination: step(destination) });
    }
    transfer
}

/// Loads a stream of `time` packets of 8 from DM address 0 of slice 0.
fn load(destination: Region, time: usize, transfer: Transfer, guard: Guard) -> Command {
    let stream = fetch(
        region(0, 0, destination.footprint.element, 1, time * 8),
        destination.footprint.element,
        &[(time * 8, 1)],
        time,
        8,
    );
    pass(stream, None, None, Sink::Vrf { destination, transfer, guard })
}

fn look(system: &mut Chips, source: Region) -> Result<HostBuffer, Fault> {
    let elements = source.footprint.elements;
    let transfer = moves(&[(elements, 1, 1)], Guard::always(1));
    let inspection = Inspection { source: Place::Region(source), transfer, host_elements: elements };
    system.inspect(&inspection, here())
}

#[test]
fn only_live_lanes_go_to_the_vrf() {
    let mut system = Chips::new(ChipOptions::default());
    let bytes: Vec<u8> = (0..96).map(|k| k + 1).collect();
    poke(&mut system, 0, 0, I32, &bytes);
    // Three packets, transposed. Lanes 0 to 4 are live; the third packet is padding.
    let mut guard = below(5, 4, 5);
    guard.digits.push(GuardDigit { variable: 3, base: 1, extent: 8, weight: 1 });
    guard.sums.push(GuardSum { first: 1, len: 1, start: 0, limit: 2 });
    let destination = vrf(1, 8, I32, 24);
    let command = load(destination, 3, moves(&[(8, 1, 3), (3, 8, 1)], Guard::always(2)), guard);
    system.execute(&command).expect("it fits");
    let seen = look(&mut system, destination).expect("it is there");
    let flags = seen.initialised.expect("lanes 5 to 7 and packet 2 are padding");
    for (element, live) in flags.into_iter().enumerate() {
        let (lane, packet) = (element / 3, element % 3);
        assert_eq!(live, lane < 5 && packet < 2, "{element}");
        if live {
            let from = (packet * 8 + lane) * 4;
            assert_eq!(seen.bytes[element * 4..][..4], bytes[from..from + 4], "{element}");
        }
    }
}

/// Moves from behind the stream, and from its padding, write nothing. As many moves as elements need not fill a tensor.
#[test]
fn a_vrf_tensor_begins_uninitialised_where_no_lane_goes() {
    let straight = || moves(&[(8, 1, 1)], Guard::always(1));
    let upper =
        Transfer { source_start: Start { units: 0, elements: 4 }, ..moves(&[(4, 1, 1)], Guard::always(1)) };
    let cases = [
        ("all lanes", 8, straight(), Guard::always(5), vec![true; 8]),
        (
            "half of it behind the stream",
            8,
            moves(&[(8, 2, 1)], Guard::always(1)),
            Guard::always(5),
            [[true; 4], [false; 4]].concat(),
        ),
        ("the live lanes", 4, moves(&[(4, 1, 1)], Guard::always(1)), below(5, 4, 4), vec![true; 4]),
        ("the padding", 4, upper, below(5, 4, 4), vec![false; 4]),
    ];
    for (name, elements, transfer, guard, expected) in cases {
        let mut system = Chips::new(ChipOptions::default());
        let bytes: Vec<u8> = (0..32).collect();
        [0, 256].into_iter().for_each(|unit| poke(&mut system, unit, 0, I32, &bytes));
        let narrow = |fill, elements| {
            let mut region = vrf(fill, 64, I32, elements);
            region.footprint.slices = 1;
            region
        };
        let older = load(narrow(1, 8), 1, straight(), Guard::always(5));
        system.execute(&older).expect("it fits");
        let newer = narrow(2, elements);
        system.execute(&load(newer, 1, transfer, guard)).expect(name);
        let seen = look(&mut system, newer).expect(name);
        assert_eq!(seen.initialised.unwrap_or_else(|| vec![true; elements]), expected, "{name}");
    }
}

#[test]
fn a_vrf_has_limits() {
    let mut system = Chips::new(ChipOptions::default());
    let always = Guard::always(5);
    let straight = moves(&[(8, 1, 1)], Guard::always(1));
    let end = VRF_BYTES as u64;
    system.execute(&load(vrf(1, end - 32, F32, 8), 1, straight, always)).expect("it fits exactly");
    let fault =
        system.execute(&load(vrf(1, end - 28, F32, 8), 1, straight, always)).expect_err("4 bytes more");
    assert_eq!((fault.kind, fault.operation), (FaultKind::OutOfBounds, "to_vrf"), "{fault}");
    assert!(fault.message.contains("VRF address 8164 has 32 bytes per slice, but VRF has 8192"), "{fault}");
    let extent = fault.extent.expect("it is somewhere");
    assert_eq!((extent.memory, extent.bytes), (MemoryKind::Vrf, end..end + 4));
    assert_eq!(
        look(&mut system, vrf(1, end - 28, F32, 8)).map_err(|fault| fault.kind),
        Err(FaultKind::OutOfBounds)
    );
    let fault = system.execute(&load(vrf(1, 0, I8, 8), 1, straight, always)).expect_err("8 bits");
    assert_eq!(fault.kind, FaultKind::Unsupported, "{fault}");
    assert!(fault.message.contains("type i8") && fault.message.contains("32-bit types"), "{fault}");
    // Without the check, elements outside are not written.
    let checks = CheckOptions { bounds: false, ..CheckOptions::default() };
    let mut open = Chips::new(ChipOptions { checks, ..ChipOptions::default() });
    open.execute(&load(vrf(1, end - 28, F32, 8), 1, straight, always)).expect("not checked");
}

#[test]
fn engines_reach_their_own_memories() {
    let mut system = Chips::new(ChipOptions::default());
    let in_vrf = vrf(1, 0, I32, 8);
    let dm = region(2, 0, I32, 1, 8);
    let hbm = Region { memory: Memory::Hbm, ..dm };
    let straight = moves(&[(8, 1, 1)], Guard::always(1));
    let always = Guard::always(5);
    let refused = [
        (
            dma(in_vrf, dm, 8),
            "DMA: unsupported: the tensor at address 0 lies in VRF, but this operation reaches HBM and DM",
        ),
        (dma(dm, in_vrf, 8), "DMA: unsupported: the tensor at address 0 lies in VRF"),
        (load(dm, 1, straight, always), "to_vrf: unsupported: the tensor at address 0 lies in DM"),
        (
            pass(fetch(in_vrf, I32, &[(8, 1)], 1, 8), None, None, commit(dm, &[(8, 1)], 8, always)),
            "fetch: unsupported: ",
        ),
        (
            pass(fetch(dm, I32, &[(8, 1)], 1, 8), None, None, commit(hbm, &[(8, 1)], 8, always)),
            "commit: unsupported: ",
        ),
    ];
    for (command, start) in refused {
        let fault = system.execute(&command).expect_err(start).to_string();
        assert!(fault.starts_with(&format!("fault: {start}")), "{fault}");
    }
    let transfer = HostTransfer { region: in_vrf, transfer: straight, host_elements: 8 };
    assert_eq!(system.download(&transfer, here()).map_err(|fault| fault.kind), Err(FaultKind::Unsupported));
    let buffer = HostBuffer { bytes: vec![0; 32], initialised: None };
    assert_eq!(
        system.upload(&transfer, &buffer, here()).map_err(|fault| fault.kind),
        Err(FaultKind::Unsupported)
    );
    // A look goes past the engines: it reaches every memory.
    for region in [hbm, dm, in_vrf] {
        let seen = look(&mut system, region).expect("it is no access of an engine");
        assert_eq!(seen.initialised, Some(vec![false; 8]), "{}", region.memory);
    }
}

/// The passes that StoTRF can do, as commands.
#[test]
fn short_commands() {
    let guard = Guard::always(5);
    let trf = |elements| TrfRegion {
        address: TrfAddress::Full,
        fill: FillId(1),
        element: I8,
        rows: 2,
        row_elements: elements / 2,
        guard,
    };
    let is_short = |command: &Command| match &command.operation {
        Operation::TensorUnit(unit) => unit.is_sto_trf(),
        Operation::Dma(_) | Operation::UnitCopy(_) | Operation::Indexed(_) | Operation::Memset(_) => false,
    };
    let to_trf = |stream: Fetch| {
        let elements = stream.time * stream.packet.next_multiple_of(32);
        pass(stream, None, None, Sink::Trf { destination: trf(elements), guard })
    };
    let plain = fetch(region(0, 64, I8, 1, 256), I8, &[(256, 1)], 8, 32);
    assert!(is_short(&to_trf(plain.clone())));
    assert!(!is_short(&to_trf(Fetch { output: I32, packet: 8, time: 32, ..plain.clone() })), "converted");
    assert!(!is_short(&to_trf(fetch(region(0, 64, I8, 1, 256), I8, &[(8, 24), (24, 1)], 8, 24))), "padded");
    assert!(!is_short(&to_trf(fetch(region(0, 64, I8, 1, 256), I8, &[(4, 64), (32, 1)], 4, 32))), "a gap");
    assert!(!is_short(&to_trf(fetch(region(0, 64, I8, 1, 256), I8, &[(8, 0), (32, 1)], 8, 32))), "repeated");
    assert!(!is_short(&to_trf(fetch(region(0, 64, I8, 1, 255), I8, &[(256, 1)], 8, 32))), "past the end");
    let to_dm = commit(region(3, 4096, I8, 1, 256), &[(256, 1)], 32, guard);
    assert!(!is_short(&pass(plain.clone(), None, None, to_dm)), "not to the TRF");
    let cast = Some(Cast { input: I8, output: I8 });
    let sink = Sink::Trf { destination: trf(256), guard };
    assert!(!is_short(&pass(plain, None, cast, sink)), "through the Cast Engine");
}
