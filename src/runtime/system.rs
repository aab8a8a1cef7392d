//! A simulated system: chips that do what commands say, and a clock that tells when.
//!
//! ```text
//!   Command ──▶ Chips::execute ── Fault: nothing was done
//!                   └──▶ Clock::command ──▶ records ──▶ Report, MemoryMap, observers
//! ```

use crate::chip::{
    Addresses, CheckOptions, ChipOptions, Chips, Compute, ComputePath, Fault, FreshMemory, PaddingRule,
    SdkNote,
};
use crate::clock::{
    Allocations, Channels, Clock, CommandClock, KernelCall, MemoryMap, Model, Numbers, Profile, Report,
};
use crate::command::{Command, FillId, HostBuffer, HostTransfer, Inspection, Region, TensorUnit, Transfer};
use crate::spec::ChipKind;
use core::panic::Location;

/// The way in which tensors at [`AUTO`](super::AUTO) find free bytes inside of a launch.
///
/// It concerns DM, the VRF and parts of the TRF that the program does not name. In HBM, and outside of launches, bytes are
/// held by handles.
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// use furiosa_visa_std::runtime::Placement;
/// axes![A = 256, B = 65536];
/// type X = HbmTensor<i32, m![1], m![A, B]>;
///
/// /// Four tensors of half of DM, one after the other.
/// #[device(chip = 1)]
/// fn four(ctx: &mut Context, x: &X) -> X {
///     let on_chip = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, AUTO);
///     let x: X = on_chip.to_hbm(&mut ctx.tdma, AUTO);
///     let on_chip = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, AUTO); // nobody reads the first one any more
///     let x: X = on_chip.to_hbm(&mut ctx.tdma, AUTO);
///     let on_chip = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, AUTO);
///     on_chip.to_hbm(&mut ctx.tdma, AUTO)
/// }
/// # let run = |placement| pollster::block_on(async {
/// #     let compute = furiosa_visa_std::chip::Compute::ShapesOnly;
/// #     let mut ctx = Context::with(SimOptions { placement, compute, ..SimOptions::default() });
/// #     let x = HostTensor::<i32, m![A, B]>::zero();
/// #     let x: X = x.to_hbm(&mut ctx.pdma, AUTO).await;
/// #     try_launch(four, (&mut *ctx, &x)).await.is_ok()
/// # });
/// assert!(run(Placement::Liveness) && !run(Placement::Handles));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// A handle holds the bytes of its tensor until it ends. They are found at the call that makes the tensor.
    #[default]
    Handles,
    /// A tensor has its bytes from its first command to its last one. They are found when the kernel has ended: its
    /// commands wait until then, and take effect in their order. A report, a look at a tensor, a transfer of the
    /// host or another launch in the middle of the kernel has the commands before it executed; tensors whose handles live
    /// then keep their bytes.
    ///
    /// The address of a handle is a name that no memory has. Values, faults and reports are those of
    /// [`Placement::Handles`], at other addresses.
    Liveness,
}

/// A simulated system: its chips, the rules that are checked, and the model of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimOptions {
    /// The number of chips, 1 to 8. `None`: as many as the program uses.
    pub chips: Option<usize>,
    /// The kind of the chips. RNGD unless said otherwise.
    pub chip_kind: ChipKind,
    /// The rules that are checked.
    pub checks: CheckOptions,
    /// The products of padding that the check `padding` takes to be zero.
    pub padding: PaddingRule,
    /// The model of time.
    pub profile: Profile,
    /// Numbers of the detailed profile that are not documented: see [`Numbers`].
    pub numbers: Numbers,
    /// The switch channels that passes use: see [`Channels`]. They change their time only.
    pub channels: Channels,
    /// The results of a simulation: values and time, or time only.
    pub compute: Compute,
    /// The instructions of the host that are used. `None`: the fastest that it has. Results do not depend on it.
    pub path: Option<ComputePath>,
    /// The addresses of tensors: those of the program, or bytes of its own for each.
    pub addresses: Addresses,
    /// The way in which tensors whose place does not matter find free bytes: see [`Placement`].
    pub placement: Placement,
    /// The value that an unwritten element reads as.
    pub fresh_memory: FreshMemory,
    /// Selects the values of [`FreshMemory::Random`].
    pub seed: u64,
}

