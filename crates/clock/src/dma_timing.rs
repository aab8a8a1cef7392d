//! Times of DMA operations and transfers of the host, for the clock of a system.

use super::cost::{Cost, CostClass, Profile};
use super::dma::{self, BookHbm, DmaOptions, DmaRates, DmaTime, Refreshed, Remembered};
use super::hbm::{Detailed, HbmMap};
use super::indexed::indexed_operation;
use super::numbers::{Model, Number};
use super::unit_copy::shuffle_operation;
use furiosa_visa_rules::command::{Dma, IndexedDma, UnitCopy};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::spec::{CORE_CYCLE_TICKS, DMA_STARTUP_CYCLES};

/// The time of a DMA operation.
#[derive(Clone, Debug, PartialEq)]
pub struct DmaTiming {
    /// Derivation of the cycles. `None` if no commands of the engines express the move (see the configuration): the
    /// cycles are then those of a request per element on one engine.
    pub time: Option<DmaTime>,
    /// Cycles from the start to the end.
    pub cycles: u64,
}

/// Heads of the columns of a report.
pub const HEADS: [&str; 8] =
    ["engines", "commands", "requests", "startup", "read side", "write side", "HBM, all", "bound"];

/// Times of DMA operations. Accesses that HBM has served before, also at other addresses, are looked up: those of its clones, too.
#[derive(Clone, Debug)]
pub struct DmaClock {
    profile: Profile,
    rates: DmaRates,
    book: Remembered<BookHbm>,
    detailed: Refreshed<Remembered<Detailed>>,
}

impl DmaClock {
    /// A model of DMA transfers that has timed nothing.
    pub fn new(model: Model) -> Self {
        let map = HbmMap::default();
        let (book, detailed) = (BookHbm { map }, Detailed::new(map));
        let rates = DmaRates::of(model);
        let detailed = Refreshed {
            model: Remembered::new(detailed, map),
            per_mille: model.numbers.get(Number::HbmRefresh),
        };
        Self { profile: model.profile, rates, book: Remembered::new(book, map), detailed }
    }

    /// The time of an operation: computed once, and then remembered.
    pub fn time(&mut self, operation: &dma::DmaOperation) -> DmaTime {
        match self.profile {
            Profile::Book => dma::time(operation, self.rates, &mut self.book),
            Profile::Detailed => dma::time(operation, self.rates, &mut self.detailed),
        }
    }
}

/// A move by DMA engines with its time.
pub(super) struct TimedMove {
    /// The time.
    pub timing: DmaTiming,
    /// Its commands, or the reason for which there are none.
    pub operation: Result<dma::DmaOperation, PlanError>,
}

impl TimedMove {
    /// Its configuration as text.
    pub(super) fn configuration(&self) -> String {
        match &self.operation {
            Ok(operation) => describe(operation),
            Err(error) => format!("no commands: {error}"),
        }
    }

    /// The time of a move. If its commands cannot be derived: the startup and one cycle per element.
    fn new(
        operation: Result<dma::DmaOperation, PlanError>,
        elements: impl FnOnce() -> u64,
        clock: &mut DmaClock,
    ) -> Self {
        let time = operation.as_ref().ok().map(|operation| clock.time(operation));
        let cycles = time.as_ref().map_or_else(|| DMA_STARTUP_CYCLES + elements(), DmaTime::cycles);
        Self { timing: DmaTiming { time, cycles }, operation }
    }
}

/// The time of a transfer.
pub(super) fn dma_timing(dma: &Dma, clock: &mut DmaClock) -> TimedMove {
    let elements = || dma.transfer.loops.iter().map(|level| level.size as u64).product();
    TimedMove::new(dma::derive(dma, &DmaOptions::default()), elements, clock)
}

/// The time of a shuffle.
pub(super) fn shuffle_timing(copy: &UnitCopy, clock: &mut DmaClock) -> TimedMove {
    let elements = || {
        let of = |part: &Dma| -> u64 { part.transfer.loops.iter().map(|level| level.size as u64).product() };
        copy.parts().map(|part| of(&part)).sum()
    };
    TimedMove::new(shuffle_operation(copy, &DmaOptions::default()), elements, clock)
}

