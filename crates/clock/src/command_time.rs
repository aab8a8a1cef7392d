//! Time of a single command when nothing else runs, without a system, a context or a kernel.
//!
//! ```text
//!   Operation ──▶ stages, or sides of DMA engines ──▶ cycles alone = max(formula, last access to a bank)
//! ```
//!
//! [`Clock`](super::Clock) takes its times from here, so a planner that tries mappings sees the numbers of a run. A
//! pass allocates its loops and a transfer its commands, never anything per packet. HBM is looked up for loads that
//! were timed before. The stages of a pass alone, without its banks, are those of
//! [`tensor_unit_time`], which allocates nothing.
//!
//! Not included: meetings of clusters and delays by operations beside it, which depend on the commands around it.

use super::contention::{BankLoad, holds_dma};
use super::cost::{Channels, Cost, Profile};
use super::dma_timing::{DmaClock, TimedMove, dma_timing, indexed_timing, shuffle_timing};
use super::memset;
use super::numbers::{Model, Number};
use super::record::Timing;
use super::schedule::{Resource, Resources};
use super::tensor_unit::tensor_unit_time;
use super::unit_copy;
use furiosa_visa_rules::command::{ContextKind, Dma, IndexedDma, Memset, Operation, TensorUnit, UnitCopy};

/// Time of a command when nothing else runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandTime {
    /// Cycles in which the routers are set for a custom switch, before the command starts. The clock gives them as an
    /// operation of their own.
    pub bitmap: Option<Cost>,
    /// Composition of the cycles: [`Timing::costs`] lists stages, latencies, and sides of DMA engines.
    pub timing: Timing,
    /// Cycles until the last access to a bank of DM. 0 in the book profile, which has no banks.
    pub bank_cycles: u64,
    /// Resources that it holds while it runs.
    pub resources: Resources,
}

impl CommandTime {
    /// Cycles from its start to its end: those of its slowest stage or engine with all latencies, or those until its
    /// last access to a bank.
    pub fn cycles(&self) -> u64 {
        self.timing.cycles().max(self.bank_cycles)
    }
}

/// A command when nothing else runs, as the clock gives it to its schedule.
pub(super) struct Alone {
    pub timing: Timing,
    pub resources: Resources,
    pub load: BankLoad,
}

/// Times of single commands. It remembers how HBM served transfers, and nothing else about earlier commands. Its clones remember
/// the same, so that several threads need not find it out each for itself.
///
/// ```
/// use furiosa_visa_std::clock::command_time::CommandClock;
/// use furiosa_visa_std::clock::{Model, Profile};
/// use furiosa_visa_std::command::{
///     Dma, FillId, Footprint, Memory, Operation, Region, Step, Transfer, TransferLoop,
/// };
/// use furiosa_visa_std::mapping::Guard;
/// use furiosa_visa_std::scalar::ElementType;
///
/// // 256 bytes from HBM to slice 0 of cluster 0.
/// let region = |memory, fill| {
///     let guard = Guard::always(4);
///     let footprint =
///         Footprint { element: ElementType::I8, chips: 1, clusters: 1, slices: 1, elements: 256, guard };
///     Region::whole(memory, 0, FillId(fill), footprint)
/// };
/// let mut transfer = Transfer { guard: Guard::always(1), ..Transfer::new() };
/// let step = Step { units: 0, elements: 1 };
/// transfer.loops.push(TransferLoop { size: 256, source: step, destination: step });
/// let (source, destination) = (region(Memory::Hbm, 1), region(Memory::Dm, 2));
/// let load = Operation::Dma(Box::new(Dma { source, destination, transfer, pcie: false }));
///
/// let mut clock = CommandClock::new(Model::new(Profile::Book));
/// // A start of 500 cycles, and a unit of 256 bytes of a channel of HBM: 16/3 cycles.
/// assert_eq!(clock.time(&load).cycles(), 506);
/// ```
#[derive(Clone, Debug)]
pub struct CommandClock {
    model: Model,
    channels: Channels,
    dma: DmaClock,
}

impl CommandClock {
    /// Times in a model, with a switch channel per context.
    pub fn new(model: Model) -> Self {
        Self { model, channels: Channels::Single, dma: DmaClock::new(model) }
    }

    /// The same with other switch channels.
    #[must_use]
    pub fn with_channels(self, channels: Channels) -> Self {
        Self { channels, ..self }
    }

    /// The model of time.
    pub fn model(&self) -> Model {
        self.model
    }

    /// The switch channels that passes use.
    pub fn channels(&self) -> Channels {
        self.channels
    }

