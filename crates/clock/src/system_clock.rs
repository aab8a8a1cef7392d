//! The clock of a system: takes commands as they are given, and gives the time in which each ran.

mod before;

use super::bound::KernelBounds;
use super::command_time::{Alone, CommandClock};
use super::cost::{Channels, Cost, Profile};
use super::dma::host_cycles;
use super::dma_timing::TimedMove;
use super::hazards::{Access, OperationNumber};
use super::hint::Hint;
use super::ledger::{KernelCall, Ledger};
use super::numbers::{Model, Numbers};
use super::parts::PartNumber;
use super::record::{
    Amount, ContractionUse, Observer, PassUse, Products, Record, Timing, UsedSlices, VectorUse,
};
use super::schedule::{Resources, Schedule, Work};
use super::tensor_unit::{fetch_access_bytes, table_cycles_of};
use super::unit_copy;
use core::ops::Range;
use core::panic::Location;
use furiosa_visa_rules::command::moves::Side;
use furiosa_visa_rules::command::{
    AccumulationKind, Command, ContextKind, Contraction, Dma, Fetch, Footprint, HostTransfer, IndexedDma,
    Memory, MemoryKind, Memset, Operation, Region, SdkNote, Sink, Switch, SwitchVariant, TensorUnit,
    UnitCopy,
};
use furiosa_visa_rules::mapping::guard::rows::{LiveRows, Liveness, depends_on, split_units};
use furiosa_visa_rules::sequencer::Entry;
use furiosa_visa_rules::spec::{CLUSTERS, FLIT_BYTES, SLICES};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of commands that wait before their time is computed: a program that asks for no report does not pay
/// for it.
const BACKLOG: usize = 512;

/// Number of tensors and tiles whose slices are remembered.
const REMEMBERED: usize = 8;

/// A command, or a transfer that the host makes, as it was given.
#[derive(Clone, Debug)]
enum Order {
    Command(Operation),
    Upload(Box<HostTransfer>),
    Download(Box<HostTransfer>),
}

/// The clock of a system.
pub struct Clock {
    /// Times of single commands.
    times: CommandClock,
    /// Bytes of HBM that the kernel has stored since both clusters met.
    stored: Vec<Range<u64>>,
    backlog: VecDeque<((KernelCall, PartNumber), &'static Location<'static>, Order)>,
    /// The part of the program that gives the next commands.
    part: PartNumber,
    kernel: KernelCall,
    /// First cycle in which an operation of the kernel may start.
    kernel_start: u64,
    schedule: Schedule,
    given: VecDeque<(OperationNumber, Option<Record>)>,
    slices: VecDeque<((Footprint, [usize; 3]), Arc<UsedSlices>)>,
    ledger: Ledger,
    /// Bounds on the cycles of the last kernel with a command, and whether commands were added that the ledger has not
    /// got yet.
    bounds: (KernelBounds, bool),
    observers: Vec<Box<dyn Observer>>,
}

impl core::fmt::Debug for Clock {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Clock")
            .field("profile", &self.profile())
            .field("now", &self.schedule.now())
            .finish_non_exhaustive()
    }
}

impl Clock {
    /// A clock at cycle 0.
    pub fn new(profile: Profile) -> Self {
        Self {
            times: CommandClock::new(Model::new(profile)),
            stored: Vec::new(),
            backlog: VecDeque::new(),
            part: 0,
            kernel: KernelCall::default(),
            kernel_start: 0,
            schedule: Schedule::new(),
            given: VecDeque::new(),
            slices: VecDeque::new(),
            ledger: Ledger::new(profile),
            bounds: (KernelBounds::default(), false),
            observers: Vec::new(),
        }
    }

    /// The same clock with other numbers.
    #[must_use]
    pub fn with_numbers(self, numbers: Numbers) -> Self {
        let times = CommandClock::new(Model { numbers, ..self.model() });
        Self { times: times.with_channels(self.channels()), ..self }
    }

    /// The same clock with other switch channels.
    #[must_use]
    pub fn with_channels(self, channels: Channels) -> Self {
        Self { times: self.times.with_channels(channels), ..self }
    }

    /// A clock at cycle 0 that knows transfers which were timed before.
    pub fn of_times(times: CommandClock) -> Self {
        Self { times, ..Self::new(Profile::default()) }
    }

    /// The model of time.
    pub fn model(&self) -> Model {
        self.times.model()
    }

    /// The switch channels that passes use.
    pub fn channels(&self) -> Channels {
        self.times.channels()
    }

