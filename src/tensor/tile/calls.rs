//! The calls that take tiles of views.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use super::{Dimension, TilePlan};
use crate::mapping::{Identity, M};
use crate::runtime::fault::accept;
use crate::runtime::late::planned;
use crate::scalar::Scalar;
use crate::tensor::{DmTensorView, DmTensorViewMut, HbmTensorView, HbmTensorViewMut, Shape};

const CHIP: usize = Dimension::Chip as usize;
const CLUSTER: usize = Dimension::Cluster as usize;
const SLICE: usize = Dimension::Slice as usize;
const ELEMENT: usize = Dimension::Element as usize;

/// Declares the calls of a view of HBM. `$borrow` is `&`, or `&mut` for a view to write, which is borrowed as long as
/// its tile lives.
macro_rules! hbm_tiles {
    ($view:ident, [$($borrow:tt)+]) => {
        impl<'l, D: Scalar, Chip: M, Element: M> $view<'l, D, Chip, Element> {
            /// `LEN` consecutive values of `Index` in `Element`, from `start` on. `Element2` is `Element` with the index cut
            /// to `LEN # n`, or to `1 # n`: see [tiles](crate::tensor::tile).
            ///
            /// # Panics
            /// If the tile would end behind the index, or starts inside a byte.
            #[track_caller]
            #[inline(never)]
            pub fn tile<Index: M, const LEN: usize, Element2: M>(
                $($borrow)+ self,
                start: usize,
            ) -> $view<'l, D, Chip, Element2> {
                let config = planned!(const CONFIG of TilePlan<Index, Chip, Identity, Identity, Element, Element2, LEN, ELEMENT>);
                let part = accept(config.operation, config.elements(self.place.part, D::ELEMENT_TYPE, start));
                $view::at(self.place.with(part))
            }

            /// `LEN` consecutive values of `Index` in `Chip`, from `start` on: see [tiles](crate::tensor::tile).
            ///
            /// # Panics
            /// If the tile would end behind the index.
            #[track_caller]
            #[inline(never)]
            pub fn chip_tile<Index: M, const LEN: usize, Chip2: M>(
                $($borrow)+ self,
                start: usize,
            ) -> $view<'l, D, Chip2, Element> {
                let config = planned!(const CONFIG of TilePlan<Index, Chip, Identity, Identity, Element, Chip2, LEN, CHIP>);
                let span = const { Shape::span(Element::EXPR) };
                let part = accept(config.operation, config.units(self.place.part, Dimension::Chip, span, start));
                $view::at(self.place.with(part))
            }
        }
    };
}

hbm_tiles!(HbmTensorView, [&]);
hbm_tiles!(HbmTensorViewMut, [&mut]);

/// Declares the calls of a view of DM.
macro_rules! dm_tiles {
    ($view:ident, [$($borrow:tt)+]) => {
        impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M> $view<'l, D, Chip, Cluster, Slice, Element> {
            /// `LEN` consecutive values of `Index` in `Element`, from `start` on. `Element2` is `Element` with the index cut
            /// to `LEN # n`, or to `1 # n`: see [tiles](crate::tensor::tile).
            ///
            /// # Panics
            /// If the tile would end behind the index, or starts inside a byte.
            #[track_caller]
            #[inline(never)]
            pub fn tile<Index: M, const LEN: usize, Element2: M>(
                $($borrow)+ self,
                start: usize,
            ) -> $view<'l, D, Chip, Cluster, Slice, Element2> {
                let config = planned!(const CONFIG of TilePlan<Index, Chip, Cluster, Slice, Element, Element2, LEN, ELEMENT>);
                let part = accept(config.operation, config.elements(self.place.part, D::ELEMENT_TYPE, start));
                $view::at(self.place.with(part))
            }

            dm_tiles! { $view, [$($borrow)+], slice_tile, "Slice", SLICE, Slice, (Chip, Cluster, To) }
            dm_tiles! { $view, [$($borrow)+], cluster_tile, "Cluster", CLUSTER, Cluster, (Chip, To, Slice) }
            dm_tiles! { $view, [$($borrow)+], chip_tile, "Chip", CHIP, Chip, (To, Cluster, Slice) }
        }
    };
    ($view:ident, [$($borrow:tt)+], $call:ident, $name:literal, $number:ident, $dimension:ident,
     ($chip:ident, $cluster:ident, $slice:ident)) => {
        #[doc = concat!("`LEN` consecutive values of `Index` in `", $name, "`, from `start` on; `To` is `", $name,
            "` with the index cut: see [tiles](crate::tensor::tile).")]
        ///
        /// A stream reads and commits only each slice's own part: move a tile first if it starts in another slice,
        /// cluster or chip.
        ///
        /// # Panics
        /// If the tile would end behind the index.
        #[track_caller]
        #[inline(never)]
        pub fn $call<Index: M, const LEN: usize, To: M>(
            $($borrow)+ self,
            start: usize,
        ) -> $view<'l, D, $chip, $cluster, $slice, Element> {
            let config =
                planned!(const CONFIG of TilePlan<Index, Chip, Cluster, Slice, Element, To, LEN, $number>);
            let span = const { Shape::span(Element::EXPR) };
            let part = accept(config.operation, config.units(self.place.part, Dimension::$dimension, span, start));
            $view::at(self.place.with(part))
        }
    };
}

dm_tiles!(DmTensorView, [&]);
dm_tiles!(DmTensorViewMut, [&mut]);

