//! The simulated chip: memories with real addresses and real bytes, and what commands do to them.
//!
//! ```text
//!   Command ── rules: see CheckOptions ── execute ── memory
//!                 └─ Fault: nothing was done   └─ what was read and written is noted for later rules
//! ```
//!
//! The chip knows nothing of kernels and their types. A command can be built by hand.

pub(crate) mod checks;
mod commands;
mod execute;
mod host;
pub(crate) mod memory;
mod order;
pub(crate) mod systems;

pub use checks::fault::{Check, CheckOptions, Fault, FaultExtent, FaultKind, FaultPlace};
pub use checks::sdk::{SdkNote, SdkReport, SdkReports};
pub use execute::path::ComputePath;
pub use memory::fresh::FreshMemory;
pub use memory::separate::Addresses;
pub use memory::trf_layout::{RegisterType, TrfCell, TrfLayout};
pub use order::explore::ExecutionOrder;

use crate::clock::Allocations;
use crate::clock::{Channels, Clock, KernelCall, MemoryMap, Numbers, Profile, Report};
use crate::command::{FillId, MemoryKind};
use crate::spec::{CLUSTERS, ChipKind, DM_BYTES, HBM_BYTES, MAX_CHIPS, SLICES, VRF_BYTES};
use checks::sdk::Copies;
use core::panic::Location;
use execute::Exchanged;
use execute::path::Path;
use memory::fills::FillLog;
use memory::separate::{ENDLESS_BYTES, Separate};
use memory::{Fresh, Hbm, Unit};
use order::OrderLog;
use order::deferred::{Deferred, Late};
use order::explore::Explorer;
use systems::SystemNumber;

/// What a simulated system is made of, and what it checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimOptions {
    /// The number of chips, 1 to 8. `None`: as many as the program uses.
    pub chips: Option<usize>,
    /// The kind of the chips. RNGD unless said otherwise.
    pub chip_kind: ChipKind,
    /// Which rules are checked.
    pub checks: CheckOptions,
    /// Which products of padding the check `padding` takes to be zero.
    pub padding: PaddingRule,
    /// Which model of time is used.
    pub profile: Profile,
    /// Numbers of the detailed profile that are not documented: see [`Numbers`].
    pub numbers: Numbers,
    /// How passes use the switch channels: see [`Channels`]. It changes their time only.
    pub channels: Channels,
    /// What is computed: values and time, or time only.
    pub compute: Compute,
    /// Which instructions of the host are used. `None`: the fastest that it has. Results do not depend on it.
    pub path: Option<ComputePath>,
    /// Where tensors lie: at the addresses of the program, or each by itself.
    pub addresses: Addresses,
    /// What elements read as that nobody wrote.
    pub fresh_memory: FreshMemory,
    /// In which order the commands of a kernel take effect.
    pub order: ExecutionOrder,
    /// Selects what [`FreshMemory::Random`] reads as, and the order of [`ExecutionOrder::Random`].
    pub seed: u64,
}

/// Which products of padding are zero, so that sums may take it in.
///
/// Zero times a number is zero. The rule is about zero times what nobody wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaddingRule {
    /// Zero times anything is zero. Assumed: a multiplier might give NaN for zero times a NaN that happens to lie there.
    #[default]
    ZeroWins,
    /// For floats, zero times what nobody wrote may be NaN: it is refused.
    Strict,
}

/// What the simulator computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compute {
    /// Values and time.
    #[default]
    Values,
    /// Time only: memories are not written, and what comes back from the chip is uninitialised. Data that was never
    /// written is no fault then.
    ShapesOnly,
}

/// A simulated system of chips. Fresh memory is uninitialised and reads as [`SimOptions::fresh_memory`] says.
pub struct System {
    options: SimOptions,
    path: Path,
    number: SystemNumber,
    fills: u64,
    /// The newest tensor that was written.
    newest: FillId,
    hbm: Vec<Hbm>,
    units: Vec<Unit>,
    /// Packets of the last exchange between slices.
    exchanged: Exchanged,
    /// Who wrote what, per memory.
    logs: [FillLog; MemoryKind::ALL.len()],
    order: OrderLog,
    /// With [`Addresses::Separate`], which bytes are whose.
    separate: Option<Separate>,
    explorer: Explorer<Deferred>,
    late: Option<Late>,
    clock: Clock,
    kernel: KernelCall,
    /// Which tensors hold the same in both clusters.
    copies: Copies,
    /// Notes of the clock that nobody was told of, from this one on.
    untold: usize,
}

