//! Time of a pass through the Tensor Unit: occupancy and latency of each stage.
//!
//! ```text
//!   T = L + max(fetch, switch, collect, contract, accumulate, transpose, store, commit)
//!   T = L + max(fetch, switch, collect, contract, accumulate, vector, store, commit)
//! ```
//!
//! Stages work at the same time, each on the output of the one before, so the slowest one sets the pace. `L` is the
//! time that the first element needs to get through. All slices run in lockstep: one stands for all.

use super::cost::{Channels, Cost, CostClass};
use super::numbers::{Model, Number};
use crate::named::named;
use furiosa_visa_rules::command::{
    AccumulationKind, AdapterStage, Contraction, Fetch, Sink, TensorUnit, Vector,
};
pub use furiosa_visa_rules::command::{switch_cycles, transpose_cycles, vector_cycles};
use furiosa_visa_rules::list::List;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::sequencer::accessed_run;
use furiosa_visa_rules::spec;

named! {
    /// A stage of the Tensor Unit that takes time.
    pub enum Stage {
        /// Fetch Engine: reads of DM.
        Fetch = "fetch",
        /// Switch Engine. Without a switch it forwards.
        Switch = "switch",
        /// Collect Engine: flits.
        Collect = "collect",
        /// Contraction Engine: packets and their weights.
        Contract = "contract",
        /// Accumulator: flits that leave it.
        Accumulate = "accumulate",
        /// Vector Engine.
        Vector = "vector",
        /// Cast Engine.
        Cast = "cast",
        /// Transpose Engine: matrices in and out of its buffers.
        Transpose = "transpose",
        /// A load of the TRF.
        ToTrf = "to_trf",
        /// A load of the VRF.
        ToVrf = "to_vrf",
        /// Commit Engine: writes of DM.
        Commit = "commit",
    }
}

/// The time of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageTime {
    /// The stage.
    pub stage: Stage,
    /// Cycles in which it works.
    pub occupancy: Cost,
    /// Cycles by which it delays the stream.
    pub latency: Cost,
}

/// The time of a pass that nothing else disturbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorUnitTime {
    /// The stages that the stream passes, in order.
    pub stages: List<StageTime, { Stage::ALL.len() }>,
    /// Cycles between the command and its first fetch.
    pub issue: Cost,
}

impl TensorUnitTime {
    /// The slowest stage; of equally slow ones the first.
    pub fn bottleneck(&self) -> StageTime {
        let mut slowest = self.stages.at(0);
        for stage in &self.stages {
            if stage.occupancy.cycles > slowest.occupancy.cycles {
                slowest = *stage;
            }
        }
        slowest
    }

    /// The sum of all latencies, `L`.
    pub fn latency(&self) -> u64 {
        self.issue.cycles + self.stages.iter().map(|stage| stage.latency.cycles).sum::<u64>()
    }

    /// Cycles from the command to the first access of DM.
    pub fn begin(&self) -> u64 {
        self.issue.cycles
    }

    /// Cycles from the command to the end.
    pub fn cycles(&self) -> u64 {
        self.latency() + self.bottleneck().occupancy.cycles
    }

    /// Certainty of the sum.
    pub fn class(&self) -> CostClass {
        let latencies = self.stages.iter().map(|stage| stage.latency).chain([self.issue]);
        let uncertain = latencies.filter(|cost| cost.cycles > 0).map(|cost| cost.class);
        uncertain.fold(self.bottleneck().occupancy.class, CostClass::and)
    }

    /// The time of a stage, if the stream passes it.
    pub fn stage(&self, stage: Stage) -> Option<StageTime> {
        self.stages.iter().copied().find(|time| time.stage == stage)
    }
}

/// Cycles of the fetch sequencer: one access per cycle.
pub const fn fetch_cycles(time: u64, packet_bytes: u64, fetch_bytes: u64) -> u64 {
    time * packet_bytes.div_ceil(fetch_bytes)
}

/// Bytes of one access of a fetch in the main context. If both channels are joined, two fetches of 32 bytes that are
/// adjacent in packets and in DM become one.
pub const fn access_bytes(
    channels: Channels,
    fetch_bytes: usize,
    packet_bytes: usize,
    run_bytes: usize,
) -> usize {
    const WIDE: usize = spec::DUAL_CHANNEL_ACCESS_BYTES;
    match channels {
        Channels::Dual
            if 2 * fetch_bytes == WIDE
                && packet_bytes.is_multiple_of(WIDE)
                && run_bytes.is_multiple_of(WIDE) =>
        {
            WIDE
        }
        _ => fetch_bytes,
    }
}

