//! Edits that make a program faster, as data. The report finds them.

use super::hazards::OperationNumber;
use core::panic::Location;

/// Subject of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HintKind {
    /// A transfer between HBM and DM in runs below 256 bytes.
    ShortRuns,
    /// Writes of parts of units, which are read, changed and written.
    PartialWrites,
    /// Reads that begin inside a unit, each of two units instead of one.
    SplitReads,
    /// A load behind an operation that waits.
    LateLoad,
    /// A load that waits until its only buffer is free.
    OneBuffer,
    /// A cluster that no pass of the kernel uses.
    IdleCluster,
    /// A contraction with fewer than 8 rows of the register file.
    FewRows,
    /// Packets of one flit, whose other half is filled with zeros.
    OneFlit,
    /// A fetch of less than 32 bytes at a time.
    NarrowFetch,
    /// The same bytes, loaded again.
    LoadedAgain,
}

impl HintKind {
    /// All kinds.
    pub const ALL: [HintKind; 10] = [
        HintKind::ShortRuns,
        HintKind::PartialWrites,
        HintKind::SplitReads,
        HintKind::LateLoad,
        HintKind::OneBuffer,
        HintKind::IdleCluster,
        HintKind::FewRows,
        HintKind::OneFlit,
        HintKind::NarrowFetch,
        HintKind::LoadedAgain,
    ];

    /// Its name, in two or three words.
    pub const fn name(self) -> &'static str {
        match self {
            HintKind::ShortRuns => "short DMA runs",
            HintKind::PartialWrites => "partial writes",
            HintKind::SplitReads => "split reads",
            HintKind::LateLoad => "late load",
            HintKind::OneBuffer => "one buffer",
            HintKind::IdleCluster => "idle cluster",
            HintKind::FewRows => "few rows",
            HintKind::OneFlit => "one flit of two",
            HintKind::NarrowFetch => "narrow fetch",
            HintKind::LoadedAgain => "loaded again",
        }
    }
}

/// An edit that makes a program faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Its subject.
    pub kind: HintKind,
    /// The kernel. Empty: commands outside of kernels.
    pub kernel: &'static str,
    /// The line.
    pub location: &'static Location<'static>,
    /// The call.
    pub operation: &'static str,
    /// The first operation of the line.
    pub number: OperationNumber,
    /// Number of operations of the line, in all launches.
    pub operations: u64,
    /// Their cycles.
    pub cycles: u64,
    /// Reason for the cycles.
    pub cause: String,
    /// Change to make.
    pub edit: String,
    /// Cycles that it saves in all launches.
    pub saving: u64,
}
