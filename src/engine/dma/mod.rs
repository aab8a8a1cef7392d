//! DMA Engine: moves tensors between HBM and DM, in any re-layout, with padding and broadcast.
//!
//! A layout is free on both sides: axes are matched by name, padding is not moved, and axes that only the destination has
//! are broadcast.
//!
//! | call | what it moves | addresses |
//! |---|---|---|
//! | host `to_hbm`, `to_host` | any number of bytes | multiples of the element's size |
//! | `to_hbm` | whole bytes, in runs of any length | multiples of the element's size |
//! | `to_dm` from DM | whole bytes, in runs of any length | multiples of the element's size |
//! | `dma_gather`, `dma_gather_rows` | rows that an index names, from HBM to DM: as `to_dm` from HBM | multiples of 8, on both sides |
//! | `dma_scatter`, `dma_scatter_rows` | the same from DM to HBM: whole bytes, in runs of any length | multiples of the element's size |
//! | `to_dm` from HBM | runs that step by multiples of 8 bytes, each with its last 8 bytes in DM to itself | multiples of 8, on both sides |
//!
//! The chip moves whole units of 8 bytes to DM. A run that ends inside a unit is read to the end of that unit, even
//! past its tensor, and the extra bytes land in padding: a single `f32`, `m![1]`, goes to `m![1 # 2]`.
//!
//! An address counts bytes: from the start of the HBM of each chip, or of the DM of each slice. Each call exists for
//! tensors and views; the `…_view` calls write into a tensor that exists.
//!
//! # Rows by an index
//! A gather copies rows of a tensor in HBM, the table, to DM; a scatter copies rows in DM to a table. An index, a
//! tensor of `i32` in HBM or DM, names the rows: its axes take the place of the one axis of the table that the other
//! side lacks.
//!
//! ```text
//!   table m![V, H] in HBM       index m![S]      DM, Slice m![S # 256], Element m![H]
//!
//!     0  ▒▒▒▒▒▒▒▒                  2               slice 0  ▓▓▓▓▓▓▓▓
//!     1  ········       gather     0               slice 1  ▒▒▒▒▒▒▒▒
//!     2  ▓▓▓▓▓▓▓▓      ───────▶    2               slice 2  ▓▓▓▓▓▓▓▓
//!     3  ········                  1               slice 3  ········
//! ```
//!
//! `dma_gather` takes byte offsets of rows, and so does `dma_scatter` on request; the others take row numbers. A part
//! of an axis may be indexed, too: with `R % 16` in the rows, `R / 16` is indexed. Rows stay in their chip.
//!
//! # Refused while compiling
//! An axis of the source that the destination drops; a part of an axis that the source does not hold; runs and steps
//! that the DMA engine cannot move; tensors that their memory cannot hold; by an index, more than one axis of the table that
//! has no place on the other side.
//!
//! # Panics
//! If an address is no such multiple, or lies outside the memory; if the tensor would exceed the memory; and if a check
//! of the chip fails, for example because the source was never written, or was overwritten.

mod calls;

mod host;

mod indexed;

mod indexed_calls;

mod link;
pub(crate) use calls::into_dm_view;
pub use furiosa_visa_rules::engine::dma::{DmaRules, check_dma, derive_dma};
pub(crate) use furiosa_visa_rules::engine::dma::{
    check_units_of_tile, derive_move_of, dma_name, dma_operation,
};
pub(crate) use host::derive_host_transfer;
pub use host::{HostPlan, derive_storage_transfer};
pub use indexed::{IndexedConfig, IndexedPlan, KeyPlan, check_key, derive_indexed};
pub use indexed_calls::RowIndex;
pub(crate) use indexed_calls::gathered;
pub use link::OnChip;

mod sealed {
    pub trait Index {}
}

use crate::command::{Footprint, Transfer};
use crate::error::attempt;
use crate::list::kept;
use crate::mapping::{Factors, Identity, M};
use crate::runtime::late::{Late, Refusable, by_reference};
use crate::scalar::{Scalar, VeScalar};
use crate::tensor::{DmTensor, HbmTensor, Shape, VrfTensor};
use core::marker::PhantomData;

