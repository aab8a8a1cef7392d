//! Tensors in high-bandwidth memory, and the transfers that start there.

use super::shape::Shape;
use super::units::Chips;
use crate::command::{Address, FillId, Footprint, Memory, Part, Region};
use crate::mapping::M;
use crate::runtime::fault::accept;
use crate::runtime::late::{planned, when_late};
use crate::runtime::{AUTO, Context, Lease, MakesTensors, Place, TensorChips};
use crate::scalar::Scalar;
use core::fmt;
use core::marker::PhantomData;

when_late! {
    use crate::error::attempt;
    use crate::runtime::late::{Late, Refusable};
}

/// A tensor in HBM: chip `i`, element `j` holds the element of the tensor at `Chip::map(i)` ∪ `Element::map(j)`.
pub struct HbmTensor<D: Scalar, Chip: M, Element: M> {
    pub(crate) address: Address,
    pub(crate) fill: FillId,
    /// The lease of the bytes: they are free again when it is dropped.
    pub(super) lease: Option<Lease>,
    types: PhantomData<(D, Chip, Element)>,
}

when_late! {
    impl<D: Scalar, Chip: M, Element: M> Late<HbmTensor<D, Chip, Element>> {
        pub(crate) const FOOTPRINT: Refusable<&'static Footprint> = match &Self::COUNTED {
            Ok(footprint) => Ok(footprint),
            Err(error) => Err(*error),
        };
        const COUNTED: Refusable<Footprint> = Self::counted();

        const fn counted() -> Refusable<Footprint> {
            attempt!(Late::<Chips<Chip>>::CHECKED);
            HbmTensor::<D, Chip, Element>::SHAPE.footprint()
        }
    }
}

impl<D: Scalar, Chip: M, Element: M> HbmTensor<D, Chip, Element> {
    pub(crate) const SHAPE: Shape = Shape::hbm(D::ELEMENT_TYPE, Chip::EXPR, Element::EXPR);
    pub(crate) const FOOTPRINT: &'static Footprint = &{
        let _ = Chips::<Chip>::CHECKED;
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
        let (place, fill) =
            super::place(system, Memory::Hbm, planned!(FOOTPRINT of Self), operation, address);
        Self::filled(place, fill)
    }

    /// Stops a call whose tensor cannot start at `address`.
    #[track_caller]
    pub(crate) fn accept_address(operation: &'static str, address: Address) {
        accept(operation, super::check_address(Memory::Hbm, planned!(FOOTPRINT of Self), address));
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
        Self::accept_address("HbmTensor::from_addr", address);
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
    /// type Part = DmTensor<i8, m![1], m![1 # 2], m![A], m![B]>;
    /// /// Four parts of a result.
    /// fn joined(ctx: &mut Context, parts: [&Part; 4]) -> HbmTensor<i8, m![1], m![N, A, B]> {
    ///     let mut all = HbmTensor::new(ctx);
    ///     for (n, part) in parts.into_iter().enumerate() {
    ///         part.view().to_hbm_view(&mut ctx.tdma, all.view_mut().tile::<m![N], 1, m![1 # 4, A, B]>(n));
    ///     }
    ///     all
    /// }
    /// # let _ = joined as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: a tensor that HBM does not hold.
    ///
    /// # Panics
    /// If HBM is full.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn new(context: &mut Context) -> Self {
        const OPERATION: &str = "HbmTensor::new";
        let dma = &mut context.tdma;
        let mut tensor = Self::made(dma, OPERATION, AUTO);
        dma.system().begin_tensor(&tensor.view_mut().region(), OPERATION);
        tensor
    }

    /// The address of the first byte in each chip.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Bytes of all chips together, padding included.
    pub fn size() -> usize {
        planned!(FOOTPRINT of Self).chips * planned!(FOOTPRINT of Self).bytes()
    }

    /// The whole tensor, to read.
    pub fn view(&self) -> HbmTensorView<'_, D, Chip, Element> {
        HbmTensorView::part_of(self.address, self.fill, Part::WHOLE)
    }

    /// The whole tensor, to write.
    pub fn view_mut(&mut self) -> HbmTensorViewMut<'_, D, Chip, Element> {
        HbmTensorViewMut::part_of(self.address, self.fill, Part::WHOLE)
    }
}

