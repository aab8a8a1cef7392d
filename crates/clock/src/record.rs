//! Record of an operation that has run: its time, its wait, and the amount of its work.

use super::contention::BankLoad;
use super::cost::{Cost, CostClass};
use super::dma_timing::DmaTiming;
use super::hazards::{Access, OperationNumber};
use super::hint::Hint;
use super::ledger::{KernelCall, Ledger};
use super::parts::PartNumber;
use super::schedule::{Resources, Scheduled, Wait};
use super::tensor_unit::{Stage, TensorUnitTime};
use core::panic::Location;
use furiosa_visa_rules::command::{ContextKind, MemoryKind, RngdAlu, StreamShape, Vector};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::{CLUSTERS, SLICES};
use std::sync::Arc;

/// Composition of the cycles of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Timing {
    /// A pass through the Tensor Unit.
    TensorUnit(TensorUnitTime),
    /// A DMA operation.
    Dma(DmaTiming),
    /// A transfer over PCIe: its cycles.
    Host(Cost),
    /// The bitmap of a custom switch is written to the routers: its cycles.
    Bitmap(Cost),
    /// Both clusters meet before they load what was stored to HBM: its cycles.
    Meeting(Cost),
}

impl Timing {
    /// Cycles when nothing else runs.
    pub fn cycles(&self) -> u64 {
        match self {
            Timing::TensorUnit(time) => time.cycles(),
            Timing::Dma(time) => time.cycles,
            Timing::Host(cost) | Timing::Bitmap(cost) | Timing::Meeting(cost) => cost.cycles,
        }
    }

    /// Certainty of the cycles.
    pub fn class(&self) -> CostClass {
        match self {
            Timing::TensorUnit(time) => time.class(),
            Timing::Dma(time) => time.class(),
            Timing::Host(cost) | Timing::Bitmap(cost) | Timing::Meeting(cost) => cost.class,
        }
    }

    /// Part that sets the pace.
    pub fn bottleneck(&self) -> &'static str {
        match self {
            Timing::TensorUnit(time) => time.bottleneck().stage.name(),
            Timing::Dma(time) => time.bound(),
            Timing::Host(_) => "PCIe",
            Timing::Bitmap(_) => "routers",
            Timing::Meeting(_) => "clusters",
        }
    }

    /// All numbers with their names, as a report lists them.
    pub fn costs(&self) -> Vec<(&'static str, Cost)> {
        match self {
            Timing::TensorUnit(time) => {
                let stages = time.stages.iter().map(|stage| (stage.stage.name(), stage.occupancy));
                let latencies = time.stages.iter().filter(|stage| stage.latency.cycles > 0);
                let latencies = latencies.map(|stage| (latency_name(stage.stage), stage.latency));
                let issue = (time.issue.cycles > 0).then_some(("issue", time.issue));
                stages.chain(latencies).chain(issue).collect()
            }
            Timing::Dma(time) => time.costs(),
            Timing::Host(cost) => vec![("PCIe", *cost)],
            Timing::Bitmap(cost) => vec![("switch bitmap", *cost)],
            Timing::Meeting(cost) => vec![("clusters meet", *cost)],
        }
    }
}

const fn latency_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Fetch => "fetch latency",
        Stage::Switch => "switch latency",
        Stage::Contract => "tree latency",
        Stage::Vector => "vector latency",
        Stage::Cast => "cast latency",
        _ => "latency",
    }
}

/// Set of the slices of a system that hold a live element of a tensor: one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedSlices {
    words: Vec<u64>,
}

impl UsedSlices {
    /// Adds a slice: `(chip * 2 + cluster) * 256 + slice`.
    pub fn insert(&mut self, unit: usize) {
        let word = unit / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (unit % 64);
    }

    /// Adds all slices of another set.
    pub fn extend(&mut self, other: &UsedSlices) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, added) in self.words.iter_mut().zip(&other.words) {
            *word |= added;
        }
    }

    /// Number of its slices among `units`.
    pub fn among(&self, units: core::ops::Range<usize>) -> usize {
        let has = |unit: &usize| self.words.get(unit / 64).is_some_and(|word| word >> (unit % 64) & 1 == 1);
        units.filter(has).count()
    }

    /// The number of slices.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Tells if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The number of slices of one cluster of one chip.
    pub fn in_cluster(&self, chip: usize, cluster: usize) -> usize {
        let first = (chip * CLUSTERS + cluster) * SLICES / 64;
        let words = self.words.iter().skip(first).take(SLICES / 64);
        words.map(|word| word.count_ones() as usize).sum()
    }

    /// Tells if it has slices of this cluster, on any chip.
    pub fn has_cluster(&self, cluster: usize) -> bool {
        (0..self.chips()).any(|chip| self.in_cluster(chip, cluster) > 0)
    }

    /// Number of chips up to the last one with a slice in the set.
    pub fn chips(&self) -> usize {
        let last = self.words.iter().rposition(|word| *word != 0);
        last.map_or(0, |word| word * 64 / (CLUSTERS * SLICES) + 1)
    }
}

