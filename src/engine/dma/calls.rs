//! The calls that move tensors: between the host and HBM, between HBM and DM, and inside each.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use super::link::OnChip;
use super::{DmaPlan, HostPlan, check_units_of_tile, dma_operation};
use crate::command::{Address, FillId, Footprint, HostTransfer, Memory, Region, Start, Transfer};
use crate::host::HostTensor;
use crate::mapping::M;
use crate::runtime::fault::{accept, or_raise};
use crate::runtime::late::planned;
use crate::runtime::{AUTO, Dma, DmaContext, DmaValues as _, MakesTensors as _, NeedsAwait, Place};
use crate::scalar::Scalar;
use crate::tensor::{
    DmTensor, DmTensorView, DmTensorViewMut, HbmTensor, HbmTensorView, HbmTensorViewMut, check_dma_address,
};
use core::panic::Location;

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> DmTensor<D, Chip, Cluster, Slice, Element> {
    /// Copies the tensor to HBM, in any layout, in every chip at byte `address`, a multiple of the element's size or
    /// [`AUTO`]. Axes that only the destination has are broadcast. See [memories_and_dma](crate::guide::memories_and_dma).
    ///
    /// Runs may have any number of whole bytes. Runs of less than 256 bytes are slow: HBM reads, changes and writes a
    /// whole unit.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![A = 256, B = 64];
    /// type X = DmTensor<i8, m![1], m![1 # 2], m![A], m![B]>;
    /// /// Bytes in another order: `A` inside.
    /// fn store(ctx: &mut Context, x: &X) -> HbmTensor<i8, m![1], m![B, A]> {
    ///     x.to_hbm(&mut ctx.tdma, 1 << 20)
    /// }
    /// # let _ = store as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: a destination that `has no place for` an axis of the source, or wants a part of one that
    /// the source does not hold (`insufficient input`); single `i4` (`a transfer moves whole bytes`); a tensor that HBM
    /// does not hold; a move by `ctx.pdma`.
    ///
    /// # Panics
    /// If `address` is no multiple of the element's size, or the tensor exceeds HBM.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm<Element2: M>(
        &self,
        dma: &mut impl OnChip,
        address: Address,
    ) -> HbmTensor<D, Chip, Element2> {
        let transfer = planned!(TRANSFER of DmaPlan<
            DmTensor<D, Chip, Cluster, Slice, Element>,
            HbmTensor<D, Chip, Element2>,
        >);
        let to = (Memory::Hbm, planned!(FOOTPRINT of HbmTensor<D, Chip, Element2>), address);
        let (place, fill) = moved(dma.engines(), "to_hbm", self.region(), to, transfer);
        HbmTensor::filled(place, fill)
    }

    /// Copies the tensor to another place in DM of the same cluster, in any layout, in every slice at byte `address`, a
    /// multiple of the element's size or [`AUTO`]. Axes that only the destination has are broadcast. See
    /// [memories_and_dma](crate::guide::memories_and_dma).
    ///
    /// Runs may have any number of whole bytes. [`to_dm_pcopy`](Self::to_dm_pcopy) does the same without the DMA engines.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![A = 256, B = 64];
    /// type X = DmTensor<i8, m![1], m![1 # 2], m![A], m![B]>;
    /// /// `A` and `B` change places, between slices.
    /// fn turn(ctx: &mut Context, x: &X) -> DmTensor<i8, m![1], m![1 # 2], m![B # 256], m![A]> {
    ///     x.to_dm(&mut ctx.tdma, 1024)
    /// }
    /// # let _ = turn as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: everything that [`to_hbm`](Self::to_hbm) refuses, with the 512 KiB and 256 slices of DM
    /// in the place of HBM.
    ///
    /// # Panics
    /// If `address` is no multiple of the element's size, or the tensor exceeds the 512 KiB of a slice.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm<Slice2: M, Element2: M>(
        &self,
        dma: &mut impl OnChip,
        address: Address,
    ) -> DmTensor<D, Chip, Cluster, Slice2, Element2> {
        let transfer = planned!(TRANSFER of DmaPlan<
            DmTensor<D, Chip, Cluster, Slice, Element>,
            DmTensor<D, Chip, Cluster, Slice2, Element2>,
        >);
        let footprint = planned!(FOOTPRINT of DmTensor<D, Chip, Cluster, Slice2, Element2>);
        let to = (Memory::Dm, footprint, address);
        let (place, fill) = moved(dma.engines(), "to_dm", self.region(), to, transfer);
        DmTensor::filled(place, fill)
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorView<'_, D, Chip, Cluster, Slice, Element>
{
    /// Copies the tensor into a view in HBM, which may be a [tile](crate::tensor::tile): see [`DmTensor::to_hbm`]. The
    /// address is that of the view, in bytes. See [memories_and_dma](crate::guide::memories_and_dma).
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![A = 256, N = 4, B = 64];
    /// type Part = DmTensor<i8, m![1], m![1 # 2], m![A], m![B]>;
    /// /// Block `n` of a result.
    /// fn store(ctx: &mut Context, part: &Part, all: &mut HbmTensor<i8, m![1], m![N, A, B]>, n: usize) {
    ///     let block = all.view_mut().tile::<m![N], 1, m![1 # 4, A, B]>(n);
    ///     part.view().to_hbm_view(&mut ctx.tdma, block);
    /// }
    /// # let _ = store as fn(_, _, _, _);
    /// ```
    ///
    /// Refused while compiling: everything that [`DmTensor::to_hbm`] refuses.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm_view<Element2: M>(
        self,
        dma: &mut impl OnChip,
        destination: HbmTensorViewMut<'_, D, Chip, Element2>,
    ) {
        let transfer = planned!(TRANSFER of DmaPlan<
            DmTensor<D, Chip, Cluster, Slice, Element>,
            HbmTensor<D, Chip, Element2>,
        >);
        dma.engines().execute(dma_operation(self.region(), destination.region(), transfer));
    }

    /// Copies the tensor into a view in DM: see [`DmTensor::to_dm`], and [`to_hbm_view`](Self::to_hbm_view) for an
    /// example. The address is that of the view.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm_view<Slice2: M, Element2: M>(
        self,
        dma: &mut impl OnChip,
        destination: DmTensorViewMut<'_, D, Chip, Cluster, Slice2, Element2>,
    ) {
        let transfer = planned!(TRANSFER of DmaPlan<
            DmTensor<D, Chip, Cluster, Slice, Element>,
            DmTensor<D, Chip, Cluster, Slice2, Element2>,
        >);
        dma.engines().execute(dma_operation(self.region(), destination.region(), transfer));
    }
}

