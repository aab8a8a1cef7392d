//! The clock of a system: takes commands as they are given, and tells when each ran.

use super::contention::BankLoad;
use super::cost::{Cost, Profile};
use super::dma_timing::{DmaClock, dma_timing};
use super::hazards::{Access, OperationNumber};
use super::ledger::{KernelCall, Ledger};
use super::record::{Amount, Given, Observer, Products, Timing, UsedSlices};
use super::schedule::{Resource, Resources, Schedule, Work};
use super::tensor_unit::tensor_unit_time;
use crate::chip::live::{LiveRows, Liveness};
use crate::chip::names::{ContextKind, MemoryKind};
use crate::chip::spec::{CLUSTERS, MAC_BYTES, SLICES};
use crate::command::{
    Command, Contraction, Dma, Footprint, HostTransfer, Memory, Operation, Region, Sink, TensorUnit,
};
use core::panic::Location;
use std::collections::VecDeque;
use std::sync::Arc;

/// Commands that are kept before their time is looked at: a program that asks for no report does not pay for it.
const BACKLOG: usize = 512;

/// Footprints whose slices are remembered.
const REMEMBERED: usize = 8;

/// A command, or a transfer that the host makes, as it was given.
#[derive(Clone, Debug)]
enum Order {
    Command(Command),
    Upload(Box<HostTransfer>, &'static Location<'static>),
    Download(Box<HostTransfer>, &'static Location<'static>),
}

/// The clock of a system.
pub struct Clock {
    profile: Profile,
    backlog: VecDeque<(KernelCall, Order)>,
    kernel: KernelCall,
    schedule: Schedule,
    given: VecDeque<(OperationNumber, Option<Given>)>,
    slices: VecDeque<(Footprint, Arc<UsedSlices>)>,
    dma: DmaClock,
    ledger: Ledger,
    observers: Vec<Box<dyn Observer>>,
}

impl core::fmt::Debug for Clock {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Clock")
            .field("profile", &self.profile)
            .field("now", &self.schedule.now())
            .finish_non_exhaustive()
    }
}