impl SimOptions {
    /// The options of the chips.
    pub fn chip(&self) -> ChipOptions {
        let Self { chips, chip_kind, checks, padding, compute, path, addresses, fresh_memory, seed, .. } =
            *self;
        ChipOptions { chips, chip_kind, checks, padding, compute, path, addresses, fresh_memory, seed }
    }

    /// The times of single commands.
    pub(crate) fn times(&self) -> CommandClock {
        let model = Model { profile: self.profile, numbers: self.numbers };
        CommandClock::new(model).with_channels(self.channels)
    }
}

/// A simulated system of chips. Fresh memory is uninitialised and reads as [`SimOptions::fresh_memory`] says.
pub struct System {
    options: SimOptions,
    chips: Chips,
    clock: Clock,
    kernel: KernelCall,
    /// The first note that is not told yet.
    untold: usize,
    /// Commands that are kept for a test.
    kept: Option<Vec<Command>>,
}

impl core::fmt::Debug for System {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("System").field("chips", &self.chips).finish_non_exhaustive()
    }
}

impl System {
    /// A fresh system.
    ///
    /// # Panics
    /// If this machine does not have the instructions that `path` asks for.
    #[track_caller]
    pub fn new(options: SimOptions) -> Self {
        Self {
            options,
            chips: Chips::new(options.chip()),
            clock: Clock::new(options.profile).with_numbers(options.numbers).with_channels(options.channels),
            kernel: KernelCall::default(),
            untold: 0,
            kept: None,
        }
    }

    /// The number of chips. A system without a fixed number starts with one.
    pub fn chips(&self) -> usize {
        self.chips.count()
    }

    /// The number of chips that the options fix.
    pub(crate) fn computes(&self) -> bool {
        self.options.compute == Compute::Values
    }

    pub(crate) fn fixed_chips(&self) -> Option<usize> {
        self.options.chips
    }

    /// The addresses of tensors: those of the program, or bytes of its own for each.
    pub(crate) fn addresses(&self) -> Addresses {
        self.options.addresses
    }

    /// The kind of the chips.
    pub fn chip_kind(&self) -> ChipKind {
        self.options.chip_kind
    }

    /// A number that no other system of the process has: 1, 2, …
    pub(crate) fn number(&self) -> u64 {
        self.chips.number()
    }

    /// A name for a tensor of this system that is about to be made. Other systems refuse it.
    pub fn next_fill(&mut self) -> FillId {
        self.chips.next_fill()
    }

    /// The rules that are checked.
    pub fn checks(&self) -> &CheckOptions {
        &self.options.checks
    }

    /// Says which kernel gives the next commands. A launch is awaited: nothing of it overlaps what was given before.
    pub fn enter_kernel(&mut self, kernel: KernelCall) {
        if self.kernel != kernel {
            self.chips.barrier();
            self.clock.part("");
            self.kernel = kernel;
        }
    }

    /// Executes a command.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the command breaks one of the rules that [`SimOptions::checks`] turns on, if a register file tensor does
    /// not fit, or if the engine cannot compute with the types. Memory is then as it was before.
    pub fn execute(&mut self, command: &Command) -> Result<(), Fault> {
        let executed = self.chips.execute(command)?;
        self.clock.command(self.kernel, &executed);
        if let Some(kept) = &mut self.kept {
            kept.push(command.clone());
        }
        Ok(())
    }

    /// Keeps the commands that are given from now on, and returns those that were kept: for tests that give them again.
    #[doc(hidden)]
    pub fn keep_commands(&mut self) -> Vec<Command> {
        self.kept.replace(Vec::new()).unwrap_or_default()
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
        self.chips.upload(transfer, buffer, location)?;
        self.clock.upload(transfer, location);
        Ok(())
    }