/// Multiplications of a contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Products {
    /// Multiplications of all slices together. Padding of the tensors is included; the zeros that fill a packet of one
    /// flit are not.
    pub count: u64,
    /// Number of TRF rows that take part, up to 8.
    pub rows: usize,
    /// Type of the elements.
    pub element: ElementType,
}

/// Use of the Vector Engine by a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorUse {
    /// Lanes of its narrowest packets: 8 or 4.
    pub way: usize,
    /// Number of these lanes that hold an element in some packet.
    pub lanes: usize,
    /// Its arithmetic units, in order. A unit that is free again behind an inter-slice reduce may occur twice.
    pub units: Vec<RngdAlu>,
}

impl VectorUse {
    /// Use by a program on the stream that enters it.
    pub fn new(vector: &Vector, before: StreamShape) -> Self {
        const LANE: usize = 4;
        let way = vector.shapes(before).map(|shape| shape.lanes).min().unwrap_or(before.lanes).max(1);
        let mut used = vec![false; way];
        for lane in (0..before.lanes).filter(|&lane| vector.guard.holds_alone(LANE, lane)) {
            // A split moves the upper lanes to separate packets.
            used[lane % way] = true;
        }
        Self { way, lanes: used.iter().filter(|used| **used).count(), units: vector.alus().collect() }
    }
}

/// Work of a contraction in each slice, as far as hints use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContractionUse {
    /// Flits of a packet, filling excluded: 1 or 2.
    pub flits: usize,
    /// Number of steps.
    pub steps: u64,
    /// Steps in a row that use the same packet.
    pub uses: u64,
    /// Sums that leave the accumulator. Each sum is over `steps / slots` steps.
    pub slots: u64,
    /// Elements of a row of the TRF tensor.
    pub row_elements: u64,
    /// True if a flit that leaves has an element of each row.
    pub interleaved: bool,
}

/// Use of the fetch and of the contraction by a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassUse {
    /// Bytes of one access of the fetch.
    pub access_bytes: usize,
    /// Cycles in which a table looks up the fetched elements. 0 if there is no table.
    pub table_cycles: u64,
    /// Its contraction.
    pub contraction: Option<ContractionUse>,
    /// Type of the elements behind the fetch.
    pub element: ElementType,
    /// True if the fetch reads all elements of the tensor once, in their order.
    pub in_order: bool,
    /// True if slices get packets or sums of others: it depends on their order.
    pub crosses_slices: bool,
}

/// Amount of work of an operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Amount {
    /// Bytes read from DM or HBM, in all units together.
    pub read_bytes: u64,
    /// Bytes written to DM, HBM or register files, in all units together.
    pub written_bytes: u64,
    /// The slices that take part.
    pub slices: Arc<UsedSlices>,
    /// Multiplications.
    pub products: Option<Products>,
    /// Lanes and units of the Vector Engine.
    pub vector: Option<VectorUse>,
    /// Use of the fetch and of the contraction by a pass.
    pub pass: Option<PassUse>,
}

/// An operation that has run.
#[derive(Clone, Debug)]
pub struct Record {
    /// Number of the operation in its system, from 0.
    pub number: OperationNumber,
    /// The kernel that gave it.
    pub kernel: KernelCall,
    /// The part of the program that it belongs to.
    pub(crate) part: PartNumber,
    /// The call, for example `commit`.
    pub operation: &'static str,
    /// Context that ran it.
    pub context: ContextKind,
    /// Resources that it held while it ran.
    pub resources: Resources,
    /// The call in the kernel.
    pub location: &'static Location<'static>,
    /// Its first cycle.
    pub start: u64,
    /// The first cycle after it.
    pub end: u64,
    /// Cycles for which its context was idle before it.
    pub idle: u64,
    /// Its last wait.
    pub wait: Option<Wait>,
    /// The operations beside it that go first at the banks of DM, each with the cycles by which it delayed this one.
    pub beside: Vec<(OperationNumber, u64)>,
    /// Composition of its cycles.
    pub timing: Timing,
    /// Amount of its work.
    pub amount: Amount,
    /// Memories that it reads from and writes to. `None`: the host.
    pub memories: (Option<MemoryKind>, Option<MemoryKind>),
    /// The bytes that it touches, in every unit that it uses.
    pub accesses: Arc<[Access]>,
    /// Its accesses to the banks of DM. [`BankLoad::Nothing`] if the profile has no banks, or if a ledger has no room
    /// left for them.
    pub load: Arc<BankLoad>,
    /// Configuration of the engines, as text.
    pub configuration: Arc<str>,
}

