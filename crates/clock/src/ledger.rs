//! What a report is made of: the operations that ran, and sums over all of them.

use super::banks::Starvation;
use super::contention::{BankLoad, Meeting};
use super::cost::CostClass;
use super::hazards::{Access, OperationNumber};
use super::occasions::Occasions;
use super::record::{Record, Timing, UsedSlices};
use super::repeats::{Fold, Kept, Repeats};
use core::panic::Location;
use furiosa_visa_rules::command::SdkNote;
use furiosa_visa_rules::command::{CONTEXTS, ContextKind, MemoryKind};
use furiosa_visa_rules::command::{Fault, FaultKind};
use furiosa_visa_rules::spec::{
    CLUSTERS, HBM_CHANNELS, MAC_BYTES, NOC_TIMEOUT_CYCLES, SLICES, TRF_BANK_ROWS,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Operations that are kept one by one, at most: see [`repeats`](super::repeats). Sums go on.
pub const KEPT: usize = 1 << 16;

/// Commands of DMA engines that are kept with operations, at most: see [`Record::load`].
pub(crate) const KEPT_COMMANDS: usize = 1 << 18;

/// Operations that have ended whose line is known still.
const RECENT: usize = 4096;

/// A launch of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCall {
    /// The launch, counted from 1. 0: no kernel runs, the call stands on its own.
    pub number: u64,
    /// The name of the kernel.
    pub name: &'static str,
}

/// When a kernel ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTime {
    /// The launch.
    pub call: KernelCall,
    /// The first cycle of its first operation.
    pub start: u64,
    /// The end of its last operation.
    pub end: u64,
    /// Its operations.
    pub operations: u64,
}

impl KernelTime {
    /// From the start of its first operation to the end of its last one. Transfers of the host are no part of it.
    pub const fn makespan(&self) -> u64 {
        self.end - self.start
    }
}

/// A bank of DM served so many accesses in a row that DMA might have starved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The DMA operation.
    pub operation: OperationNumber,
    /// The operation of the Tensor Unit that went first at the banks.
    pub beside: OperationNumber,
    /// What happened.
    pub starvation: Starvation,
}

impl core::fmt::Display for Warning {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { operation, beside, starvation } = self;
        write!(f, "warning: #{operation} beside #{beside}: {starvation}")
    }
}

/// A call of the program.
type Call = (OperationNumber, &'static str, &'static Location<'static>);

/// A DMA operation of which a request was not answered in time, because of one that went first at the banks: the slice of
/// the request's PE, the bank, the cycle.
fn noc_timeout(dma: Call, beside: OperationNumber, (slice, bank, cycle): (usize, usize, u64)) -> Fault {
    let (number, operation, location) = dma;
    let message = format!(
        "#{number} runs beside #{beside}, a request to slice {slice} of a PE is not answered for more than \
         {NOC_TIMEOUT_CYCLES} cycles because of bank {bank}, and in cycle {cycle} the chip loses its state"
    );
    let help = "let the two run one after the other, or move one of their tensors to other banks";
    Fault::new(FaultKind::NocTimeout, operation, location, message, help)
}

/// What a channel of HBM did for all operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelSum {
    /// Bytes that it was asked for.
    pub bytes: u64,
    /// Ticks of 1/3 cycle in which it moved data or was held by a partial write.
    pub busy_ticks: u64,
}

/// Sums over all operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Operations.
    pub operations: u64,
    /// The end of the last one.
    pub end: u64,
    /// Cycles for which each of [`ContextKind::ALL`] worked.
    pub busy: [u64; CONTEXTS],
    /// Operations of each of [`ContextKind::ALL`].
    pub given: [u64; CONTEXTS],
    /// Bytes read, by the memory that they were read from.
    pub read_bytes: BTreeMap<MemoryKind, u64>,
    /// Bytes written, by memory.
    pub written_bytes: BTreeMap<MemoryKind, u64>,
    /// Multiplications.
    pub products: u64,
    /// What all slices and rows of the chips could have multiplied while contractions ran: cycles of contraction times the
    /// lanes of the type. The share of whole kernels is in the [headline](super::report::Headline).
    pub possible_products: u64,
    /// Bytes of the stream, or of weights, that the multiplications of kernels take: one side of each.
    pub multiplied_bytes: u64,
    /// Bytes that kernels read from HBM and write to it.
    pub hbm_bytes: u64,
    /// Bytes that DMA engines move in kernels.
    pub dma_bytes: u64,
    /// What the channels of HBM did for DMA operations, of each chip up to the last one that was asked for something.
    /// Transfers of the host are not among them.
    pub hbm_channels: Vec<[ChannelSum; HBM_CHANNELS]>,
    /// Slices that took part in a pass of the Tensor Unit.
    pub slices: UsedSlices,
    /// The most TRF rows that one contraction used.
    pub rows: usize,
    /// The least certain class among all numbers.
    pub class: Option<CostClass>,
    /// How often both clusters met before they loaded what was stored to HBM.
    pub meetings: u64,
    /// Loads from HBM into both clusters of a chip.
    pub joint_loads: u64,
    /// Where the numbers come from: class, name, rule.
    pub sources: BTreeSet<(CostClass, &'static str, &'static str)>,
    /// The most DMA engines that one operation used.
    pub dma_engines: usize,
    /// Operations that are neither kept nor counted with others that they repeat.
    pub left_out: u64,
}

