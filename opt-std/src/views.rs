//! Tiles and other names of views.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use crate::memory::{DmTensor, DmTensorView, DmTensorViewMut, HbmTensor, HbmTensorView, HbmTensorViewMut};
use crate::visa::mapping::{Identity, M};
use crate::visa::scalar::Scalar;
use crate::visa::surface::{PadPlan, RelabelPlan, TilePlan};
use crate::visa::tensor;
use crate::words::check;

/// Places of the dimensions in a [`TilePlan`].
const CHIP: usize = 0;
const CLUSTER: usize = 1;
const SLICE: usize = 2;
const ELEMENT: usize = 3;

/// Declares the tiles of a view in HBM.
macro_rules! hbm_tiles {
    ($view:ident, [$($receiver:tt)+], $whole:expr) => {
        impl<'l, D: Scalar, Chip: M, Element: M> $view<'l, D, Chip, Element> {
            /// `LEN` consecutive values of `Index` in `Element`, from `start` on: see [`crate::visa::tensor::tile`].
            #[track_caller]
            #[inline(never)]
            pub fn tile<Index: M, const LEN: usize, Element2: M>($($receiver)+, start: usize) -> $view<'l, D, Chip, Element2> {
                check!(CONFIG of TilePlan<Index, Chip, Identity, Identity, Element, Element2, LEN, ELEMENT>);
                #[allow(unused_mut)] // Those to write are borrowed.
                let mut view = $whole;
                $view(view.tile::<Index, LEN, Element2>(start))
            }

            /// `LEN` consecutive values of `Index` in `Chip`, from `start` on.
            #[track_caller]
            #[inline(never)]
            pub fn chip_tile<Index: M, const LEN: usize, Chip2: M>($($receiver)+, start: usize) -> $view<'l, D, Chip2, Element> {
                check!(CONFIG of TilePlan<Index, Chip, Identity, Identity, Element, Chip2, LEN, CHIP>);
                #[allow(unused_mut)] // Those to write are borrowed.
                let mut view = $whole;
                $view(view.chip_tile::<Index, LEN, Chip2>(start))
            }
        }
    };
}

hbm_tiles!(HbmTensorView, [&self], self.0.clone());
hbm_tiles!(HbmTensorViewMut, [self], self.0);

/// Declares the tiles of a view in DM.
macro_rules! dm_tiles {
    ($view:ident, [$($receiver:tt)+], $whole:expr) => {
        impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> $view<'l, D, Chip, Cluster, Slice, Element> {
            /// `LEN` consecutive values of `Index` in `Element`, from `start` on: see [`crate::visa::tensor::tile`].
            #[track_caller]
            #[inline(never)]
            pub fn tile<Index: M, const LEN: usize, Element2: M>(
                $($receiver)+,
                start: usize,
            ) -> $view<'l, D, Chip, Cluster, Slice, Element2> {
                check!(CONFIG of TilePlan<Index, Chip, Cluster, Slice, Element, Element2, LEN, ELEMENT>);
                #[allow(unused_mut)] // Those to write are borrowed.
                let mut view = $whole;
                $view(view.tile::<Index, LEN, Element2>(start))
            }

            /// `LEN` consecutive values of `Index` in `Chip`, from `start` on.
            #[track_caller]
            #[inline(never)]
            pub fn chip_tile<Index: M, const LEN: usize, Chip2: M>(
                $($receiver)+,
                start: usize,
            ) -> $view<'l, D, Chip2, Cluster, Slice, Element> {
                check!(CONFIG of TilePlan<Index, Chip, Cluster, Slice, Element, Chip2, LEN, CHIP>);
                #[allow(unused_mut)] // Those to write are borrowed.
                let mut view = $whole;
                $view(view.chip_tile::<Index, LEN, Chip2>(start))
            }

            /// `LEN` consecutive values of `Index` in `Cluster`, from `start` on.
            #[track_caller]
            #[inline(never)]
            pub fn cluster_tile<Index: M, const LEN: usize, Cluster2: M>(
                $($receiver)+,
                start: usize,
            ) -> $view<'l, D, Chip, Cluster2, Slice, Element> {
                check!(CONFIG of TilePlan<Index, Chip, Cluster, Slice, Element, Cluster2, LEN, CLUSTER>);
                #[allow(unused_mut)] // Those to write are borrowed.
                let mut view = $whole;
                $view(view.cluster_tile::<Index, LEN, Cluster2>(start))
            }
        }
    };
}

