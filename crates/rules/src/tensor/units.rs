//! Numbers of chips, clusters and slices that a mapping spans, as types.

use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Pool, factorize};
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

/// A mapping over units on both sides of a move.
#[derive(Clone, Copy, Debug)]
pub struct BothSides {
    /// The name of the dimension.
    pub name: &'static str,
    /// The mapping of the source.
    pub source: &'static Expr,
    /// The mapping of the destination.
    pub destination: &'static Expr,
}

/// Checks that a move leaves its elements in their units: both sides have the same mapping over them, in any spelling.
pub const fn check_same_units(operation: &'static str, sides: &[BothSides]) -> Result<(), PlanError> {
    let mut k = 0;
    while k < sides.len() {
        let BothSides { name, source, destination } = sides[k];
        let mut pool = Pool::new();
        let (from, to) = (factorize(&mut pool, source), factorize(&mut pool, destination));
        if !from.is(&to) {
            refuse!(
                "same units",
                "{}: {} of the source is {}, and that of the destination {}, but the move leaves every element in its {}; \
                 help: use the same {} on both sides, or take tiles of one position on both",
                (operation, name, source, destination, name, name),
            );
        }
        k += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::M;
    use crate::prelude::{axes, m};

    axes![A = 2, B = 2, C = 3];

    fn checked<From: M, To: M>() -> Result<(), String> {
        let side = |name, source, destination| BothSides { name, source, destination };
        let same = side("Chip", <m![1]>::EXPR, <m![1]>::EXPR);
        check_same_units("to_dm_view", &[same, side("Cluster", From::EXPR, To::EXPR)])
            .map_err(|error| error.message().to_string())
    }

    #[test]
    fn elements_stay_in_their_units() {
        assert_eq!(checked::<m![A], m![A]>(), Ok(()));
        assert_eq!(checked::<m![A, 1], m![A / 2, A]>(), Ok(()), "in another spelling");
        assert_eq!(checked::<m![1 # 2], m![1 # 2]>(), Ok(()));
        for (refused, destination) in [
            (checked::<m![A], m![B]>(), "m![B]"),
            (checked::<m![A], m![1 # 2]>(), "m![1 # 2]"),
            (checked::<m![A], m![C]>(), "m![C]"),
            (checked::<m![A], m![A # 3]>(), "m![A # 3]"),
        ] {
            let expected = format!(
                "to_dm_view: Cluster of the source is `m![A]`, and that of the destination `{destination}`, but the move \
                 leaves every element in its Cluster; help: use the same Cluster on both sides, or take tiles of one \
                 position on both"
            );
            assert_eq!(refused, Err(expected));
        }
    }
}
