//! The simulated chip: memories with real addresses and real bytes, and what commands do to them.
//!
//! ```text
//!   Command ── rules: see CheckOptions ── execute ── memory
//!                 └─ Fault: nothing was done   └─ what was read and written is noted for later rules
//! ```
//!
//! The chip knows nothing of kernels and their types. A command can be built by hand.

pub(crate) mod allocate;
pub(crate) mod checks;
mod execute;
pub(crate) mod memory;
mod order;

pub use allocate::Allocation;
pub use checks::fault::{Check, CheckOptions, Fault, FaultExtent, FaultKind, FaultPlace};
pub use memory::fresh::FreshMemory;
pub use memory::separate::Addresses;
pub use memory::trf_layout::{RegisterType, TrfCell, TrfLayout};
pub use order::explore::ExecutionOrder;

use crate::clock::ledger::Ledger;
use crate::clock::{Channels, Clock, KernelCall, MemoryMap, Profile, Report};
use crate::command::{
    Command, ContextKind, Dma, FillId, HostBuffer, HostTransfer, Inspection, Memory, Operation, Place,
    Region, RegisterFile, TensorUnit, Use,
};
use crate::spec::{CLUSTERS, ChipKind, DM_BYTES, HBM_BYTES, MAX_CHIPS, SLICES, VRF_BYTES};
pub(crate) use allocate::AllocatedMemory;
use allocate::Allocator;
use checks::bounds::{Call, fits, in_bounds, in_memory};
use core::panic::Location;
use memory::fills::FillLog;
use memory::separate::{ENDLESS_BYTES, Separate};
use memory::{Fresh, Hbm, Unit};
use order::OrderLog;
use order::deferred::{Deferred, Late};
use order::explore::Explorer;

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
    /// How passes use the switch channels: see [`Channels`]. It changes their time only.
    pub channels: Channels,
    /// What is computed: values and time, or time only.
    pub compute: Compute,
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