/// Bytes of one access of the fetch of a pass.
pub fn fetch_access_bytes(unit: &TensorUnit, channels: Channels) -> usize {
    let Fetch { config, packet, fetch_size, source, .. } = &unit.fetch;
    let bytes = |elements: usize| elements * source.footprint.element.bits() / 8;
    match unit.sub_context {
        true => *fetch_size,
        false => access_bytes(channels, *fetch_size, bytes(*packet), bytes(accessed_run(config))),
    }
}

/// Bytes of a fetched packet that one switch channel passes: each passes its part.
pub(super) fn channel_bytes(unit: &TensorUnit, channels: Channels) -> u64 {
    let channels = if unit.sub_context { 1 } else { channels.of_main() };
    (unit.fetch.packet * unit.fetch.output.bits()).div_ceil(8).div_ceil(channels) as u64
}

/// Cycles of the Fetch Engine for `bytes` bytes that go through a table.
pub const fn table_cycles(bytes: u64, flit_cycles: u64) -> u64 {
    bytes.saturating_mul(flit_cycles).div_ceil(spec::FLIT_BYTES as u64)
}

/// Cost of the table of a fetch, if it has one.
pub(super) fn table_cycles_of(fetch: &Fetch, model: Model) -> Option<Cost> {
    fetch.table.as_ref()?;
    let flit = model.cost(Number::TableFlit, 1);
    let bytes = (fetch.packet * fetch.source.footprint.element.bits()).div_ceil(8);
    Some(Cost { cycles: table_cycles(fetch.time as u64 * bytes as u64, flit.cycles), ..flit })
}

/// Cycles of the Contraction Engine: one flit in and one packet out per cycle, so the larger number of the two.
pub const fn contract_cycles(steps: u64, collect_flits: u64, tile: u64) -> u64 {
    let flits = collect_flits * steps.div_ceil(tile);
    if flits > steps { flits } else { steps }
}

/// Flits that leave the accumulator, one per cycle: 8 rows of one column, or up to 8 columns of one row.
pub const fn accumulate_cycles(kind: AccumulationKind, slots: u64, rows: u64, columns: u64) -> u64 {
    match kind {
        AccumulationKind::Interleaved => slots * columns,
        AccumulationKind::Sequential => slots * rows * columns.div_ceil(spec::BEAT_LANES as u64),
    }
}

/// Levels of the adder tree for packets of this type: 7 for 4-bit elements, 6 for 8-bit ones, 5 for 16-bit ones.
pub const fn tree_latency(element: ElementType) -> u64 {
    (spec::MAC_BYTES * 8 / element.bits()).ilog2() as u64
}

/// Cycles of a commit: one write per cycle.
pub const fn commit_cycles(flits: u64, commit_in_bytes: u64, commit_bytes: u64) -> u64 {
    flits * commit_in_bytes / commit_bytes
}

/// Cycles by which the Vector Engine delays a stream: one per arithmetic unit, and one per slice of a group, as a ring
/// passes its sums once around.
pub fn vector_latency(vector: &Vector) -> u64 {
    let ring = vector.inter_slice().map_or(0, |reduce| reduce.group as u64);
    vector.alus().count() as u64 * spec::VECTOR_ALU_LATENCY_CYCLES + ring
}

/// Collects the stages of a pass.
struct Stages {
    list: List<StageTime, { Stage::ALL.len() }>,
    model: Model,
}

impl Stages {
    fn add(&mut self, stage: Stage, occupancy: Cost, latency: Cost) {
        self.list.push(StageTime { stage, occupancy, latency });
    }

    fn fetch(&mut self, fetch: &Fetch, access_bytes: usize) {
        let bytes = (fetch.packet * fetch.source.footprint.element.bits()).div_ceil(8) as u64;
        let cycles = fetch_cycles(fetch.time as u64, bytes, access_bytes as u64);
        let read = self.model.cost(Number::DmRead, 1);
        let (adapter, looked_up) = match &fetch.table {
            Some(table) => (AdapterStage::Table.latency() as u64, table.output),
            None => (0, fetch.source.footprint.element),
        };
        let cast = if looked_up == fetch.output { 0 } else { AdapterStage::Cast.latency() as u64 };
        let class = match (read.cycles, fetch.table.is_some()) {
            (0, false) => CostClass::Documented,
            _ => CostClass::Assumed,
        };
        let latency = Cost { cycles: read.cycles + adapter + cast, class, source: "read, table, cast" };
        let reads = Cost::documented(cycles, "time * fetches per packet");
        let table = table_cycles_of(fetch, self.model).filter(|table| table.cycles > reads.cycles);
        let occupancy = table.unwrap_or(reads);
        self.add(Stage::Fetch, occupancy, latency);
    }

