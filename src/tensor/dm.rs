//! Tensors in data memory, and the transfers that start there.

use super::shape::Shape;
use super::units::{Chips, Clusters, Slices};
use super::windows::{NoWindows, WindowList};
use crate::command::{Address, FillId, Footprint, Memory, Region};
use crate::mapping::M;
use crate::runtime::fault::accept;
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
    types: PhantomData<(D, Chip, Cluster, Slice, Element)>,
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> DmTensor<D, Chip, Cluster, Slice, Element> {
    pub(crate) const SHAPE: Shape =
        Shape::dm(D::ELEMENT_TYPE, Chip::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR);
    pub(crate) const FOOTPRINT: Footprint = {
        let _ = (Chips::<Chip>::CHECKED, Clusters::<Cluster>::CHECKED, Slices::<Slice>::CHECKED);
        match Self::SHAPE.footprint() {
            Ok(footprint) => footprint,
            Err(error) => error.refuse(),
        }
    };

    pub(crate) fn filled(address: Address, fill: FillId) -> Self {
        Self { address, fill, types: PhantomData }
    }

    /// Stops a call whose tensor cannot start at `address`.
    #[track_caller]
    pub(crate) fn accept_address(operation: &'static str, address: Address) {
        accept(operation, super::check_address(Memory::Dm, const { &Self::FOOTPRINT }, address));
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
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub unsafe fn from_addr(address: Address) -> Self {
        const {
            let _ = Self::FOOTPRINT;
        }
        Self::accept_address("DmTensor::from_addr", address);
        Self::filled(address, FillId::bare())
    }

    /// The address of the first byte in each slice.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The whole tensor, to read.
    pub fn view(&self) -> DmTensorView<'_, D, Chip, Cluster, Slice, Element> {
        DmTensorView { address: self.address, fill: self.fill, types: PhantomData }
    }

    /// The whole tensor, to write.
    pub fn view_mut(&mut self) -> DmTensorViewMut<'_, D, Chip, Cluster, Slice, Element> {
        DmTensorViewMut { address: self.address, fill: self.fill, types: PhantomData }
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> fmt::Debug
    for DmTensor<D, Chip, Cluster, Slice, Element>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (chip, cluster) = (Chip::EXPR, Cluster::EXPR);
        let (slice, element) = (Slice::EXPR, Element::EXPR);
        let name = D::ELEMENT_TYPE;
        write!(
            f,
            "DmTensor<{name}, m![{chip}], m![{cluster}], m![{slice}], m![{element}]> at {:#x}",
            self.address
        )
    }
}

/// A tensor in DM to read from, as it lies there or in [windows](Self::windows).
pub struct DmTensorView<
    'l,
    D: Scalar,
    Chip: M,
    Cluster: M,
    Slice: M,
    Element: M,
    Windows: WindowList = NoWindows,
> {
    address: Address,
    fill: FillId,
    types: PhantomData<(&'l (), D, Chip, Cluster, Slice, Element, Windows)>,
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M, Windows: WindowList> Clone
    for DmTensorView<'_, D, Chip, Cluster, Slice, Element, Windows>
{
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M, Windows: WindowList>
    DmTensorView<'l, D, Chip, Cluster, Slice, Element, Windows>
{
    /// The same, read in other windows.
    pub(super) fn with_windows<Windows2: WindowList>(
        self,
    ) -> DmTensorView<'l, D, Chip, Cluster, Slice, Element, Windows2> {
        DmTensorView { address: self.address, fill: self.fill, types: PhantomData }
    }

    /// The address of the tensor in each slice.
    pub fn address(&self) -> Address {
        self.address
    }

    pub(crate) fn region(&self) -> Region {
        let footprint = const { DmTensor::<D, Chip, Cluster, Slice, Element>::FOOTPRINT };
        Region { memory: Memory::Dm, address: self.address, fill: self.fill, footprint }
    }
}

/// A tensor in DM to write to.
pub struct DmTensorViewMut<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> {
    address: Address,
    fill: FillId,
    types: PhantomData<(&'l mut (), D, Chip, Cluster, Slice, Element)>,
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorViewMut<'_, D, Chip, Cluster, Slice, Element>
{
    /// The address of the tensor in each slice.
    pub fn address(&self) -> Address {
        self.address
    }

    pub(crate) fn region(&self) -> Region {
        let footprint = const { DmTensor::<D, Chip, Cluster, Slice, Element>::FOOTPRINT };
        Region { memory: Memory::Dm, address: self.address, fill: self.fill, footprint }
    }
}

impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    From<DmTensorViewMut<'l, D, Chip, Cluster, Slice, Element>>
    for DmTensorView<'l, D, Chip, Cluster, Slice, Element>
{
    fn from(view: DmTensorViewMut<'l, D, Chip, Cluster, Slice, Element>) -> Self {
        Self { address: view.address, fill: view.fill, types: PhantomData }
    }
}
