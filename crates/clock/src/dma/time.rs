//! Time of a DMA operation.
//!
//! ```text
//!   side    = max(requests, medium)        medium: cycles of the slowest Data Memory Network, of HBM, of SPM
//!   command = 500 + max(read side, write side)       other medium, or other cluster
//!             500 + read side + write side           same medium: HBM, or DM of one cluster
//!             500 + max(both, bytes / 30)            other chip
//!             500 + max(index / 256, both)             rows of an index, with one list of offsets
//!   all     = max(commands of an engine, one after another;  500 + HBM of all engines;  500 + PCIe)
//! ```
//!
//! The detailed profile has other [rates](DmaRates): networks are slower, and an index is read before its rows. If
//! slices of a cluster get copies of the same elements, all engines of the cluster serve them one after another:
//!
//! ```text
//!   copies  = 500 + sum over slices of (10 + bytes through the network of the slice)
//! ```
//!
//! Not modelled: several engines that read the same Data Memory Network at the same time, distance between an engine
//! and its memories, arbitration.

use super::operation::{Coverage, DmaOperation, Engine, EngineQueue};
use super::rates::DmaRates;
use super::sequencer::{Medium, PairedSequencer, Side};
use super::traffic::Traffic;
use crate::cost::CostClass;
use crate::hbm::HbmServed;
use crate::named::named;
use crate::numbers::Number;
use core::fmt;
use furiosa_visa_rules::command::HostTransfer;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::{
    CLUSTER_PES, CLUSTERS, CORE_CYCLE_TICKS, DMA_REQUEST_BYTES, DMA_SLICE_STRIDE, DMA_STARTUP_CYCLES,
    PCIE_BYTES_PER_CYCLE, PCIE_STARTUP_CYCLES, SLICES,
};
use litemap::LiteMap;

/// Bytes of an index per row.
const INDEX_BYTES: usize = ElementType::I32.bits() / 8;

/// Rule by which the sides of a command add up if both use the same medium. Both rules are documented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SameMedium {
    /// One after the other.
    #[default]
    Sum,
    /// At the same time.
    Max,
}

/// The requests of an engine to the HBM of a chip on one side of its commands.
#[derive(Clone, Copy, Debug)]
pub struct HbmStream<'a> {
    /// The chip of the HBM.
    pub chip: usize,
    /// The engine.
    pub engine: Engine,
    /// Side of the commands: reads, or writes.
    pub side: Side,
    /// The commands of the engine. Commands with another medium on this side are not part of the stream.
    pub commands: &'a [PairedSequencer],
}

impl<'a> HbmStream<'a> {
    /// Commands that are part of the stream.
    pub fn commands(&self) -> impl Iterator<Item = &'a PairedSequencer> + use<'a> {
        let Self { chip, side, .. } = *self;
        self.commands.iter().filter(move |command| command.medium(side) == Medium::Hbm { chip })
    }

    /// Address and bytes of every request, in order. A request can straddle units of 256 bytes.
    pub fn requests(&self) -> impl Iterator<Item = (u64, usize)> + use<'a> {
        let side = self.side;
        self.commands().flat_map(move |command| command.iter_requests(side))
    }

    /// Tells if the requests write.
    pub fn writes(&self) -> bool {
        self.side == Side::Destination
    }
}