impl core::fmt::Display for PaddingRule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            PaddingRule::ZeroWins => "zero_wins",
            PaddingRule::Strict => "strict",
        })
    }
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
    fills: u64,
    hbm: Vec<Hbm>,
    units: Vec<Unit>,
    hbm_log: FillLog,
    dm_log: FillLog,
    trf_log: FillLog,
    vrf_log: FillLog,
    order: OrderLog,
    /// With [`Addresses::Separate`], which bytes are whose.
    separate: Option<Separate>,
    explorer: Explorer<Deferred>,
    late: Option<Late>,
    clock: Clock,
    kernel: KernelCall,
    report_at_end: bool,
    map_at_end: bool,
    allocators: [Allocator; 2],
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
    pub fn new(options: SimOptions) -> Self {
        let mut system = Self {
            options,
            fills: 0,
            hbm: Vec::new(),
            units: Vec::new(),
            hbm_log: FillLog::default(),
            dm_log: FillLog::default(),
            trf_log: FillLog::default(),
            vrf_log: FillLog::default(),
            order: OrderLog::default(),
            separate: (options.addresses == Addresses::Separate).then(Separate::default),
            explorer: Explorer::new(options.order, options.seed),
            late: None,
            clock: Clock::new(options.profile).with_channels(options.channels),
            kernel: KernelCall::default(),
            report_at_end: false,
            map_at_end: false,
            allocators: [Allocator::of_hbm(), Allocator::of_dm()],
        };
        system.grow(options.chips.unwrap_or(1));
        system
    }

    /// The number of chips. A system without a fixed number starts with one.
    pub fn chips(&self) -> usize {
        self.hbm.len()
    }

    /// The kind of the chips.
    pub fn chip_kind(&self) -> ChipKind {
        self.options.chip_kind
    }

    /// A number for a tensor that is about to be made: 1, 2, …
    pub fn next_fill(&mut self) -> FillId {
        self.fills += 1;
        FillId(self.fills)
    }

    /// Which rules are checked.
    pub fn checks(&self) -> &CheckOptions {
        &self.options.checks
    }

    /// Executes a command.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the command breaks one of the rules that [`SimOptions::checks`] turns on, if a register
    /// file tensor does not fit, or if the engine cannot compute with the types. Memory is then as it was before.
    /// [`ExecutionOrder`] says what other orders than that of the program change about this.
    pub fn execute(&mut self, command: &Command) -> Result<(), Fault> {
        let accepted = checks::form::operation(&command.operation, command.location).and_then(|()| {
            match &command.operation {
                Operation::Dma(dma) => self.dma(dma, command.location),
                Operation::TensorUnit(unit) => self.tensor_unit(unit, command.location),
            }
        });
        if let Err(fault) = accepted {
            // The fault of an earlier command comes first.
            return self.flush().and(Err(fault));
        }
        self.clock.command(self.kernel, command);
        self.make_room()
    }

    /// Says which kernel gives the next commands. A launch is awaited: nothing of it overlaps what was given before.
    pub fn enter_kernel(&mut self, kernel: KernelCall) {
        if self.kernel != kernel {
            self.flush_quietly();
            self.kernel = kernel;
            self.order.barrier();
        }
    }

    /// Has the system print its report to the standard error stream when it ends.
    pub fn report_at_end(&mut self) {
        self.report_at_end = true;
    }

    /// Has the system print its memory map to the standard error stream when it ends.
    pub fn map_at_end(&mut self) {
        self.map_at_end = true;
    }

    /// What lies where, from which operation to which. Operations that are given later start after it.
    pub fn memory_map(&mut self) -> MemoryMap {
        let [hbm, dm] = &self.allocators;
        MemoryMap::new(self.clock.ledger(), hbm, dm, self.options.addresses)
    }

    /// Free bytes of HBM or DM for tensors, from the lowest address on.
    pub(crate) fn allocator(&mut self, memory: AllocatedMemory) -> &mut Allocator {
        &mut self.allocators[memory as usize]
    }

    /// The clock.
    pub fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// What has run so far, when, and why. Operations that are given later start after it.
    pub fn report(&mut self) -> Report {
        let SimOptions { chip_kind, profile, channels, .. } = self.options;
        let chips = self.chips();
        let Ledger { records, kernels, totals, warnings, faults } = self.clock.ledger().clone();
        let mut report =
            Report { profile, channels, chip_kind, chips, records, kernels, totals, warnings, faults };
        report.records.sort_by_key(|record| record.number);
        report
    }

    /// Writes a host array to HBM.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the tensor leaves HBM.
    ///
    /// # Panics
    ///
    /// If the array has fewer than [`HostTransfer::host_elements`] elements.
    pub fn upload(
        &mut self,
        transfer: &HostTransfer,
        buffer: &HostBuffer,
        location: &'static Location<'static>,
    ) -> Result<(), Fault> {
        let call = Call { operation: "to_hbm", location };
        self.flush()?;
        checks::form::host(transfer, true, call)?;
        checks::access::uploaded(transfer, &self.options.checks, call)?;
        self.host_transfer(&transfer.region, call)?;
        self.order.barrier();
        if self.options.compute == Compute::Values {
            let own = self.host_bytes(transfer);
            execute::upload(own.as_ref().unwrap_or(transfer), buffer, &mut self.hbm);
        }
        self.clock.upload(transfer, location);
        self.written(Place::Region(transfer.region), location);
        Ok(())
    }

    /// Reads a host array from HBM. Elements that the transfer does not reach are zero and uninitialised; those that
    /// nobody wrote read as fresh memory.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the tensor leaves HBM or was overwritten.
    pub fn download(
        &mut self,
        transfer: &HostTransfer,
        location: &'static Location<'static>,
    ) -> Result<HostBuffer, Fault> {
        let call = Call { operation: "to_host", location };
        self.flush()?;
        checks::form::host(transfer, false, call)?;
        self.host_transfer(&transfer.region, call)?;
        self.check_read(Place::Region(transfer.region), call)?;
        self.order.barrier();
        self.clock.download(transfer, location);
        let own = self.host_bytes(transfer);
        Ok(execute::download(own.as_ref().unwrap_or(transfer), &self.hbm))
    }

    /// Checks a tensor that the host waits for.
    fn host_transfer(&mut self, region: &Region, call: Call) -> Result<(), Fault> {
        in_memory(region, &[Memory::Hbm], call)?;
        if self.options.checks.alignment {
            checks::access::element_aligned(region, call)?;
        }
        self.admit(region, call)
    }

    /// Looks at a register file, past all engines. Elements that nobody wrote are zero and uninitialised.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the tensor leaves its register file or was overwritten.
    pub fn inspect(
        &mut self,
        inspection: &Inspection,
        location: &'static Location<'static>,
    ) -> Result<HostBuffer, Fault> {
        let call = Call { operation: "inspect", location };
        self.flush()?;
        checks::form::inspection(inspection, call)?;
        let place = match inspection.source {
            RegisterFile::Trf(region) => {
                fits(&region, self.options.checks.bounds, call)?;
                Place::Trf(region)
            }
            RegisterFile::Vrf(region) => {
                in_memory(&region, &[Memory::Vrf], call)?;
                if self.options.checks.bounds {
                    in_bounds(&region, self.limit(), call)?;
                }
                Place::Region(region)
            }
        };
        self.check_read(place, call)?;
        let (mut own, mut file) = (inspection.clone(), 0);
        if let Some(separate) = &mut self.separate {
            match &mut own.source {
                RegisterFile::Trf(region) => file = separate.file(region, &mut self.units),
                RegisterFile::Vrf(region) => {
                    *region = separate.region(region, &mut self.hbm, &mut self.units);
                }
            }
        }
        Ok(execute::inspect(&own, file, &self.units))
    }

    /// A host transfer at a tensor's own bytes, where it has some.
    fn host_bytes(&mut self, transfer: &HostTransfer) -> Option<HostTransfer> {
        let separate = self.separate.as_mut()?;
        let region = separate.region(&transfer.region, &mut self.hbm, &mut self.units);
        Some(HostTransfer { region, ..transfer.clone() })
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

    /// Checks the bounds of a tensor and makes its chips.
    fn admit(&mut self, region: &Region, call: Call) -> Result<(), Fault> {
        if self.options.checks.bounds {
            in_bounds(region, self.limit(), call)?;
        }
        self.grow(region.footprint.chips);
        Ok(())
    }

    fn check_read(&self, place: Place, call: Call) -> Result<(), Fault> {
        if !self.options.checks.stale_reads || self.separate.is_some() {
            return Ok(());
        }
        let log = match &place {
            Place::Trf(_) => &self.trf_log,
            Place::Region(region) => match region.memory {
                Memory::Hbm => &self.hbm_log,
                Memory::Dm => &self.dm_log,
                Memory::Vrf => &self.vrf_log,
            },
        };
        log.check_read(&place, call.operation, call.location)
    }

    fn written(&mut self, place: Place, location: &'static Location<'static>) {
        if !self.options.checks.stale_reads || self.separate.is_some() {
            return;
        }
        let log = match &place {
            Place::Trf(_) => &mut self.trf_log,
            Place::Region(region) => match region.memory {
                Memory::Hbm => &mut self.hbm_log,
                Memory::Dm => &mut self.dm_log,
                Memory::Vrf => &mut self.vrf_log,
            },
        };
        log.record(place, location);
    }

    /// Checks the order between contexts, and notes the operation. It is the last check.
    fn in_order(
        &mut self,
        context: ContextKind,
        uses: impl IntoIterator<Item = Use>,
        location: &'static Location<'static>,
    ) -> Result<(), Fault> {
        let checks = &self.options.checks;
        if (checks.order || checks.register_reuse) && self.separate.is_none() {
            let admitted = self.order.admit(context, uses, checks, location)?;
            self.order.record(admitted);
        }
        Ok(())
    }

    fn dma(&mut self, dma: &Dma, location: &'static Location<'static>) -> Result<(), Fault> {
        let call = Call { operation: "DMA", location };
        for region in [&dma.source, &dma.destination] {
            in_memory(region, &[Memory::Hbm, Memory::Dm], call)?;
        }
        self.admit(&dma.source, call)?;
        self.admit(&dma.destination, call)?;
        self.check_read(Place::Region(dma.source), call)?;
        checks::access::dma(dma, &self.options.checks, call)?;
        let (context, uses) = (dma.context(), [dma.reads(), dma.writes()]);
        self.in_order(context, uses, location)?;
        match self.options.compute {
            Compute::Values if self.explorer.defers() => {
                self.defer(context, uses, Operation::Dma(Box::new(dma.clone())), location);
            }
            Compute::Values => self.transfer(dma),
            Compute::ShapesOnly => {}
        }
        self.written(Place::Region(dma.destination), location);
        Ok(())
    }

    fn tensor_unit(&mut self, unit: &TensorUnit, location: &'static Location<'static>) -> Result<(), Fault> {
        let checks = self.options.checks;
        checks::bounds::tensor_unit(unit, self.options.chip_kind, self.limit(), &checks, location)?;
        checks::access::tensor_unit(unit, &checks, location)?;
        if self.options.checks.overwrites {
            checks::overwrite::check(unit, self.separate.is_some(), location)?;
        }
        for read in unit.reads() {
            self.check_read(read.place, Call { operation: read.operation, location })?;
        }
        self.grow(unit.chips());
        let values = self.options.compute == Compute::Values;
        let now = values && !self.explorer.defers();
        let pass = if now { Some(self.pass(unit, location)?) } else { None };
        let written = unit.writes();
        let uses: Vec<Use> = unit.reads().chain([written]).collect();
        let context = unit.context();
        self.in_order(context, uses.iter().copied(), location)?;
        match pass {
            Some(pass) => pass.run(&mut self.units),
            None if values => {
                self.defer(context, uses, Operation::TensorUnit(Box::new(unit.clone())), location)
            }
            None => {}
        }
        self.written(written.place, location);
        Ok(())
    }
}

impl Drop for System {
    fn drop(&mut self) {
        if self.report_at_end {
            eprintln!("{}", self.report());
        }
        if self.map_at_end {
            eprintln!("{}", self.memory_map());
        }
        self.clock.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Footprint, Step, Transfer, TransferLoop};
    use crate::mapping::Guard;
    use crate::scalar::ElementType;

    fn region(memory: Memory, fill: FillId, address: u64, elements: usize) -> Region {
        let (clusters, slices) = if memory == Memory::Dm { (2, 256) } else { (1, 1) };
        let element = ElementType::I16;
        let footprint = Footprint { element, chips: 1, clusters, slices, elements, guard: Guard::always(4) };
        Region { memory, address, fill, footprint }
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
        assert_eq!((a, b, c), (FillId(1), FillId(2), FillId(3)));
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
