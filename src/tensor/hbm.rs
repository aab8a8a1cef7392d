//! Tensors in high-bandwidth memory, and the transfers that start there.

use super::handle::{ViewPlace, handle, looks, memory_calls, views};
use super::units::Chips;
use crate::command::{Address, FillId, Footprint, Memory, Region};
use crate::engine::dma::AtRest;
use crate::engine::inspect::{InspectionPlan, inspected};
use crate::error::attempt;
use crate::host::HostTensor;
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, by_reference, planned};
use crate::runtime::{AUTO, Context, Lease, MakesTensors, Place, TensorChips};
use crate::scalar::Scalar;
use core::fmt;
use core::marker::PhantomData;

/// A tensor in HBM: chip `i`, element `j` holds the element of the tensor at `Chip::map(i)` ∪ `Element::map(j)`.
pub struct HbmTensor<D: Scalar, Chip: M, Element: M> {
    pub(crate) address: Address,
    pub(crate) fill: FillId,
    /// The lease of the bytes: they are free again when it is dropped.
    pub(crate) lease: Option<Lease>,
    types: PhantomData<(D, Chip, Element)>,
}

impl<D: Scalar, Chip: M, Element: M> HbmTensor<D, Chip, Element> {
    pub(crate) const FOOTPRINT: &'static Footprint = &{
        let _ = Chips::<Chip>::CHECKED;
        match Late::<Self>::counted() {
            Ok(footprint) => footprint,
            Err(error) => error.refuse(),
        }
    };
}

handle! {
    HbmTensor<D: Scalar, Chip, Element> in Hbm, of Chips<Chip>;
    "The address of the first byte in each chip."
}

memory_calls! {
    HbmTensor<Chip, Element>, HbmTensorView, HbmTensorViewMut in Hbm, "HBM"; "
```
use furiosa_visa_std::prelude::*;
axes![A = 256, N = 4, B = 64];
type Part = DmTensor<i8, m![1], m![1 # 2], m![A], m![B]>;
/// Four parts of a result.
fn joined(ctx: &mut Context, parts: [&Part; 4]) -> HbmTensor<i8, m![1], m![N, A, B]> {
    let mut all = HbmTensor::new(ctx);
    for (n, part) in parts.into_iter().enumerate() {
        part.view().to_hbm_view(&mut ctx.tdma, all.view_mut().tile::<m![N], 1, m![1 # 4, A, B]>(n));
    }
    all
}
# let _ = joined as fn(_, _) -> _;
```"
}

looks! {
    HbmTensor<D: Scalar, Chip, Element>, HbmTensorView in Hbm, "HBM"; "[`DmTensor::inspect`](crate::tensor::DmTensor::inspect) has an example."
}

views! {
    /// A tensor in HBM, or a [tile](crate::tensor::tile) of one, to read from.
    HbmTensorView;
    /// A tensor in HBM, or a [tile](crate::tensor::tile) of one, to write to.
    HbmTensorViewMut;
    <D: Scalar, Chip, Element> at ViewPlace,
    "The address of the whole tensor in each chip, also for a tile.": Address,
    region of HbmTensor<D, Chip, Element>, in Hbm
}

impl<D: Scalar, Chip: M, Element: M> HbmTensor<D, Chip, Element> {
    /// Bytes of all chips together, padding included.
    pub fn size() -> usize {
        planned!(FOOTPRINT of Self).chips * planned!(FOOTPRINT of Self).bytes()
    }
}

impl<D: Scalar, Chip: M, Element: M> HbmTensorViewMut<'_, D, Chip, Element> {
    /// The same view, to read.
    pub(crate) fn reborrowed(&self) -> HbmTensorView<'_, D, Chip, Element> {
        HbmTensorView::at(self.place)
    }
}

crate::runtime::launch::device_send! {
    [D: Scalar, Chip: M, Element: M] HbmTensor<D, Chip, Element> => TensorChips::of(Chip::EXPR),
    ['a, D: Scalar, Chip: M, Element: M] &'a mut HbmTensor<D, Chip, Element> => TensorChips::of(Chip::EXPR),
    ['a, D: Scalar, Chip: M, Element: M] HbmTensorView<'a, D, Chip, Element> => TensorChips::of(Chip::EXPR),
    ['a, D: Scalar, Chip: M, Element: M] HbmTensorViewMut<'a, D, Chip, Element> => TensorChips::of(Chip::EXPR),
}