/// The time of a gather or scatter.
pub(super) fn indexed_timing(indexed: &IndexedDma, clock: &mut DmaClock) -> TimedMove {
    let elements = || indexed.spread().loops.iter().map(|level| level.size as u64).product();
    TimedMove::new(indexed_operation(indexed, &DmaOptions::default()), elements, clock)
}

/// Describes the commands. The first command of the first engine stands for engines that execute the same loops.
fn describe(operation: &dma::DmaOperation) -> String {
    let engines = operation.engines.len();
    let commands = operation.commands().count();
    let plural = if engines == 1 { "" } else { "s" };
    match operation.commands().next() {
        None => "nothing moves".to_string(),
        Some(first) if operation.has_lists() => {
            let lists: usize = operation.engines.iter().map(|queue| queue.lists.len()).sum();
            if lists == engines {
                return format!("{engines} engine{plural}, rows in all: [{commands} : index] of {first}");
            }
            let rows = operation.engines[0].lists[0];
            format!("{engines} engine{plural}, {lists} commands, the first: [{rows} : index] of {first}")
        }
        Some(first) if operation.is_homogeneous() => {
            let each = commands / engines;
            let commands = if each == 1 { "command" } else { "commands" };
            format!("{engines} engine{plural}, {each} {commands} each: {first}")
        }
        Some(first) => format!("{engines} engines, {commands} commands, the first: {first}"),
    }
}

impl DmaTiming {
    /// Resource that limits it.
    pub fn bound(&self) -> &'static str {
        self.time.as_ref().map_or("elements", |time| time.bound.name())
    }

    /// Engines that take part.
    pub fn engines(&self) -> usize {
        self.time.as_ref().map_or(1, |time| time.engines.len())
    }

    /// Bytes that move.
    pub fn bytes(&self) -> u64 {
        self.time.as_ref().map_or(0, DmaTime::bytes)
    }

    /// Certainty of the cycles: costs of HBM and the split over the engines are choices.
    pub fn class(&self) -> CostClass {
        CostClass::Assumed
    }

    /// Chip, engine of the chip, cycles.
    pub fn by_engine(&self) -> Vec<(usize, usize, u64)> {
        let Some(time) = &self.time else { return vec![(0, 0, self.cycles)] };
        let engines = time.engines.iter();
        engines
            .map(|engine_time| {
                (engine_time.engine.chip, engine_time.engine.number(), engine_time.cycles().min(self.cycles))
            })
            .collect()
    }

    /// The cells of a row of the table of transfers, below [`HEADS`].
    pub fn row(&self) -> Vec<String> {
        let Some(time) = &self.time else {
            return vec!["-".to_string(); HEADS.len() - 1]
                .into_iter()
                .chain(["elements".to_string()])
                .collect();
        };
        let slowest = time.engines.iter().max_by_key(|engine| engine.ticks());
        let cycles = |ticks: Option<u64>| {
            ticks.map_or("-".to_string(), |ticks| ticks.div_ceil(CORE_CYCLE_TICKS).to_string())
        };
        vec![
            time.engines.len().to_string(),
            time.commands().to_string(),
            time.requests().to_string(),
            cycles(slowest.map(|engine| engine.startup_ticks)),
            cycles(slowest.map(|engine| engine.read.ticks)),
            cycles(slowest.map(|engine| engine.write.ticks)),
            cycles(time.hbm.iter().map(|(_, served)| served.ticks).max()),
            self.bound().to_string(),
        ]
    }

    pub(super) fn costs(&self) -> Vec<(&'static str, Cost)> {
        let Some(time) = &self.time else {
            return vec![(
                "elements",
                Cost::assumed(self.cycles, "a request per element, no commands derived"),
            )];
        };
        let figures =
            time.figures().into_iter().filter(|figure| figure.unit == "cycles" && figure.value > 0.0);
        figures
            .map(|figure| {
                (figure.name, Cost { cycles: figure.value as u64, class: figure.class, source: figure.rule })
            })
            .collect()
    }
}
