//! Declarations that handles and views of all memories share.
//!
//! A handle is an address, a filling and a lease; a view is a place. Both have mappings as types. The macros declare
//! the calls that depend on the types; the data has no type parameters.

use crate::command::{Address, FillId, Footprint, Memory, Part, Region};
use crate::mapping::Expr;
use crate::scalar::ElementType;
use core::fmt;

/// Place of a view of DM or HBM.
#[derive(Clone, Copy)]
pub(super) struct ViewPlace {
    pub(super) address: Address,
    pub(super) fill: FillId,
    /// Footprint of the whole tensor, also for a view of a part.
    pub(super) tensor: &'static Footprint,
    pub(super) part: Part,
}

impl ViewPlace {
    pub(super) fn whole(address: Address, fill: FillId, tensor: &'static Footprint) -> Self {
        Self { address, fill, tensor, part: Part::WHOLE }
    }

    /// The same place with another part of the tensor.
    pub(super) fn with(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// The region of a view with this footprint.
    pub(super) fn region(&self, memory: Memory, footprint: &Footprint) -> Region {
        Region::of(memory, self.address, self.fill, footprint, self.part)
    }
}

/// Place of a tensor in a register file.
#[derive(Clone, Copy)]
pub(super) struct RegisterPlace<Address> {
    pub(super) address: Address,
    pub(super) fill: FillId,
}

impl RegisterPlace<Address> {
    /// The region of a view with this footprint.
    pub(super) fn region(&self, memory: Memory, footprint: &Footprint) -> Region {
        Region::whole(memory, self.address, self.fill, *footprint)
    }
}

/// Writes a handle as in `DmTensor<i8, m![1], m![1 # 2], m![A], m![B]> at 0x400`.
pub(super) fn write_handle(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    element: ElementType,
    mappings: &[&Expr],
    address: Address,
) -> fmt::Result {
    write!(f, "{name}<{element}")?;
    mappings.iter().try_for_each(|mapping| write!(f, ", m![{mapping}]"))?;
    write!(f, "> at {address:#x}")
}

/// Declares what handles of tensors whose place is a range of bytes share. `$units` are the numbers of units that are
/// refused first. A handle declares its struct and its `FOOTPRINT` itself: the compiler names the macro of a constant or a
/// bound that it refuses.
macro_rules! handle {
    (
        $tensor:ident<D: $scalar:ident, $($mapping:ident),+> in $memory:ident, of $($units:ty),+;
        $address_doc:literal
    ) => {
        impl<D: $scalar, $($mapping: M),+> Late<$tensor<D, $($mapping),+>> {
            #[doc(hidden)]
            pub const FOOTPRINT: Refusable<&'static Footprint> =
                by_reference(<$tensor<D, $($mapping),+> as AtRest>::LATE_FOOTPRINT);

            pub(crate) const fn counted() -> Refusable<Footprint> {
                $(attempt!(Late::<$units>::CHECKED);)+
                $tensor::<D, $($mapping),+>::SHAPE.footprint()
            }
        }

        impl<D: $scalar, $($mapping: M),+> $tensor<D, $($mapping),+> {
            #[inline(always)]
            pub(crate) fn filled(Place { address, lease }: Place, fill: FillId) -> Self {
                Self { address, fill, lease, types: PhantomData }
            }

            /// Stops a call whose tensor cannot start at `address`.
            #[track_caller]
            pub(crate) fn accept_address(operation: &'static str, address: Address) {
                accept(operation, super::check_address(Memory::$memory, planned!(FOOTPRINT of Self), address));
            }

            #[doc = $address_doc]
            pub fn address(&self) -> Address {
                self.address
            }
        }

        impl<D: $scalar, $($mapping: M),+> fmt::Debug for $tensor<D, $($mapping),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mappings = [$($mapping::EXPR),+];
                super::handle::write_handle(f, stringify!($tensor), D::ELEMENT_TYPE, &mappings, self.address)
            }
        }
    };
}

