//! PCIe transfers: moves between the packed buffer of a host tensor and HBM.

use crate::command::Transfer;
use crate::error::{PlanError, attempt};
use crate::mapping::{Expr, Factors, Pool};
use crate::sequencer::transfer::{Broadcast, LEVELS, Level, Placement, all_factors, derive_between};
use crate::tensor::Shape;

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
pub const fn derive_host_transfer(
    operation: &'static str,
    host: &'static Expr,
    chip_side: &Placement<'_>,
    upload: bool,
) -> Result<Transfer, PlanError> {
    let mut pool = Pool::new();
    let host_dimensions = [(host, Level::Element)];
    let host_side = Placement { name: "HostTensor", dimensions: &host_dimensions };
    attempt!(all_factors(operation, &mut pool, &host_side));
    let mut storage = [Factors::ONE; LEVELS];
    storage[0] = crate::mapping::storage::packed_factors(&mut pool, host);
    let chip = attempt!(all_factors(operation, &mut pool, chip_side));
    if upload {
        derive_between(operation, &pool, &host_side, &storage, chip_side, &chip, Broadcast::Axes)
    } else {
        derive_between(operation, &pool, chip_side, &chip, &host_side, &storage, Broadcast::Axes)
    }
}