    /// Reads a host array from HBM. Elements that the transfer does not reach are zero and uninitialised; unwritten ones
    /// read as fresh memory. If time alone is computed, all are zero and uninitialised.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the tensor leaves HBM or was overwritten.
    pub fn download(
        &mut self,
        transfer: &HostTransfer,
        location: &'static Location<'static>,
    ) -> Result<HostBuffer, Fault> {
        let buffer = self.chips.download(transfer, location)?;
        self.clock.download(transfer, location);
        Ok(buffer)
    }

    /// Begins a tensor without a written element, whatever its bytes held. It takes no time.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the tensor leaves its memory.
    pub(crate) fn begin_tensor(
        &mut self,
        region: &Region,
        operation: &'static str,
        location: &'static Location<'static>,
    ) -> Result<(), Fault> {
        self.chips.begin_tensor(region, operation, location)
    }

    /// Looks at a tensor, past all engines. Unwritten elements are zero and uninitialised.
    ///
    /// # Errors
    ///
    /// A [`Fault`] if the tensor leaves its memory or was overwritten.
    pub fn inspect(
        &mut self,
        inspection: &Inspection,
        location: &'static Location<'static>,
    ) -> Result<HostBuffer, Fault> {
        self.chips.inspect(inspection, location)
    }

    /// Looks at the packets that a pass would commit: see [`Chips::inspect_stream`].
    pub(crate) fn inspect_stream(
        &mut self,
        unit: &TensorUnit,
        (transfer, host_elements): (&Transfer, usize),
        location: &'static Location<'static>,
    ) -> Result<HostBuffer, Fault> {
        self.chips.inspect_stream(unit, transfer, host_elements, location)
    }

    /// The tensors in each memory, and the operations from which to which they live. Operations that are given later start
    /// after it.
    pub fn memory_map(&mut self) -> MemoryMap {
        self.memory_map_with([Allocations::default(); 3])
    }

    /// The same, with the allocations of the program in HBM and in DM.
    pub(crate) fn memory_map_with(&mut self, allocations: [Allocations<'_>; 3]) -> MemoryMap {
        MemoryMap::new(self.clock.ledger(), allocations, self.options.addresses)
    }

    /// The clock.
    pub fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// The operations so far, their times, and the causes. Operations that are given later start after it.
    pub fn report(&mut self) -> Report {
        let chips = self.chips();
        Report::of(&mut self.clock, self.options.chip_kind, chips, self.chips.notes())
    }

    /// The notes since the last time that somebody asked.
    pub(crate) fn untold_notes(&mut self) -> Vec<SdkNote> {
        let notes = &self.chips.notes()[self.untold..];
        self.untold += notes.len();
        notes.to_vec()
    }

    /// Entries that are kept of the operations so far.
    #[cfg(test)]
    pub(crate) fn kept(&mut self) -> Kept {
        let crate::chip::Kept { accesses, writes, fillings } = self.chips.kept();
        let (_, pieces) = self.clock.waiting();
        let ledger = self.clock.ledger();
        let (records, repeats, touches) = (ledger.records.len(), ledger.repeats.len(), ledger.touches.len());
        let commands = ledger.commands;
        Kept { accesses, writes, fillings, pieces, records, repeats, touches, commands }
    }

    /// Ends the files of observers. No operation may be given later.
    pub(crate) fn finish(&mut self) {
        // Only observers of all operations get hints.
        let hints = if self.clock.is_observed() { self.report().hints() } else { Vec::new() };
        self.clock.finish(self.chips.count(), self.chips.notes(), &hints);
    }
}

impl Drop for System {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Numbers of entries that a system keeps.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::FaultKind;
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
        assert_eq!(format!("{system:?}"), "System { chips: Chips { count: 1, fills: 3, .. }, .. }");

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
