//! placeholder
use super::cost::{Cost, CostClass, Profile};
use crate::command::Dma;

/// How long a DMA operation takes.
#[derive(Clone, Debug, PartialEq)]
pub struct DmaTime {
    /// Bytes that are moved.
    pub bytes: u64,
    /// All of it.
    pub all: Cost,
}
impl DmaTime {
    /// Cycles.
    pub fn cycles(&self) -> u64 {
        self.all.cycles
    }
    /// Class.
    pub fn class(&self) -> CostClass {
        self.all.class
    }
    /// Bound.
    pub fn bound(&self) -> &'static str {
        "engine"
    }
    /// Names of the columns of a report.
    pub const HEADS: [&'static str; 1] = ["all"];
    /// A row of a report.
    pub fn row(&self) -> Vec<String> {
        vec![self.all.cycles.to_string()]
    }
    /// By engine.
    pub fn by_engine(&self) -> Vec<(usize, usize, u64)> {
        vec![]
    }
    /// Engines.
    pub fn engines(&self) -> usize {
        8
    }
    /// Costs.
    pub fn costs(&self) -> Vec<(&'static str, Cost)> {
        vec![]
    }
}
/// Time.
pub fn dma_time(dma: &Dma, _profile: Profile) -> (DmaTime, String) {
    let bytes = dma.destination.footprint.bytes() as u64 * dma.destination.footprint.slices as u64;
    (DmaTime { bytes, all: Cost::assumed(500 + bytes.div_ceil(2048), "placeholder") }, String::new())
}
/// Host.
pub fn host_time(bytes: u64) -> Cost {
    Cost::assumed(500 + bytes.div_ceil(30), "500 + bytes / 30, spec 70 §10")
}
