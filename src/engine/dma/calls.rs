//! The calls that move tensors: between the host and HBM, between HBM and DM, and inside of each.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use super::link::OnChip;
use super::{DmaPlan, HostPlan, check_units_of_tile, dma_operation};
use crate::command::{Address, HostTransfer, Memory, Start, Transfer};
use crate::host::HostTensor;
use crate::mapping::M;
use crate::runtime::fault::{accept, or_raise};
use crate::runtime::{AUTO, Dma, DmaContext, DmaValues as _, MakesTensors as _, NeedsAwait, Place};
use crate::scalar::Scalar;
use crate::tensor::{
    DmTensor, DmTensorView, DmTensorViewMut, HbmTensor, HbmTensorView, HbmTensorViewMut, check_dma_address,
};
use core::panic::Location;

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> DmTensor<D, Chip, Cluster, Slice, Element> {
    /// Copies the tensor to HBM, in any layout, in every chip at byte `address`. Axes that only the destination has are
    /// broadcast.
    ///
    /// Refused while compiling: see the [table](crate::engine::dma).
    ///
    /// # Panics
    /// Where `address` is no multiple of the element's size, or the tensor leaves HBM.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm<Element2: M>(
        &self,
        dma: &mut impl OnChip,
        address: Address,
    ) -> HbmTensor<D, Chip, Element2> {
        let transfer =
            DmaPlan::<DmTensor<D, Chip, Cluster, Slice, Element>, HbmTensor<D, Chip, Element2>>::TRANSFER;
        let mut tensor = HbmTensor::<D, Chip, Element2>::made(dma.engines(), "to_hbm", address);
        dma.engines().execute(dma_operation(self.view().region(), tensor.view_mut().region(), transfer));
        tensor
    }

    /// Copies the tensor to another place in DM of the same cluster, in any layout, in every slice at byte `address`.
    /// Axes that only the destination has are broadcast.
    ///
    /// Refused while compiling: see the [table](crate::engine::dma).
    ///
    /// # Panics
    /// Where `address` is no multiple of the element's size, or the tensor leaves the 512 KiB of a slice.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm<Slice2: M, Element2: M>(
        &self,
        dma: &mut impl OnChip,
        address: Address,
    ) -> DmTensor<D, Chip, Cluster, Slice2, Element2> {
        let transfer = DmaPlan::<
            DmTensor<D, Chip, Cluster, Slice, Element>,
            DmTensor<D, Chip, Cluster, Slice2, Element2>,
        >::TRANSFER;
        let mut tensor =
            DmTensor::<D, Chip, Cluster, Slice2, Element2>::made(dma.engines(), "to_dm", address);
        dma.engines().execute(dma_operation(self.view().region(), tensor.view_mut().region(), transfer));
        tensor
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorView<'_, D, Chip, Cluster, Slice, Element>
{
    /// Copies the tensor into a view in HBM: see [`DmTensor::to_hbm`]. The address is that of the view.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm_view<Element2: M>(
        self,
        dma: &mut impl OnChip,
        destination: HbmTensorViewMut<'_, D, Chip, Element2>,
    ) {
        let transfer =
            DmaPlan::<DmTensor<D, Chip, Cluster, Slice, Element>, HbmTensor<D, Chip, Element2>>::TRANSFER;
        dma.engines().execute(dma_operation(self.region(), destination.region(), transfer));
    }

    /// Copies the tensor into a view in DM: see [`DmTensor::to_dm`]. The address is that of the view.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm_view<Slice2: M, Element2: M>(
        self,
        dma: &mut impl OnChip,
        destination: DmTensorViewMut<'_, D, Chip, Cluster, Slice2, Element2>,
    ) {
        let transfer = DmaPlan::<
            DmTensor<D, Chip, Cluster, Slice, Element>,
            DmTensor<D, Chip, Cluster, Slice2, Element2>,
        >::TRANSFER;
        dma.engines().execute(dma_operation(self.region(), destination.region(), transfer));
    }
}