/// The bytes that an operation touches.
#[derive(Clone, Debug)]
pub struct Touches {
    /// The operation.
    pub number: OperationNumber,
    /// The call.
    pub operation: &'static str,
    /// The line.
    pub location: &'static Location<'static>,
    /// The cycle of its start.
    pub start: u64,
    /// The cycle of its end.
    pub end: u64,
    /// The bytes.
    pub accesses: Arc<[Access]>,
}

/// Collects.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Operations in the order in which they ended, without those that repeat others. At most [`KEPT`].
    pub records: Vec<Record>,
    /// Those that repeat others.
    pub repeats: Vec<Repeats>,
    /// Kernels, the first [`KEPT`] of them.
    pub kernels: Vec<KernelTime>,
    /// Sums over all operations.
    pub totals: Totals,
    /// What might go wrong, the first [`KEPT`] of it.
    pub warnings: Vec<Warning>,
    /// What users report to go wrong, each line of the program once.
    pub notes: Vec<SdkNote>,
    /// What did, the first [`KEPT`] of it.
    pub faults: Vec<Fault>,
    /// Whether the program was interrupted: these are the operations until then.
    pub interrupted: bool,
    /// The chips of the system, when nothing follows.
    pub chips: usize,
    /// What the first [`KEPT`] operations touch, for a map of the memory: whether they repeat others or not.
    pub touches: Vec<Touches>,
    /// How often operations did what a hint would spare them.
    pub occasions: Occasions,
    fold: Fold,
    /// Commands that are kept, at most [`KEPT_COMMANDS`].
    pub(crate) commands: usize,
    /// Where the last [`RECENT`] operations were called.
    recent: VecDeque<(OperationNumber, &'static Location<'static>)>,
}

impl Ledger {
    /// Adds an operation that has ended.
    pub fn add(&mut self, record: &Record) {
        let totals = &mut self.totals;
        let context = record.context as usize;
        totals.operations += 1;
        totals.end = totals.end.max(record.end);
        totals.busy[context] += record.cycles();
        totals.given[context] += 1;
        let class = record.timing.class();
        totals.class = Some(totals.class.map_or(class, |own| own.and(class)));
        totals
            .sources
            .extend(record.timing.costs().iter().map(|(name, cost)| (cost.class, *name, cost.source)));
        if let Timing::Dma(time) = &record.timing {
            totals.dma_engines = totals.dma_engines.max(time.engines());
            totals.dma_bytes += time.bytes();
            for &(chip, ref served) in time.time.iter().flat_map(|time| &time.hbm) {
                if totals.hbm_channels.len() <= chip {
                    totals.hbm_channels.resize(chip + 1, Default::default());
                }
                for (channel, own) in served.channels() {
                    let sum = &mut totals.hbm_channels[chip][channel];
                    sum.bytes += own.bytes;
                    sum.busy_ticks += own.busy_ticks;
                }
            }
        }
        let (from, to) = record.memories;
        if record.context != ContextKind::PcieDma {
            let bytes = |memory, bytes| if memory == Some(MemoryKind::Hbm) { bytes } else { 0 };
            totals.hbm_bytes +=
                bytes(from, record.amount.read_bytes) + bytes(to, record.amount.written_bytes);
        }
        if let Some(from) = from {
            *totals.read_bytes.entry(from).or_default() += record.amount.read_bytes;
        }
        if let Some(to) = to {
            *totals.written_bytes.entry(to).or_default() += record.amount.written_bytes;
        }
        if let Timing::Meeting(_) = record.timing {
            totals.meetings += 1;
        }
        totals.joint_loads += u64::from(record.loads_both_clusters());
        if let Timing::TensorUnit(_) = record.timing {
            totals.slices.extend(&record.amount.slices);
        }
        if let Some(products) = record.amount.products {
            totals.products += products.count;
            totals.multiplied_bytes +=
                (u128::from(products.count) * products.element.bits() as u128 / 8) as u64;
            totals.rows = totals.rows.max(products.rows);
            let lanes = (MAC_BYTES * 8 / products.element.bits()) as u64;
            let chips = record.amount.slices.chips().max(1);
            let slices = (chips * CLUSTERS * SLICES * TRF_BANK_ROWS) as u64;
            // A wild command may take longer than anything can count.
            let possible = record.cycles().saturating_mul(slices * lanes);
            totals.possible_products = totals.possible_products.saturating_add(possible);
        }
        if record.context != ContextKind::PcieDma {
            self.add_to_kernel(record);
        }
        if self.touches.len() < KEPT {
            let Record { number, operation, location, start, end, .. } = *record;
            let accesses = record.accesses.clone();
            self.touches.push(Touches { number, operation, location, start, end, accesses });
        }
        self.occasions.add(record);
        match self.fold.add(record, &self.records, &mut self.repeats, KEPT) {
            Kept::Alone => self.keep(record.clone()),
            Kept::Counted => {}
            Kept::Neither => self.totals.left_out += 1,
        }
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((record.number, record.location));
    }

