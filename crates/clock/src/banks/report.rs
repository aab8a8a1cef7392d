//! Reports of the banks: plain data.

use super::timeline::UNIT_REQUESTERS;
use crate::named::named;
use core::fmt;
use core::ops::Range;
use furiosa_visa_rules::spec::DM_BANK_RUN_ACCESSES;

named! {
    /// Requesters of a bank, from the highest priority to the lowest.
    pub enum Requester {
        /// The fetch of the main context.
        MainFetch = "main fetch",
        /// The commit of the main context.
        MainCommit = "main commit",
        /// The fetch of the sub context.
        SubFetch = "sub fetch",
        /// The commit of the sub context.
        SubCommit = "sub commit",
        /// DMA.
        Dma = "DMA",
    }
}

/// Results of a requester of the Tensor Unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequesterReport {
    /// Accesses that were granted.
    pub accesses: u64,
    /// The cycle of the last grant.
    pub last_grant_cycle: Option<u64>,
    /// Cycles in which an access of the requester had to wait, by cause. The cause is the requester of the highest
    /// priority that took one of its banks or, for a fetch that is held back, the commit of its context.
    pub stall_cycles: [u64; UNIT_REQUESTERS],
}

impl RequesterReport {
    /// The cycle after the last grant, 0 without one.
    pub fn end_cycle(&self) -> u64 {
        self.last_grant_cycle.map_or(0, |cycle| cycle + 1)
    }

    /// Cycles in which `cause` kept the requester waiting.
    pub fn stalled_by(&self, cause: Requester) -> u64 {
        self.stall_cycles.get(cause as usize).copied().unwrap_or(0)
    }

    /// Sum of the cycles of waiting.
    pub fn stalled(&self) -> u64 {
        self.stall_cycles.iter().sum()
    }
}

/// Consecutive cycles in which a bank was granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CycleRun {
    /// The first cycle.
    pub start_cycle: u64,
    /// Number of cycles. 0 if the bank was never granted.
    pub cycles: u64,
}

impl CycleRun {
    /// The longer run; of two equally long ones, the earlier one.
    pub(super) const fn or_longer(self, other: Self) -> Self {
        let longer = other.cycles > self.cycles;
        if longer || other.cycles == self.cycles && other.start_cycle < self.start_cycle {
            other
        } else {
            self
        }
    }
}

/// A bank whose accesses, taken together, kept DMA from it for too long. A warning: the rule is about possible
/// failures, [`NocTimeout`] is one that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starvation {
    /// The bank.
    pub bank: usize,
    /// Accesses granted to it cycle after cycle, with that of DMA if it comes next: main 30, sub 35 and DMA 1 are 66.
    pub accesses: u64,
    /// The cycles of these accesses.
    pub cycles: Range<u64>,
}

impl fmt::Display for Starvation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.cycles;
        write!(
            f,
            "data memory: bank {} served {} accesses in a row in cycles {start} to {} while DMA was active, but \
             only {DM_BANK_RUN_ACCESSES} are safe; help: let operations that meet in this bank run one after the \
             other, or move one of their tensors",
            self.bank,
            self.accesses,
            end - 1,
        )
    }
}

/// A DMA request that was not answered in time. The chip loses its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NocTimeout {
    /// The DMA engine, by its place in the list of engines.
    pub engine: usize,
    /// The request, by its place in the list of the engine.
    pub request: u64,
    /// The slice, 0 to 63 of the engine.
    pub slice: usize,
    /// The lowest bank that the slice asked for in the cycle before.
    pub bank: usize,
    /// The cycle in which the request was issued.
    pub issue_cycle: u64,
    /// The first cycle that found the request unanswered for more than 4096 cycles.
    pub cycle: u64,
}

/// Results of the requests of a DMA engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineReport {
    /// Requests that were answered.
    pub requests: u64,
    /// Beats of up to 128 bytes that they took.
    pub beats: u64,
    /// The cycle in which the last bank access was granted.
    pub last_grant_cycle: Option<u64>,
    /// Cycles in which the next request was there and waited for the path of its DMN.
    pub path_stall_cycles: u64,
    /// Cycles in which the path was free and the request waited for a place in the queue of its slice.
    pub queue_stall_cycles: u64,
    /// Cycles in which a beat waited for a bank, summed over the slices, by the requester of the highest priority that
    /// took one of the banks it lacked.
    pub bank_stall_cycles: [u64; UNIT_REQUESTERS],
}

impl EngineReport {
    /// The cycle after the last grant, 0 without one.
    pub fn end_cycle(&self) -> u64 {
        self.last_grant_cycle.map_or(0, |cycle| cycle + 1)
    }
}

/// Results of DMA.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DmaReport {
    /// The engines, in order.
    pub engines: Vec<EngineReport>,
    /// Banks that starved DMA, lowest first. DMA is active from its first issue to its last grant.
    pub starvations: Vec<Starvation>,
    /// The earliest timeout. If there is one, the rest of the report is as if the chip had lived on.
    pub timeout: Option<NocTimeout>,
}

impl DmaReport {
    /// The cycle after the last grant of all engines, 0 without one.
    pub fn end_cycle(&self) -> u64 {
        self.engines.iter().map(EngineReport::end_cycle).max().unwrap_or(0)
    }
}