/// A model of HBM.
pub trait HbmTime {
    /// Serves streams with the HBM of a chip, all at once. All rows are closed at the start.
    fn serve(&mut self, streams: &[HbmStream<'_>]) -> HbmServed;

    /// Ticks of 1/3 cycle until the streams are served.
    fn ticks(&mut self, streams: &[HbmStream<'_>]) -> u64 {
        self.serve(streams).ticks
    }
}

/// A model of ticks alone, without channels.
impl<F: FnMut(&[HbmStream<'_>]) -> u64> HbmTime for F {
    fn serve(&mut self, streams: &[HbmStream<'_>]) -> HbmServed {
        HbmServed::without_channels(self(streams))
    }
}

named! {
    /// Resource that limits an operation or an engine.
    pub enum Bound {
        /// Nothing moves.
        Nothing = "nothing",
        /// The startup of commands.
        Startup = "startup",
        /// An engine: one request per cycle.
        Engine = "engine",
        /// The data path of a Data Memory Network.
        Dmn = "DMN",
        /// Copies of the same elements for slices of a cluster, one after another.
        Copies = "copies",
        /// The index, which is read before its rows.
        Index = "index",
        /// HBM.
        Hbm = "HBM",
        /// SPM.
        Spm = "SPM",
        /// PCIe.
        Pcie = "PCIe",
    }
}

/// One side of a command, or the sum of these sides over the commands of an engine. Times in ticks of 1/3 cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideTime {
    /// Units of HBM that are accessed.
    pub hbm_transfers: u64,
    /// Writes of a part of a unit of HBM or DM.
    pub partial_writes: u64,
    /// Ticks of the medium alone, without other engines.
    pub medium_ticks: u64,
    /// Ticks of the side: those of the medium, or of the requests if they take longer.
    pub ticks: u64,
}

/// The commands of one engine. Times in ticks of 1/3 cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineTime {
    /// The engine.
    pub engine: Engine,
    /// Number of its commands.
    pub commands: u64,
    /// Bytes that it moves.
    pub bytes: u64,
    /// Number of its requests.
    pub requests: u64,
    /// Startup of all commands.
    pub startup_ticks: u64,
    /// Reads.
    pub read: SideTime,
    /// Writes.
    pub write: SideTime,
    /// Ticks of all commands without startup.
    pub data_ticks: u64,
    /// Part of `data_ticks` before the rows of an index move.
    pub index_ticks: u64,
    /// Part of `data_ticks` from the copy for a slice to the one for the next slice, beside their bytes.
    pub copy_ticks: u64,
    /// Resource that limits the longest command.
    pub bound: Bound,
}

impl EngineTime {
    /// Ticks of all commands, one after another.
    pub const fn ticks(&self) -> u64 {
        self.startup_ticks + self.data_ticks
    }

    /// Cycles of all commands, one after another, rounded up.
    pub const fn cycles(&self) -> u64 {
        self.ticks().div_ceil(CORE_CYCLE_TICKS)
    }
}

/// Time of a DMA operation, and its derivation. Times in ticks of 1/3 cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DmaTime {
    /// Ticks from the start of the operation to its end.
    pub ticks: u64,
    /// Resource that limits it.
    pub bound: Bound,
    /// Engine that limits it. `None` if engines limit each other.
    pub slowest: Option<Engine>,
    /// Time of every engine.
    pub engines: Vec<EngineTime>,
    /// Work of the HBM of every chip that takes part, with the requests of all engines.
    pub hbm: Vec<(usize, HbmServed)>,
    /// Ticks of the PCIe link with the most bytes.
    pub pcie_ticks: u64,
    /// Rates of the computation. Without copies, they have no time between copies.
    pub rates: DmaRates,
    /// Match between the commands and the move.
    pub coverage: Coverage,
    /// Rule by which sides of commands were added up because they use the same medium. `None` if no command has such
    /// sides.
    pub same_medium: Option<SameMedium>,
}

/// A number of an operation with its class.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Certainty of the number: that of the least certain rule behind it.
    pub class: CostClass,
    /// The rule.
    pub rule: &'static str,
}

impl DmaTime {
    /// Cycles from the start to the end, rounded up.
    pub const fn cycles(&self) -> u64 {
        self.ticks.div_ceil(CORE_CYCLE_TICKS)
    }

    /// Ticks of the slowest cluster, whose slices get copies of the same elements one after another. 0 without copies.
    pub fn copies_ticks(&self) -> u64 {
        if self.rates.copy_ticks.is_none() {
            return 0;
        }
        let startup = self.engines.iter().map(|engine| engine.startup_ticks).max().unwrap_or(0);
        startup + slowest_cluster(&self.engines, |engine| engine.data_ticks)
    }

    /// Number of bytes that move.
    pub fn bytes(&self) -> u64 {
        self.engines.iter().map(|engine| engine.bytes).sum()
    }

    /// Ticks until the HBM of a chip has served the requests of all engines, for every chip whose HBM takes part.
    pub fn hbm_ticks(&self) -> Vec<(usize, u64)> {
        self.hbm.iter().map(|(chip, served)| (*chip, served.ticks)).collect()
    }

    /// Number of requests of all engines.
    pub fn requests(&self) -> u64 {
        self.engines.iter().map(|engine| engine.requests).sum()
    }

    /// Number of commands of all engines.
    pub fn commands(&self) -> u64 {
        self.engines.iter().map(|engine| engine.commands).sum()
    }