/// Moves to a place in a memory that the call finds. It has no mapping parameters, so that all kernels share it.
#[track_caller]
#[inline(never)]
fn moved<const DMA: Dma>(
    dma: &mut DmaContext<DMA>,
    operation: &'static str,
    source: Region,
    (memory, footprint, address): (Memory, &'static Footprint, Address),
    transfer: &Transfer,
) -> (Place, FillId) {
    let (place, region) = crate::tensor::place(dma.system(), memory, footprint, operation, address);
    dma.execute(dma_operation(source, region, transfer));
    (place, region.fill)
}

/// Moves from HBM into a view of a tensor in DM. It has no type parameters, so that all kernels share it.
#[track_caller]
#[inline(never)]
pub(crate) fn into_dm_view(
    source: Region,
    dma: &mut DmaContext<{ Dma::Tensor }>,
    destination: Region,
    tensor: &'static Footprint,
    transfer: &Transfer,
) {
    accept("to_dm", check_dma_address("HBM source", source.address));
    accept("to_dm", check_dma_address("DM destination", destination.address));
    let operation = dma_operation(source, destination, transfer);
    accept("to_dm", check_units_of_tile(&operation, tensor));
    dma.execute(operation);
}

/// Moves from HBM to DM. It has no type parameters, so that all kernels share it.
#[track_caller]
#[inline(never)]
fn into_dm(
    source: Region,
    dma: &mut DmaContext<{ Dma::Tensor }>,
    footprint: &'static Footprint,
    address: Address,
    transfer: &Transfer,
) -> (Place, FillId) {
    accept("to_dm", check_dma_address("HBM source", source.address));
    if address != AUTO {
        accept("to_dm", check_dma_address("DM destination", address));
    }
    moved(dma, "to_dm", source, (Memory::Dm, footprint, address), transfer)
}

impl<D: Scalar, Chip: M, Element: M> HbmTensor<D, Chip, Element> {
    /// Copies the tensor to the host over PCIe, in any layout and of any number of bytes: 30 per cycle. The future does the
    /// work when it is awaited, and is ready at once. See [memories_and_dma](crate::guide::memories_and_dma).
    ///
    /// The host's buffer has no padding: [`HostTensor::to_hbm`] has an example with both ways.
    ///
    /// Refused while compiling: a host tensor that `has no place for` an axis, or wants a part of one that the tensor does
    /// not hold (`insufficient input`); `ctx.tdma` in the place of `ctx.pdma`; a call that is not awaited.
    ///
    /// If it is awaited and elements of the tensor were never written, or were overwritten by another tensor.
    #[track_caller]
    #[inline(never)]
    pub fn to_host<Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
    ) -> NeedsAwait<impl Future<Output = HostTensor<D, Element2>>> {
        let _ = planned!(const DOWNLOAD of HostPlan<D, Element2, Chip, Element>);
        let (view, location) = (self.view(), Location::caller());
        NeedsAwait::new(async move { view.download(dma, location) })
    }

    /// Copies the tensor to another place in HBM, in any layout, in every chip at byte `address`, a multiple of the
    /// element's size or [`AUTO`]. Axes that only the destination has are broadcast. Runs may have any number of whole
    /// bytes, so this call can change the order of the axes. See [memories_and_dma](crate::guide::memories_and_dma).
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![A = 32, B = 64];
    /// fn transposed(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![A, B]>) -> HbmTensor<i8, m![1], m![B, A]> {
    ///     x.to_hbm(&mut ctx.tdma, 1 << 20)
    /// }
    /// # let _ = transposed as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: everything that [`DmTensor::to_hbm`] refuses, except a move by `ctx.pdma`, which may do
    /// this one.
    ///
    /// # Panics
    /// If `address` is no multiple of the element's size, or the tensor exceeds HBM.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm<const DMA: Dma, Element2: M>(
        &self,
        dma: &mut DmaContext<DMA>,
        address: Address,
    ) -> HbmTensor<D, Chip, Element2> {
        let transfer = planned!(TRANSFER of DmaPlan<
            HbmTensor<D, Chip, Element>,
            HbmTensor<D, Chip, Element2>,
        >);
        let to = (Memory::Hbm, planned!(FOOTPRINT of HbmTensor<D, Chip, Element2>), address);
        let (place, fill) = moved(dma, "to_hbm", self.region(), to, transfer);
        HbmTensor::filled(place, fill)
    }

    /// Copies the tensor to DM, in any layout, in every slice at byte `address`, a multiple of 8 or [`AUTO`]. The
    /// source lies at a multiple of 8, too. Axes that only the destination has are broadcast. See
    /// [memories_and_dma](crate::guide::memories_and_dma).
    ///
    /// Runs in the same order on both sides begin at multiples of 8 bytes. The destination has all of the last 8 bytes
    /// of a run, and no other run begins in them: a single `f32`, `m![1]`, goes to `m![1 # 2]`. If that is not so, use
    /// [`to_hbm`](Self::to_hbm) to the order of the destination first, or pad both sides.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![A = 1024, B = 24];
    /// type X = HbmTensor<i8, m![1], m![A, B]>;
    /// /// Four rows per slice, each padded to 32 bytes. The runs are 24 bytes.
    /// fn load(ctx: &mut Context, x: &X) -> DmTensor<i8, m![1], m![1 # 2], m![A / 4], m![A % 4, B # 32]> {
    ///     x.to_dm(&mut ctx.tdma, 0)
    /// }
    /// # let _ = load as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: shorter runs
    /// (`4 contiguous bytes on both sides, but a transfer from HBM to DM moves multiples of 8`), other steps
    /// (`steps by a number of bytes that is no multiple of 8`), padding positions in front that are no multiple of 8
    /// bytes; a destination that `has no place for` an axis of the source or wants a part that it does not hold
    /// (`insufficient input`); more than 512 KiB per slice, 256 slices or 2 clusters.
    ///
    /// # Panics
    /// If `address`, or that of the source, is no multiple of 8, or the tensor exceeds the 512 KiB of a slice.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm<Cluster: M, Slice: M, Element2: M>(
        &self,
        dma: &mut impl OnChip,
        address: Address,
    ) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
        let transfer = planned!(TRANSFER of DmaPlan<
            HbmTensor<D, Chip, Element>,
            DmTensor<D, Chip, Cluster, Slice, Element2>,
        >);
        let footprint = planned!(FOOTPRINT of DmTensor<D, Chip, Cluster, Slice, Element2>);
        let (place, fill) = into_dm(self.region(), dma.engines(), footprint, address, transfer);
        DmTensor::filled(place, fill)
    }
}

