//! Names of contexts and memories, the same in faults, reports and traces.

use crate::command::Memory;
use core::fmt;

/// A context, which gives operations. Operations of one context run one after another, in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContextKind {
    /// The main context of the Tensor Unit.
    Main,
    /// The sub context of the Tensor Unit.
    Sub,
    /// The DMA engines.
    TensorDma,
    /// The PCIe link.
    PcieDma,
}

/// The number of [`ContextKind`]s.
pub const CONTEXTS: usize = 4;

impl ContextKind {
    /// All contexts.
    pub const ALL: [ContextKind; CONTEXTS] =
        [ContextKind::Main, ContextKind::Sub, ContextKind::TensorDma, ContextKind::PcieDma];

    /// The name in `Context`.
    pub const fn name(self) -> &'static str {
        match self {
            ContextKind::Main => "main",
            ContextKind::Sub => "sub",
            ContextKind::TensorDma => "tdma",
            ContextKind::PcieDma => "pdma",
        }
    }

    /// True if it is a DMA engine or the PCIe link.
    pub const fn is_dma(self) -> bool {
        matches!(self, ContextKind::TensorDma | ContextKind::PcieDma)
    }
}

display_name!(ContextKind);

/// A memory of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryKind {
    /// High-bandwidth memory. Its unit is a chip.
    Hbm,
    /// Data memory. Its unit is a slice.
    Dm,
    /// The tensor register file. Its unit is a slice.
    Trf,
    /// The vector register file. Its unit is a slice.
    Vrf,
}

impl MemoryKind {
    /// All memories.
    pub const ALL: [MemoryKind; 4] = [Self::Hbm, Self::Dm, Self::Trf, Self::Vrf];
}

impl From<Memory> for MemoryKind {
    fn from(memory: Memory) -> Self {
        match memory {
            Memory::Hbm => MemoryKind::Hbm,
            Memory::Dm => MemoryKind::Dm,
            Memory::Vrf => MemoryKind::Vrf,
        }
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MemoryKind::Hbm => "HBM",
            MemoryKind::Dm => "DM",
            MemoryKind::Trf => "TRF",
            MemoryKind::Vrf => "VRF",
        })
    }
}