impl core::fmt::Debug for System {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("System")
            .field("chips", &self.chips())
            .field("fills", &self.fills)
            .finish_non_exhaustive()
    }
}

impl System {
    /// A fresh system.
    ///
    /// # Panics
    /// Where this machine does not have the instructions that `path` asks for.
    #[track_caller]
    pub fn new(options: SimOptions) -> Self {
        let mut system = Self {
            options,
            path: Path::chosen(options.path),
            number: SystemNumber::new(Location::caller()),
            fills: 0,
            newest: FillId(0),
            hbm: Vec::new(),
            units: Vec::new(),
            exchanged: Exchanged::default(),
            logs: Default::default(),
            order: OrderLog::default(),
            separate: (options.addresses == Addresses::Separate).then(Separate::default),
            explorer: Explorer::new(options.order, options.seed),
            late: None,
            clock: Clock::new(options.profile).with_numbers(options.numbers).with_channels(options.channels),
            kernel: KernelCall::default(),
            copies: Copies::default(),
            untold: 0,
        };
        system.grow(options.chips.unwrap_or(1));
        system
    }

    /// The number of chips. A system without a fixed number starts with one.
    pub fn chips(&self) -> usize {
        self.hbm.len()
    }

    /// The number of chips that the options fix.
    pub(crate) fn fixed_chips(&self) -> Option<usize> {
        self.options.chips
    }

    /// The kind of the chips.
    pub fn chip_kind(&self) -> ChipKind {
        self.options.chip_kind
    }

    /// A number that no other system of the process has: 1, 2, …
    pub(crate) fn number(&self) -> u64 {
        self.number.get()
    }

    /// A name for a tensor of this system that is about to be made. Other systems refuse it.
    pub fn next_fill(&mut self) -> FillId {
        self.fills += 1;
        FillId::of_system(self.number.get(), self.fills)
    }

    /// Which rules are checked.
    pub fn checks(&self) -> &CheckOptions {
        &self.options.checks
    }

    /// Says which kernel gives the next commands. A launch is awaited: nothing of it overlaps what was given before.
    pub fn enter_kernel(&mut self, kernel: KernelCall) {
        if self.kernel != kernel {
            self.flush_quietly();
            self.kernel = kernel;
            self.order.barrier();
        }
    }

    /// What lies where, from which operation to which. Operations that are given later start after it.
    pub fn memory_map(&mut self) -> MemoryMap {
        self.memory_map_with([Allocations::default(); 3])
    }

    /// The same, with what the program asked for in HBM and in DM.
    pub(crate) fn memory_map_with(&mut self, allocations: [Allocations<'_>; 3]) -> MemoryMap {
        MemoryMap::new(self.clock.ledger(), allocations, self.options.addresses)
    }

    /// The clock.
    pub fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// What has run so far, when, and why. Operations that are given later start after it.
    pub fn report(&mut self) -> Report {
        let SimOptions { chip_kind, profile, numbers, channels, .. } = self.options;
        let chips = self.chips();
        let ledger = self.clock.ledger();
        let (mut records, mut repeats) = (ledger.records.clone(), ledger.repeats.clone());
        records.sort_by_key(|record| record.number);
        repeats.sort_by_key(|repeats| repeats.first);
        Report {
            profile,
            numbers,
            channels,
            chip_kind,
            chips,
            records,
            repeats,
            kernels: ledger.kernels.clone(),
            totals: ledger.totals.clone(),
            warnings: ledger.warnings.clone(),
            notes: ledger.notes.clone(),
            faults: ledger.faults.clone(),
            interrupted: ledger.interrupted,
            counts: ledger.occasions.counts.clone(),
        }
    }

    /// The notes since the last time that somebody asked.
    pub(crate) fn untold_notes(&mut self) -> Vec<SdkNote> {
        let notes = &self.clock.notes()[self.untold..];
        self.untold += notes.len();
        notes.to_vec()
    }

    /// What it keeps of the operations so far.
    #[cfg(test)]
    pub(crate) fn kept(&mut self) -> Kept {
        let logs = || self.logs.iter().map(FillLog::len);
        let writes = logs().map(|(writes, _)| writes).sum();
        let fillings = logs().map(|(_, fillings)| fillings).max().unwrap_or(0);
        let accesses = self.order.len();
        let (_, pieces) = self.clock.waiting();
        let ledger = self.clock.ledger();
        let (records, repeats, touches) = (ledger.records.len(), ledger.repeats.len(), ledger.touches.len());
        let commands = ledger.commands;
        Kept { accesses, writes, fillings, pieces, records, repeats, touches, commands }
    }

    /// The number of chips that commands may use.
    fn limit(&self) -> usize {
        self.options.chips.unwrap_or(MAX_CHIPS)
    }

    fn grow(&mut self, chips: usize) {
        let chips = chips.min(self.limit()).max(self.hbm.len());
        let fresh = Fresh::new(self.options.fresh_memory, self.options.seed);
        let (hbm, dm, vrf) = match &self.separate {
            None => (HBM_BYTES, DM_BYTES, VRF_BYTES),
            Some(_) => (ENDLESS_BYTES, ENDLESS_BYTES as usize, ENDLESS_BYTES as usize),
        };
        for chip in self.hbm.len()..chips {
            self.hbm.push(Hbm::holding(fresh.part(chip as u64), hbm));
            let slices = chip * CLUSTERS * SLICES..(chip + 1) * CLUSTERS * SLICES;
            let unit = |slice| Unit::holding(fresh.part((1 << 32) + slice as u64), dm, vrf);
            self.units.extend(slices.map(unit));
        }
    }
}

/// How much of each a system keeps.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// Accesses, for the order between contexts.
    pub(crate) accesses: usize,
    /// Writes, for stale reads.
    pub(crate) writes: usize,
    /// Fillings that are known, in the memory with the most of them.
    pub(crate) fillings: usize,
    /// Pieces of memory, for hazards.
    pub(crate) pieces: usize,
    /// Operations of the report that are kept one by one.
    pub(crate) records: usize,
    /// Those that are counted.
    pub(crate) repeats: usize,
    /// Operations of the memory map.
    pub(crate) touches: usize,
    /// Commands of DMA engines, for hints.
    pub(crate) commands: usize,
}

