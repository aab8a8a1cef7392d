//! Inputs of the time of a DMA operation.

use super::time::SameMedium;
use crate::cost::Profile;
use crate::numbers::{Model, Number};
use furiosa_visa_rules::spec::CORE_CYCLE_TICKS;

/// Rates of DMA engines and of the paths that they use. Times in ticks of 1/3 cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaRates {
    /// Rule by which the sides of a command add up if both use the same medium.
    pub same_medium: SameMedium,
    /// Ticks in which a Data Memory Network moves 128 bytes.
    pub dmn_access_ticks: u64,
    /// Ticks from the copy for a slice to the one for the next slice, beside its bytes. They count for slices of a
    /// cluster that get copies of the same elements, and are served one after another. `None` if these slices are
    /// served like others.
    pub copy_ticks: Option<u64>,
    /// Ticks before the rows of an index move.
    pub index_ticks: u64,
}

impl DmaRates {
    /// The rates of a model of time.
    pub fn of(model: Model) -> Self {
        let number = |number| model.numbers.get(number);
        match model.profile {
            Profile::Book => SameMedium::default().into(),
            Profile::Detailed => Self {
                same_medium: SameMedium::default(),
                dmn_access_ticks: number(Number::DmnAccess),
                copy_ticks: Some(number(Number::Copy) * CORE_CYCLE_TICKS),
                index_ticks: number(Number::Index) * CORE_CYCLE_TICKS,
            },
        }
    }
}

/// Documented rates, and nothing else.
impl From<SameMedium> for DmaRates {
    fn from(same_medium: SameMedium) -> Self {
        Self { same_medium, dmn_access_ticks: CORE_CYCLE_TICKS, copy_ticks: None, index_ticks: 0 }
    }
}