/// Declares the calls of handles in the memories that DMA engines reach.
macro_rules! memory_calls {
    (
        $tensor:ident<$($mapping:ident),+>, $view:ident, $view_mut:ident in $memory:ident, $name:literal;
        $example:literal
    ) => {
        impl<D: Scalar, $($mapping: M),+> $tensor<D, $($mapping),+> {
            /// The tensor that a call makes at `address`, or at free bytes, and its region.
            #[track_caller]
            pub(crate) fn made(
                context: &impl MakesTensors,
                operation: &'static str,
                address: Address,
            ) -> (Self, Region) {
                let footprint = planned!(FOOTPRINT of Self);
                let (place, region) =
                    super::place(context.system(), Memory::$memory, footprint, operation, address);
                (Self::filled(place, region.fill), region)
            }

            /// The region of the whole tensor.
            #[inline(always)]
            pub(crate) fn region(&self) -> Region {
                let footprint = planned!(FOOTPRINT of Self);
                ViewPlace::whole(self.address, self.fill, footprint).region(Memory::$memory, footprint)
            }

            /// A handle to the tensor at an address.
            ///
            /// Reads see the bytes that are there, from any writer. Writing through a mutable view makes the tensor.
            /// Operations through this handle are ordered among themselves. They are not ordered after operations of
            /// other contexts on the same bytes through other handles: see
            /// [`CheckOptions::order`](crate::chip::CheckOptions::order).
            ///
            /// # Safety
            /// No memory of the host is at risk. The caller vouches that the memory at `address` holds a tensor of this
            /// mapping, or that it is written before it is read, and that nothing else uses the range.
            #[allow(unsafe_code)] // A contract about the memory of the chip; the body is safe.
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub unsafe fn from_addr(address: Address) -> Self {
                let _ = planned!(const FOOTPRINT of Self);
                Self::accept_address(concat!(stringify!($tensor), "::from_addr"), address);
                Self::filled(Place::from(address), FillId::bare())
            }

            /// A tensor without any written element, at free bytes, which are freed when the handle is dropped
            /// ([`AUTO`](crate::runtime::AUTO)). Moves into its views and [tiles](crate::tensor::tile) fill it. It takes
            /// no time.
            ///
            /// Elements stay uninitialised until they are written, whatever the bytes held before: computing with them
            /// is a fault. See [memories_and_dma](crate::guide::memories_and_dma).
            ///
            #[doc = $example]
            ///
            #[doc = concat!("Refused while compiling: a tensor that ", $name, " does not hold.")]
            ///
            /// # Panics
            #[doc = concat!("If ", $name, " is full.")]
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn new(context: &mut Context) -> Self {
                const OPERATION: &str = concat!(stringify!($tensor), "::new");
                let dma = &mut context.tdma;
                let (tensor, region) = Self::made(dma, OPERATION, AUTO);
                dma.system().begin_tensor(&region, OPERATION);
                tensor
            }

            /// The whole tensor, to read.
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn view(&self) -> $view<'_, D, $($mapping),+> {
                $view::at(ViewPlace::whole(self.address, self.fill, planned!(FOOTPRINT of Self)))
            }

            /// The whole tensor, to write.
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn view_mut(&mut self) -> $view_mut<'_, D, $($mapping),+> {
                $view_mut::at(ViewPlace::whole(self.address, self.fill, planned!(FOOTPRINT of Self)))
            }
        }
    };
}