dm_tiles!(DmTensorView, [&self], self.0.clone());
dm_tiles!(DmTensorViewMut, [self], self.0);

impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorView<'l, D, Chip, Cluster, Slice, Element>
{
    /// `LEN` consecutive values of `Index` in `Slice`, from `start` on.
    #[track_caller]
    #[inline(never)]
    pub fn slice_tile<Index: M, const LEN: usize, Slice2: M>(
        &self,
        start: usize,
    ) -> DmTensorView<'l, D, Chip, Cluster, Slice2, Element> {
        check!(CONFIG of TilePlan<Index, Chip, Cluster, Slice, Element, Slice2, LEN, SLICE>);
        DmTensorView(self.0.slice_tile::<Index, LEN, Slice2>(start))
    }
}

/// Declares `reshape` of a handle or a view.
macro_rules! reshapes {
    ($($type:ident of $of:ident<$($lifetime:lifetime,)? $($old:ident => $new:ident),+>;)*) => { $(
        impl<$($lifetime,)? D: Scalar, $($old: M),+> $type<$($lifetime,)? D, $($old),+> {
            /// The same bytes with other axes: position `k` of each dimension becomes position `k` of the new mapping.
            /// See [`crate::visa::tensor::relabel`].
            ///
            /// # Safety
            /// No memory of the host is at risk. The caller vouches for the meaning of the new axes.
            #[allow(unsafe_code)] // A contract about the memory of the chip.
            #[track_caller]
            #[inline(never)]
            pub unsafe fn reshape<$($new: M),+>(self) -> $type<$($lifetime,)? D, $($new),+> {
                check!(RESHAPE of RelabelPlan<tensor::$of<D, $($old),+>, tensor::$of<D, $($new),+>>);
                // SAFETY: the caller vouches for the same.
                $type(unsafe { self.0.reshape() })
            }
        }
    )* };
}

reshapes! {
    DmTensor of DmTensor<Chip => Chip2, Cluster => Cluster2, Slice => Slice2, Element => Element2>;
    DmTensorView of DmTensor<'l, Chip => Chip2, Cluster => Cluster2, Slice => Slice2, Element => Element2>;
    DmTensorViewMut of DmTensor<'l, Chip => Chip2, Cluster => Cluster2, Slice => Slice2, Element => Element2>;
    HbmTensor of HbmTensor<Chip => Chip2, Element => Element2>;
    HbmTensorView of HbmTensor<'l, Chip => Chip2, Element => Element2>;
    HbmTensorViewMut of HbmTensor<'l, Chip => Chip2, Element => Element2>;
}

/// Declares another padding of a view.
macro_rules! pads {
    ($($(#[$doc:meta])* $call:ident, $plan:ident, $view:ident of $of:ident<$($unit:ident),+>;)*) => { $(
        impl<'l, D: Scalar, $($unit: M,)+ Element: M> $view<'l, D, $($unit,)+ Element> {
            $(#[$doc])*
            #[track_caller]
            #[inline(never)]
            pub fn $call<Element2: M>(self) -> $view<'l, D, $($unit,)+ Element2> {
                check!($plan of PadPlan<tensor::$of<D, $($unit,)+ Element>, tensor::$of<D, $($unit,)+ Element2>>);
                $view(self.0.$call())
            }
        }
    )* };
}

pads! {
    /// The same elements with one outermost padding more: `m![A, B]` as `m![A # 8, B]`.
    pad, PAD, DmTensorView of DmTensor<Chip, Cluster, Slice>;
    /// The same elements without an outermost padding: the inverse of `pad`.
    unpad, UNPAD, DmTensorView of DmTensor<Chip, Cluster, Slice>;
    /// The same elements with one outermost padding more: `m![A, B]` as `m![A # 8, B]`.
    pad, PAD, HbmTensorView of HbmTensor<Chip>;
}