    /// The numbers of the operation, each with its class and its rule.
    pub fn figures(&self) -> Vec<Figure> {
        use CostClass::{Assumed, Derived, Documented};
        let engine = self.engines.iter().max_by_key(|engine| engine.ticks());
        let counted = if self.coverage == Coverage::Exact { Documented } else { Assumed };
        let hbm = self.hbm.iter().map(|(_, served)| served.ticks).max().unwrap_or(0);
        let copies = slowest_cluster(&self.engines, |engine| engine.copy_ticks);
        let is_documented = self.rates.dmn_access_ticks == CORE_CYCLE_TICKS;
        let networks = if is_documented { Derived } else { Number::DmnAccess.class() };
        let data = if self.same_medium.is_some() { Assumed } else { networks };
        let figure =
            |name, value: u64, unit, class, rule| Figure { name, value: value as f64, unit, class, rule };
        let cycles = |name, ticks: u64, class, rule| {
            let value = ticks as f64 / CORE_CYCLE_TICKS as f64;
            Figure { name, value, unit: "cycles", class, rule }
        };
        let slowest =
            |name, of: fn(&EngineTime) -> u64, class, rule| cycles(name, engine.map_or(0, of), class, rule);
        vec![
            figure("bytes", self.bytes(), "B", counted, "elements that move"),
            figure("commands", self.commands(), "", Assumed, "loops, split over the engines"),
            figure("requests", self.requests(), "", counted, "at most 256 B each"),
            slowest("startup, slowest engine", |of| of.startup_ticks, Documented, "500 per command"),
            slowest("read side, slowest engine", |of| of.read.ticks, networks, "requests or medium"),
            slowest("write side, slowest engine", |of| of.write.ticks, networks, "requests or medium"),
            slowest(
                "data, slowest engine",
                |of| of.data_ticks,
                data,
                "the longer side, or their sum in one medium",
            ),
            slowest(
                "index, slowest engine",
                |of| of.index_ticks,
                Number::Index.class(),
                Number::Index.rule(),
            ),
            cycles("HBM, all engines", hbm, Assumed, "the slowest channel"),
            cycles("copies, slowest cluster", copies, Number::Copy.class(), Number::Copy.rule()),
            cycles("PCIe", self.pcie_ticks, Derived, "30 B per cycle"),
            cycles("total", self.ticks, Assumed, "start, then the longest of the above"),
        ]
    }
}

/// The numbers, one per line: `requests  65536  documented  at most 256 B each`.
impl fmt::Display for DmaTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Figure { name, value, unit, class, rule } in self.figures() {
            let decimals = if value.fract() == 0.0 { 0 } else { 1 };
            writeln!(f, "{name:<26} {value:>14.decimals$} {unit:<6}  {class:<10}  {rule}")?;
        }
        if self.coverage == Coverage::Hull {
            writeln!(f, "the padding is too ragged for exact commands: this is an upper bound")?;
        }
        write!(f, "limited by {}", self.bound)?;
        self.slowest.map_or(Ok(()), |engine| write!(f, ", engine {engine}"))
    }
}

/// The time of an operation, with a model of HBM.
pub fn time(operation: &DmaOperation, rates: impl Into<DmaRates>, hbm: &mut impl HbmTime) -> DmaTime {
    let mut rates: DmaRates = rates.into();
    if !operation.copies {
        rates.copy_ticks = None;
    }
    let mut shared = None;
    let mut engines = Vec::with_capacity(operation.engines.len());
    for queue in &operation.engines {
        engines.push(engine_time(queue, rates, hbm, &mut shared));
    }
    let mut total = DmaTime {
        ticks: 0,
        bound: Bound::Nothing,
        slowest: None,
        hbm: hbm_of_all(operation, hbm),
        pcie_ticks: pcie_of_all(operation),
        rates,
        engines,
        coverage: operation.coverage,
        same_medium: shared,
    };
    for engine in &total.engines {
        if engine.ticks() > total.ticks {
            let bound = if engine.startup_ticks > engine.data_ticks { Bound::Startup } else { engine.bound };
            (total.ticks, total.bound, total.slowest) = (engine.ticks(), bound, Some(engine.engine));
        }
    }
    let copies = total.copies_ticks();
    if copies > total.ticks {
        (total.ticks, total.bound, total.slowest) = (copies, Bound::Copies, None);
    }
    let hbm = total.hbm.iter().map(|(_, served)| (served.ticks, DMA_STARTUP_CYCLES, Bound::Hbm));
    let pcie = (total.pcie_ticks, PCIE_STARTUP_CYCLES, Bound::Pcie);
    for (ticks, startup, bound) in hbm.chain([pcie]).filter(|&(ticks, ..)| ticks > 0) {
        let startup = startup * CORE_CYCLE_TICKS;
        if startup + ticks > total.ticks {
            let bound = if startup > ticks { Bound::Startup } else { bound };
            (total.ticks, total.bound, total.slowest) = (startup + ticks, bound, None);
        }
    }
    total
}

