//! Tensors in the vector register file.

use super::shape::Shape;
use super::units::{Chips, Clusters, Slices};
use crate::command::{Address, FillId, Footprint, Inspection, Memory, Region, RegisterFile};
use crate::engine::inspect::VrfInspectionPlan;
use crate::host::HostTensor;
use crate::mapping::M;
use crate::runtime::fault::{accept, or_raise};
use crate::runtime::late::{planned, when_late};
use crate::runtime::{Context, Lease, Place};
use crate::scalar::VeScalar;
use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;

when_late! {
    use crate::error::attempt;
    use crate::runtime::late::{Late, Refusable};
}

/// A tensor in the VRF of every slice: element `j` holds the element of the tensor at the union of `Chip::map`,
/// `Cluster::map`, `Slice::map` and `Element::map(j)`.
///
/// Elements are `i32` or `f32`. The tensor takes `[address, address + 4 * Element::SIZE)` of the 8192 bytes of every
/// slice. [`to_vrf`](crate::engine::stream::StreamTensor::to_vrf) makes one.
pub struct VrfTensor<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> {
    pub(crate) address: Address,
    pub(crate) fill: FillId,
    pub(crate) lease: Option<Lease>,
    types: PhantomData<(D, Chip, Cluster, Slice, Element)>,
}

when_late! {
    impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> Late<VrfTensor<D, Chip, Cluster, Slice, Element>> {
        pub(crate) const FOOTPRINT: Refusable<&'static Footprint> = match &Self::COUNTED {
            Ok(footprint) => Ok(footprint),
            Err(error) => Err(*error),
        };
        const COUNTED: Refusable<Footprint> = Self::counted();

        const fn counted() -> Refusable<Footprint> {
            attempt!(Late::<Chips<Chip>>::CHECKED);
            attempt!(Late::<Clusters<Cluster>>::CHECKED);
            attempt!(Late::<Slices<Slice>>::CHECKED);
            VrfTensor::<D, Chip, Cluster, Slice, Element>::SHAPE.footprint()
        }
    }
}

impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> VrfTensor<D, Chip, Cluster, Slice, Element> {
    pub(crate) const SHAPE: Shape =
        Shape::vrf(D::ELEMENT_TYPE, Chip::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR);
    pub(crate) const FOOTPRINT: &'static Footprint = &{
        let _ = (Chips::<Chip>::CHECKED, Clusters::<Cluster>::CHECKED, Slices::<Slice>::CHECKED);
        match Self::SHAPE.footprint() {
            Ok(footprint) => footprint,
            Err(error) => error.refuse(),
        }
    };

    pub(crate) fn filled(place: impl Into<Place>, fill: FillId) -> Self {
        let Place { address, lease } = place.into();
        Self { address, fill, lease, types: PhantomData }
    }

    /// Stops a call whose tensor cannot start at `address`.
    #[track_caller]
    pub(crate) fn accept_address(operation: &'static str, address: Address) {
        accept(operation, super::check_address(Memory::Vrf, planned!(FOOTPRINT of Self), address));
    }

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
        Self::filled(address, FillId::bare())
    }

    /// The address of the first byte in each slice.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The whole tensor, to read.
    pub fn view(&self) -> VrfTensorView<'_, D, Chip, Cluster, Slice, Element> {
        VrfTensorView { address: self.address, fill: self.fill, types: PhantomData }
    }

    /// The whole tensor, to write.
    pub fn view_mut(&mut self) -> VrfTensorViewMut<'_, D, Chip, Cluster, Slice, Element> {
        VrfTensorViewMut { address: self.address, fill: self.fill, types: PhantomData }
    }

    /// The content of the VRF: see [`VrfTensorView::inspect`].
    #[track_caller]
    #[inline(never)]
    pub fn inspect<Host: M>(&self, context: &Context) -> HostTensor<D, Host> {
        self.view().inspect(context)
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

impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> fmt::Debug
    for VrfTensor<D, Chip, Cluster, Slice, Element>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (chip, cluster) = (Chip::EXPR, Cluster::EXPR);
        let (slice, element) = (Slice::EXPR, Element::EXPR);
        let name = D::ELEMENT_TYPE;
        write!(
            f,
            "VrfTensor<{name}, m![{chip}], m![{cluster}], m![{slice}], m![{element}]> at {:#x}",
            self.address
        )
    }
}

/// A tensor in the VRF to read from.
pub struct VrfTensorView<'l, D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> {
    address: Address,
    fill: FillId,
    types: PhantomData<(&'l (), D, Chip, Cluster, Slice, Element)>,
}

impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> Clone
    for VrfTensorView<'_, D, Chip, Cluster, Slice, Element>
{
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M>
    VrfTensorView<'_, D, Chip, Cluster, Slice, Element>
{
    /// The address of the first byte in each slice.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The content of the VRF, in any layout: a look past all engines, for tests and for finding mistakes. It is no
    /// operation of the chip and takes no time. Elements that were never written are `Opt::Uninit`.
    ///
    /// # Panics
    /// If another tensor was written over this one.
    #[track_caller]
    #[inline(never)]
    pub fn inspect<Host: M>(&self, context: &Context) -> HostTensor<D, Host> {
        let footprint = *planned!(FOOTPRINT of VrfTensor<D, Chip, Cluster, Slice, Element>);
        let region = Region::whole(Memory::Vrf, self.address, self.fill, footprint);
        let transfer = planned!(TRANSFER of VrfInspectionPlan<D, Host, Chip, Cluster, Slice, Element>);
        let source = RegisterFile::Vrf(region);
        let inspection = Inspection {
            source,
            transfer,
            host_elements: const { crate::engine::inspect::host_elements::<Host>() },
        };
        HostTensor::from_host_buffer(or_raise(context.inspect(&inspection, Location::caller())))
    }
}

/// A tensor in the VRF to write to.
pub struct VrfTensorViewMut<'l, D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M> {
    address: Address,
    fill: FillId,
    types: PhantomData<(&'l mut (), D, Chip, Cluster, Slice, Element)>,
}

impl<D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M>
    VrfTensorViewMut<'_, D, Chip, Cluster, Slice, Element>
{
    /// The address of the first byte in each slice.
    pub fn address(&self) -> Address {
        self.address
    }
}

impl<'l, D: VeScalar, Chip: M, Cluster: M, Slice: M, Element: M>
    From<VrfTensorViewMut<'l, D, Chip, Cluster, Slice, Element>>
    for VrfTensorView<'l, D, Chip, Cluster, Slice, Element>
{
    fn from(view: VrfTensorViewMut<'l, D, Chip, Cluster, Slice, Element>) -> Self {
        Self { address: view.address, fill: view.fill, types: PhantomData }
    }
}