impl<D: Scalar, Chip: M, Element: M> fmt::Debug for HbmTensor<D, Chip, Element> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (chip, element) = (Chip::EXPR, Element::EXPR);
        write!(f, "HbmTensor<{}, m![{chip}], m![{element}]> at {:#x}", D::ELEMENT_TYPE, self.address)
    }
}

/// A tensor in HBM, or a [tile](crate::tensor::tile) of one, to read from.
pub struct HbmTensorView<'l, D: Scalar, Chip: M, Element: M> {
    pub(super) address: Address,
    pub(super) fill: FillId,
    pub(super) part: Part,
    types: PhantomData<(&'l (), D, Chip, Element)>,
}

impl<D: Scalar, Chip: M, Element: M> Clone for HbmTensorView<'_, D, Chip, Element> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<'l, D: Scalar, Chip: M, Element: M> HbmTensorView<'l, D, Chip, Element> {
    /// A view of a part of a tensor at an address.
    pub(super) fn part_of(address: Address, fill: FillId, part: Part) -> Self {
        Self { address, fill, part, types: PhantomData }
    }

    /// The address of the whole tensor in each chip, also for a tile.
    pub fn address(&self) -> Address {
        self.address
    }

    pub(crate) fn region(&self) -> Region {
        let footprint = planned!(FOOTPRINT of HbmTensor<D, Chip, Element>);
        Region::of(Memory::Hbm, self.address, self.fill, footprint, self.part)
    }
}

/// A tensor in HBM, or a [tile](crate::tensor::tile) of one, to write to.
pub struct HbmTensorViewMut<'l, D: Scalar, Chip: M, Element: M> {
    pub(super) address: Address,
    pub(super) fill: FillId,
    pub(super) part: Part,
    types: PhantomData<(&'l mut (), D, Chip, Element)>,
}

impl<D: Scalar, Chip: M, Element: M> HbmTensorViewMut<'_, D, Chip, Element> {
    /// A view of a part of a tensor at an address.
    pub(super) fn part_of(address: Address, fill: FillId, part: Part) -> Self {
        Self { address, fill, part, types: PhantomData }
    }

    /// The address of the whole tensor in each chip, also for a tile.
    pub fn address(&self) -> Address {
        self.address
    }

    pub(crate) fn region(&self) -> Region {
        let footprint = planned!(FOOTPRINT of HbmTensor<D, Chip, Element>);
        Region::of(Memory::Hbm, self.address, self.fill, footprint, self.part)
    }
}

impl<'l, D: Scalar, Chip: M, Element: M> From<HbmTensorViewMut<'l, D, Chip, Element>>
    for HbmTensorView<'l, D, Chip, Element>
{
    fn from(view: HbmTensorViewMut<'l, D, Chip, Element>) -> Self {
        Self::part_of(view.address, view.fill, view.part)
    }
}

crate::runtime::launch::device_send! {
    [D: Scalar, Chip: M, Element: M] HbmTensor<D, Chip, Element> => TensorChips::of(Chip::EXPR),
    ['a, D: Scalar, Chip: M, Element: M] &'a mut HbmTensor<D, Chip, Element> => TensorChips::of(Chip::EXPR),
    ['a, D: Scalar, Chip: M, Element: M] HbmTensorView<'a, D, Chip, Element> => TensorChips::of(Chip::EXPR),
    ['a, D: Scalar, Chip: M, Element: M] HbmTensorViewMut<'a, D, Chip, Element> => TensorChips::of(Chip::EXPR),
}
