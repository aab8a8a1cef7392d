//! What a report is made of: the operations that ran, and sums over all of them.

use super::banks::Starvation;
use super::contention::Meeting;
use super::cost::CostClass;
use super::hazards::OperationNumber;
use super::record::{Record, Timing, UsedSlices};
use crate::chip::names::{CONTEXTS, ContextKind, MemoryKind};
use crate::chip::spec::{CLUSTERS, MAC_BYTES, SLICES, TRF_BANK_ROWS};
use std::collections::BTreeMap;

/// Operations that are kept one by one. Sums go on.
pub const KEPT: usize = 1 << 16;

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

/// Something that a report warns of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The DMA operation.
    pub operation: OperationNumber,
    /// The operation of the Tensor Unit that went first at the banks.
    pub beside: OperationNumber,
    /// What happened.
    pub kind: WarningKind,
}

/// What a report warns of (spec page 70 §7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarningKind {
    /// A bank served so many accesses in a row that DMA might have starved.
    Starvation(Starvation),
    /// A DMA request was not answered for more than 4096 cycles. On the chip its state is lost then, and the cluster must be
    /// reset.
    NocTimeout {
        /// The slice of its PE.
        slice: usize,
        /// A bank that it waited for.
        bank: usize,
        /// The cycle in which the time was up.
        cycle: u64,
    },
}

impl core::fmt::Display for Warning {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { operation, beside, kind } = self;
        match kind {
            WarningKind::Starvation(own) => write!(f, "warning: #{operation} beside #{beside}: {own}"),
            WarningKind::NocTimeout { slice, bank, cycle } => write!(
                f,
                "fault: #{operation} beside #{beside}: a DMA request to slice {slice} of a PE was not answered for more than \
                 4096 cycles because of bank {bank}, in cycle {cycle}: the chip loses its state; help: let #{operation} and \
                 #{beside} run one after the other, or move one of their tensors"
            ),
        }
    }
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
    /// lanes of the type.
    pub possible_products: u64,
    /// Slices that took part in a pass of the Tensor Unit.
    pub slices: UsedSlices,
    /// The most TRF rows that one contraction used.
    pub rows: usize,
    /// The least certain class among all numbers.
    pub class: Option<CostClass>,
}

/// Collects.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The first [`KEPT`] operations, in the order in which they ended.
    pub records: Vec<Record>,
    /// Kernels, the first [`KEPT`] of them.
    pub kernels: Vec<KernelTime>,
    /// Sums over all operations.
    pub totals: Totals,
    /// What might go wrong, the first [`KEPT`] of it.
    pub warnings: Vec<Warning>,
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
        let (from, to) = record.memories;
        if let Some(from) = from {
            *totals.read_bytes.entry(from).or_default() += record.amount.read_bytes;
        }
        if let Some(to) = to {
            *totals.written_bytes.entry(to).or_default() += record.amount.written_bytes;
        }
        if let Timing::TensorUnit(_) = record.timing {
            totals.slices.extend(&record.amount.slices);
        }
        if let Some(products) = record.amount.products {
            totals.products += products.count;
            totals.rows = totals.rows.max(products.rows);
            let lanes = (MAC_BYTES * 8 / products.element.bits()) as u64;
            let chips = record.amount.slices.chips().max(1);
            let slices = (chips * CLUSTERS * SLICES * TRF_BANK_ROWS) as u64;
            totals.possible_products += record.cycles() * slices * lanes;
        }
        if record.context != ContextKind::PcieDma {
            self.add_to_kernel(record);
        }
        if self.records.len() < KEPT {
            self.records.push(record.clone());
        }
    }

    /// Adds what became of an operation beside others.
    pub fn met(&mut self, operation: OperationNumber, met: &[(OperationNumber, Meeting)]) {
        for (beside, meeting) in met {
            let starvations = meeting.starvations.iter().cloned().map(WarningKind::Starvation);
            let timeout =
                meeting.timeout.map(|(slice, bank, cycle)| WarningKind::NocTimeout { slice, bank, cycle });
            for kind in starvations.chain(timeout) {
                if self.warnings.len() < KEPT {
                    self.warnings.push(Warning { operation, beside: *beside, kind });
                }
            }
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
            self.kernels.push(KernelTime { call, start, end, operations: 1 });
        }
    }
}
