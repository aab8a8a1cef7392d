//! Parallel copy: from DM to DM through the Tensor Unit of each slice, by the sub context.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use super::copy_operation;
use crate::command::{Address, ContextKind, CopyCall, Footprint, Region, Transfer};
use crate::engine::dma::{AtRest, check_units_of_tile, derive_move};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{planned, when_late};
use crate::runtime::{Tu, TuContext, TuValues as _};
use crate::scalar::Scalar;
use crate::sequencer::transfer::contiguous_elements;
use crate::spec;
use crate::tensor::{DmTensor, DmTensorView, DmTensorViewMut, Shape};
use crate::text::Text;
use core::marker::PhantomData;

when_late! {
    use crate::runtime::late::{Late, Refusable};
}

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

const CALL: CopyCall = CopyCall::ParallelCopy;

/// Derives the loops of a parallel copy: those of a DMA transfer. `Chip` and `Cluster` are the same on both sides, so
/// no element leaves its cluster.
pub const fn derive_parallel_copy(source: &Shape, destination: &Shape) -> Result<Transfer, PlanError> {
    let transfer = attempt!(derive_move(CALL.name(), source, destination));
    attempt!(check_cells(CALL.name(), &transfer, source, destination));
    Ok(transfer)
}

/// Checks that units of 8 bytes, which the sub context writes, hold only a run and padding.
pub(super) const fn check_cells(
    operation: &'static str,
    transfer: &Transfer,
    source: &Shape,
    destination: &Shape,
) -> Result<(), PlanError> {
    let (bits, run) = (destination.element_type.bits(), contiguous_elements(transfer));
    let start = transfer.destination_start.elements;
    if !(start.unsigned_abs() * bits).is_multiple_of(8 * spec::COMMIT_ALIGN_BYTES) {
        refuse!(
            "parallel copy cells",
            "{}: {} to {} starts {} of {} bits from the destination, but the sub context writes {} at a time; \
             help: put a multiple of {} dead positions before the innermost axis, or none",
            str(operation),
            text(&source.notation(Text::new())),
            text(&destination.notation(Text::new())),
            count(start.unsigned_abs(), "element"),
            number(bits),
            count(spec::COMMIT_ALIGN_BYTES, "byte"),
            number(8 * spec::COMMIT_ALIGN_BYTES / bits),
        );
    }
    let Some(step) = transfer.step_inside_cell(run, bits) else { return Ok(()) };
    refuse!(
        "parallel copy cells",
        "{}: {} to {} moves {} at a time, to places {} apart, but the sub context writes {} at a time, whose neighbours \
         it would overwrite; help: keep {} together, innermost on both sides, or pad the innermost axis of the destination to \
         them, or move the tensor with the DMA engines: `.to_dm_view(…)`",
        str(operation),
        text(&source.notation(Text::new())),
        text(&destination.notation(Text::new())),
        count(run * bits / 8, "byte"),
        count(step * bits / 8, "byte"),
        count(spec::COMMIT_ALIGN_BYTES, "byte"),
        count(spec::COMMIT_ALIGN_BYTES, "byte"),
    )
}

when_late! {
    impl<Source: AtRest, Destination: AtRest> Late<ParallelCopyPlan<Source, Destination>> {
        const TRANSFER: Refusable<Transfer> = Self::checked();

        const fn checked() -> Refusable<Transfer> {
            attempt!(Source::LATE_FOOTPRINT);
            attempt!(Destination::LATE_FOOTPRINT);
            derive_parallel_copy(&Source::SHAPE, &Destination::SHAPE)
        }
    }
}

/// The loops of a parallel copy from one tensor type to another.
pub struct ParallelCopyPlan<Source, Destination>(PhantomData<(Source, Destination)>);

impl<Source: AtRest, Destination: AtRest> ParallelCopyPlan<Source, Destination> {
    /// The loops. Evaluating it refuses copies that the sub context does not support.
    pub const TRANSFER: Transfer = {
        let _ = (Source::FOOTPRINT, Destination::FOOTPRINT);
        match derive_parallel_copy(&Source::SHAPE, &Destination::SHAPE) {
            Ok(transfer) => transfer,
            Err(error) => error.refuse(),
        }
    };
}

/// Checks that the destination starts at a multiple of 8 bytes.
fn check_address(address: Address) -> Result<(), PlanError> {
    let unit = spec::COMMIT_ALIGN_BYTES;
    if (address as usize).is_multiple_of(unit) {
        return Ok(());
    }
    refuse!(
        "parallel copy alignment",
        "{}: the destination is at address {}, which is no multiple of the {} bytes that the sub context writes; \
         help: move it to a multiple of {}",
        str(CALL.name()),
        number(address as usize),
        number(unit),
        number(unit),
    )
}

#[track_caller]
fn copied(
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
        copied(sub.unit(), [self.view().region(), destination.region()], destination.tensor(), transfer);
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
