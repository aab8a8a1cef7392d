//! Loads of the register files.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use crate::stream::TuTensor;
use crate::visa::engine::register_file::TrfLoadPlan;
use crate::visa::engine::stream::stage::{PositionCollect, VrfLoadable};
use crate::visa::mapping::M;
use crate::visa::runtime::{AUTO, Tu};
use crate::visa::scalar::{Scalar, StreamScalar, VeScalar};
use crate::visa::surface::{LoadedTensor, StreamLayout};
use crate::visa::tensor::{TrfTensor, VrfTensor};
use crate::words::{check, planned};

impl<'l, const T: Tu, D: StreamScalar, L: StreamLayout> TuTensor<'l, T, PositionCollect, D, L> {
    /// Ends the stream in the tensor register file, in the half that is free: see
    /// [`crate::visa::engine::stream::StreamTensor::to_trf`], where a lane is called a row.
    ///
    /// # Panics
    /// If no half is free.
    #[track_caller]
    #[inline(never)]
    pub fn to_trf<Lane: M, Element: M>(self) -> TrfTensor<D, L::Chip, L::Cluster, L::Slice, Lane, Element> {
        let plan = planned!(CONFIG of TrfLoadPlan<D, L::Time, L::Packet, Lane, Element>);
        self.0.load_trf_auto(plan)
    }
}

impl<'l, const T: Tu, P: VrfLoadable, D: Scalar, L: StreamLayout> TuTensor<'l, T, P, D, L> {
    /// Ends the stream in the vector register file: see [`crate::visa::engine::stream::StreamTensor::to_vrf`].
    ///
    /// # Panics
    /// If the file is full.
    #[track_caller]
    #[inline(never)]
    pub fn to_vrf<Element: M>(self) -> VrfTensor<D, L::Chip, L::Cluster, L::Slice, Element>
    where
        D: VeScalar,
    {
        check!(FOOTPRINT of LoadedTensor<D, L, Element>);
        self.0.to_vrf(AUTO)
    }
}
