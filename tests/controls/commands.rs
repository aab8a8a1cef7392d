//! Commands that are built by hand, for what the types of a kernel refuse already.

use furiosa_visa_std::chip::{CheckOptions, Fault, SimOptions, System};
use furiosa_visa_std::command::*;
use furiosa_visa_std::mapping::{Guard, GuardDigit, GuardSum};
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::sequencer::{Config, Entry};
use std::panic::Location;

/// A fresh system of one chip.
pub fn system(checks: CheckOptions) -> System {
    System::new(SimOptions { chips: Some(1), checks, ..SimOptions::default() })
}

/// A tensor in the DM of slice 0.
pub fn region(address: u64, element: ElementType, elements: usize) -> Region {
    let guard = Guard::always(4);
    let footprint = Footprint { element, chips: 1, clusters: 1, slices: 1, elements, guard };
    Region::whole(Memory::Dm, address, FillId(address + 1), footprint)
}

/// A tensor in HBM.
pub fn hbm(address: u64, element: ElementType, elements: usize) -> Region {
    Region { memory: Memory::Hbm, ..region(address, element, elements) }
}

/// Fills DM from an address on, on the way through HBM.
pub fn written(system: &mut System, address: u64, element: ElementType, elements: usize) {
    let from = hbm(1 << 30, element, elements);
    let host = HostTransfer { region: from, transfer: moves(&[(elements, 1, 1)]), host_elements: elements };
    let buffer = HostBuffer { bytes: vec![1; elements * element.bits() / 8], initialised: None };
    system.upload(&host, &buffer, Location::caller()).unwrap_or_else(|fault| panic!("{fault}"));
    let to = region(address, element, elements);
    give(system, dma(from, to, &[(elements, 1, 1)])).unwrap_or_else(|fault| panic!("{fault}"));
}

/// Loops inside a unit: size, steps in the source and in the destination.
pub fn moves(loops: &[(usize, usize, usize)]) -> Transfer {
    let mut transfer = Transfer { guard: Guard::always(loops.len()), ..Transfer::new() };
    for &(size, source, destination) in loops {
        let step = |elements| Step { units: 0, elements };
        transfer.loops.push(TransferLoop { size, source: step(source), destination: step(destination) });
    }
    transfer
}

/// A transfer by the DMA engines of the chip.
pub fn dma(source: Region, destination: Region, loops: &[(usize, usize, usize)]) -> Operation {
    Operation::Dma(Box::new(Dma { source, destination, transfer: moves(loops), pcie: false }))
}

fn config(entries: &[(usize, isize)], packet: usize) -> Config {
    let mut config = Config::new(packet);
    entries.iter().for_each(|&(size, stride)| config.entries.push(Entry { size, stride }));
    config
}

/// A fetch of `time` packets.
pub fn fetch(
    source: Region,
    output: ElementType,
    entries: &[(usize, isize)],
    time: usize,
    packet: usize,
) -> Fetch {
    Fetch::new(source, config(entries, packet), time, packet, output)
}

/// A commit of `window` lanes of each packet.
pub fn commit(destination: Region, entries: &[(usize, isize)], window: usize, guard: Guard) -> Sink {
    Sink::Commit { destination, config: config(entries, window), commit_size: 8, guard }
}

/// Lanes from this one on are padding.
pub fn lanes_below(limit: usize) -> Guard {
    below(4, limit)
}

/// Time steps from this one on are padding.
pub fn steps_below(limit: usize) -> Guard {
    below(3, limit)
}

fn below(variable: usize, limit: usize) -> Guard {
    let mut guard = Guard::always(5);
    guard.digits.push(GuardDigit { variable, base: 1, extent: 1 << 20, weight: 1 });
    guard.sums.push(GuardSum { first: 0, len: 1, start: 0, limit });
    guard
}

/// A pass of the main context, with packets of whole flits.
pub fn unit(fetch: Fetch, sink: Sink) -> TensorUnit {
    TensorUnit::new(fetch, sink)
}

/// The same as an operation.
pub fn pass(fetch: Fetch, sink: Sink) -> Operation {
    Operation::TensorUnit(Box::new(unit(fetch, sink)))
}

/// Executes an operation, as given by the caller.
#[track_caller]
pub fn give(system: &mut System, operation: Operation) -> Result<(), Fault> {
    system.execute(&Command { operation, location: Location::caller() })
}