impl Record {
    /// An operation that has been given and has not run yet. It does nothing so far.
    pub(super) fn given(
        (kernel, part): (KernelCall, PartNumber),
        location: &'static Location<'static>,
    ) -> Self {
        Self {
            number: 0,
            kernel,
            part,
            operation: "",
            context: ContextKind::TensorDma,
            resources: Resources::default(),
            location,
            start: 0,
            end: 0,
            idle: 0,
            wait: None,
            beside: Vec::new(),
            timing: Timing::Host(Cost::documented(0, "")),
            amount: Amount::default(),
            memories: (None, None),
            accesses: Arc::default(),
            load: Arc::new(BankLoad::Nothing),
            configuration: Arc::default(),
        }
    }

    /// The operation after it has run.
    pub(super) fn at(self, scheduled: Scheduled) -> Self {
        let Scheduled { number, start, end, idle, wait, met } = scheduled;
        let beside = met.iter().map(|(on, meeting)| (*on, meeting.delay)).collect();
        Self { number, start, end, idle, wait, beside, ..self }
    }

    /// Tells if it is a contraction of the sub context, which works only while the main context is idle.
    pub fn sums_in_sub_context(&self) -> bool {
        self.context == ContextKind::Sub && self.amount.products.is_some()
    }

    /// Tells if it loads from HBM into both clusters.
    pub fn loads_both_clusters(&self) -> bool {
        let ends = (Some(MemoryKind::Hbm), Some(MemoryKind::Dm));
        let is_load = matches!(self.timing, Timing::Dma(_)) && self.memories == ends;
        is_load && (0..CLUSTERS).all(|cluster| self.amount.slices.has_cluster(cluster))
    }

    /// Bytes that it reads from HBM and writes to it.
    pub fn hbm_bytes(&self) -> u64 {
        let (from, to) = self.memories;
        let bytes = |memory, bytes| if memory == Some(MemoryKind::Hbm) { bytes } else { 0 };
        bytes(from, self.amount.read_bytes) + bytes(to, self.amount.written_bytes)
    }

    /// Cycles from start to end.
    pub fn cycles(&self) -> u64 {
        self.end - self.start
    }

    /// Cycles by which operations beside it slowed it down.
    pub fn slowed(&self) -> u64 {
        self.cycles().saturating_sub(self.timing.cycles())
    }
}

/// Receives operations as they end. The clock itself prints and writes nothing.
pub trait Observer: Send {
    /// Takes an operation that has ended. Operations come in the order in which they end.
    fn ended(&mut self, record: &Record);
    /// Takes the end of the run: nothing follows. The ledger has the facts about all operations together, the hints
    /// have the edits that would make them faster.
    fn finish(&mut self, ledger: &Ledger, hints: &[Hint]) {
        let _ = (ledger, hints);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furiosa_visa_rules::command::VectorStep;
    use furiosa_visa_rules::mapping::{M, liveness_of};
    use furiosa_visa_std::prelude::{axes, m};

    #[test]
    fn lanes_are_those_of_the_narrowest_packets() {
        use furiosa_visa_rules::command::VectorStep::{Concat, Pad, Split, Trim};
        fn used<Time: M, Packet: M>(steps: &[VectorStep]) -> (usize, usize) {
            let one = <m![1]>::EXPR;
            let guard = liveness_of(&[one, one, one, Time::EXPR, Packet::EXPR]).expect("few digits");
            let before = StreamShape { element: ElementType::F32, time: Time::SIZE, lanes: Packet::SIZE };
            let vector = Vector { steps: steps.to_vec(), ..Vector::new(ElementType::F32, guard) };
            let VectorUse { way, lanes, units } = VectorUse::new(&vector, before);
            assert_eq!(units, []);
            (way, lanes)
        }
        axes![W = 5, L = 8, V = 3, S = 6, C = 10];
        assert_eq!(used::<m![W], m![L]>(&[]), (8, 8));
        assert_eq!(used::<m![W], m![S # 8]>(&[]), (8, 6));
        assert_eq!(used::<m![W], m![1 # 8]>(&[]), (8, 1));
        assert_eq!(used::<m![W], m![L]>(&[Split, Concat]), (4, 4));
        // Packets of 4 and of 2.
        assert_eq!(used::<m![W], m![S # 8]>(&[Split, Concat]), (4, 4));
        assert_eq!(used::<m![W], m![V # 8]>(&[Trim, Pad]), (4, 3));
        // Packets of 8 and of 2.
        assert_eq!(used::<m![C # 16 / 8], m![C # 16 % 8]>(&[]), (8, 8));
    }

    #[test]
    fn slices_are_counted_by_cluster() {
        let mut used = UsedSlices::default();
        assert!(used.is_empty() && used.chips() == 0);
        for unit in [0, 63, 64, 255, 256, 511, 512 + 300] {
            used.insert(unit);
        }
        used.insert(0);
        assert_eq!((used.len(), used.chips()), (7, 2));
        assert_eq!(
            [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)].map(|(a, b)| used.in_cluster(a, b)),
            [4, 2, 0, 1, 0]
        );
        let mut other = UsedSlices::default();
        other.insert(1);
        other.extend(&used);
        assert_eq!((other.len(), other.chips()), (8, 2));
    }
}