/// A tensor at rest, as a type.
pub trait AtRest {
    /// Memory, element type and mappings.
    const SHAPE: Shape;
    /// The mappings of the dimensions, innermost first: an HBM tensor has two.
    #[doc(hidden)]
    type Dimensions: Dimensions;
    /// Elements per unit, padding included. Evaluating it refuses a tensor that the memory cannot hold.
    const ELEMENTS: usize;
    /// The footprint of the shape, or its refusal.
    #[doc(hidden)]
    const LATE_FOOTPRINT: &'static Refusable<Footprint>;
}

impl<D: Scalar, Chip: M, Element: M> AtRest for HbmTensor<D, Chip, Element> {
    const SHAPE: Shape = Shape::hbm(D::ELEMENT_TYPE, Chip::EXPR, Element::EXPR);
    type Dimensions = (Element, Chip, Identity, Identity);
    const ELEMENTS: usize = Self::FOOTPRINT.elements;
    const LATE_FOOTPRINT: &'static Refusable<Footprint> = kept!(Late::<Self>::counted());
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> AtRest
    for DmTensor<D, Chip, Cluster, Slice, Element>
{
    const SHAPE: Shape = Shape::dm(D::ELEMENT_TYPE, Chip::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR);
    type Dimensions = (Element, Slice, Cluster, Chip);
    const ELEMENTS: usize = Self::FOOTPRINT.elements;
    const LATE_FOOTPRINT: &'static Refusable<Footprint> = kept!(Late::<Self>::counted());
}

impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> AtRest
    for VrfTensor<D, Chip, Cluster, Slice, Element>
{
    const SHAPE: Shape = Shape::vrf(D::ELEMENT_TYPE, Chip::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR);
    type Dimensions = (Element, Slice, Cluster, Chip);
    const ELEMENTS: usize = Self::FOOTPRINT.elements;
    const LATE_FOOTPRINT: &'static Refusable<Footprint> = kept!(Late::<Self>::counted());
}

/// Four mappings.
#[doc(hidden)]
pub trait Dimensions {
    type First: M;
    type Second: M;
    type Third: M;
    type Fourth: M;
}

impl<A: M, B: M, C: M, D: M> Dimensions for (A, B, C, D) {
    type First = A;
    type Second = B;
    type Third = C;
    type Fourth = D;
}

/// The normal forms of a tensor's dimensions. This is a function: a constant would be evaluated once more.
const fn forms<T: AtRest>() -> [&'static Factors; 4] {
    [
        <T::Dimensions as Dimensions>::First::FORM,
        <T::Dimensions as Dimensions>::Second::FORM,
        <T::Dimensions as Dimensions>::Third::FORM,
        <T::Dimensions as Dimensions>::Fourth::FORM,
    ]
}

impl<Source: AtRest, Destination: AtRest> Late<DmaPlan<Source, Destination>> {
    #[doc(hidden)]
    pub const TRANSFER: Refusable<&'static Transfer> = by_reference(&Self::checked());

    const fn checked() -> Refusable<Transfer> {
        let from = attempt!(by_reference(Source::LATE_FOOTPRINT)).elements;
        let to = attempt!(by_reference(Destination::LATE_FOOTPRINT)).elements;
        Self::derived([from, to])
    }

    /// The loops between tensors with these elements per unit.
    const fn derived(elements: [usize; 2]) -> Refusable<Transfer> {
        // References to constants would be constants of their own.
        let (source, destination) = (Source::SHAPE, Destination::SHAPE);
        let (from, to) = (forms::<Source>(), forms::<Destination>());
        derive_move_of(dma_name(&destination), [&source, &destination], elements, [&from, &to])
    }
}

/// The loops of a DMA transfer from one tensor type to another.
pub struct DmaPlan<Source, Destination>(PhantomData<(Source, Destination)>);

impl<Source: AtRest, Destination: AtRest> DmaPlan<Source, Destination> {
    /// The loops. Evaluating it refuses transfers that the DMA engine does not support.
    pub const TRANSFER: &'static Transfer =
        &match Late::<Self>::derived([Source::ELEMENTS, Destination::ELEMENTS]) {
            Ok(transfer) => transfer,
            Err(error) => error.refuse(),
        };
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod rules_tests;