impl System {
    /// Ends what observers write. Nothing may be given later.
    pub(crate) fn finish(&mut self) {
        // Only those who see all operations are told what would make them faster.
        let hints = if self.clock.is_observed() { self.report().hints() } else { Vec::new() };
        let chips = self.chips();
        self.clock.finish(chips, &hints);
    }
}

impl Drop for System {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{
        Command, Dma, Footprint, HostBuffer, HostTransfer, Memory, Operation, Region, Step, Transfer,
        TransferLoop,
    };
    use crate::mapping::Guard;
    use crate::scalar::ElementType;

    fn region(memory: Memory, fill: FillId, address: u64, elements: usize) -> Region {
        let (clusters, slices) = if memory == Memory::Dm { (2, 256) } else { (1, 1) };
        let element = ElementType::I16;
        let footprint = Footprint { element, chips: 1, clusters, slices, elements, guard: Guard::always(4) };
        Region::whole(memory, address, fill, footprint)
    }

    /// `units` units on the one side, one row on the other.
    fn spread(units: usize, elements: usize, gather: bool) -> Transfer {
        let mut transfer = Transfer { guard: Guard::always(2), ..Transfer::new() };
        let (row, unit) = (Step { units: 0, elements }, Step { units: 1, elements: 0 });
        let (source, destination) = if gather { (unit, row) } else { (row, unit) };
        transfer.loops.push(TransferLoop { size: units, source, destination });
        let step = Step { units: 0, elements: 1 };
        transfer.loops.push(TransferLoop { size: elements, source: step, destination: step });
        transfer
    }

    #[track_caller]
    fn dma(source: Region, destination: Region, transfer: Transfer) -> Command {
        let operation = Operation::Dma(Box::new(Dma { source, destination, transfer, pcie: false }));
        Command { operation, location: Location::caller() }
    }