/// Sum over the engines of a cluster, for the cluster with the greatest sum. The engines start at the same time.
fn slowest_cluster(engines: &[EngineTime], of: impl Fn(&EngineTime) -> u64) -> u64 {
    let cluster = |engine: &EngineTime| (engine.engine.chip, engine.engine.cluster);
    let clusters = engines.chunk_by(|one, next| cluster(one) == cluster(next));
    clusters.map(|engines| engines.iter().map(&of).sum()).max().unwrap_or(0)
}

/// Number of slices to which a command writes copies of the same elements, at most the slices of a cluster.
fn copied_slices(command: &PairedSequencer) -> u64 {
    let over_slices = command.entries.iter().filter(|entry| entry.destination_stride >= DMA_SLICE_STRIDE);
    over_slices.map(|entry| entry.limit as u64).product::<u64>().min(SLICES as u64)
}

fn engine_time(
    queue: &EngineQueue,
    rates: DmaRates,
    hbm: &mut impl HbmTime,
    shared: &mut Option<SameMedium>,
) -> EngineTime {
    let commands = queue.starts().count() as u64;
    let mut total = EngineTime {
        engine: queue.engine,
        commands,
        bytes: 0,
        requests: 0,
        startup_ticks: commands * DMA_STARTUP_CYCLES * CORE_CYCLE_TICKS,
        read: SideTime::default(),
        write: SideTime::default(),
        data_ticks: 0,
        index_ticks: 0,
        copy_ticks: 0,
        bound: Bound::Nothing,
    };
    let mut longest = 0;
    for commands in queue.starts() {
        let (read, read_bound) = side_time(queue.engine, commands, Side::Source, rates, hbm);
        let (write, write_bound) = side_time(queue.engine, commands, Side::Destination, rates, hbm);
        let command = &commands[0];
        let bytes: u64 = commands.iter().map(PairedSequencer::bytes).sum();
        let longer =
            if write.ticks > read.ticks { (write.ticks, write_bound) } else { (read.ticks, read_bound) };
        let (from, to) = (command.source_medium, command.destination_medium);
        let (ticks, bound) = if from == to && rates.same_medium == SameMedium::Sum {
            (read.ticks + write.ticks, longer.1)
        } else if from.chip() != to.chip() {
            longer.max((pcie_ticks(bytes), Bound::Pcie))
        } else {
            longer
        };
        // The engine reads the index beside the rows.
        let index_bytes = if queue.lists.is_empty() { 0 } else { commands.len() * INDEX_BYTES };
        let index = index_bytes.div_ceil(DMA_REQUEST_BYTES) as u64 * CORE_CYCLE_TICKS;
        let (ticks, bound) = if index > ticks { (index, Bound::Engine) } else { (ticks, bound) };
        if from == to {
            *shared = Some(rates.same_medium);
        }
        let copies =
            rates.copy_ticks.map_or(0, |ticks| ticks * commands.iter().map(copied_slices).sum::<u64>());
        let before_rows = if queue.lists.is_empty() { 0 } else { rates.index_ticks };
        let bound = if before_rows > ticks { Bound::Index } else { bound };
        let ticks = ticks + before_rows + copies;
        total.index_ticks += before_rows;
        total.copy_ticks += copies;
        if ticks >= longest {
            (longest, total.bound) = (ticks, bound);
        }
        total.bytes += bytes;
        total.requests += commands.iter().map(PairedSequencer::requests).sum::<u64>();
        total.data_ticks += ticks;
        for (sum, side) in [(&mut total.read, read), (&mut total.write, write)] {
            sum.hbm_transfers += side.hbm_transfers;
            sum.partial_writes += side.partial_writes;
            sum.medium_ticks += side.medium_ticks;
            sum.ticks += side.ticks;
        }
    }
    total
}

