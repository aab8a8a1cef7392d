//! One outermost padding more, or less, of a view: its elements stay where they are.
//!
//! ```text
//! axes![A = 3, B = 2]
//!
//!   m![A, B]        0 1  2 3  4 5              pad to m![A # 4, B]: the same six elements
//!   m![A # 4, B]    0 1  2 3  4 5  · ·         unpad is the way back
//! ```
//!
//! Positions that padding adds belong to nobody: a call does not write there, and values that it reads there mean nothing.

use super::relabel::both;
use super::{DmTensor, DmTensorView, HbmTensor, HbmTensorView, Shape};
use crate::command::Part;
use crate::mapping::M;
use crate::runtime::late::{Late, Refusable, planned};
use crate::scalar::Scalar;
use core::marker::PhantomData;
pub use furiosa_visa_rules::tensor::pad::{check_pad, check_unpad};

/// The plan of another padding, as types.
#[doc(hidden)]
pub struct PadPlan<Old, New>(PhantomData<(Old, New)>);

/// The part of a tensor up to its last element, `span` positions from the first one.
fn up_to_the_last_element(part: Part, span: usize) -> Part {
    Part { elements: Some(part.elements.map_or(span, |elements| elements.min(span))), ..part }
}

/// Declares a call of a view.
macro_rules! call {
    (
        $(#[$doc:meta])* $call:ident, $plan:ident, $check:ident, $view:ident of $tensor:ident<$($unit:ident),+>
    ) => {
        impl<D: Scalar, $($unit: M,)+ Element: M, Element2: M>
            PadPlan<$tensor<D, $($unit,)+ Element>, $tensor<D, $($unit,)+ Element2>>
        {
            /// The check of the padding.
            #[doc(hidden)]
            pub const $plan: () = {
                let _ = $tensor::<D, $($unit,)+ Element2>::FOOTPRINT;
                if let Err(error) = Late::<Self>::$plan {
                    error.refuse()
                }
            };
        }

        impl<D: Scalar, $($unit: M,)+ Element: M, Element2: M>
            Late<PadPlan<$tensor<D, $($unit,)+ Element>, $tensor<D, $($unit,)+ Element2>>>
        {
            #[doc(hidden)]
            pub const $plan: Refusable<()> = both(
                Late::<$tensor<D, $($unit,)+ Element2>>::FOOTPRINT,
                $check(Element::EXPR, Element2::EXPR),
            );
        }

        impl<'l, D: Scalar, $($unit: M,)+ Element: M> $view<'l, D, $($unit,)+ Element> {
            $(#[$doc])*
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn $call<Element2: M>(self) -> $view<'l, D, $($unit,)+ Element2> {
                let () = *planned!(const $plan of PadPlan<$tensor<D, $($unit,)+ Element>, $tensor<D, $($unit,)+ Element2>>);
                let span = const { Shape::span(Element::EXPR) };
                $view::at(self.place.with(up_to_the_last_element(self.place.part, span)))
            }
        }
    };
}

call! {
    /// The same elements with one outermost padding more: `m![A, B]` as `m![A # 8, B]`. What it adds is nobody's.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, A = 3, B = 32];
    /// /// Three rows as a stream of four time steps.
    /// fn streamed(
    ///     ctx: &mut Context,
    ///     x: &DmTensor<i8, m![1], m![1 # 2], m![S], m![A, B]>,
    /// ) -> DmTensor<i8, m![1], m![1 # 2], m![S], m![A # 4, B]> {
    ///     (ctx.main.begin(x.view().pad::<m![A # 4, B]>()).fetch::<i8, m![A # 4], m![B]>())
    ///         .collect::<m![A # 4], m![B]>()
    ///         .commit(AUTO)
    /// }
    /// # let _ = streamed as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: fewer positions than before, and any other mapping.
    pad, PAD, check_pad, DmTensorView of DmTensor<Chip, Cluster, Slice>
}

call! {
    /// The same elements without an outermost padding: `m![A # 8, B]` as `m![A, B]`, which [`pad`](Self::pad) adds.
    ///
    /// Leave out padding before a [tile](crate::tensor::tile): the view of a tile behind the first one is as large as its
    /// tensor, and a call refuses it without its padding.
    ///
    /// Refused while compiling: more positions than before, and any other mapping.
    unpad, UNPAD, check_unpad, DmTensorView of DmTensor<Chip, Cluster, Slice>
}

call! {
    /// The same elements with one outermost padding more: `m![A, B]` as `m![A # 8, B]`. What it adds is nobody's:
    /// [`DmTensorView::pad`] has an example.
    ///
    /// Refused while compiling: fewer positions than before, and any other mapping.
    pad, PAD, check_pad, HbmTensorView of HbmTensor<Chip>
}
