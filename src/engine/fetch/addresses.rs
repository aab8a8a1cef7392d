//! The requests of a fetch to DM: one address per cycle.

use super::{FetchPlan, stages::Stages};
use crate::mapping::M;
use crate::runtime::Tu;
use crate::scalar::{Scalar, StreamScalar};
use crate::tensor::WindowList;
pub use furiosa_visa_rules::engine::fetch::{FetchAddress, FetchAddresses};

impl<
    D: Scalar,
    D2: StreamScalar,
    Element: M,
    Time2: M,
    Packet2: M,
    const T: Tu,
    Begin: M,
    Adapter: Stages,
    Windows: WindowList,
> FetchPlan<D, D2, Element, Time2, Packet2, T, Begin, Adapter, Windows>
{
    /// The fetches, in order: one per cycle.
    ///
    /// ```
    /// use furiosa_visa_std::engine::fetch::FetchPlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 2, B = 24];
    /// let addresses = FetchPlan::<i8, i8, m![B, A], m![1], m![B, A]>::addresses();
    /// let bytes: Vec<_> = addresses.map(|fetch| (fetch.byte, fetch.bytes)).collect();
    /// assert_eq!(bytes, [(0, 16), (16, 16), (32, 16)]);
    /// ```
    pub fn addresses() -> FetchAddresses {
        Self::CONFIG.addresses()
    }
}