/// Time of one side of a command, or of the rows of one, which differ in their start.
fn side_time(
    engine: Engine,
    commands: &[PairedSequencer],
    side: Side,
    rates: DmaRates,
    hbm: &mut impl HbmTime,
) -> (SideTime, Bound) {
    let mut time = SideTime::default();
    let (mut cycles, mut busiest_dmn) = (0, 0);
    let mut bound = Bound::Dmn;
    // Rows may lie in several clusters.
    let mut by_medium: LiteMap<Medium, Vec<&PairedSequencer>> = LiteMap::new();
    for alike in commands.chunk_by(|one, next| one.medium(side) == next.medium(side)) {
        by_medium.entry(alike[0].medium(side)).or_default().extend(alike);
    }
    for rows in by_medium.values() {
        match Traffic::of_rows(rows, side) {
            Traffic::Hbm { transfers, partial_writes } => {
                time.hbm_transfers += transfers;
                time.partial_writes += partial_writes;
                bound = Bound::Hbm;
            }
            Traffic::Dm { dmn_cycles, partial_writes } => {
                time.partial_writes += partial_writes;
                // Slices are served one after another, and so are their networks.
                let longest = match rates.copy_ticks {
                    Some(_) => dmn_cycles.into_iter().sum(),
                    None => dmn_cycles.into_iter().fold(0, u64::max),
                };
                busiest_dmn = busiest_dmn.max(longest);
            }
            Traffic::Spm { cycles: spm_cycles } => {
                cycles += spm_cycles;
                bound = Bound::Spm;
            }
        }
    }
    time.medium_ticks = match bound {
        Bound::Hbm => {
            hbm.ticks(&[HbmStream { chip: commands[0].medium(side).chip(), engine, side, commands }])
        }
        Bound::Spm => cycles * CORE_CYCLE_TICKS,
        _ => busiest_dmn * rates.dmn_access_ticks,
    };
    let requests = commands.iter().map(PairedSequencer::requests).sum::<u64>() * CORE_CYCLE_TICKS;
    time.ticks = requests.max(time.medium_ticks);
    (time, if time.medium_ticks > requests { bound } else { Bound::Engine })
}

/// Work of the HBM of every chip, for all requests.
fn hbm_of_all(operation: &DmaOperation, hbm: &mut impl HbmTime) -> Vec<(usize, HbmServed)> {
    let mut chips: LiteMap<usize, Vec<HbmStream<'_>>> = LiteMap::new();
    for EngineQueue { engine, commands, .. } in &operation.engines {
        for side in [Side::Source, Side::Destination] {
            let mut here: Vec<usize> = Vec::new();
            for command in commands {
                if let Medium::Hbm { chip } = command.medium(side)
                    && !here.contains(&chip)
                {
                    here.push(chip);
                    let stream = HbmStream { chip, engine: *engine, side, commands };
                    chips.entry(chip).or_default().push(stream);
                }
            }
        }
    }
    chips.into_iter().map(|(chip, streams)| (chip, hbm.serve(&streams))).collect()
}

/// Ticks of the PCIe link with the most bytes: every chip has one link per direction.
fn pcie_of_all(operation: &DmaOperation) -> u64 {
    let mut links: LiteMap<(usize, Side), u64> = LiteMap::new();
    for command in operation.commands() {
        let (from, to) = (command.source_medium.chip(), command.destination_medium.chip());
        if from != to {
            *links.entry((from, Side::Source)).or_default() += command.bytes();
            *links.entry((to, Side::Destination)).or_default() += command.bytes();
        }
    }
    links.values().copied().map(pcie_ticks).max().unwrap_or(0)
}

fn pcie_ticks(bytes: u64) -> u64 {
    bytes.div_ceil(PCIE_BYTES_PER_CYCLE) * CORE_CYCLE_TICKS
}

/// Cycles of a transfer between the host and HBM: every byte of the host's array crosses PCIe once.
pub fn host_cycles(transfer: &HostTransfer) -> u64 {
    let bits = transfer.host_elements as u64 * transfer.region.footprint.element.bits() as u64;
    PCIE_STARTUP_CYCLES + bits.div_ceil(8).div_ceil(PCIE_BYTES_PER_CYCLE)
}

impl Engine {
    /// Its number among all engines of all chips: 8 per chip.
    pub const fn number(&self) -> usize {
        (self.chip * CLUSTERS + self.cluster) * CLUSTER_PES + self.pe
    }
}