/// From HBM to HBM.
#[track_caller]
fn in_hbm<const DMA: Dma, D: Scalar, Chip: M, Element: M, Element2: M>(
    source: HbmTensorView<'_, D, Chip, Element>,
    dma: &mut DmaContext<DMA>,
    address: Address,
    transfer: &Transfer,
) -> HbmTensor<D, Chip, Element2> {
    let mut tensor = HbmTensor::<D, Chip, Element2>::made(dma, "to_hbm", address);
    dma.execute(dma_operation(source.region(), tensor.view_mut().region(), transfer));
    tensor
}

/// From HBM to DM.
#[track_caller]
fn into_dm<D: Scalar, Chip: M, Element: M, Cluster: M, Slice: M, Element2: M>(
    source: HbmTensorView<'_, D, Chip, Element>,
    dma: &mut DmaContext<{ Dma::Tensor }>,
    address: Address,
    transfer: &Transfer,
) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
    accept("to_dm", check_dma_address("HBM source", source.region().address));
    if address != AUTO {
        accept("to_dm", check_dma_address("DM destination", address));
    }
    let mut tensor = DmTensor::<D, Chip, Cluster, Slice, Element2>::made(dma, "to_dm", address);
    dma.execute(dma_operation(source.region(), tensor.view_mut().region(), transfer));
    tensor
}

impl<D: Scalar, Chip: M, Element: M> HbmTensor<D, Chip, Element> {
    /// Copies the tensor to the host, in any layout. The future does the work when it is awaited, and is ready at once.
    ///
    /// Refused while compiling: a host tensor that drops an axis, or wants parts of one that the tensor does not hold.
    ///
    /// # Panics
    /// When it is awaited and elements of the tensor were never written, or were overwritten by another tensor.
    #[track_caller]
    #[inline(never)]
    pub fn to_host<Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
    ) -> NeedsAwait<impl Future<Output = HostTensor<D, Element2>>> {
        const {
            let _ = HostPlan::<D, Element2, Chip, Element>::DOWNLOAD;
        }
        let (view, location) = (self.view(), Location::caller());
        NeedsAwait::new(async move { view.download(dma, location) })
    }

    /// Copies the tensor to another place in HBM, in any layout, in every chip at byte `address`. Axes that only the
    /// destination has are broadcast. Runs may have any length: this is the way to another order of the axes.
    ///
    /// Refused while compiling: see the [table](crate::engine::dma).
    ///
    /// # Panics
    /// Where `address` is no multiple of the element's size, or the tensor leaves HBM.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm<const DMA: Dma, Element2: M>(
        &self,
        dma: &mut DmaContext<DMA>,
        address: Address,
    ) -> HbmTensor<D, Chip, Element2> {
        let transfer = DmaPlan::<HbmTensor<D, Chip, Element>, HbmTensor<D, Chip, Element2>>::TRANSFER;
        in_hbm(self.view(), dma, address, transfer)
    }

    /// Copies the tensor to DM, in any layout, in every slice at byte `address`. Axes that only the destination has are
    /// broadcast.
    ///
    /// Both sides must have runs of at least 8 bytes in the same order, and step by multiples of 8 bytes. Where they do
    /// not, [`to_hbm`](Self::to_hbm) to the order of the destination comes first, or both sides are padded.
    ///
    /// Refused while compiling: such runs and steps, and what the [table](crate::engine::dma) says.
    ///
    /// # Panics
    /// Where `address`, or that of the source, is no multiple of 8, or the tensor leaves the 512 KiB of a slice.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm<Cluster: M, Slice: M, Element2: M>(
        &self,
        dma: &mut impl OnChip,
        address: Address,
    ) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
        let transfer =
            DmaPlan::<HbmTensor<D, Chip, Element>, DmTensor<D, Chip, Cluster, Slice, Element2>>::TRANSFER;
        into_dm(self.view(), dma.engines(), address, transfer)
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
        const {
            let _ = HostPlan::<D, Element2, Chip, Element>::DOWNLOAD;
        }
        let location = Location::caller();
        NeedsAwait::new(async move { self.download(dma, location) })
    }

    fn download<Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
        location: &'static Location<'static>,
    ) -> HostTensor<D, Element2> {
        let (region, plan) = (self.region(), HostPlan::<D, Element2, Chip, Element>::DOWNLOAD);
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
        let transfer = DmaPlan::<HbmTensor<D, Chip, Element>, HbmTensor<D, Chip, Element2>>::TRANSFER;
        in_hbm(self, dma, address, transfer)
    }

    /// Copies the tensor into a view in HBM: see [`HbmTensor::to_hbm`]. The address is that of the view.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm_view<const DMA: Dma, Element2: M>(
        self,
        dma: &mut DmaContext<DMA>,
        destination: HbmTensorViewMut<'_, D, Chip, Element2>,
    ) {
        let transfer = DmaPlan::<HbmTensor<D, Chip, Element>, HbmTensor<D, Chip, Element2>>::TRANSFER;
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
        let transfer =
            DmaPlan::<HbmTensor<D, Chip, Element>, DmTensor<D, Chip, Cluster, Slice, Element2>>::TRANSFER;
        into_dm(self, dma.engines(), address, transfer)
    }

    /// Copies the tensor into a view in DM: see [`HbmTensor::to_dm`]. The address is that of the view.
    #[track_caller]
    #[inline(never)]
    pub fn to_dm_view<Cluster: M, Slice: M, Element2: M>(
        self,
        dma: &mut impl OnChip,
        destination: DmTensorViewMut<'_, D, Chip, Cluster, Slice, Element2>,
    ) {
        let transfer =
            DmaPlan::<HbmTensor<D, Chip, Element>, DmTensor<D, Chip, Cluster, Slice, Element2>>::TRANSFER;
        let (tensor, destination) = (destination.tensor(), destination.region());
        accept("to_dm", check_dma_address("HBM source", self.region().address));
        accept("to_dm", check_dma_address("DM destination", destination.address));
        let operation = dma_operation(self.region(), destination, transfer);
        accept("to_dm", check_units_of_tile(&operation, tensor));
        dma.engines().execute(operation);
    }
}

