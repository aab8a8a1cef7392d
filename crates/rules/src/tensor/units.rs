//! Numbers of chips, clusters and slices that a mapping spans, as types.

use crate::error::{PlanError, attempt, refuse};
use crate::mapping::Expr;
use crate::spec;

/// The name and the most positions of `Chip`.
pub const CHIP: (&str, usize) = ("Chip", spec::MAX_CHIPS);

/// The name and the most positions of `Cluster`.
pub const CLUSTER: (&str, usize) = ("Cluster", spec::CLUSTERS);

/// The name and the most positions of `Slice`.
pub const SLICE: (&str, usize) = ("Slice", spec::SLICES);

/// Number of positions of a mapping over units, or the refusal of more than there are. `owner` names the owner of the
/// mapping.
pub const fn count_units(
    owner: &str,
    expr: &'static Expr,
    name: &str,
    most: usize,
) -> Result<usize, PlanError> {
    let count = attempt!(super::shape::size(expr));
    if count > most {
        refuse!(
            "unit count",
            "{}: {} {} has {} positions, but there are {}; help: move a part of it to another dimension",
            (owner, name, expr, count, most),
        );
    }
    Ok(count)
}
