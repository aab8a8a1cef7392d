//! The calls of gather and scatter.

use crate::command::{IndexedCall, Region};
use crate::engine::dma::indexed::check_key;
use crate::error::{PlanError, refuse};

/// Refuses tiles that start in another unit than the first: rows are moved from the first slice on.
pub fn check_tiles(name: &'static str, regions: [&Region; 3]) -> Result<(), PlanError> {
    for region in regions {
        if !region.part.starts_in_first_unit() {
            refuse!(
                "rows of other slices",
                "{}: the tile lies{} of its tensor, but rows are moved from the first slice on; \
                 help: start the tile at 0, or move it with `.to_dm_view(…)`",
                str(name),
                str(&region.units_in_words()),
            );
        }
    }
    Ok(())
}

/// Refuses a scatter whose index is not made for its key.
pub const fn keyed(key: &'static crate::mapping::Expr, index: &'static crate::mapping::Expr) {
    if let Err(error) = check_key(IndexedCall::Scatter.name(), key, index) {
        error.refuse()
    }
}