    /// Its profile.
    pub fn profile(&self) -> Profile {
        self.model().profile
    }

    /// Adds an observer, which sees all operations that end from now on.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observers.push(observer);
    }

    /// Says which part of the program gives the next commands: sums over each part are kept. Empty: none.
    pub fn part(&mut self, name: &str) {
        self.part = self.ledger.parts.number(name);
    }

    /// Takes a command of a kernel.
    pub fn command(&mut self, kernel: KernelCall, command: &Command) {
        self.order(kernel, command.location, Order::Command(command.operation.clone()));
    }

    /// Takes a transfer from the host.
    pub fn upload(&mut self, transfer: &HostTransfer, location: &'static Location<'static>) {
        self.order(KernelCall::default(), location, Order::Upload(Box::new(transfer.clone())));
    }

    /// Takes a transfer to the host.
    pub fn download(&mut self, transfer: &HostTransfer, location: &'static Location<'static>) {
        self.order(KernelCall::default(), location, Order::Download(Box::new(transfer.clone())));
    }

    fn order(&mut self, kernel: KernelCall, location: &'static Location<'static>, order: Order) {
        self.backlog.push_back(((kernel, self.part), location, order));
        if self.backlog.len() >= BACKLOG {
            self.work_off();
        }
    }

    /// Decides the times of all given operations. Later operations start after them.
    pub fn settle(&mut self) {
        self.work_off();
        self.run_out();
    }

    /// The operations that have run so far, and sums over them. Later operations start after them.
    pub fn ledger(&mut self) -> &Ledger {
        self.settle();
        self.bound_kernel();
        &self.ledger
    }

    /// Number of operations that wait for their time to be decided, and of pieces of memory that hazards keep.
    pub fn waiting(&self) -> (usize, usize) {
        (self.backlog.len() + self.given.len(), self.schedule.pieces())
    }

    /// Cycles of the running launch so far. They decide nothing: see [`Schedule::outlook`].
    pub fn launch_cycles(&mut self) -> u64 {
        self.work_off();
        self.schedule.outlook() - self.kernel_start
    }

    /// Tells if an observer sees operations as they end.
    pub fn is_observed(&self) -> bool {
        !self.observers.is_empty()
    }

    /// Records that the program is interrupted.
    pub fn interrupt(&mut self) {
        self.ledger.interrupted = true;
    }

    /// Settles, and tells the observers that nothing follows. The ledger gets the number of chips and the notes of the run,
    /// the observers get the hints of a report.
    pub fn finish(&mut self, chips: usize, notes: &[SdkNote], hints: &[Hint]) {
        self.settle();
        self.bound_kernel();
        self.ledger.chips = chips;
        self.ledger.notes = notes.to_vec();
        let ledger = &self.ledger;
        self.observers.iter_mut().for_each(|observer| observer.finish(ledger, hints));
    }

    fn run_out(&mut self) {
        while self.advance() {}
    }

    fn work_off(&mut self) {
        while let Some(((kernel, part), location, order)) = self.backlog.pop_front() {
            // A launch is awaited, and so is a transfer of the host: nothing overlaps their ends.
            let awaited = !matches!(order, Order::Command(_));
            if kernel != self.kernel || awaited {
                self.run_out();
                self.kernel_start = self.schedule.now();
                self.kernel = kernel;
                self.stored.clear();
            }
            while self.schedule.is_full() && self.advance() {}
            let given = Record::given((kernel, part), location);
            if let Order::Command(Operation::TensorUnit(unit)) = &order
                && let Some(switch) = unit.switch.as_ref().filter(|switch| switch.loads_bitmap())
            {
                let bitmap = self.bitmap(unit, switch, given.clone());
                self.give(bitmap);
            }
            let given = match order {
                Order::Command(Operation::TensorUnit(unit)) => self.tensor_unit(&unit, given),
                Order::Command(Operation::Dma(dma)) => self.dma(&dma, given),
                Order::Command(Operation::UnitCopy(copy)) => self.unit_copy(&copy, given),
                Order::Command(Operation::Indexed(indexed)) => self.indexed(&indexed, given),
                Order::Command(Operation::Memset(memset)) => self.memset(&memset, given),
                Order::Upload(transfer) => from_or_to_host(&transfer, true, given),
                Order::Download(transfer) => from_or_to_host(&transfer, false, given),
            };
            if self.model().is_detailed() && !awaited {
                self.meet_before(&given);
            }
            self.give(given);
            if awaited {
                self.run_out();
            }
        }
    }

    /// Gives an operation to the schedule.
    fn give(&mut self, given: Record) {
        let cycles = given.timing.cycles().max(given.load.cycles());
        self.bound(&given, cycles);
        let number = self.schedule.add(Work {
            context: given.context,
            resources: given.resources,
            accesses: given.accesses.clone(),
            cycles,
            load: given.load.clone(),
        });
        self.given.push_back((number, Some(given)));
    }

    /// Adds an operation to the bounds of its kernel. Before the first one of a kernel, all others have ended.
    fn bound(&mut self, given: &Record, cycles: u64) {
        if given.kernel != self.bounds.0.call() {
            // The ledger counts a transfer of the host to no kernel, and kernels around it go on.
            if given.context == ContextKind::PcieDma {
                return;
            }
            self.bound_kernel();
            self.bounds.0 = KernelBounds::new(given.kernel);
        }
        self.bounds.0.add(given, cycles, self.times.model());
        self.bounds.1 = true;
    }

    /// Gives the bounds of the last kernel to the ledger, when its operations have ended.
    fn bound_kernel(&mut self) {
        if core::mem::take(&mut self.bounds.1) {
            self.ledger.bound_kernel(self.bounds.0.call(), self.bounds.0.bounds());
        }
    }

    /// Ends the next operation. Returns false if there was none.
    fn advance(&mut self) -> bool {
        let Some(scheduled) = self.schedule.advance() else { return false };
        let first = self.given.front().expect("it was given").0;
        let slot = &mut self.given[(scheduled.number - first) as usize];
        let ended = slot.1.take().expect("it ends once");
        for (beside, meeting) in &scheduled.met {
            let running = beside.checked_sub(first).and_then(|k| self.given.get(k as usize)?.1.as_ref());
            let place = running.map(|given| given.location).or_else(|| self.ledger.location(*beside));
            self.ledger.met((scheduled.number, ended.operation, ended.location), (*beside, place), meeting);
        }
        let record = ended.at(scheduled);
        while self.given.front().is_some_and(|(_, given)| given.is_none()) {
            self.given.pop_front();
        }
        self.ledger.add(&record);
        self.observers.iter_mut().for_each(|observer| observer.ended(&record));
        true
    }

    /// The slices with a live element.
    fn slices_of(&mut self, region: &Region) -> Arc<UsedSlices> {
        let key = (region.footprint, region.part.units);
        if let Some((_, known)) = self.slices.iter().find(|(known, _)| *known == key) {
            return known.clone();
        }
        let used = Arc::new(live_slices(region));
        self.slices.push_front((key, used.clone()));
        self.slices.truncate(REMEMBERED);
        used
    }

    fn tensor_unit(&mut self, unit: &TensorUnit, given: Record) -> Record {
        let Alone { timing, resources, load } = self.times.pass(unit);
        let (context, channels, model) = (unit.context(), self.channels(), self.model());
        let fetch = &unit.fetch;
        let slices = self.slices_of(&fetch.source);
        let written = match &unit.sink {
            Sink::Commit { destination, config, .. } => bits(config.positions(), destination),
            Sink::Vrf { destination, .. } => bits(destination.footprint.elements, destination),
            Sink::Trf { destination, .. } => {
                (destination.rows * destination.row_elements * destination.element.bits()) as u64
            }
        };
        let count = slices.len() as u64;
        let (receivers, slices) = match &unit.switch {
            None => (count, slices),
            Some(switch) => {
                let receivers = receiving_slices(unit, switch);
                let mut all = (*slices).clone();
                all.extend(&receivers);
                (receivers.len() as u64, Arc::new(all))
            }
        };
        let amount = Amount {
            read_bytes: bits(fetch.time * fetch.packet, &fetch.source) / 8 * count,
            written_bytes: written / 8 * receivers,
            products: unit.contraction.as_ref().map(|contraction| products(contraction, receivers)),
            vector: unit.vector.as_ref().map(|vector| VectorUse::new(vector, unit.shapes().contracted)),
            pass: Some(PassUse {
                access_bytes: fetch_access_bytes(unit, channels),
                table_cycles: table_cycles_of(&unit.fetch, model).map_or(0, |cost| cost.cycles),
                contraction: unit.contraction.as_ref().map(contraction_use),
                element: unit.fetch.output,
                in_order: reads_in_order(&unit.fetch),
                crosses_slices: crosses_slices(unit),
            }),
            slices,
        };
        let is_short = unit.sub_context && unit.is_sto_trf();
        let mut configuration = unit.to_string();
        if !unit.sub_context && channels == Channels::Dual {
            configuration += &format!("; both channels, {} B at once", fetch_access_bytes(unit, channels));
        }
        Record {
            operation: if is_short { "to_trf (StoTRF)" } else { unit.writes().operation },
            context,
            resources,
            timing,
            amount,
            memories: (Some(MemoryKind::Dm), Some(unit.writes().place.memory())),
            accesses: unit.reads().chain([unit.writes()]).map(|used| Access::of(&used)).collect(),
            load: Arc::new(load),
            configuration: configuration.into(),
            ..given
        }
    }

    fn dma(&mut self, dma: &Dma, given: Record) -> Record {
        let timed = self.times.transfer(dma);
        let in_dm = [&dma.source, &dma.destination].into_iter().find(|region| region.memory == Memory::Dm);
        let accesses = [Access::of(&dma.reads()), Access::of(&dma.writes())];
        let given = Record {
            operation: if dma.destination.memory == Memory::Hbm { "to_hbm" } else { "to_dm" },
            context: ContextKind::TensorDma,
            memories: (Some(accesses[0].memory), Some(accesses[1].memory)),
            accesses: Arc::new(accesses),
            ..given
        };
        self.moved(timed, in_dm, given)
    }

    fn indexed(&mut self, indexed: &IndexedDma, given: Record) -> Record {
        let timed = self.times.indexed(indexed);
        let given = Record {
            operation: indexed.call.name(),
            context: indexed.context(),
            memories: (Some(indexed.source.memory.into()), Some(indexed.destination.memory.into())),
            accesses: indexed.reads().iter().chain([&indexed.writes()]).map(Access::of).collect(),
            ..given
        };
        self.moved(timed, Some(indexed.side()), given)
    }

    /// A move by DMA engines. `in_dm`: the side with the slices.
    fn moved(&mut self, timed: TimedMove, in_dm: Option<&Region>, given: Record) -> Record {
        let (bytes, configuration) = (timed.timing.bytes(), timed.configuration());
        let slices = in_dm.map(|region| self.slices_of(region)).unwrap_or_default();
        let Alone { timing, resources, load } = self.times.moved(timed, given.context);
        Record {
            resources,
            load: Arc::new(load),
            timing,
            amount: Amount { read_bytes: bytes, written_bytes: bytes, slices, ..Amount::default() },
            configuration: configuration.into(),
            ..given
        }
    }

    fn unit_copy(&mut self, copy: &UnitCopy, given: Record) -> Record {
        let (Alone { timing, resources, load }, configuration) = if copy.call.is_parallel() {
            (self.times.parallel_copy(copy), copy.to_string())
        } else {
            let timed = self.times.shuffle(copy);
            let configuration = timed.configuration();
            (self.times.shuffled(timed, copy.context), configuration)
        };
        let in_dm = copy.destination.memory == Memory::Dm;
        let bytes = |region, side| bits(unit_copy::elements(copy, side), region).div_ceil(8);
        let amount = Amount {
            read_bytes: bytes(&copy.source, Side::Source),
            written_bytes: bytes(&copy.destination, Side::Destination),
            slices: if in_dm { self.slices_of(&copy.destination) } else { Arc::default() },
            ..Amount::default()
        };
        let accesses = [Access::of(&copy.reads()), Access::of(&copy.writes())];
        Record {
            operation: copy.call.name(),
            context: copy.context,
            resources,
            timing,
            amount,
            memories: (Some(accesses[0].memory), Some(accesses[1].memory)),
            accesses: Arc::new(accesses),
            load: Arc::new(load),
            configuration: configuration.into(),
            ..given
        }
    }

    fn memset(&mut self, memset: &Memset, given: Record) -> Record {
        let Alone { timing, resources, load } = self.times.memset(memset);
        let destination = &memset.destination;
        let elements = unit_copy::moved(&memset.moves, Side::Destination);
        Record {
            operation: Memset::CALL,
            context: ContextKind::Sub,
            resources,
            timing,
            amount: Amount {
                written_bytes: bits(elements, destination).div_ceil(8),
                slices: self.slices_of(destination),
                ..Amount::default()
            },
            memories: (None, Some(MemoryKind::Dm)),
            accesses: Arc::new([Access::of(&memset.writes())]),
            load: Arc::new(load),
            configuration: memset.to_string().into(),
            ..given
        }
    }
}

