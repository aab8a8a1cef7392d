//! Tensors in high-bandwidth memory, and the transfers that start there.

use super::dm::{DmTensor, DmTensorViewMut};
use super::host::HostTensor;
use super::shape::Shape;
use crate::command::{Address, FillId, Footprint, HostTransfer, Memory, Region};
use crate::engine::dma::{DmaPlan, HostPlan, dma_operation};
use crate::mapping::M;
use crate::runtime::fault::{accept, or_raise};
use crate::runtime::{Dma, DmaContext, DmaValues as _};
use crate::scalar::Scalar;
use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;

/// A tensor in HBM: chip `i`, element `j` holds the element of the tensor at `Chip::map(i)` ∪ `Element::map(j)`.
pub struct HbmTensor<D: Scalar, Chip: M, Element: M> {
    pub(crate) address: Address,
    pub(crate) fill: FillId,
    types: PhantomData<(D, Chip, Element)>,
}

impl<D: Scalar, Chip: M, Element: M> HbmTensor<D, Chip, Element> {
    pub(crate) const SHAPE: Shape = Shape::hbm(D::ELEMENT_TYPE, Chip::EXPR, Element::EXPR);
    pub(crate) const FOOTPRINT: Footprint = match Self::SHAPE.footprint() {
        Ok(footprint) => footprint,
        Err(error) => error.refuse(),
    };

    pub(crate) fn filled(address: Address, fill: FillId) -> Self {
        Self { address, fill, types: PhantomData }
    }

    /// A handle to what is at an address.
    ///
    /// Reads see whatever is there: nothing is known about who wrote it. Writing through a mutable view makes the
    /// tensor. Operations through this handle are ordered; that they come after what other contexts do to the same bytes
    /// through other handles is not known either: see [`CheckOptions::order`](crate::chip::CheckOptions::order).
    ///
    /// # Safety
    /// No memory of the host is at risk. The caller vouches that the memory at `address` holds a tensor of this mapping,
    /// or that it is written before it is read, and that nothing else uses the range.
    #[allow(unsafe_code)] // A contract about the memory of the chip; the body is safe.
    #[track_caller]
    pub unsafe fn from_addr(address: Address) -> Self {
        const { assert_fits::<D, Chip, Element>() };
        accept("HbmTensor::from_addr", super::check_address(Memory::Hbm, D::ELEMENT_TYPE, address));
        Self::filled(address, FillId::bare())
    }

    /// The address of the first byte in each chip.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Bytes of all chips together, padding included.
    pub fn size() -> usize {
        (Chip::SIZE * Element::SIZE * D::BITS).div_ceil(8)
    }

    /// The whole tensor, to read.
    pub fn view(&self) -> HbmTensorView<'_, D, Chip, Element> {
        HbmTensorView { address: self.address, fill: self.fill, types: PhantomData }
    }

    /// The whole tensor, to write.
    pub fn view_mut(&mut self) -> HbmTensorViewMut<'_, D, Chip, Element> {
        HbmTensorViewMut { address: self.address, fill: self.fill, types: PhantomData }
    }

    /// Copies the tensor to the host, in any layout.
    #[track_caller]
    pub fn to_host<Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
    ) -> impl Future<Output = HostTensor<D, Element2>> {
        const {
            let _ = HostPlan::<D, Element2, Chip, Element>::DOWNLOAD;
        }
        let location = Location::caller();
        async move { self.download(dma, location) }
    }

    fn download<Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
        location: &'static Location<'static>,
    ) -> HostTensor<D, Element2> {
        let plan = const { HostPlan::<D, Element2, Chip, Element>::DOWNLOAD };
        let transfer = HostTransfer {
            region: self.view().region(),
            transfer: plan,
            host_elements: const { HostPlan::<D, Element2, Chip, Element>::HOST_ELEMENTS },
        };
        let buffer = or_raise(dma.download(&transfer, location));
        HostTensor::from_host_buffer(buffer)
    }

    /// Copies the tensor to another place in HBM, in any layout. Axes that only the destination has are broadcast.
    #[track_caller]
    pub fn to_hbm<const DMA: Dma, Element2: M>(
        &self,
        dma: &mut DmaContext<DMA>,
        address: Address,
    ) -> HbmTensor<D, Chip, Element2> {
        const {
            let _ = DmaPlan::<HbmTensor<D, Chip, Element>, HbmTensor<D, Chip, Element2>>::TRANSFER;
        }
        self.view().to_hbm(dma, address)
    }

    /// Copies the tensor to DM, in any layout. Axes that only the destination has are broadcast.
    #[track_caller]
    pub fn to_dm<Cluster: M, Slice: M, Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Tensor }>,
        address: Address,
    ) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
        const {
            let _ =
                DmaPlan::<HbmTensor<D, Chip, Element>, DmTensor<D, Chip, Cluster, Slice, Element2>>::TRANSFER;
        }
        self.view().to_dm(dma, address)
    }
}