    fn contraction(&mut self, contraction: &Contraction, channels: usize) {
        let Contraction { trf, collect_flits, tile, steps, columns, slot_count, kind, .. } = contraction;
        let flits = collect_flits.div_ceil(channels);
        let cycles = contract_cycles(*steps as u64, flits as u64, *tile as u64);
        self.add(
            Stage::Contract,
            Cost::documented(cycles, "max(flits, packets)"),
            Cost::documented(tree_latency(trf.element), "adder tree"),
        );
        let cycles = accumulate_cycles(*kind, *slot_count as u64, trf.rows as u64, *columns as u64);
        let none = Cost::documented(0, "inside the occupancy");
        self.add(Stage::Accumulate, Cost::documented(cycles, "flits out"), none);
    }
}

/// The time of a pass that nothing else disturbs.
pub fn tensor_unit_time(unit: &TensorUnit, model: Model, channels: Channels) -> TensorUnitTime {
    let mut stages = Stages { list: List::new(NOTHING), model };
    let none = Cost::documented(0, "passes through");
    stages.fetch(&unit.fetch, fetch_access_bytes(unit, channels));
    let bytes = channel_bytes(unit, channels);
    let channels = if unit.sub_context { 1 } else { channels.of_main() };
    let time = unit.fetch.time as u64;
    let ring = unit.switch.as_ref().map_or(1, |switch| switch.ring_size as u64);
    let exchanged = switch_cycles(ring, time, bytes);
    let fill = match ring {
        1 => none,
        _ => model.cost(Number::SwitchHop, ring - 1),
    };
    stages.add(Stage::Switch, Cost::documented(exchanged, "ring * time * flits"), fill);
    let time = unit.shapes().switched.time as u64;
    let mut flits = match &unit.collect {
        Some(collect) => time * collect.flits.div_ceil(channels) as u64,
        None => switch_cycles(1, time, bytes),
    };
    if unit.collect.is_some() {
        stages.add(Stage::Collect, Cost::documented(flits, "1 flit per cycle"), none);
    }
    if let Some(contraction) = &unit.contraction {
        stages.contraction(contraction, channels);
        flits = stages.list.at(stages.list.len() - 1).occupancy.cycles;
    }
    if let Some(vector) = &unit.vector {
        let before = unit.shapes().contracted;
        let cycles = vector_cycles(vector, before);
        let latency = Cost::documented(vector_latency(vector), "1 per arithmetic unit, slices of a group");
        stages.add(Stage::Vector, Cost::documented(cycles, "1 packet of 8 or 4 lanes per cycle"), latency);
        flits = vector.shape(before).time as u64;
    }
    if unit.cast.is_some() {
        let latency = model.cost(Number::Cast, 1);
        stages.add(Stage::Cast, Cost::documented(flits, "1 flit per cycle"), latency);
    }
    if let Some(transpose) = &unit.transpose {
        let cycles = transpose_cycles(transpose);
        let none = Cost::documented(0, "inside the occupancy");
        stages.add(Stage::Transpose, Cost::documented(cycles, "matrices in, matrices out"), none);
        flits = transpose.out_time() as u64;
    }
    match &unit.sink {
        Sink::Commit { destination, config, commit_size, .. } => {
            // What the engine narrows counts as it is written, and takes no time of its own: assumed.
            let bytes = (config.packet_size * destination.footprint.element.bits() / 8) as u64;
            let flits = config.positions() as u64 / config.packet_size.max(1) as u64;
            let cycles = commit_cycles(flits, bytes, *commit_size as u64);
            stages.add(Stage::Commit, Cost::documented(cycles, "time * in / size"), none);
        }
        Sink::Trf { .. } => stages.add(Stage::ToTrf, Cost::assumed(flits, "1 flit per cycle"), none),
        Sink::Vrf { .. } => stages.add(Stage::ToVrf, Cost::assumed(flits, "1 flit per cycle"), none),
    }
    TensorUnitTime { stages: stages.list, issue: model.cost(Number::PassIssue, 1) }
}

const NOTHING: StageTime =
    StageTime { stage: Stage::Fetch, occupancy: Cost::documented(0, ""), latency: Cost::documented(0, "") };