fn from_or_to_host(transfer: &HostTransfer, upload: bool, given: Record) -> Record {
    let bytes = bits(transfer.host_elements, &transfer.region).div_ceil(8);
    let (operation, read_bytes, written_bytes, memories) = if upload {
        ("upload", 0, bytes, (None, Some(MemoryKind::Hbm)))
    } else {
        ("to_host", bytes, 0, (Some(MemoryKind::Hbm), None))
    };
    Record {
        operation,
        context: ContextKind::PcieDma,
        resources: Resources::of(ContextKind::PcieDma),
        timing: Timing::Host(Cost::assumed(host_cycles(transfer), "500 + bytes / 30")),
        amount: Amount { read_bytes, written_bytes, ..Amount::default() },
        memories,
        accesses: Arc::new([Access::region(&transfer.region, upload)]),
        configuration: format!("{bytes} bytes").into(),
        ..given
    }
}

fn bits(elements: usize, region: &Region) -> u64 {
    (elements * region.footprint.element.bits()) as u64
}

fn products(contraction: &Contraction, slices: u64) -> Products {
    let element = contraction.trf.element;
    // The zeros that fill a packet of one flit do not count as factors.
    let lanes = contraction.collect_flits * FLIT_BYTES * 8 / element.bits();
    let count = (contraction.steps * contraction.trf.rows * lanes) as u64 * slices;
    Products { count, rows: contraction.trf.rows, element }
}

