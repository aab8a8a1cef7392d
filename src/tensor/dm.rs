//! Tensors in data memory, and the transfers that start there.

use super::handle::{ViewPlace, handle, looks, memory_calls, views};
use super::units::{Chips, Clusters, Slices};
use super::windows::{NoWindows, WindowList};
use crate::command::{Address, FillId, Footprint, Memory, Region};
use crate::engine::dma::AtRest;
use crate::engine::inspect::{InspectionPlan, inspected};
use crate::error::attempt;
use crate::error::{PlanError, refuse};
use crate::host::HostTensor;
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, by_reference, planned};
use crate::runtime::{AUTO, Context, Lease, MakesTensors, Place};
use crate::scalar::Scalar;
use core::fmt;
use core::marker::PhantomData;

/// A tensor in DM: element `j` of a slice holds the element of the tensor at the union of `Chip::map`, `Cluster::map`,
/// `Slice::map` and `Element::map(j)`.
///
/// It takes `[address, address + bytes(Element))` in every slice.
pub struct DmTensor<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> {
    pub(crate) address: Address,
    pub(crate) fill: FillId,
    /// The lease of the bytes: they are free again when it is dropped.
    pub(crate) lease: Option<Lease>,
    types: PhantomData<(D, Chip, Cluster, Slice, Element)>,
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> DmTensor<D, Chip, Cluster, Slice, Element> {
    pub(crate) const FOOTPRINT: &'static Footprint = &{
        let _ = (Chips::<Chip>::CHECKED, Clusters::<Cluster>::CHECKED, Slices::<Slice>::CHECKED);
        match Late::<Self>::counted() {
            Ok(footprint) => footprint,
            Err(error) => error.refuse(),
        }
    };
}

handle! {
    DmTensor<D: Scalar, Chip, Cluster, Slice, Element> in Dm, of Chips<Chip>, Clusters<Cluster>, Slices<Slice>;
    "The address of the first byte in each slice."
}

memory_calls! {
    DmTensor<Chip, Cluster, Slice, Element>, DmTensorView, DmTensorViewMut in Dm, "DM"; "
```
use furiosa_visa_std::prelude::*;
axes![A = 256, N = 4, B = 64];
/// Blocks side by side, the last one first.
fn turned(
    ctx: &mut Context,
    x: &HbmTensor<i8, m![1], m![N, A, B]>,
) -> DmTensor<i8, m![1], m![1 # 2], m![A], m![N, B]> {
    let mut all = DmTensor::new(ctx);
    for n in 0..4 {
        let block = x.view().tile::<m![N], 1, m![1 # 4, A, B]>(3 - n);
        block.to_dm_view(&mut ctx.tdma, all.view_mut().tile::<m![N], 1, m![1 # 4, B]>(n));
    }
    all
}
# let _ = turned as fn(_, _) -> _;
```"
}

looks! {
    DmTensor<D: Scalar, Chip, Cluster, Slice, Element>, DmTensorView in Dm, "DM"; r#"
```
use furiosa_visa_std::prelude::*;
axes![A = 256, B = 64];
fn kernel(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) -> HbmTensor<i8, m![1], m![A, B]> {
    let x = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0);
    println!("{}", x.inspect::<m![A, B]>(ctx)); // a table of rows `A` and columns `B`
    x.to_hbm(&mut ctx.tdma, AUTO)
}
# let _ = kernel as fn(_, _) -> _;
```"#
}

views! {
    /// A tensor in DM, or a [tile](crate::tensor::tile) of one, to read from: as it lies there or in
    /// [windows](Self::windows).
    DmTensorView, Windows: WindowList = NoWindows;
    /// A tensor in DM, or a [tile](crate::tensor::tile) of one, to write to.
    DmTensorViewMut;
    <D: Scalar, Chip, Cluster, Slice, Element> at ViewPlace,
    "The address of the whole tensor in each slice, also for a tile.": Address,
    region of DmTensor<D, Chip, Cluster, Slice, Element>, in Dm
}

impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M, Windows: WindowList>
    DmTensorView<'l, D, Chip, Cluster, Slice, Element, Windows>
{
    /// The same view, read in other windows.
    pub(super) fn with_windows<Windows2: WindowList>(
        self,
    ) -> DmTensorView<'l, D, Chip, Cluster, Slice, Element, Windows2> {
        DmTensorView::at(self.place)
    }

    /// The region that a stream reads. Stops the call if it lies in other slices than those that read it.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn stream_region(&self, operation: &'static str) -> Region {
        let footprint = planned!(FOOTPRINT of DmTensor<D, Chip, Cluster, Slice, Element>);
        read_by_stream(&self.place, footprint, operation)
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorViewMut<'_, D, Chip, Cluster, Slice, Element>
{
    /// The region that a stream writes. Stops the call if it lies in other slices than those that write it.
    #[track_caller]
    pub(crate) fn stream_region(&self, operation: &'static str) -> Region {
        let region = self.region();
        let help = "commit to a tensor of its own, and move it with `.to_dm_view(…)`";
        accept_slices(operation, &region, "writes", help);
        region
    }

    /// Footprint of the whole tensor, also for a view of a part.
    pub(crate) fn tensor(&self) -> &'static Footprint {
        self.place.tensor
    }
}

/// The region of a view that a stream reads. It has no type parameters, so that all kernels share it.
#[track_caller]
#[inline(never)]
fn read_by_stream(view: &ViewPlace, footprint: &Footprint, operation: &'static str) -> Region {
    let region = view.region(Memory::Dm, footprint);
    accept_slices(operation, &region, "reads", "move it first with `.to_dm_view(…)`");
    region
}

/// Stops a call that would read or write the DM of other slices. It has no type parameters, so that all kernels share
/// it.
#[track_caller]
#[inline(never)]
fn accept_slices(operation: &'static str, region: &Region, verb: &'static str, help: &'static str) {
    accept(operation, in_its_slices(operation, region, verb, help));
}

/// Checks that a slice reads and writes only its own DM.
fn in_its_slices(
    operation: &'static str,
    region: &Region,
    verb: &'static str,
    help: &'static str,
) -> Result<(), PlanError> {
    if region.part.starts_in_first_unit() {
        return Ok(());
    }
    refuse!(
        "tile of other slices",
        "{}: the tile lies{} of its tensor, but a stream {} in each slice what lies there; help: {}, or start the tile at 0",
        (operation, region.units_in_words().as_str(), verb, help),
    )
}