impl<D: Scalar, Element: M> HostTensor<D, Element> {
    /// Copies the tensor to HBM over PCIe, in any layout, in every chip at byte `address`. Axes that only the destination
    /// has are broadcast. The future does the work when it is awaited, and is ready at once.
    ///
    /// Refused while compiling: a destination that drops an axis, wants parts of one that the host tensor does not hold,
    /// or does not fit into HBM.
    ///
    /// # Panics
    /// Where `address` is no multiple of the element's size, or lies outside of HBM; and when it is awaited, where the
    /// tensor leaves HBM.
    #[track_caller]
    #[inline(never)]
    pub fn to_hbm<Chip: M, Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
        address: Address,
    ) -> NeedsAwait<impl Future<Output = HbmTensor<D, Chip, Element2>>> {
        const {
            let _ = HostPlan::<D, Element, Chip, Element2>::UPLOAD;
        }
        // Here, not when it is awaited: the line of the call is known.
        let bytes = HbmTensor::<D, Chip, Element2>::FOOTPRINT.bytes();
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
        let plan = HostPlan::<D, Element, Chip, Element2>::UPLOAD;
        let mut tensor = HbmTensor::filled(place, dma.next_fill());
        let transfer = HostTransfer {
            region: tensor.view_mut().region(),
            transfer: plan,
            host_elements: HostPlan::<D, Element, Chip, Element2>::HOST_ELEMENTS,
        };
        or_raise(dma.upload(&transfer, &self.to_host_buffer(), location));
        tensor
    }
}