    #[test]
    fn an_array_goes_through_all_slices_and_comes_back() {
        let here = Location::caller();
        let mut system = System::new(SimOptions::default());
        let [a, b, c] = core::array::from_fn(|_| system.next_fill());
        assert_eq!([a, b, c].map(FillId::in_system), [FillId(1), FillId(2), FillId(3)]);
        let elements = 512 * 24;
        let host = |fill, address| HostTransfer {
            region: region(Memory::Hbm, fill, address, elements),
            transfer: spread(1, elements, false),
            host_elements: elements,
        };
        let bytes: Vec<u8> = (0..elements * 2).map(|k| (k * 7 + k / 256) as u8).collect();
        let buffer = HostBuffer { bytes, initialised: None };
        system.upload(&host(a, 0), &buffer, here).expect("it fits");
        let slices = region(Memory::Dm, b, 64, 24);
        let copy = region(Memory::Hbm, c, 1 << 30, elements);
        let there = dma(region(Memory::Hbm, a, 0, elements), slices, spread(512, 24, false));
        let back = dma(slices, copy, spread(512, 24, true));
        system.execute(&there).expect("it fits");
        system.execute(&back).expect("it fits");
        assert_eq!(system.download(&host(c, 1 << 30), here), Ok(buffer.clone()));
        assert_eq!(format!("{system:?}"), "System { chips: 1, fills: 3, .. }");

        // Another tensor over the middle of the copy: only the copy is lost, and the fault names both calls.
        let other = region(Memory::Hbm, system.next_fill(), (1 << 30) + 100, 4);
        let over = dma(region(Memory::Dm, FillId::ANY, 0, 4), other, spread(1, 4, false));
        system.execute(&over).expect("it fits");
        let fault = system.download(&host(c, 1 << 30), here).expect_err("four elements are gone");
        let places: Vec<_> = fault.places.iter().map(|place| place.location).collect();
        assert_eq!(places, [back.location, over.location]);
        assert_eq!(
            fault.extent.as_ref().map(|extent| extent.bytes.clone()),
            Some((1 << 30) + 100..(1 << 30) + 108)
        );
        assert!(fault.to_string().starts_with("fault: to_host: stale read: "), "{fault}");

        // A refused command changes nothing.
        let bad = dma(region(Memory::Hbm, c, 1 << 30, elements), slices, spread(512, 24, false));
        assert_eq!(system.execute(&bad).map_err(|fault| fault.kind), Err(FaultKind::StaleRead));
        system.execute(&back).expect("the slices are as they were");
        assert_eq!(system.download(&host(c, 1 << 30), here), Ok(buffer));
    }

    /// A report of a loop says how often it went round. Where time alone is computed, nothing comes back from the chip.
    #[test]
    fn turns_of_a_loop_are_reported() {
        let elements = 512 * 24;
        let mut system = System::new(SimOptions { compute: Compute::ShapesOnly, ..SimOptions::default() });
        let [from, to] = core::array::from_fn(|_| system.next_fill());
        let table = region(Memory::Hbm, from, 0, elements);
        for _ in 0..1000 {
            let command = dma(table, region(Memory::Dm, to, 64, 24), spread(512, 24, false));
            system.execute(&command).expect("it fits");
        }
        let report = system.report();
        assert_eq!((report.records.len(), report.repeats.len()), (256, 1));
        let (cycles, own) = (report.records[0].cycles(), &report.repeats[0]);
        assert_eq!((own.like, own.count, own.first, own.last), (0, 744, 256, 999));
        assert_eq!((own.period, own.cycles), (Some((1, cycles)), 744 * cycles));
        assert_eq!((report.totals.end, report.kernels[0].operations), (1000 * cycles, 1000));
        assert!(report.critical_path(&report.kernels[0]).is_empty());
        let text = report.full().to_string();
        for line in [
            "and 744 operations that repeat others, or are in the totals only",
            "  it ends with an operation that repeats others",
            "operations that repeat others",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}: {text}");
        }
        assert_eq!(system.memory_map().left_out, 0, "the map has all of them");
        let host =
            HostTransfer { region: table, transfer: spread(1, elements, false), host_elements: elements };
        let back = system.download(&host, Location::caller()).expect("there is a tensor");
        assert_eq!(
            back,
            HostBuffer { bytes: vec![0; elements * 2], initialised: Some(vec![false; elements]) }
        );
    }

    #[test]
    fn checks_can_be_turned_off() {
        let checks = CheckOptions::NONE;
        let mut system = System::new(SimOptions { chips: Some(1), checks, ..SimOptions::default() });
        let past = region(Memory::Hbm, FillId(1), crate::spec::HBM_BYTES - 2, 4);
        let host = HostTransfer { region: past, transfer: spread(1, 4, false), host_elements: 4 };
        let buffer = HostBuffer { bytes: vec![1, 2, 3, 4, 5, 6, 7, 8], initialised: None };
        let here = Location::caller();
        system.upload(&host, &buffer, here).expect("nothing is checked");
        let back = system.download(&host, here).expect("nothing is checked");
        assert_eq!(back.bytes, [1, 2, 0, 0x80, 0, 0x80, 0, 0x80], "poison");
        assert_eq!(back.initialised, Some(vec![true, false, false, false]));
    }
}
