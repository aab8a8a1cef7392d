//! Content of a report: the operations that ran, and sums over all of them.

use super::banks::Starvation;
use super::bound::{self, Bounds};
use super::contention::{BankLoad, Meeting};
use super::cost::{CostClass, Profile};
use super::hazards::{Access, OperationNumber};
use super::occasions::Occasions;
use super::parts::Parts;
use super::record::{Record, Timing, UsedSlices};
use super::repeats::{Fold, Kept, Repeats};
use core::panic::Location;
use furiosa_visa_rules::command::{CONTEXTS, ContextKind, Fault, FaultKind, MemoryKind, SdkNote};
use furiosa_visa_rules::spec::{
    CLUSTERS, HBM_CHANNELS, MAC_BYTES, NOC_TIMEOUT_CYCLES, SLICES, TRF_BANK_ROWS,
};
use litemap::LiteMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of operations that are kept one by one: see [`repeats`](super::repeats). Sums include all others.
pub const KEPT: usize = 1 << 16;

/// Maximum number of commands of DMA engines that are kept with operations: see [`Record::load`].
pub(crate) const KEPT_COMMANDS: usize = 1 << 18;

/// Number of ended operations whose line is still known.
const RECENT: usize = 4096;

/// A launch of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCall {
    /// The launch, counted from 1. 0 if no kernel runs and the call stands alone.
    pub number: u64,
    /// The name of the kernel.
    pub name: &'static str,
}

/// Time in which a kernel ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTime {
    /// The launch.
    pub call: KernelCall,
    /// The first cycle of its first operation.
    pub start: u64,
    /// The end of its last operation.
    pub end: u64,
    /// Number of its operations.
    pub operations: u64,
    /// Lower bounds on its cycles.
    pub bounds: Bounds,
}

impl KernelTime {
    /// Cycles from the start of its first operation to the end of its last one. Transfers of the host are excluded.
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
    /// The starvation at the bank.
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

/// Fault for a DMA operation with a request that was not answered in time, because operation `beside` went first at the
/// banks. The last argument is the slice of the request's PE, the bank and the cycle.
fn noc_timeout(dma: Call, beside: OperationNumber, (slice, bank, cycle): (usize, usize, u64)) -> Fault {
    let (number, operation, location) = dma;
    let message = format!(
        "#{number} runs beside #{beside}, a request to slice {slice} of a PE is not answered for more than \
         {NOC_TIMEOUT_CYCLES} cycles because of bank {bank}, and in cycle {cycle} the chip loses its state"
    );
    let help = "let the two run one after the other, or move one of their tensors to other banks";
    Fault::new(FaultKind::NocTimeout, operation, location, message, help)
}

/// Work of a channel of HBM in all operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelSum {
    /// Bytes that were requested from it.
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
    pub read_bytes: LiteMap<MemoryKind, u64>,
    /// Bytes written, by memory.
    pub written_bytes: LiteMap<MemoryKind, u64>,
    /// Multiplications.
    pub products: u64,
    /// Multiplications that all slices and rows of the chips could have done while contractions ran: cycles of
    /// contraction times the lanes of the type. The headline of a report has the share of whole kernels.
    pub possible_products: u64,
    /// Bytes of one operand, the stream or the weights, of all multiplications of kernels.
    pub multiplied_bytes: u64,
    /// Bytes that kernels read from HBM and write to it.
    pub hbm_bytes: u64,
    /// Bytes that DMA engines move in kernels.
    pub dma_bytes: u64,
    /// Work of the channels of HBM for DMA operations, of each chip up to the last one that got a request. Transfers of
    /// the host are excluded.
    pub hbm_channels: Vec<[ChannelSum; HBM_CHANNELS]>,
    /// Slices that took part in a pass of the Tensor Unit.
    pub slices: UsedSlices,
    /// The most TRF rows that one contraction used.
    pub rows: usize,
    /// The least certain class among all numbers.
    pub class: Option<CostClass>,
    /// Number of times that both clusters met before they loaded data that was stored to HBM.
    pub meetings: u64,
    /// Loads from HBM into both clusters of a chip.
    pub joint_loads: u64,
    /// Sources of the numbers: class, name, rule.
    pub sources: LiteMap<(CostClass, &'static str, &'static str), ()>,
    /// The most DMA engines that one operation used.
    pub dma_engines: usize,
    /// Number of operations that are in the sums alone: not kept, and not counted as repeats of others.
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

/// Collects operations, and sums over them.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Operations in the order in which they ended, without those that repeat others. At most [`KEPT`].
    pub records: Vec<Record>,
    /// Operations that repeat others.
    pub repeats: Vec<Repeats>,
    /// Kernels, the first [`KEPT`] of them.
    pub kernels: Vec<KernelTime>,
    /// Sums over all operations.
    pub totals: Totals,
    /// Sums over the parts that the program names.
    pub parts: Parts,
    /// Possible failures, the first [`KEPT`] of them.
    pub warnings: Vec<Warning>,
    /// Failures that users report, each line of the program once.
    pub notes: Vec<SdkNote>,
    /// Failures that happened, the first [`KEPT`] of them.
    pub faults: Vec<Fault>,
    /// True if the program was interrupted: later operations are missing.
    pub interrupted: bool,
    /// Number of chips of the system. It is set when nothing follows.
    pub chips: usize,
    /// The model of time.
    pub profile: Profile,
    /// Bytes that the first [`KEPT`] operations touch, for a map of the memory. Operations that repeat others are
    /// included.
    pub touches: Vec<Touches>,
    /// Counts of the work that hints would spare operations.
    pub occasions: Occasions,
    fold: Fold,
    /// Commands that are kept, at most `KEPT_COMMANDS`.
    pub commands: usize,
    /// Locations of the calls of the last [`RECENT`] operations.
    recent: VecDeque<(OperationNumber, &'static Location<'static>)>,
}