impl<'l, D: Scalar, Chip: M, Element: M> HbmTensorView<'l, D, Chip, Element> {
    /// Copies the tensor to the host: see [`HbmTensor::to_host`].
    #[track_caller]
    #[inline(never)]
    pub fn to_host<Element2: M>(
        self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
    ) -> NeedsAwait<impl Future<Output = HostTensor<D, Element2>>> {
        let _ = planned!(const DOWNLOAD of HostPlan<D, Element2, Chip, Element>);
        let location = Location::caller();
        NeedsAwait::new(async move { self.download(dma, location) })
    }

    pub(crate) fn download<Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
        location: &'static Location<'static>,
    ) -> HostTensor<D, Element2> {
        let (region, plan) = (self.region(), planned!(DOWNLOAD of HostPlan<D, Element2, Chip, Element>));
        let transfer = HostTransfer {
            region,
            transfer: plan.further(Start::of(&region), Start::FIRST),
            host_elements: HostPlan::<D, Element2, Chip, Element>::HOST_ELEMENTS,
        };
        let buffer = or_raise(dma.download(&transfer, location));
        HostTensor::from_host_buffer(buffer)
    }

    /// Copies the tensor to another place in HBM: see [`HbmTensor::to_hbm`].
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm<const DMA: Dma, Element2: M>(
        self,
        dma: &mut DmaContext<DMA>,
        address: Address,
    ) -> HbmTensor<D, Chip, Element2> {
        let transfer = planned!(TRANSFER of DmaPlan<
            HbmTensor<D, Chip, Element>,
            HbmTensor<D, Chip, Element2>,
        >);
        let to = (Memory::Hbm, planned!(FOOTPRINT of HbmTensor<D, Chip, Element2>), address);
        let (place, fill) = moved(dma, "to_hbm", self.region(), to, transfer);
        HbmTensor::filled(place, fill)
    }

    /// Copies the tensor into a view in HBM: see [`HbmTensor::to_hbm`], and [`DmTensorView::to_hbm_view`] for an example.
    /// The address is that of the view, a multiple of the element's size in bytes.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm_view<const DMA: Dma, Element2: M>(
        self,
        dma: &mut DmaContext<DMA>,
        destination: HbmTensorViewMut<'_, D, Chip, Element2>,
    ) {
        let transfer = planned!(TRANSFER of DmaPlan<
            HbmTensor<D, Chip, Element>,
            HbmTensor<D, Chip, Element2>,
        >);
        dma.execute(dma_operation(self.region(), destination.region(), transfer));
    }

    /// Copies the tensor to DM: see [`HbmTensor::to_dm`].
    #[track_caller]
    #[inline(never)]
    pub fn to_dm<Cluster: M, Slice: M, Element2: M>(
        self,
        dma: &mut impl OnChip,
        address: Address,
    ) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
        let transfer = planned!(TRANSFER of DmaPlan<
            HbmTensor<D, Chip, Element>,
            DmTensor<D, Chip, Cluster, Slice, Element2>,
        >);
        let footprint = planned!(FOOTPRINT of DmTensor<D, Chip, Cluster, Slice, Element2>);
        let (place, fill) = into_dm(self.region(), dma.engines(), footprint, address, transfer);
        DmTensor::filled(place, fill)
    }

    /// Copies the tensor into a view in DM: see [`HbmTensor::to_dm`], and [`DmTensorView::to_hbm_view`] for an example. The
    /// address is that of the view, a multiple of 8 bytes, as is that of the source.
    ///
    /// # Panics
    /// If an address is no multiple of 8, or the tile of the view starts in a slice or cluster that the move cannot
    /// name.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm_view<Cluster: M, Slice: M, Element2: M>(
        self,
        dma: &mut impl OnChip,
        destination: DmTensorViewMut<'_, D, Chip, Cluster, Slice, Element2>,
    ) {
        let transfer = planned!(TRANSFER of DmaPlan<
            HbmTensor<D, Chip, Element>,
            DmTensor<D, Chip, Cluster, Slice, Element2>,
        >);
        into_dm_view(self.region(), dma.engines(), destination.region(), destination.tensor(), transfer);
    }
}

