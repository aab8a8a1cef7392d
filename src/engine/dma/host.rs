//! PCIe transfers: moves between the packed buffer of a host tensor and HBM.

use crate::command::Transfer;
use crate::error::{PlanError, attempt};
use crate::mapping::{Expr, Factors, M, Pool};
use crate::runtime::late::when_late;
use crate::scalar::Scalar;
use crate::sequencer::transfer::{Broadcast, LEVELS, Level, Placement, all_factors, derive_between};
use crate::tensor::{HbmTensor, Shape};
use core::marker::PhantomData;

when_late! {
    use crate::runtime::late::{Late, Refusable};
}

when_late! {
    impl<D: Scalar, Host: M, Chip: M, Element: M> Late<HostPlan<D, Host, Chip, Element>> {
        pub(super) const UPLOAD: Refusable<Transfer> = Self::checked("to_hbm", true);
        pub(super) const DOWNLOAD: Refusable<Transfer> = Self::checked("to_host", false);

        const fn checked(operation: &'static str, upload: bool) -> Refusable<Transfer> {
            attempt!(Late::<HbmTensor<D, Chip, Element>>::FOOTPRINT);
            let hbm = Shape::hbm(D::ELEMENT_TYPE, Chip::EXPR, Element::EXPR);
            derive_storage_transfer(operation, Host::EXPR, &hbm, upload)
        }
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

/// Derives the loops between the packed buffer of a host tensor and HBM. `upload` is true for a move from the host.
pub const fn derive_storage_transfer(
    operation: &'static str,
    host: &'static Expr,
    hbm: &Shape,
    upload: bool,
) -> Result<Transfer, PlanError> {
    attempt!(hbm.sizes());
    let dimensions: [_; 4] = hbm.dimensions();
    let chip = Placement { name: hbm.name(), dimensions: dimensions.split_at(hbm.levels()).0 };
    derive_host_transfer(operation, host, &chip, upload)
}

/// Derives the loops between the packed buffer of a host tensor and a tensor of the chip. `upload` is true for a move
/// from the host.
pub(crate) const fn derive_host_transfer(
    operation: &'static str,
    host: &'static Expr,
    chip_side: &Placement<'_>,
    upload: bool,
) -> Result<Transfer, PlanError> {
    let mut pool = Pool::new();
    let host_dimensions = [(host, Level::Element)];
    let host_side = Placement { name: "HostTensor", dimensions: &host_dimensions };
    attempt!(all_factors(operation, &mut pool, &host_side));
    let mut storage = [Factors::one(); LEVELS];
    storage[0] = crate::host::packed_factors(&mut pool, host);
    let chip = attempt!(all_factors(operation, &mut pool, chip_side));
    if upload {
        derive_between(operation, &pool, &host_side, &storage, chip_side, &chip, Broadcast::Axes)
    } else {
        derive_between(operation, &pool, chip_side, &chip, &host_side, &storage, Broadcast::Axes)
    }
}
