//! Tensors in data memory, and the transfers that start there.

use super::shape::Shape;
use super::units::{Chips, Clusters, Slices};
use super::windows::{NoWindows, WindowList};
use crate::command::{Address, FillId, Footprint, Memory, Part, Region};
use crate::error::{PlanError, refuse};
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{planned, when_late};
use crate::runtime::{AUTO, Context, Lease, MakesTensors, Place};
use crate::scalar::Scalar;
use core::fmt;
use core::marker::PhantomData;

when_late! {
    use crate::error::attempt;
    use crate::runtime::late::{Late, Refusable};
}

/// A tensor in DM: element `j` of a slice holds the element of the tensor at the union of `Chip::map`, `Cluster::map`,
/// `Slice::map` and `Element::map(j)`.
///
/// It takes `[address, address + bytes(Element))` in every slice.
pub struct DmTensor<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> {
    pub(crate) address: Address,
    pub(crate) fill: FillId,
    /// The lease of the bytes: they are free again when it is dropped.
    pub(super) lease: Option<Lease>,
    types: PhantomData<(D, Chip, Cluster, Slice, Element)>,
}

when_late! {
    impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> Late<DmTensor<D, Chip, Cluster, Slice, Element>> {
        pub(crate) const FOOTPRINT: Refusable<&'static Footprint> = match &Self::COUNTED {
            Ok(footprint) => Ok(footprint),
            Err(error) => Err(*error),
        };
        const COUNTED: Refusable<Footprint> = Self::counted();

        const fn counted() -> Refusable<Footprint> {
            attempt!(Late::<Chips<Chip>>::CHECKED);
            attempt!(Late::<Clusters<Cluster>>::CHECKED);
            attempt!(Late::<Slices<Slice>>::CHECKED);
            DmTensor::<D, Chip, Cluster, Slice, Element>::SHAPE.footprint()
        }
    }
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> DmTensor<D, Chip, Cluster, Slice, Element> {
    pub(crate) const SHAPE: Shape =
        Shape::dm(D::ELEMENT_TYPE, Chip::EXPR, Cluster::EXPR, Slice::EXPR, Element::EXPR);
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

    /// The tensor that a call makes at `address`, or at free bytes.
    #[track_caller]
    pub(crate) fn made(context: &mut impl MakesTensors, operation: &'static str, address: Address) -> Self {
        let system = context.system();
        let (place, fill) = super::place(system, Memory::Dm, planned!(FOOTPRINT of Self), operation, address);
        Self::filled(place, fill)
    }

    /// Stops a call whose tensor cannot start at `address`.
    #[track_caller]
    pub(crate) fn accept_address(operation: &'static str, address: Address) {
        accept(operation, super::check_address(Memory::Dm, planned!(FOOTPRINT of Self), address));
    }

    /// A handle to the tensor at an address.
    ///
    /// Reads see the bytes that are there, from any writer. Writing through a mutable view makes the tensor. Operations
    /// through this handle are ordered among themselves. They are not ordered after operations of other contexts on the
    /// same bytes through other handles: see [`CheckOptions::order`](crate::chip::CheckOptions::order).
    ///
    /// # Safety
    /// No memory of the host is at risk. The caller vouches that the memory at `address` holds a tensor of this mapping,
    /// or that it is written before it is read, and that nothing else uses the range.
    #[allow(unsafe_code)] // A contract about the memory of the chip; the body is safe.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub unsafe fn from_addr(address: Address) -> Self {
        let _ = planned!(const FOOTPRINT of Self);
        Self::accept_address("DmTensor::from_addr", address);
        Self::filled(address, FillId::bare())
    }

    /// A tensor without any written element, at free bytes, which are free again when the handle ends
    /// ([`AUTO`](crate::runtime::AUTO)). Moves into its views and [tiles](crate::tensor::tile) fill it. It takes no
    /// time.
    ///
    /// Elements stay uninitialised until they are written, whatever the bytes held before: computing with them is a
    /// fault. See [memories_and_dma](crate::guide::memories_and_dma).
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 256, N = 4, B = 64];
    /// /// Blocks side by side, the last one first.
    /// fn turned(
    ///     ctx: &mut Context,
    ///     x: &HbmTensor<i8, m![1], m![N, A, B]>,
    /// ) -> DmTensor<i8, m![1], m![1 # 2], m![A], m![N, B]> {
    ///     let mut all = DmTensor::new(ctx);
    ///     for n in 0..4 {
    ///         let block = x.view().tile::<m![N], 1, m![1 # 4, A, B]>(3 - n);
    ///         block.to_dm_view(&mut ctx.tdma, all.view_mut().tile::<m![N], 1, m![1 # 4, B]>(n));
    ///     }
    ///     all
    /// }
    /// # let _ = turned as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: a tensor that DM does not hold.
    ///
    /// # Panics
    /// If DM is full.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn new(context: &mut Context) -> Self {
        const OPERATION: &str = "DmTensor::new";
        let dma = &mut context.tdma;
        let mut tensor = Self::made(dma, OPERATION, AUTO);
        dma.system().begin_tensor(&tensor.view_mut().region(), OPERATION);
        tensor
    }

    /// The address of the first byte in each slice.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The whole tensor, to read.
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn view(&self) -> DmTensorView<'_, D, Chip, Cluster, Slice, Element> {
        let tensor = planned!(FOOTPRINT of Self);
        DmTensorView::part_of(self.address, self.fill, tensor, Part::WHOLE)
    }

    /// The whole tensor, to write.
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn view_mut(&mut self) -> DmTensorViewMut<'_, D, Chip, Cluster, Slice, Element> {
        let tensor = planned!(FOOTPRINT of Self);
        DmTensorViewMut::part_of(self.address, self.fill, tensor, Part::WHOLE)
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

