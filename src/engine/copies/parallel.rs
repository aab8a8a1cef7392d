//! Parallel copy: from DM to DM through the Tensor Unit of each slice, by the sub context.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use super::copy_operation;
use crate::command::{ContextKind, Footprint, Region, Transfer};
use crate::engine::dma::{AtRest, check_units_of_tile};
use crate::error::attempt;
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, by_reference, planned};
use crate::runtime::{Tu, TuContext, TuValues as _};
use crate::scalar::Scalar;
use crate::tensor::{DmTensor, DmTensorView, DmTensorViewMut};
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::copies::parallel::derive_parallel_copy;
pub(crate) use furiosa_visa_rules::engine::copies::parallel::{CALL, check_address};

mod sealed {
    use super::*;
    pub trait Sealed {}
    impl Sealed for TuContext<{ Tu::Sub }> {}
}

/// The context that copies beside the main context: `ctx.sub`.
#[diagnostic::on_unimplemented(
    message = "parallel copies are made by the sub context, `ctx.sub`",
    label = "write `&mut ctx.sub`",
    note = "`to_dm` and `to_dm_view` copy with the DMA engines, `ctx.tdma`"
)]
pub trait SubContext: sealed::Sealed {
    /// The context.
    #[doc(hidden)]
    fn unit(&mut self) -> &mut TuContext<{ Tu::Sub }>;
}

impl SubContext for TuContext<{ Tu::Sub }> {
    fn unit(&mut self) -> &mut TuContext<{ Tu::Sub }> {
        self
    }
}

impl<Source: AtRest, Destination: AtRest> Late<ParallelCopyPlan<Source, Destination>> {
    #[doc(hidden)]
    pub const TRANSFER: Refusable<Transfer> = Self::checked();

    const fn checked() -> Refusable<Transfer> {
        attempt!(by_reference(Source::LATE_FOOTPRINT));
        attempt!(by_reference(Destination::LATE_FOOTPRINT));
        derive_parallel_copy(&Source::SHAPE, &Destination::SHAPE)
    }
}

/// The loops of a parallel copy from one tensor type to another.
pub struct ParallelCopyPlan<Source, Destination>(PhantomData<(Source, Destination)>);

impl<Source: AtRest, Destination: AtRest> ParallelCopyPlan<Source, Destination> {
    /// The loops. Evaluating it refuses copies that the sub context does not support.
    pub const TRANSFER: Transfer = {
        let _ = (Source::ELEMENTS, Destination::ELEMENTS);
        match derive_parallel_copy(&Source::SHAPE, &Destination::SHAPE) {
            Ok(transfer) => transfer,
            Err(error) => error.refuse(),
        }
    };
}

#[track_caller]
pub(crate) fn copied(
    sub: &mut TuContext<{ Tu::Sub }>,
    regions: [Region; 2],
    tensor: &'static Footprint,
    transfer: Transfer,
) {
    accept(CALL.name(), check_address(regions[1].address));
    let operation = copy_operation(CALL, ContextKind::Sub, regions, vec![transfer]);
    accept(CALL.name(), check_units_of_tile(&operation, tensor));
    sub.execute(operation);
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> DmTensor<D, Chip, Cluster, Slice, Element> {
    /// Copies the tensor to another one of the same clusters, in any layout, by the sub context: the DMA engines and
    /// the main context continue meanwhile. Axes that only the destination has are broadcast. Its padding stays as it
    /// is, except padding that shares 8 bytes with elements.
    ///
    /// Every slice reads and writes 8 bytes per cycle. The destination lies at a multiple of 8 bytes. The 8 bytes that
    /// are written at once come from one run of the source, or are padding. See
    /// [memories_and_dma](crate::guide::memories_and_dma).
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 256, B = 64];
    ///
    /// #[device(chip = 1)]
    /// fn turn(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>, out: &mut HbmTensor<i8, m![1], m![A, B]>) {
    ///     let a = x.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0);
    ///     let mut b = x.to_dm::<m![1 # 2], m![A % 128, A / 128], m![B]>(&mut ctx.tdma, 64);
    ///     a.to_dm_pcopy(&mut ctx.sub, &mut b);
    ///     b.view().to_hbm_view(&mut ctx.tdma, out.view_mut());
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let host = HostTensor::<i8, m![A, B]>::zero();
    /// # pollster::block_on(async {
    /// #     let x = host.to_hbm(&mut ctx.pdma, 0).await;
    /// #     let mut y = host.to_hbm(&mut ctx.pdma, 1 << 20).await;
    /// #     launch(turn, (&mut *ctx, &x, &mut y)).await;
    /// # });
    /// ```
    ///
    /// Refused while compiling: a destination that `has no place for` an axis, or that wants a part that the source
    /// lacks (`insufficient input`); single bytes, whose neighbours the sub context `would overwrite`; tensors of other
    /// clusters; the main context (`parallel copies are made by the sub context`).
    ///
    /// # Panics
    /// If the destination is at no multiple of 8, or its bytes are read by the same copy.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm_pcopy<Slice2: M, Element2: M>(
        &self,
        sub: &mut impl SubContext,
        destination: &mut DmTensor<D, Chip, Cluster, Slice2, Element2>,
    ) {
        let transfer = planned!(TRANSFER of ParallelCopyPlan<
            DmTensor<D, Chip, Cluster, Slice, Element>,
            DmTensor<D, Chip, Cluster, Slice2, Element2>,
        >);
        let destination = destination.view_mut();
        copied(sub.unit(), [self.region(), destination.region()], destination.tensor(), transfer);
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorView<'_, D, Chip, Cluster, Slice, Element>
{
    /// Copies the tensor into a view of another one: see [`DmTensor::to_dm_pcopy`].
    #[track_caller]
    #[inline(never)]
    pub fn to_dm_view_pcopy<Slice2: M, Element2: M>(
        self,
        sub: &mut impl SubContext,
        destination: DmTensorViewMut<'_, D, Chip, Cluster, Slice2, Element2>,
    ) {
        let transfer = planned!(TRANSFER of ParallelCopyPlan<
            DmTensor<D, Chip, Cluster, Slice, Element>,
            DmTensor<D, Chip, Cluster, Slice2, Element2>,
        >);
        copied(sub.unit(), [self.region(), destination.region()], destination.tensor(), transfer);
    }
}