pub(crate) const fn assert_fits<D: Scalar, Chip: M, Element: M>() {
    let _ = HbmTensor::<D, Chip, Element>::FOOTPRINT;
}

impl<D: Scalar, Chip: M, Element: M> fmt::Debug for HbmTensor<D, Chip, Element> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (chip, element) = (Chip::EXPR, Element::EXPR);
        write!(f, "HbmTensor<{}, m![{chip}], m![{element}]> at {:#x}", D::ELEMENT_TYPE, self.address)
    }
}

/// A tensor in HBM to read from.
pub struct HbmTensorView<'l, D: Scalar, Chip: M, Element: M> {
    address: Address,
    fill: FillId,
    types: PhantomData<(&'l (), D, Chip, Element)>,
}

impl<D: Scalar, Chip: M, Element: M> Clone for HbmTensorView<'_, D, Chip, Element> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<'l, D: Scalar, Chip: M, Element: M> HbmTensorView<'l, D, Chip, Element> {
    /// The address of the tensor in each chip.
    pub fn address(&self) -> Address {
        self.address
    }

    pub(crate) fn region(&self) -> Region {
        let footprint = const { HbmTensor::<D, Chip, Element>::FOOTPRINT };
        Region { memory: Memory::Hbm, address: self.address, fill: self.fill, footprint }
    }

    /// Copies the tensor to another place in HBM: see [`HbmTensor::to_hbm`].
    #[track_caller]
    pub fn to_hbm<const DMA: Dma, Element2: M>(
        self,
        dma: &mut DmaContext<DMA>,
        address: Address,
    ) -> HbmTensor<D, Chip, Element2> {
        const {
            let _ = DmaPlan::<HbmTensor<D, Chip, Element>, HbmTensor<D, Chip, Element2>>::TRANSFER;
        }
        accept("to_hbm", super::check_address(Memory::Hbm, D::ELEMENT_TYPE, address));
        let mut tensor = HbmTensor::filled(address, dma.next_fill());
        self.to_hbm_view(dma, tensor.view_mut());
        tensor
    }

    /// Copies the tensor into a view in HBM, in any layout. Axes that only the destination has are broadcast.
    #[track_caller]
    pub fn to_hbm_view<const DMA: Dma, Element2: M>(
        self,
        dma: &mut DmaContext<DMA>,
        destination: HbmTensorViewMut<'_, D, Chip, Element2>,
    ) {
        let transfer =
            const { DmaPlan::<HbmTensor<D, Chip, Element>, HbmTensor<D, Chip, Element2>>::TRANSFER };
        dma.execute(dma_operation(self.region(), destination.region(), transfer));
    }

    /// Copies the tensor to DM: see [`HbmTensor::to_dm`].
    #[track_caller]
    pub fn to_dm<Cluster: M, Slice: M, Element2: M>(
        self,
        dma: &mut DmaContext<{ Dma::Tensor }>,
        address: Address,
    ) -> DmTensor<D, Chip, Cluster, Slice, Element2> {
        const {
            let _ =
                DmaPlan::<HbmTensor<D, Chip, Element>, DmTensor<D, Chip, Cluster, Slice, Element2>>::TRANSFER;
        }
        accept("to_dm", super::check_address(Memory::Dm, D::ELEMENT_TYPE, address));
        let mut tensor = DmTensor::filled(address, dma.next_fill());
        self.to_dm_view(dma, tensor.view_mut());
        tensor
    }

    /// Copies the tensor into a view in DM, in any layout. Axes that only the destination has are broadcast.
    #[track_caller]
    pub fn to_dm_view<Cluster: M, Slice: M, Element2: M>(
        self,
        dma: &mut DmaContext<{ Dma::Tensor }>,
        destination: DmTensorViewMut<'_, D, Chip, Cluster, Slice, Element2>,
    ) {
        let transfer = const {
            DmaPlan::<HbmTensor<D, Chip, Element>, DmTensor<D, Chip, Cluster, Slice, Element2>>::TRANSFER
        };
        let destination = destination.region();
        accept("to_dm", super::check_dma_address("HBM source", self.address));
        accept("to_dm", super::check_dma_address("DM destination", destination.address));
        dma.execute(dma_operation(self.region(), destination, transfer));
    }
}

