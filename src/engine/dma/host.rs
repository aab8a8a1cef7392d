//! PCIe transfers: moves between the packed buffer of a host tensor and HBM.

use crate::command::Transfer;
use crate::error::attempt;
use crate::mapping::M;
use crate::runtime::late::{Late, Refusable};
use crate::scalar::Scalar;
use crate::tensor::{HbmTensor, Shape};
use core::marker::PhantomData;
pub(crate) use furiosa_visa_rules::engine::dma::host::derive_host_transfer;
pub use furiosa_visa_rules::engine::dma::host::derive_storage_transfer;

impl<D: Scalar, Host: M, Chip: M, Element: M> Late<HostPlan<D, Host, Chip, Element>> {
    #[doc(hidden)]
    pub const UPLOAD: Refusable<Transfer> = Self::checked("to_hbm", true);
    #[doc(hidden)]
    pub const DOWNLOAD: Refusable<Transfer> = Self::checked("to_host", false);

    const fn checked(operation: &'static str, upload: bool) -> Refusable<Transfer> {
        attempt!(Late::<HbmTensor<D, Chip, Element>>::FOOTPRINT);
        let hbm = Shape::hbm(D::ELEMENT_TYPE, Chip::EXPR, Element::EXPR);
        derive_storage_transfer(operation, Host::EXPR, &hbm, upload)
    }
}

/// The loops of a PCIe transfer between a host tensor and HBM.
pub struct HostPlan<D, Host, Chip, Element>(PhantomData<(D, Host, Chip, Element)>);

impl<D: Scalar, Host: M, Chip: M, Element: M> HostPlan<D, Host, Chip, Element> {
    const HBM: Shape = Shape::hbm(D::ELEMENT_TYPE, Chip::EXPR, Element::EXPR);

    /// The move from the host's buffer to HBM.
    pub const UPLOAD: Transfer = {
        let _ = HbmTensor::<D, Chip, Element>::FOOTPRINT;
        match derive_storage_transfer("to_hbm", Host::EXPR, &Self::HBM, true) {
            Ok(transfer) => transfer,
            Err(error) => error.refuse(),
        }
    };

    /// The move from HBM to the host's buffer.
    pub const DOWNLOAD: Transfer = {
        let _ = HbmTensor::<D, Chip, Element>::FOOTPRINT;
        match derive_storage_transfer("to_host", Host::EXPR, &Self::HBM, false) {
            Ok(transfer) => transfer,
            Err(error) => error.refuse(),
        }
    };

    /// Elements of the host's buffer: live digits only.
    pub const HOST_ELEMENTS: usize = crate::engine::inspect::host_elements::<Host>();
}
