//! Numbers of chips, clusters and slices that a mapping spans, as types.
//!
//! A constant is refused once for each type, in any number of tensors and calls that name it: a mapping of 257 slices
//! is one error. So everything else that depends on the units of a mapping names its constant first.

use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, M};
use crate::runtime::late::when_late;
use crate::spec;
use core::marker::PhantomData;

when_late! {
    use crate::runtime::late::{Late, Refusable};
}

/// The units that one kind of mapping spans.
pub(crate) struct UnitCount<Mapping, const KIND: u8>(PhantomData<Mapping>);

/// Positions of `Chip`.
pub(crate) type Chips<Chip> = UnitCount<Chip, 0>;
/// Positions of `Cluster`.
pub(crate) type Clusters<Cluster> = UnitCount<Cluster, 1>;
/// Positions of `Slice`.
pub(crate) type Slices<Slice> = UnitCount<Slice, 2>;

impl<Mapping: M, const KIND: u8> UnitCount<Mapping, KIND> {
    /// Number of units. Evaluating it refuses more units than the chip has.
    pub(crate) const CHECKED: usize = {
        let (name, most) = match KIND {
            0 => CHIP,
            1 => CLUSTER,
            2 => SLICE,
            _ => panic!("three kinds of mappings are over units"),
        };
        match count_units("tensor", Mapping::EXPR, name, most) {
            Ok(count) => count,
            Err(error) => error.refuse(),
        }
    };
}

when_late! {
    impl<Mapping: M, const KIND: u8> Late<UnitCount<Mapping, KIND>> {
        pub(crate) const CHECKED: Refusable<usize> = {
            let (name, most) = [CHIP, CLUSTER, SLICE][KIND as usize];
            count_units("tensor", Mapping::EXPR, name, most)
        };
    }
}

pub(super) const CHIP: (&str, usize) = ("Chip", spec::MAX_CHIPS);
pub(super) const CLUSTER: (&str, usize) = ("Cluster", spec::CLUSTERS);
pub(super) const SLICE: (&str, usize) = ("Slice", spec::SLICES);

/// Number of positions of a mapping over units, or the refusal of more than there are. `owner` names the owner of the
/// mapping.
pub(super) const fn count_units(
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
            str(owner),
            str(name),
            mapping(expr),
            number(count),
            number(most),
        );
    }
    Ok(count)
}