impl<'l, D: Scalar, Chip: M, Element: M> HbmTensorView<'l, D, Chip, Element> {
    /// All tiles of `LEN` values of `Index`, one after another: see [tiles](crate::tensor::tile).
    ///
    /// Refused while compiling: as [`Self::tile`], and a `LEN` that does not divide the index.
    #[track_caller]
    #[inline(never)]
    pub fn tiles<Index: M, const LEN: usize, Element2: M>(
        &self,
    ) -> impl ExactSizeIterator<Item = HbmTensorView<'l, D, Chip, Element2>>
    + DoubleEndedIterator
    + use<'l, D, Chip, Element, Index, LEN, Element2> {
        let count =
            planned!(COUNT of TilePlan<Index, Chip, Identity, Identity, Element, Element2, LEN, ELEMENT>);
        let view = self.clone();
        (0..count).map(move |k| view.tile::<Index, LEN, Element2>(k * LEN))
    }
}

impl<'l, D: Scalar, Chip: M, Element: M> HbmTensorViewMut<'l, D, Chip, Element> {
    /// All tiles of `LEN` values of `Index`, one after another, to write. They share no element: several can be held.
    ///
    /// Refused while compiling: as [`Self::tile`], and a `LEN` that does not divide the index.
    #[track_caller]
    #[inline(never)]
    pub fn split_tiles_mut<Index: M, const LEN: usize, Element2: M>(
        self,
    ) -> impl ExactSizeIterator<Item = HbmTensorViewMut<'l, D, Chip, Element2>>
    + DoubleEndedIterator
    + use<'l, D, Chip, Element, Index, LEN, Element2> {
        let count =
            planned!(COUNT of TilePlan<Index, Chip, Identity, Identity, Element, Element2, LEN, ELEMENT>);
        let mut view = self;
        (0..count).map(move |k| view.tile::<Index, LEN, Element2>(k * LEN))
    }
}

impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorView<'l, D, Chip, Cluster, Slice, Element>
{
    /// All tiles of `LEN` values of `Index`, one after another: see [tiles](crate::tensor::tile).
    ///
    /// Refused while compiling: as [`Self::tile`], and a `LEN` that does not divide the index.
    #[track_caller]
    #[inline(never)]
    pub fn tiles<Index: M, const LEN: usize, Element2: M>(
        &self,
    ) -> impl ExactSizeIterator<Item = DmTensorView<'l, D, Chip, Cluster, Slice, Element2>>
    + DoubleEndedIterator
    + use<'l, D, Chip, Cluster, Slice, Element, Index, LEN, Element2> {
        let count = planned!(COUNT of TilePlan<Index, Chip, Cluster, Slice, Element, Element2, LEN, ELEMENT>);
        let view = self.clone();
        (0..count).map(move |k| view.tile::<Index, LEN, Element2>(k * LEN))
    }
}

impl<'l, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M>
    DmTensorViewMut<'l, D, Chip, Cluster, Slice, Element>
{
    /// All tiles of `LEN` values of `Index`, one after another, to write. They share no element: several can be held.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![T = 2, A = 256, B = 64];
    ///
    /// /// One half is loaded while the other one is used.
    /// #[device(chip = 1)]
    /// fn halves(ctx: &mut Context, x: &HbmTensor<i8, m![1], m![T, A, B]>, out: &mut HbmTensor<i8, m![1], m![T, A, B]>) {
    ///     let mut buffer = unsafe { DmTensor::<i8, m![1], m![1 # 2], m![A], m![T, B]>::from_addr(0) };
    ///     let halves = buffer.view_mut().split_tiles_mut::<m![T], 1, m![1 # 2, B]>();
    ///     for (tile, half) in x.view().tiles::<m![T], 1, m![1 # 2, A, B]>().zip(halves) {
    ///         tile.to_dm_view(&mut ctx.tdma, half);
    ///     }
    ///     buffer.view().to_hbm_view(&mut ctx.tdma, out.view_mut());
    /// }
    /// # let mut ctx = Context::acquire();
    /// # let host = HostTensor::<i8, m![T, A, B]>::from_buf((0..2 * 256 * 64).map(|k| Opt::Init(k as i8)).collect());
    /// # pollster::block_on(async {
    /// #     let x = host.to_hbm(&mut ctx.pdma, 0).await;
    /// #     let mut y = HostTensor::<i8, m![T, A, B]>::zero().to_hbm(&mut ctx.pdma, 1 << 20).await;
    /// #     launch(halves, (&mut *ctx, &x, &mut y)).await;
    /// #     assert_eq!(y.to_host::<m![T, A, B]>(&mut ctx.pdma).await.to_buf(), host.to_buf());
    /// # });
    /// ```
    ///
    /// Refused while compiling: as [`Self::tile`], and a `LEN` that does not divide the index.
    #[track_caller]
    #[inline(never)]
    pub fn split_tiles_mut<Index: M, const LEN: usize, Element2: M>(
        self,
    ) -> impl ExactSizeIterator<Item = DmTensorViewMut<'l, D, Chip, Cluster, Slice, Element2>>
    + DoubleEndedIterator
    + use<'l, D, Chip, Cluster, Slice, Element, Index, LEN, Element2> {
        let count = planned!(COUNT of TilePlan<Index, Chip, Cluster, Slice, Element, Element2, LEN, ELEMENT>);
        let mut view = self;
        (0..count).map(move |k| view.tile::<Index, LEN, Element2>(k * LEN))
    }
}