impl Clock {
    /// A clock at cycle 0.
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            backlog: VecDeque::new(),
            kernel: KernelCall::default(),
            schedule: Schedule::new(),
            given: VecDeque::new(),
            slices: VecDeque::new(),
            dma: DmaClock::new(profile),
            ledger: Ledger::default(),
            observers: Vec::new(),
        }
    }

    /// Which model it uses.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Has an observer see all operations that end from now on.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observers.push(observer);
    }

    /// A command of a kernel.
    pub fn command(&mut self, kernel: KernelCall, command: &Command) {
        self.order(kernel, Order::Command(command.clone()));
    }

    /// A transfer from the host.
    pub fn upload(&mut self, transfer: &HostTransfer, location: &'static Location<'static>) {
        self.order(KernelCall::default(), Order::Upload(Box::new(transfer.clone()), location));
    }

    /// A transfer to the host.
    pub fn download(&mut self, transfer: &HostTransfer, location: &'static Location<'static>) {
        self.order(KernelCall::default(), Order::Download(Box::new(transfer.clone()), location));
    }

    fn order(&mut self, kernel: KernelCall, order: Order) {
        self.backlog.push_back((kernel, order));
        if self.backlog.len() >= BACKLOG {
            self.work_off();
        }
    }

    /// Decides when everything that was given ran. Later operations start after it.
    pub fn settle(&mut self) {
        self.work_off();
        self.run_out();
    }

    /// What has run so far. Later operations start after it.
    pub fn ledger(&mut self) -> &Ledger {
        self.settle();
        &self.ledger
    }

    /// Operations that wait for their time to be decided, and pieces of memory that hazards keep.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.backlog.len() + self.given.len(), self.schedule.pieces())
    }

    /// Settles, and tells the observers that nothing follows.
    pub fn finish(&mut self) {
        self.settle();
        self.observers.iter_mut().for_each(|observer| observer.finish());
    }

    fn run_out(&mut self) {
        while self.advance() {}
    }

    fn work_off(&mut self) {
        while let Some((kernel, order)) = self.backlog.pop_front() {
            // A launch is awaited, and so is a transfer of the host: nothing overlaps their ends.
            let awaited = !matches!(order, Order::Command(_));
            if kernel != self.kernel || awaited {
                self.run_out();
                self.kernel = kernel;
            }
            while self.schedule.is_full() && self.advance() {}
            let (given, resources, load) = match order {
                Order::Command(Command { operation: Operation::TensorUnit(unit), location }) => {
                    self.tensor_unit(kernel, &unit, location)
                }
                Order::Command(Command { operation: Operation::Dma(dma), location }) => {
                    self.dma(kernel, &dma, location)
                }
                Order::Upload(transfer, location) => self.host(&transfer, location, true),
                Order::Download(transfer, location) => self.host(&transfer, location, false),
            };
            let accesses = given.accesses.clone();
            let (context, cycles) = (given.context, given.timing.cycles().max(load.cycles()));
            let work = Work { context, resources, accesses, cycles, load: Arc::new(load) };
            let number = self.schedule.add(work);
            self.given.push_back((number, Some(given)));
            if awaited {
                self.run_out();
            }
        }
    }

    /// Ends the next operation. Whether there was one.
    fn advance(&mut self) -> bool {
        let Some(scheduled) = self.schedule.advance() else { return false };
        self.ledger.met(scheduled.number, &scheduled.met);
        let first = self.given.front().expect("it was given").0;
        let slot = &mut self.given[(scheduled.number - first) as usize];
        let record = slot.1.take().expect("it ends once").at(scheduled);
        while self.given.front().is_some_and(|(_, given)| given.is_none()) {
            self.given.pop_front();
        }
        self.ledger.add(&record);
        self.observers.iter_mut().for_each(|observer| observer.ended(&record));
        true
    }

    /// The slices with a live element.
    fn slices_of(&mut self, footprint: &Footprint) -> Arc<UsedSlices> {
        if let Some((_, known)) = self.slices.iter().find(|(known, _)| known == footprint) {
            return known.clone();
        }
        let used = Arc::new(live_slices(footprint));
        self.slices.push_front((*footprint, used.clone()));
        self.slices.truncate(REMEMBERED);
        used
    }

    fn tensor_unit(
        &mut self,
        kernel: KernelCall,
        unit: &TensorUnit,
        location: &'static Location<'static>,
    ) -> (Given, Resources, BankLoad) {
        let time = tensor_unit_time(unit, self.profile);
        let load = BankLoad::of_pass(unit, time.begin());
        let own = if unit.sub_context { ContextKind::Sub } else { ContextKind::Main };
        let mut resources = Resources::of(own);
        // The main context holds the engines in any case: only the sub context works beside it.
        if !unit.sub_context || unit.contraction.is_some() {
            resources = resources.with(Resource::Compute);
        }
        if load.holds_dma() {
            resources = resources.with(Resource::Context(ContextKind::TensorDma));
        }
        // The book profile keeps operations apart that may not meet, and lets the others run as if they were alone.
        let load = if self.profile == Profile::Book { BankLoad::Nothing } else { load };
        let fetch = &unit.fetch;
        let slices = self.slices_of(&fetch.source.footprint);
        let mut accesses = vec![Access::region(&fetch.source, false)];
        accesses.extend(fetch.interleave.iter().map(|other| Access::region(&other.source, false)));
        accesses.extend(unit.contraction.iter().map(|own| Access::trf(&own.trf, false)));
        let written = match &unit.sink {
            Sink::Commit { destination, config, .. } => {
                accesses.push(Access::region(destination, true));
                bits(config.positions(), destination)
            }
            Sink::Vrf { destination, .. } => {
                accesses.push(Access::region(destination, true));
                bits(destination.footprint.elements, destination)
            }
            Sink::Trf { destination, .. } => {
                accesses.push(Access::trf(destination, true));
                (destination.rows * destination.row_elements * destination.element.bits()) as u64
            }
        };
        let count = slices.len() as u64;
        let amount = Amount {
            read_bytes: bits(fetch.time * fetch.packet, &fetch.source) / 8 * count,
            written_bytes: written / 8 * count,
            products: unit.contraction.as_ref().map(|contraction| products(contraction, count)),
            slices,
        };
        let operation = match &unit.sink {
            Sink::Commit { .. } => "commit",
            Sink::Trf { .. } if unit.sub_context && unit.is_sto_trf() => "to_trf (StoTRF)",
            Sink::Trf { .. } => "to_trf",
            Sink::Vrf { .. } => "to_vrf",
        };
        let memories = (
            Some(MemoryKind::Dm),
            Some(match &unit.sink {
                Sink::Commit { .. } => MemoryKind::Dm,
                Sink::Trf { .. } => MemoryKind::Trf,
                Sink::Vrf { .. } => MemoryKind::Vrf,
            }),
        );
        let configuration = describe(unit).into();
        let timing = Timing::TensorUnit(time);
        (
            Given {
                kernel,
                operation,
                context: own,
                location,
                timing,
                amount,
                memories,
                accesses,
                configuration,
            },
            resources,
            load,
        )
    }

    fn dma(
        &mut self,
        kernel: KernelCall,
        dma: &Dma,
        location: &'static Location<'static>,
    ) -> (Given, Resources, BankLoad) {
        let (time, configuration, operation) = dma_timing(dma, &mut self.dma);
        let load = match operation {
            Some(operation) if self.profile == Profile::Detailed => BankLoad::of_dma(operation, time.cycles),
            _ => BankLoad::Nothing,
        };
        let in_dm = [&dma.source, &dma.destination].into_iter().find(|region| region.memory == Memory::Dm);
        let slices = in_dm.map(|region| self.slices_of(&region.footprint)).unwrap_or_default();
        let amount = Amount { read_bytes: time.bytes(), written_bytes: time.bytes(), slices, products: None };
        let operation = if dma.destination.memory == Memory::Hbm { "to_hbm" } else { "to_dm" };
        let accesses = vec![Access::region(&dma.source, false), Access::region(&dma.destination, true)];
        let memories = (Some(accesses[0].memory), Some(accesses[1].memory));
        let (context, configuration) = (ContextKind::TensorDma, configuration.into());
        let timing = Timing::Dma(time);
        (
            Given { kernel, operation, context, location, timing, amount, memories, accesses, configuration },
            Resources::of(context),
            load,
        )
    }

    fn host(
        &mut self,
        transfer: &HostTransfer,
        location: &'static Location<'static>,
        upload: bool,
    ) -> (Given, Resources, BankLoad) {
        let bytes = bits(transfer.host_elements, &transfer.region).div_ceil(8);
        let cycles = super::dma::host_cycles(transfer);
        let timing = Timing::Host(Cost::assumed(cycles, "500 + bytes / 30, spec 70 §10"));
        let (operation, read_bytes, written_bytes) =
            if upload { ("upload", 0, bytes) } else { ("to_host", bytes, 0) };
        let amount = Amount { read_bytes, written_bytes, ..Amount::default() };
        let accesses = vec![Access::region(&transfer.region, upload)];
        let memories = if upload { (None, Some(MemoryKind::Hbm)) } else { (Some(MemoryKind::Hbm), None) };
        let (context, configuration) = (ContextKind::PcieDma, format!("{bytes} bytes").into());
        (
            Given {
                kernel: KernelCall::default(),
                operation,
                context,
                location,
                timing,
                amount,
                memories,
                accesses,
                configuration,
            },
            Resources::of(context),
            BankLoad::Nothing,
        )
    }
}

