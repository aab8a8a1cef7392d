//! Fetch Engine: reads a tensor from DM as a stream of packets.

pub mod addresses;
pub mod interleave;
pub mod mask;
pub mod plan;
pub mod stages;

pub use addresses::{FetchAddress, FetchAddresses};
pub use interleave::{begin_is_refused, check_interleave, interleave_period};
pub use mask::{Masking, derive_mask};
pub use plan::{FetchConfig, FetchRequest, check_packet, derive_fetch, fetch};
pub use stages::check_stages;

use crate::error::{PlanError, attempt, refuse};
use crate::mapping::Expr;
use crate::spec;

/// Checks that a stream exists in every slice of every cluster of its chips.
pub const fn check_units(cluster: &'static Expr, slice: &'static Expr) -> Result<(), PlanError> {
    attempt!(check_count(cluster, "Cluster", spec::CLUSTERS));
    check_count(slice, "Slice", spec::SLICES)
}

const fn check_count(expr: &'static Expr, name: &'static str, count: usize) -> Result<(), PlanError> {
    match expr.checked_size() {
        Ok(size) if size == count => Ok(()),
        Ok(size) => {
            let help = if size < count {
                text!("fill the unused ones with padding, `# {}`", count)
            } else {
                text!("move part of it to `Time` or `Chip`")
            };
            refuse!(
                "unit count",
                "fetch: {} size must be {}, got {} from {}; help: {}",
                (name, count, size, expr, &help),
            )
        }
        Err(text) => Err(PlanError::new("mapping", text)),
    }
}