/// A tensor in DM, or a [tile](crate::tensor::tile) of one, to read from: as it lies there or in [windows](Self::windows).
pub struct DmTensorView<
    'l,
    D: Scalar,
    Chip: M,
    Cluster: M,
    Slice: M,
    Element: M,
    Windows: WindowList = NoWindows,
> {
    pub(super) address: Address,
    pub(super) fill: FillId,
    /// Footprint of the whole tensor, also for a view of a part.
    pub(super) tensor: &'static Footprint,
    pub(super) part: Part,
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
    /// A view of a part of a tensor at an address.
    pub(super) fn part_of(address: Address, fill: FillId, tensor: &'static Footprint, part: Part) -> Self {
        Self { address, fill, tensor, part, types: PhantomData }
    }

    /// The same view, read in other windows.
    pub(super) fn with_windows<Windows2: WindowList>(
        self,
    ) -> DmTensorView<'l, D, Chip, Cluster, Slice, Element, Windows2> {
        DmTensorView::part_of(self.address, self.fill, self.tensor, self.part)
    }

    /// The address of the whole tensor in each slice, also for a tile.
    pub fn address(&self) -> Address {
        self.address
    }

    pub(crate) fn region(&self) -> Region {
        let footprint = planned!(FOOTPRINT of DmTensor<D, Chip, Cluster, Slice, Element>);
        Region::of(Memory::Dm, self.address, self.fill, footprint, self.part)
    }

    /// The region that a stream reads. Stops the call if it lies in other slices than those that read it.
    #[track_caller]
    pub(crate) fn stream_region(&self, operation: &'static str) -> Region {
        let region = self.region();
        accept_slices(operation, &region, "reads", "move it first with `.to_dm_view(…)`");
        region
    }
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

/// A tensor in DM, or a [tile](crate::tensor::tile) of one, to write to.
pub struct DmTensorViewMut<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> {
    pub(super) address: Address,
    pub(super) fill: FillId,
    /// Footprint of the whole tensor, also for a view of a part.
    pub(super) tensor: &'static Footprint,
    pub(super) part: Part,
    types: PhantomData<(&'l mut (), D, Chip, Cluster, Slice, Element)>,
}

impl<D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorViewMut<'_, D, Chip, Cluster, Slice, Element>
{
    /// A view of a part of a tensor at an address.
    pub(super) fn part_of(address: Address, fill: FillId, tensor: &'static Footprint, part: Part) -> Self {
        Self { address, fill, tensor, part, types: PhantomData }
    }

    /// The address of the whole tensor in each slice, also for a tile.
    pub fn address(&self) -> Address {
        self.address
    }

    pub(crate) fn region(&self) -> Region {
        let footprint = planned!(FOOTPRINT of DmTensor<D, Chip, Cluster, Slice, Element>);
        Region::of(Memory::Dm, self.address, self.fill, footprint, self.part)
    }

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
        self.tensor
    }
}

impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    From<DmTensorViewMut<'l, D, Chip, Cluster, Slice, Element>>
    for DmTensorView<'l, D, Chip, Cluster, Slice, Element>
{
    fn from(view: DmTensorViewMut<'l, D, Chip, Cluster, Slice, Element>) -> Self {
        Self::part_of(view.address, view.fill, view.tensor, view.part)
    }
}