    /// The time of a command when nothing else runs.
    pub fn time(&mut self, operation: &Operation) -> CommandTime {
        let mut bitmap = None;
        let Alone { timing, resources, load } = match operation {
            Operation::TensorUnit(unit) => {
                let switch = unit.switch.as_ref().filter(|switch| switch.loads_bitmap());
                bitmap = switch.map(|_| self.model.cost(Number::SwitchBitmap, 1));
                self.pass(unit)
            }
            Operation::Dma(dma) => {
                let timed = self.transfer(dma);
                self.moved(timed, ContextKind::TensorDma)
            }
            Operation::Indexed(indexed) => {
                let timed = self.indexed(indexed);
                self.moved(timed, operation.context())
            }
            Operation::UnitCopy(copy) if copy.call.is_parallel() => self.parallel_copy(copy),
            Operation::UnitCopy(copy) => {
                let timed = self.shuffle(copy);
                self.shuffled(timed, copy.context)
            }
            Operation::Memset(memset) => self.memset(memset),
        };
        CommandTime { bitmap, timing, bank_cycles: load.cycles(), resources }
    }

    /// A pass through the Tensor Unit, without the bitmap of its switch.
    pub(super) fn pass(&self, unit: &TensorUnit) -> Alone {
        let time = tensor_unit_time(unit, self.model, self.channels);
        let mut resources = Resources::of(unit.context());
        // The main context always holds the engines: only the sub context works beside it.
        if !unit.sub_context || unit.contraction.is_some() || unit.vector.is_some() || unit.cast.is_some() {
            resources = resources.with(Resource::Compute);
        }
        if !unit.sub_context && self.channels == Channels::Dual {
            resources = resources.with(Resource::Context(ContextKind::Sub));
        }
        if holds_dma(unit, self.channels) {
            resources = resources.with(Resource::Context(ContextKind::TensorDma));
        }
        // The book profile keeps operations apart that may not meet, and lets the others run as if they were alone.
        let load = match self.model.profile {
            Profile::Book => BankLoad::Nothing,
            Profile::Detailed => BankLoad::of_pass(unit, &time, self.channels),
        };
        Alone { timing: Timing::TensorUnit(time), resources, load }
    }

    /// The bitmap of the custom switch of a pass: it is written to the routers by the DMA engines, through the sub
    /// context. Both are idle until then.
    pub(super) fn bitmap(&self, unit: &TensorUnit) -> Alone {
        let resources = Resources::of(unit.context())
            .with(Resource::Context(ContextKind::Sub))
            .with(Resource::Context(ContextKind::TensorDma));
        let timing = Timing::Bitmap(self.model.cost(Number::SwitchBitmap, 1));
        Alone { timing, resources, load: BankLoad::Nothing }
    }

    pub(super) fn transfer(&mut self, dma: &Dma) -> TimedMove {
        dma_timing(dma, &mut self.dma)
    }

    pub(super) fn indexed(&mut self, indexed: &IndexedDma) -> TimedMove {
        indexed_timing(indexed, &mut self.dma)
    }

    pub(super) fn shuffle(&mut self, copy: &UnitCopy) -> TimedMove {
        shuffle_timing(copy, &mut self.dma)
    }

    /// A move by DMA engines in a context.
    pub(super) fn moved(&self, timed: TimedMove, context: ContextKind) -> Alone {
        let TimedMove { timing, operation } = timed;
        let operation = operation.ok().filter(|_| self.model.is_detailed());
        let load =
            operation.map_or(BankLoad::Nothing, |operation| BankLoad::of_dma(operation, timing.cycles));
        Alone { timing: Timing::Dma(timing), resources: Resources::of(context), load }
    }

    /// A shuffle. Those of the host's engines make no requests of DMA engines to the banks.
    pub(super) fn shuffled(&self, timed: TimedMove, context: ContextKind) -> Alone {
        let alone = self.moved(timed, context);
        match context {
            ContextKind::TensorDma => alone,
            _ => Alone { load: BankLoad::Nothing, ..alone },
        }
    }

    /// A copy between slices by the sub context.
    pub(super) fn parallel_copy(&self, copy: &UnitCopy) -> Alone {
        let mut resources = Resources::of(copy.context);
        let time = unit_copy::parallel_copy_time(copy, self.model);
        let nests = unit_copy::nests(copy);
        if nests.as_ref().is_some_and(unit_copy::holds_dma) {
            resources = resources.with(Resource::Context(ContextKind::TensorDma));
        }
        let load = match nests {
            Some(nests) if self.model.is_detailed() => BankLoad::of_copy(nests, time.begin()),
            _ => BankLoad::Nothing,
        };
        Alone { timing: Timing::TensorUnit(time), resources, load }
    }

    /// A memset by the sub context.
    pub(super) fn memset(&self, memset: &Memset) -> Alone {
        let mut resources = Resources::of(ContextKind::Sub);
        let time = memset::memset_time(memset, self.model);
        let writes = memset::writes(memset);
        if writes.as_ref().is_some_and(memset::holds_dma) {
            resources = resources.with(Resource::Context(ContextKind::TensorDma));
        }
        let load = match writes {
            Some(writes) if self.model.is_detailed() => memset::load(writes, &time),
            _ => BankLoad::Nothing,
        };
        Alone { timing: Timing::TensorUnit(time), resources, load }
    }
}
