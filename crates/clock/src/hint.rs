//! Edits that make a program faster, as data. The report finds them.

use super::hazards::OperationNumber;
use super::named::named;
use core::panic::Location;

named! {
    /// Subject of a hint.
    pub enum HintKind {
        /// A transfer between HBM and DM in runs below 256 bytes.
        ShortRuns = "short DMA runs",
        /// Writes of parts of units, which are read, changed and written.
        PartialWrites = "partial writes",
        /// Reads that begin inside a unit, each of two units instead of one.
        SplitReads = "split reads",
        /// A load behind an operation that waits.
        LateLoad = "late load",
        /// A load that waits until its only buffer is free.
        OneBuffer = "one buffer",
        /// A cluster that no pass of the kernel uses.
        IdleCluster = "idle cluster",
        /// Used slices that share DMA engines, while others have none.
        UnusedSlices = "unused slices",
        /// A load that gives many slices the same bytes.
        BroadcastLoad = "broadcast load",
        /// A contraction with fewer than 8 rows of the register file.
        FewRows = "few rows",
        /// Packets of one flit, whose other half is filled with zeros.
        OneFlit = "one flit of two",
        /// A fetch of less than 32 bytes at a time.
        NarrowFetch = "narrow fetch",
        /// The same bytes, loaded again.
        LoadedAgain = "loaded again",
    }
}

/// A piece of source that an edit changes, as it is and as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The piece as it is: a type, or the arguments of a call.
    pub before: String,
    /// The piece as it is to be.
    pub after: String,
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
    /// The mappings that change, in the order of the source. Empty if the edit is no change of mappings that are known.
    pub changes: Vec<Change>,
    /// Cycles that it saves in all launches.
    pub saving: u64,
}
