//! Faults: what a command may not do, said before it does it.

use crate::command::Memory;
use core::fmt;
use core::ops::Range;
use core::panic::Location;
use std::borrow::Cow;

/// Which rules the chip checks. All of them by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// A tensor is not read where another tensor has been written since.
    pub stale_reads: bool,
    /// A contraction takes no element that nobody wrote.
    pub uninitialised: bool,
    /// Tensors lie inside their memory, at addresses that the engine can reach. When this is off, what lies outside
    /// reads as uninitialised zeros and is not written.
    pub bounds: bool,
    /// A commit does not write what its own stream still has to fetch.
    pub overwrites: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { stale_reads: true, uninitialised: true, bounds: true, overwrites: true }
    }
}

/// The rule that a command broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// A tensor is read where another tensor has been written since.
    StaleRead,
    /// A live element was consumed that nobody wrote.
    Uninitialised,
    /// A tensor leaves its memory, or the system has no such chip.
    OutOfBounds,
    /// A tensor is larger than the register file region that it was given.
    Capacity,
    /// An address that the engine cannot write to.
    Misaligned,
    /// A commit writes what its own stream still has to fetch.
    Overwrite,
    /// Element types that the engine has no arithmetic for, or a memory that it does not reach.
    Unsupported,
    /// A value of the call, an address or a kind, that the engine cannot do with these mappings.
    Refused,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FaultKind::StaleRead => "stale read",
            FaultKind::Uninitialised => "uninitialised element",
            FaultKind::OutOfBounds => "out of bounds",
            FaultKind::Capacity => "capacity exceeded",
            FaultKind::Misaligned => "misaligned address",
            FaultKind::Overwrite => "source overwritten",
            FaultKind::Unsupported => "unsupported",
            FaultKind::Refused => "refused",
        })
    }
}

/// A memory that a fault is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultMemory {
    /// High-bandwidth memory. The unit is a chip.
    Hbm,
    /// Data memory. The unit is a slice.
    Dm,
    /// The tensor register file. The unit is a slice.
    Trf,
    /// The vector register file. The unit is a slice.
    Vrf,
}

impl From<Memory> for FaultMemory {
    fn from(memory: Memory) -> Self {
        match memory {
            Memory::Hbm => FaultMemory::Hbm,
            Memory::Dm => FaultMemory::Dm,
            Memory::Vrf => FaultMemory::Vrf,
        }
    }
}

impl fmt::Display for FaultMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FaultMemory::Hbm => "HBM",
            FaultMemory::Dm => "DM",
            FaultMemory::Trf => "TRF",
            FaultMemory::Vrf => "VRF",
        })
    }
}

/// Where in a memory a fault was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultExtent {
    /// The memory.
    pub memory: FaultMemory,
    /// The first bad unit: a chip, or `(chip * 2 + cluster) * 256 + slice`.
    pub unit: usize,
    /// Bytes inside the unit. The first one is the first bad byte.
    pub bytes: Range<u64>,
}

impl fmt::Display for FaultExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use super::spec::{CLUSTERS, SLICES};
        let Range { start, end } = self.bytes;
        write!(f, "{}, bytes {start}..{end} of ", self.memory)?;
        match self.memory {
            FaultMemory::Hbm => write!(f, "chip {}", self.unit),
            FaultMemory::Dm | FaultMemory::Trf | FaultMemory::Vrf => {
                let (chip, rest) = (self.unit / (CLUSTERS * SLICES), self.unit % (CLUSTERS * SLICES));
                write!(f, "chip {chip}, cluster {}, slice {}", rest / SLICES, rest % SLICES)
            }
        }
    }
}

/// A place in the kernel that has to do with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultPlace {
    /// What happened there.
    pub label: &'static str,
    /// The call.
    pub location: &'static Location<'static>,
}

/// A command that was refused. Nothing of it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub kind: FaultKind,
    /// The operation, for example `fetch`.
    pub operation: &'static str,
    /// What was found, with its numbers.
    pub message: String,
    /// The call that was refused.
    pub location: &'static Location<'static>,
    /// Earlier calls that matter, in the order in which they happened.
    pub places: Vec<FaultPlace>,
    /// Where in a memory.
    pub extent: Option<Box<FaultExtent>>,
    /// What to change.
    pub help: Cow<'static, str>,
}

impl Fault {
    /// A fault without earlier places and without a memory.
    pub(crate) fn new(
        kind: FaultKind,
        operation: &'static str,
        location: &'static Location<'static>,
        message: String,
        help: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { kind, operation, message, location, places: Vec::new(), extent: None, help: help.into() }
    }

    /// The fault with the memory that it was found in.
    pub(crate) fn at(mut self, memory: impl Into<FaultMemory>, unit: usize, bytes: Range<u64>) -> Self {
        self.extent = Some(Box::new(FaultExtent { memory: memory.into(), unit, bytes }));
        self
    }

    /// The fault with an earlier call.
    pub(crate) fn after(mut self, label: &'static str, location: &'static Location<'static>) -> Self {
        self.places.push(FaultPlace { label, location });
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}: {}", self.operation, self.kind, self.message)?;
        writeln!(f, "  --> {}", self.location)?;
        for place in &self.places {
            writeln!(f, "  ::: {}: {}", place.location, place.label)?;
        }
        if let Some(extent) = &self.extent {
            writeln!(f, "  memory: {extent}")?;
        }
        write!(f, "  help: {}", self.help)
    }
}

impl core::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_reads_like_a_compiler_error() {
        let here = Location::caller();
        let fault = Fault::new(
            FaultKind::StaleRead,
            "fetch",
            here,
            "the tensor at DM address 64 was overwritten".into(),
            "move it",
        )
        .at(Memory::Dm, 2 * 512 + 256 + 3, 70..80)
        .after("the tensor was written here", here);
        let text = fault.to_string();
        assert!(text.starts_with("fetch: stale read: the tensor at DM address 64"), "{text}");
        assert!(
            text.contains(&format!("  --> {here}\n  ::: {here}: the tensor was written here\n")),
            "{text}"
        );
        assert!(text.contains("memory: DM, bytes 70..80 of chip 2, cluster 1, slice 3\n"), "{text}");
        assert!(text.ends_with("help: move it"), "{text}");
    }
}
