//! Looking at register files from the host, for tests and for finding mistakes. The chip has no such operation.

use crate::command::Transfer;
use crate::engine::dma::derive_host_transfer;
use crate::error::PlanError;
use crate::mapping::{M, Pool};
use crate::runtime::late::{Late, Refusable};
use crate::scalar::Scalar;
use crate::sequencer::transfer::{DM_CHIP, DM_CLUSTER, DM_SLICE, Level, Placement};
use crate::spec::{CLUSTERS, SLICES, TRF_BANK_ROWS};
use core::marker::PhantomData;

const OPERATION: &str = "inspect";

/// Elements of the buffer of a host tensor: live digits only.
pub const fn host_elements<Host: M>() -> usize {
    crate::host::packed_factors(&mut Pool::new(), Host::EXPR).size()
}

/// The loops of a look at a tensor in the VRF.
pub struct VrfInspectionPlan<D, Host, Chip, Cluster, Slice, Element>(
    PhantomData<(D, Host, Chip, Cluster, Slice, Element)>,
);

impl<D: Scalar, Host: M, Chip: M, Cluster: M, Slice: M, Element: M>
    VrfInspectionPlan<D, Host, Chip, Cluster, Slice, Element>
{
    /// The loops. The unit is the slice.
    pub const TRANSFER: Transfer = match Self::transfer() {
        Ok(transfer) => transfer,
        Err(error) => error.refuse(),
    };

    const fn transfer() -> Result<Transfer, PlanError> {
        let dimensions = [
            (Element::EXPR, Level::Element),
            (Slice::EXPR, DM_SLICE),
            (Cluster::EXPR, DM_CLUSTER),
            (Chip::EXPR, DM_CHIP),
        ];
        let tensor = Placement { name: "VrfTensor", dimensions: &dimensions };
        derive_host_transfer(OPERATION, Host::EXPR, &tensor, false)
    }
}

impl<D: Scalar, Host: M, Chip: M, Cluster: M, Slice: M, Element: M>
    Late<VrfInspectionPlan<D, Host, Chip, Cluster, Slice, Element>>
{
    #[doc(hidden)]
    pub const TRANSFER: Refusable<Transfer> =
        VrfInspectionPlan::<D, Host, Chip, Cluster, Slice, Element>::transfer();
}

/// The loops of a look at a tensor in the TRF.
pub struct TrfInspectionPlan<D, Host, Chip, Cluster, Slice, Row, Element>(
    PhantomData<(D, Host, Chip, Cluster, Slice, Row, Element)>,
);

impl<D: Scalar, Host: M, Chip: M, Cluster: M, Slice: M, Row: M, Element: M>
    TrfInspectionPlan<D, Host, Chip, Cluster, Slice, Row, Element>
{
    /// The loops. The unit is `8 * slice + row`.
    pub const TRANSFER: Transfer = match Self::transfer() {
        Ok(transfer) => transfer,
        Err(error) => error.refuse(),
    };

    const fn transfer() -> Result<Transfer, PlanError> {
        let dimensions = [
            (Element::EXPR, Level::Element),
            (Row::EXPR, Level::Units(1)),
            (Slice::EXPR, Level::Units(TRF_BANK_ROWS)),
            (Cluster::EXPR, Level::Units(TRF_BANK_ROWS * SLICES)),
            (Chip::EXPR, Level::Units(TRF_BANK_ROWS * SLICES * CLUSTERS)),
        ];
        let tensor = Placement { name: "TrfTensor", dimensions: &dimensions };
        derive_host_transfer(OPERATION, Host::EXPR, &tensor, false)
    }
}

impl<D: Scalar, Host: M, Chip: M, Cluster: M, Slice: M, Row: M, Element: M>
    Late<TrfInspectionPlan<D, Host, Chip, Cluster, Slice, Row, Element>>
{
    #[doc(hidden)]
    pub const TRANSFER: Refusable<Transfer> =
        TrfInspectionPlan::<D, Host, Chip, Cluster, Slice, Row, Element>::transfer();
}