/// A tensor in HBM to write to.
pub struct HbmTensorViewMut<'l, D: Scalar, Chip: M, Element: M> {
    address: Address,
    fill: FillId,
    types: PhantomData<(&'l mut (), D, Chip, Element)>,
}

impl<D: Scalar, Chip: M, Element: M> HbmTensorViewMut<'_, D, Chip, Element> {
    /// The address of the tensor in each chip.
    pub fn address(&self) -> Address {
        self.address
    }

    pub(crate) fn region(&self) -> Region {
        let footprint = const { HbmTensor::<D, Chip, Element>::FOOTPRINT };
        Region { memory: Memory::Hbm, address: self.address, fill: self.fill, footprint }
    }
}

impl<'l, D: Scalar, Chip: M, Element: M> From<HbmTensorViewMut<'l, D, Chip, Element>>
    for HbmTensorView<'l, D, Chip, Element>
{
    fn from(view: HbmTensorViewMut<'l, D, Chip, Element>) -> Self {
        Self { address: view.address, fill: view.fill, types: PhantomData }
    }
}

impl<D: Scalar, Element: M> HostTensor<D, Element> {
    /// Copies the tensor to HBM over PCIe, in any layout. Axes that only the destination has are broadcast.
    #[track_caller]
    pub fn to_hbm<Chip: M, Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
        address: Address,
    ) -> impl Future<Output = HbmTensor<D, Chip, Element2>> {
        const {
            let _ = HostPlan::<D, Element, Chip, Element2>::UPLOAD;
        }
        let location = Location::caller();
        async move { self.upload(dma, address, location) }
    }

    fn upload<Chip: M, Element2: M>(
        &self,
        dma: &mut DmaContext<{ Dma::Pcie }>,
        address: Address,
        location: &'static Location<'static>,
    ) -> HbmTensor<D, Chip, Element2> {
        let plan = const { HostPlan::<D, Element, Chip, Element2>::UPLOAD };
        accept("to_hbm", super::check_address(Memory::Hbm, D::ELEMENT_TYPE, address));
        let mut tensor = HbmTensor::filled(address, dma.next_fill());
        let transfer = HostTransfer {
            region: tensor.view_mut().region(),
            transfer: plan,
            host_elements: const { HostPlan::<D, Element, Chip, Element2>::HOST_ELEMENTS },
        };
        or_raise(dma.upload(&transfer, &self.to_host_buffer(), location));
        tensor
    }
}