fn bits(elements: usize, region: &Region) -> u64 {
    (elements * region.footprint.element.bits()) as u64
}

fn products(contraction: &Contraction, slices: u64) -> Products {
    let element = contraction.trf.element;
    let lanes = MAC_BYTES * 8 / element.bits();
    let count = (contraction.steps * contraction.trf.rows * lanes) as u64 * slices;
    Products { count, rows: contraction.trf.rows, element }
}

fn live_slices(footprint: &Footprint) -> UsedSlices {
    let mut used = UsedSlices::default();
    let rows = LiveRows::new(&footprint.guard, 3, footprint.elements);
    let mut mask = Vec::new();
    for chip in 0..footprint.chips {
        for cluster in 0..footprint.clusters {
            for slice in 0..footprint.slices {
                if rows.row(&mut [chip, cluster, slice, 0], &mut mask) != Liveness::Nothing {
                    used.insert((chip * CLUSTERS + cluster) * SLICES + slice);
                }
            }
        }
    }
    used
}

/// What the engines of a pass are told, in the manual's words.
fn describe(unit: &TensorUnit) -> String {
    use core::fmt::Write;
    let fetch = &unit.fetch;
    let (stored, streamed) = (fetch.source.footprint.element, fetch.output);
    let mut text = format!("fetch {} of {stored}", fetch.config);
    let mut add = |part: core::fmt::Arguments<'_>| text.write_fmt(part).expect("a string takes all");
    if stored != streamed {
        add(format_args!(" as {streamed}"));
    }
    add(format_args!(", fetch_size {} B", fetch.fetch_size));
    if let Some(mask) = &fetch.mask {
        add(format_args!(", mask {mask}"));
    }
    if let Some(collect) = &unit.collect {
        add(format_args!("; collect {} flits per packet", collect.flits));
    }
    if let Some(own) = &unit.contraction {
        let (rows, depth) = (own.trf.rows, own.depth);
        add(format_args!("; align {} flits, each packet {} times", own.collect_flits, own.tile));
        add(format_args!(", TRF {} (bytes) in {rows} rows", own.trf_config));
        add(format_args!("; contract {} packets, tree depth {depth}", own.steps));
        add(format_args!("; accumulate {} slots, {}", own.slot_count, own.kind));
    }
    if let Some(cast) = &unit.cast {
        add(format_args!("; cast {} to {}", cast.input, cast.output));
    }
    match &unit.sink {
        Sink::Commit { config, commit_size, .. } => {
            add(format_args!("; commit {config}, commit_size {commit_size} B"));
        }
        Sink::Trf { destination, .. } => add(format_args!("; to_trf {}", destination.address)),
        Sink::Vrf { destination, .. } => add(format_args!("; to_vrf at {}", destination.address)),
    }
    text
}