fn contraction_use(contraction: &Contraction) -> ContractionUse {
    ContractionUse {
        flits: contraction.collect_flits,
        steps: contraction.steps as u64,
        uses: contraction.tile as u64,
        slots: contraction.slot_count as u64,
        row_elements: contraction.trf.row_elements as u64,
        interleaved: contraction.kind == AccumulationKind::Interleaved,
    }
}

/// Tells if a fetch reads all elements of its tensor once, in their order.
fn reads_in_order(fetch: &Fetch) -> bool {
    let mut inside = 1;
    let follows = |entry: &Entry| {
        let is_next = entry.stride == inside as isize;
        inside *= entry.size;
        is_next
    };
    let mut entries = fetch.config.entries.as_slice().iter().rev();
    entries.all(follows) && fetch.time * fetch.packet == fetch.source.footprint.elements
}

/// Tells if slices get packets or sums of others.
fn crosses_slices(unit: &TensorUnit) -> bool {
    let is_moved = unit.switch.as_ref().is_some_and(|switch| switch.variant != SwitchVariant::Forwarding);
    is_moved || unit.vector.as_ref().is_some_and(|vector| vector.inter_slice().is_some())
}

/// Slices that get packets, and in which the end of the stream can hold an element.
fn receiving_slices(unit: &TensorUnit, switch: &Switch) -> UsedSlices {
    let (Sink::Commit { guard, .. } | Sink::Trf { guard, .. } | Sink::Vrf { guard, .. }) = &unit.sink;
    let mut used = UsedSlices::default();
    for chip in 0..unit.chips() {
        for (cluster, slice) in
            (0..CLUSTERS).flat_map(|cluster| (0..SLICES).map(move |slice| (cluster, slice)))
        {
            if switch.first_source(slice).is_some() && guard.may_hold(&[chip, cluster, slice]) {
                used.insert((chip * CLUSTERS + cluster) * SLICES + slice);
            }
        }
    }
    used
}

/// The slices with a live element. If the guard tests the unit and the rest separately, as in a tile, the rest is
/// evaluated once.
fn live_slices(region: &Region) -> UsedSlices {
    let (footprint, first) = (&region.footprint, region.first_unit());
    let mut used = UsedSlices::default();
    let (of_unit, rest) = split_units(&footprint.guard);
    let rows = LiveRows::new(&rest, 3, footprint.elements);
    let mut mask = Vec::new();
    let mut is_live = |unit: [usize; 3]| {
        let [chip, cluster, slice] = unit;
        rows.row(&mut [chip, cluster, slice, 0], &mut mask) != Liveness::Nothing
    };
    let alike = (0..3).all(|variable| !depends_on(&rest, variable));
    let all = alike.then(|| is_live([0; 3]));
    for chip in 0..footprint.chips {
        for cluster in 0..footprint.clusters {
            for slice in 0..footprint.slices {
                let unit = [chip, cluster, slice];
                if of_unit.may_hold(&unit) && all.unwrap_or_else(|| is_live(unit)) {
                    used.insert(first + (chip * CLUSTERS + cluster) * SLICES + slice);
                }
            }
        }
    }
    used
}

#[cfg(test)]
mod tests;
