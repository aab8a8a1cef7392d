//! Numbers of chips, clusters and slices that a mapping spans, as types.
//!
//! A constant is refused once for each type, in any number of tensors and calls that name it: a mapping of 257 slices
//! is one error. So everything else that depends on the units of a mapping names its constant first.

use crate::mapping::M;
use crate::runtime::late::{Late, Refusable};
use core::marker::PhantomData;
pub(crate) use furiosa_visa_rules::tensor::units::{CHIP, CLUSTER, SLICE, count_units};

/// The units that one kind of mapping spans.
pub struct UnitCount<Mapping, const KIND: u8>(PhantomData<Mapping>);

/// Positions of `Chip`.
pub type Chips<Chip> = UnitCount<Chip, 0>;

/// Positions of `Cluster`.
pub type Clusters<Cluster> = UnitCount<Cluster, 1>;

/// Positions of `Slice`.
pub type Slices<Slice> = UnitCount<Slice, 2>;

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

impl<Mapping: M, const KIND: u8> Late<UnitCount<Mapping, KIND>> {
    #[doc(hidden)]
    pub const CHECKED: Refusable<usize> = {
        let (name, most) = [CHIP, CLUSTER, SLICE][KIND as usize];
        count_units("tensor", Mapping::EXPR, name, most)
    };
}
