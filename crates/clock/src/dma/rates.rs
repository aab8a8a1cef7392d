//! What the time of a DMA operation is computed with.

use super::time::SameMedium;
use furiosa_visa_rules::spec::CORE_CYCLE_TICKS;

/// Rates of DMA engines and of the paths that they use. Times in ticks of 1/3 cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaRates {
    /// How the sides of a command add up where both use the same medium.
    pub same_medium: SameMedium,
    /// Ticks in which a Data Memory Network moves 128 bytes.
    pub dmn_access_ticks: u64,
    /// Ticks from the copy for a slice to the one for the next slice, beside its bytes, where slices of a cluster get copies of
    /// the same: they are served one after another. `None`: they are served like slices that get something else.
    pub copy_ticks: Option<u64>,
    /// Ticks before the rows of an index move.
    pub index_ticks: u64,
}

/// What is documented, and nothing else.
impl From<SameMedium> for DmaRates {
    fn from(same_medium: SameMedium) -> Self {
        Self { same_medium, dmn_access_ticks: CORE_CYCLE_TICKS, copy_ticks: None, index_ticks: 0 }
    }
}
