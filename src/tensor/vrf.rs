//! Tensors in the vector register file.

use super::handle::{RegisterPlace, handle, looks, views};
use super::units::{Chips, Clusters, Slices};
use crate::command::{Address, FillId, Footprint, Memory};
use crate::engine::dma::AtRest;
use crate::engine::inspect::{InspectionPlan, inspected};
use crate::error::attempt;
use crate::host::HostTensor;
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, by_reference, planned};
use crate::runtime::{Context, Lease, Place};
use crate::scalar::VeScalar;
use core::fmt;
use core::marker::PhantomData;

/// A tensor in the VRF of every slice: element `j` holds the element of the tensor at the union of `Chip::map`,
/// `Cluster::map`, `Slice::map` and `Element::map(j)`.
///
/// Elements are `i32` or `f32`. The tensor takes `[address, address + 4 * Element::SIZE)` of the 8192 bytes of every
/// slice. [`to_vrf`](crate::engine::stream::StreamTensor::to_vrf) makes one.
pub struct VrfTensor<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> {
    pub(crate) address: Address,
    pub(crate) fill: FillId,
    /// The lease of the bytes: they are free again when it is dropped.
    pub(crate) lease: Option<Lease>,
    types: PhantomData<(D, Chip, Cluster, Slice, Element)>,
}

impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> VrfTensor<D, Chip, Cluster, Slice, Element> {
    pub(crate) const FOOTPRINT: &'static Footprint = &{
        let _ = (Chips::<Chip>::CHECKED, Clusters::<Cluster>::CHECKED, Slices::<Slice>::CHECKED);
        match Late::<Self>::counted() {
            Ok(footprint) => footprint,
            Err(error) => error.refuse(),
        }
    };
}

handle! {
    VrfTensor<D: VeScalar, Chip, Cluster, Slice, Element> in Vrf, of Chips<Chip>, Clusters<Cluster>, Slices<Slice>;
    "The address of the first byte in each slice."
}

impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> VrfTensor<D, Chip, Cluster, Slice, Element> {
    /// A handle to the tensor at an address of the VRF.
    ///
    /// Refused while compiling: a tensor of more than 8192 bytes per slice.
    ///
    /// # Safety
    /// No memory of the host is at risk. The caller vouches that the VRF at `address` holds a tensor of this mapping.
    ///
    /// # Panics
    /// If `address` is no multiple of 4, or the tensor exceeds the VRF.
    #[allow(unsafe_code)] // A contract about the memory of the chip; the body is safe.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub unsafe fn from_addr(address: Address) -> Self {
        let _ = planned!(const FOOTPRINT of Self);
        Self::accept_address("VrfTensor::from_addr", address);
        let bytes = planned!(FOOTPRINT of Self).bytes();
        accept("VrfTensor::from_addr", super::check_vrf_end("VrfTensor::from_addr", bytes, address));
        Self::filled(Place::from(address), FillId::bare())
    }

    /// The whole tensor, to read.
    pub fn view(&self) -> VrfTensorView<'_, D, Chip, Cluster, Slice, Element> {
        VrfTensorView::at(RegisterPlace { address: self.address, fill: self.fill })
    }

    /// The whole tensor, to write.
    pub fn view_mut(&mut self) -> VrfTensorViewMut<'_, D, Chip, Cluster, Slice, Element> {
        VrfTensorViewMut::at(RegisterPlace { address: self.address, fill: self.fill })
    }
}

/// Clones the handle: it has the same address in the same register file, and its content is not copied.
impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> Clone
    for VrfTensor<D, Chip, Cluster, Slice, Element>
{
    fn clone(&self) -> Self {
        let lease = self.lease.clone();
        Self::filled(Place { address: self.address, lease }, self.fill)
    }
}

looks! {
    VrfTensor<D: VeScalar, Chip, Cluster, Slice, Element>, VrfTensorView in Vrf, "the VRF"; "[`DmTensor::inspect`](crate::tensor::DmTensor::inspect) has an example."
}

views! {
    /// A tensor in the VRF to read from.
    VrfTensorView;
    /// A tensor in the VRF to write to.
    VrfTensorViewMut;
    <D: VeScalar, Chip, Cluster, Slice, Element> at RegisterPlace<Address>,
    "The address of the first byte in each slice.": Address
}