impl<D: Scalar, Element: M> HostTensor<D, Element> {
    /// Copies the tensor to HBM over PCIe, in any layout, in every chip at byte `address`, a multiple of the element's size
    /// or [`AUTO`]. Axes that only the destination has are broadcast. The future does the work when it is awaited, and is
    /// ready at once. See [memories_and_dma](crate::guide::memories_and_dma).
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![A = 2, B = 3];
    /// let mut ctx = Context::acquire();
    /// let host = HostTensor::<i8, m![A, B]>::from_slice(&[1, 2, 3, 4, 5, 6]);
    /// let back = pollster::block_on(async {
    ///     let x: HbmTensor<i8, m![1], m![A, B # 8]> = host.to_hbm(&mut ctx.pdma, 0).await;
    ///     x.to_host::<m![B, A]>(&mut ctx.pdma).await.to_vec()
    /// });
    /// assert_eq!(back, [1, 4, 2, 5, 3, 6]);
    /// ```
    ///
    /// Refused while compiling: a destination that `has no place for` an axis, wants a part of one that the host tensor
    /// does not hold (`insufficient input`), or is more than HBM holds; `ctx.tdma` in the place of `ctx.pdma`; a call that
    /// is not awaited.
    ///
    /// # Panics
    /// If `address` is no multiple of the element's size, or lies outside HBM; and, when it is awaited, if the tensor
    /// exceeds HBM.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm<Chip: M, Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
        address: Address,
    ) -> NeedsAwait<impl Future<Output = HbmTensor<D, Chip, Element2>>> {
        let _ = planned!(const UPLOAD of HostPlan<D, Element, Chip, Element2>);
        // Done here, not when it is awaited: the line of the call is known.
        let bytes = planned!(FOOTPRINT of HbmTensor<D, Chip, Element2>).bytes();
        let place = dma.system().place(address, Memory::Hbm, bytes, "to_hbm");
        HbmTensor::<D, Chip, Element2>::accept_address("to_hbm", place.address);
        let location = Location::caller();
        NeedsAwait::new(async move { self.upload(dma, place, location) })
    }

    fn upload<Chip: M, Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
        place: Place,
        location: &'static Location<'static>,
    ) -> HbmTensor<D, Chip, Element2> {
        let plan = planned!(UPLOAD of HostPlan<D, Element, Chip, Element2>);
        let tensor = HbmTensor::<D, Chip, Element2>::filled(place, dma.next_fill());
        let transfer = HostTransfer {
            region: tensor.region(),
            transfer: plan,
            host_elements: HostPlan::<D, Element, Chip, Element2>::HOST_ELEMENTS,
        };
        or_raise(dma.upload(&transfer, &self.to_host_buffer(), location));
        tensor
    }
}