impl Ledger {
    /// A ledger without operations, of a clock with this model of time.
    pub fn new(profile: Profile) -> Self {
        Self { profile, ..Self::default() }
    }

    /// Adds an operation that has ended.
    pub fn add(&mut self, record: &Record) {
        let totals = &mut self.totals;
        let context = record.context as usize;
        totals.operations += 1;
        totals.end = totals.end.max(record.end);
        totals.busy[context] += record.cycles();
        totals.given[context] += 1;
        let class = record.timing.class();
        totals.class = Some(totals.class.map_or(class, |known| known.and(class)));
        for (name, cost) in record.timing.costs() {
            totals.sources.insert((cost.class, name, cost.source), ());
        }
        if let Timing::Dma(time) = &record.timing {
            totals.dma_engines = totals.dma_engines.max(time.engines());
            totals.dma_bytes += time.bytes();
            for &(chip, ref served) in time.time.iter().flat_map(|time| &time.hbm) {
                if totals.hbm_channels.len() <= chip {
                    totals.hbm_channels.resize(chip + 1, Default::default());
                }
                for (channel, report) in served.channels() {
                    let sum = &mut totals.hbm_channels[chip][channel];
                    sum.bytes += report.bytes;
                    sum.busy_ticks += report.busy_ticks;
                }
            }
        }
        let (from, to) = record.memories;
        if record.context != ContextKind::PcieDma {
            totals.hbm_bytes += record.hbm_bytes();
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
            // An extreme command may take more cycles than a `u64` holds.
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

    /// Tells if `commands` more commands are kept, and counts them if so.
    fn takes(&mut self, commands: usize) -> bool {
        let takes = self.commands + commands <= KEPT_COMMANDS;
        if takes {
            self.commands += commands;
        }
        takes
    }

    /// Adds the result of an operation beside another one. `place` is the call of the other one, if it is still known.
    pub fn met(
        &mut self,
        call: Call,
        (beside, place): (OperationNumber, Option<&'static Location<'static>>),
        meeting: &Meeting,
    ) {
        let operation = call.0;
        let warning = |starvation: &Starvation| Warning { operation, beside, starvation: starvation.clone() };
        let room = KEPT - self.warnings.len();
        self.warnings.extend(meeting.starvations.iter().map(warning).take(room));
        if let Some(timeout) = meeting.timeout
            && self.faults.len() < KEPT
        {
            let mut fault = noc_timeout(call, beside, timeout);
            if let Some(place) = place {
                fault = fault.after("what goes first at the banks is given here", place);
            }
            self.faults.push(fault);
        }
    }

    /// Location of the call of an operation that ended not long ago.
    pub fn location(&self, number: OperationNumber) -> Option<&'static Location<'static>> {
        self.recent.iter().rev().find(|(known, _)| *known == number).map(|(_, location)| *location)
    }

    /// Adds bounds on the cycles of the last kernel, all operations of which have ended.
    ///
    /// # Panics
    /// In builds with debug assertions, if a bound is above the cycles: this model is wrong then. A thread that panics
    /// already keeps its message.
    pub(super) fn bound_kernel(&mut self, call: KernelCall, bounds: Bounds) {
        let Some(kernel) = self.kernels.last_mut().filter(|last| last.call == call) else { return };
        kernel.bounds = kernel.bounds.max(bounds);
        if cfg!(debug_assertions)
            && let Err(excess) = bound::check(kernel)
            && !std::thread::panicking()
        {
            panic!("{excess}, in `{}`", call.name);
        }
    }

    fn add_to_kernel(&mut self, record: &Record) {
        let full = self.kernels.len() >= KEPT;
        if let Some(last) = self.kernels.last_mut().filter(|last| last.call == record.kernel) {
            last.start = last.start.min(record.start);
            last.end = last.end.max(record.end);
            last.operations += 1;
        } else if !full {
            let Record { kernel: call, start, end, .. } = *record;
            self.kernels.push(KernelTime { call, start, end, operations: 1, bounds: Bounds::default() });
        }
        let start = self.kernels.last().map_or(0, |last| last.start);
        self.parts.add(record, start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps exactly the allowed number of commands. A record that is too large leaves its room to later ones.
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
        let call = (8, "to_dm", first);
        ledger.met(call, (6, Some(second)), &Meeting::default());
        assert!(ledger.faults.is_empty());
        ledger.met(call, (6, Some(second)), &Meeting { timeout: Some((3, 5, 4700)), ..Meeting::default() });
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