    fn keep(&mut self, mut record: Record) {
        if !self.takes(record.load.size()) {
            record.load = Arc::new(BankLoad::Nothing);
        }
        self.records.push(record);
    }

    /// Whether so many commands are kept beside those that are.
    fn takes(&mut self, commands: usize) -> bool {
        let takes = self.commands + commands <= KEPT_COMMANDS;
        if takes {
            self.commands += commands;
        }
        takes
    }

    /// Adds what became of an operation beside another one, which was called at `place` if that is known still.
    pub fn met(
        &mut self,
        own: Call,
        (beside, place): (OperationNumber, Option<&'static Location<'static>>),
        meeting: &Meeting,
    ) {
        let operation = own.0;
        let warning = |starvation: &Starvation| Warning { operation, beside, starvation: starvation.clone() };
        let room = KEPT - self.warnings.len();
        self.warnings.extend(meeting.starvations.iter().map(warning).take(room));
        if let Some(timeout) = meeting.timeout
            && self.faults.len() < KEPT
        {
            let mut fault = noc_timeout(own, beside, timeout);
            if let Some(place) = place {
                fault = fault.after("what goes first at the banks is given here", place);
            }
            self.faults.push(fault);
        }
    }

    /// Where an operation that ended not long ago was called.
    pub fn location(&self, number: OperationNumber) -> Option<&'static Location<'static>> {
        self.recent.iter().rev().find(|(own, _)| *own == number).map(|(_, location)| *location)
    }

    fn add_to_kernel(&mut self, record: &Record) {
        let full = self.kernels.len() >= KEPT;
        if let Some(last) = self.kernels.last_mut().filter(|last| last.call == record.kernel) {
            last.start = last.start.min(record.start);
            last.end = last.end.max(record.end);
            last.operations += 1;
        } else if !full {
            let Record { kernel: call, start, end, .. } = *record;
            self.kernels.push(KernelTime { call, start, end, operations: 1 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many commands are kept as are allowed, and not one more. What is too large leaves its room to what follows.
    #[test]
    fn kept_commands_end_at_their_limit() {
        let mut ledger = Ledger::default();
        assert!(ledger.takes(KEPT_COMMANDS - 4));
        assert!(!ledger.takes(5));
        assert!(ledger.takes(4) && ledger.takes(0));
        assert!(!ledger.takes(1));
        assert_eq!(ledger.commands, KEPT_COMMANDS);
    }

    #[test]
    fn a_request_that_waits_too_long_is_a_fault_at_both_lines() {
        let (first, second) = (Location::caller(), Location::caller());
        let mut ledger = Ledger::default();
        let own = (8, "to_dm", first);
        ledger.met(own, (6, Some(second)), &Meeting::default());
        assert!(ledger.faults.is_empty());
        ledger.met(own, (6, Some(second)), &Meeting { timeout: Some((3, 5, 4700)), ..Meeting::default() });
        assert!(ledger.warnings.is_empty());
        assert_eq!(
            ledger.faults[0].to_string(),
            format!(
                "fault: to_dm: NoC timeout: #8 runs beside #6, a request to slice 3 of a PE is not answered for more than 4096 \
                 cycles because of bank 5, and in cycle 4700 the chip loses its state\n  --> {first}\n\
                 note: what goes first at the banks is given here\n  --> {second}\n\
                 help: let the two run one after the other, or move one of their tensors to other banks"
            )
        );
    }
}