/// Declares `inspect` of the handles and views of a memory that is addressed in bytes.
macro_rules! looks {
    ($tensor:ident<D: $scalar:ident, $($mapping:ident),+>, $view:ident in $memory:ident, $name:literal; $example:literal) => {
        impl<D: $scalar, $($mapping: M),+> $tensor<D, $($mapping),+> {
            #[doc = concat!("Elements in ", $name, " of the tensor at this point of the program, in any layout: a look past all")]
            /// engines, for tests and for finding mistakes. It is no command of the chip and takes no time, and no order has to
            /// be kept. Elements that nobody wrote are `Opt::Uninit`, and print as `-`. Under
            /// [`Placement::Liveness`](crate::runtime::Placement::Liveness), a look in a kernel executes all commands before it,
            /// and tensors whose handles live then keep their bytes: later ones may get other places.
            ///
            #[doc = $example]
            ///
            /// Refused while compiling: a host tensor that `has no place for` an axis of this one. Elements that the tensor does
            /// not hold are `Opt::Uninit`.
            ///
            /// # Panics
            /// If another tensor was written over this one.
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn inspect<Host: M>(&self, context: &Context) -> HostTensor<D, Host> {
                let transfer = planned!(TRANSFER of InspectionPlan<$tensor<D, $($mapping),+>, Host>);
                inspected(context, self.view().looked_at(), transfer)
            }
        }

        impl<D: $scalar, $($mapping: M),+> $view<'_, D, $($mapping),+> {
            #[doc = concat!("Elements that ", $name, " holds of the view, which may be a [tile](crate::tensor::tile): see")]
            #[doc = concat!("[`", stringify!($tensor), "::inspect`].")]
            #[track_caller]
            #[inline(never)]
            pub fn inspect<Host: M>(&self, context: &Context) -> HostTensor<D, Host> {
                let transfer = planned!(TRANSFER of InspectionPlan<$tensor<D, $($mapping),+>, Host>);
                inspected(context, self.looked_at(), transfer)
            }

            fn looked_at(&self) -> crate::command::Place {
                let footprint = planned!(FOOTPRINT of $tensor<D, $($mapping),+>);
                crate::command::Place::Region(self.place.region(Memory::$memory, footprint))
            }
        }
    };
}

/// Declares the two views of a tensor. Those of DM and HBM have the `region` of a `$tensor`, and those of DM to read have
/// `$windows`.
macro_rules! views {
    (
        $(#[$doc:meta])* $view:ident $(, $windows:ident: $list:ident = $none:ident)?;
        $(#[$doc_mut:meta])* $view_mut:ident;
        <D: $scalar:ident, $($mapping:ident),+> at $place:ty, $address_doc:literal: $address:ty
        $(, region of $tensor:ty, in $memory:ident)?
    ) => {
        $(#[$doc])*
        pub struct $view<'l, D: $scalar, $($mapping: M,)+ $($windows: $list = $none)?> {
            pub(super) place: $place,
            types: PhantomData<(&'l (), D, $($mapping,)+ $($windows)?)>,
        }

        $(#[$doc_mut])*
        pub struct $view_mut<'l, D: $scalar, $($mapping: M),+> {
            pub(super) place: $place,
            types: PhantomData<(&'l mut (), D, $($mapping),+)>,
        }

        impl<D: $scalar, $($mapping: M,)+ $($windows: $list)?> Clone for $view<'_, D, $($mapping,)+ $($windows)?> {
            fn clone(&self) -> Self {
                Self::at(self.place)
            }
        }

        impl<'l, D: $scalar, $($mapping: M),+> From<$view_mut<'l, D, $($mapping),+>> for $view<'l, D, $($mapping),+> {
            fn from(view: $view_mut<'l, D, $($mapping),+>) -> Self {
                Self::at(view.place)
            }
        }

        views! {
            [D: $scalar, $($mapping: M,)+ $($windows: $list)?] $view<'_, D, $($mapping,)+ $($windows)?>
            => $place, $address_doc: $address $(, region of $tensor, in $memory)?
        }
        views! {
            [D: $scalar, $($mapping: M),+] $view_mut<'_, D, $($mapping),+>
            => $place, $address_doc: $address $(, region of $tensor, in $memory)?
        }
    };
    (
        [$($generics:tt)*] $view:ty => $place:ty, $address_doc:literal: $address:ty
        $(, region of $tensor:ty, in $memory:ident)?
    ) => {
        impl<$($generics)*> $view {
            #[inline(always)]
            pub(super) fn at(place: $place) -> Self {
                Self { place, types: PhantomData }
            }

            #[doc = $address_doc]
            pub fn address(&self) -> $address {
                self.place.address
            }

            $(
                pub(crate) fn region(&self) -> Region {
                    self.place.region(Memory::$memory, planned!(FOOTPRINT of $tensor))
                }
            )?
        }
    };
}

pub(super) use {handle, looks, memory_calls, views};
