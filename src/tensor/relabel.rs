//! Other names for the bytes of a tensor: nothing moves.
//!
//! Position `k` of each dimension becomes position `k` of the new mapping of that dimension. So the sizes are equal.
//!
//! ```text
//! axes![A = 2, B = 3, X = 6]
//!
//!   position     0  1  2   3  4  5
//!   m![A, B]     00 01 02  10 11 12        relabel to m![X]: the element `A: 1, B: 0` is now `X: 3`
//!   m![X]        0  1  2   3  4  5
//! ```
//!
//! [`relabel`](super::DmTensor::relabel) is refused while compiling if the new names would be wrong:
//!
//! * an axis that both mappings name has other coordinates at some position: its elements would have to move. Move a
//!   tensor `m![A, B]` to `m![B, A]` with `.to_dm()`;
//! * a position is padding in only one of the mappings: padding would become elements, or elements would be dropped. A
//!   part of a tensor is a [tile](super::tile).
//!
//! [`reshape`](super::DmTensor::reshape) only asks for equal sizes, and for no more elements than before. It is
//! `unsafe`: the caller vouches for the meaning of the new axes. Positions that were padding have never been written as
//! elements, so a mapping with more elements is refused.
//!
//! Views have `reshape`, too, also those of [tiles](super::tile): positions behind the last element of a tile stay
//! padding.
//!
//! Both keep the address, the filling, and the order between operations.

use super::handle::ViewPlace;
use super::tile::Dimension;
use super::{DmTensor, DmTensorView, DmTensorViewMut, HbmTensor, HbmTensorView, HbmTensorViewMut};
use crate::command::Part;
use crate::error::attempt;
use crate::mapping::M;
use crate::runtime::Place;
use crate::runtime::fault::accept;
use crate::runtime::late::{Late, Refusable, planned};
use crate::scalar::Scalar;
use core::marker::PhantomData;
pub(crate) use furiosa_visa_rules::tensor::relabel::{Reach, four, part_with};
pub use furiosa_visa_rules::tensor::relabel::{RelabelDimension, check_relabel, check_reshape};

/// The first refusal of the two.
pub(super) const fn both<T: Copy>(first: Refusable<T>, second: Refusable<()>) -> Refusable<()> {
    attempt!(first);
    second
}

/// The plan of other names for the bytes of a tensor, as types.
#[doc(hidden)]
pub struct RelabelPlan<Old, New>(PhantomData<(Old, New)>);

/// Declares the calls of the handles.
macro_rules! calls {
    ($tensor:ident, [$($old:ident),+], [$($new:ident),+], [$($dimension:expr),+]) => {
        impl<D: Scalar, $($old: M,)+ $($new: M),+> RelabelPlan<$tensor<D, $($old),+>, $tensor<D, $($new),+>> {
            const ALL: &'static [RelabelDimension] =
                &[$(RelabelDimension { dimension: $dimension, from: $old::EXPR, to: $new::EXPR }),+];

            /// The check of a reshape.
            #[doc(hidden)]
            pub const RESHAPE: () = Self::accepted(Late::<Self>::RESHAPE);
            /// The check of other names.
            #[doc(hidden)]
            pub const RELABEL: () = Self::accepted(Late::<Self>::RELABEL);

            const fn accepted(result: Refusable<()>) {
                let _ = $tensor::<D, $($new),+>::FOOTPRINT;
                if let Err(error) = result {
                    error.refuse()
                }
            }
        }

        impl<D: Scalar, $($old: M,)+ $($new: M),+> Late<RelabelPlan<$tensor<D, $($old),+>, $tensor<D, $($new),+>>> {
            #[doc(hidden)]
            pub const RESHAPE: Refusable<()> = both(
                Late::<$tensor<D, $($new),+>>::FOOTPRINT,
                check_reshape("reshape", RelabelPlan::<$tensor<D, $($old),+>, $tensor<D, $($new),+>>::ALL),
            );
            #[doc(hidden)]
            pub const RELABEL: Refusable<()> = both(
                Late::<$tensor<D, $($new),+>>::FOOTPRINT,
                check_relabel(&four(RelabelPlan::<$tensor<D, $($old),+>, $tensor<D, $($new),+>>::ALL)),
            );
        }

        impl<D: Scalar, $($old: M),+> $tensor<D, $($old),+> {
            /// The same bytes with other axes: position `k` of each dimension becomes position `k` of the new mapping.
            ///
            /// [`Self::relabel`] does the same, if no new name can be wrong.
            ///
            /// Refused while compiling: a dimension of another size, or with more elements than before.
            ///
            /// # Safety
            /// No memory of the host is at risk. The caller vouches that the new axes fit the elements that lie there.
            #[allow(unsafe_code)] // A contract about the memory of the chip; the body is safe.
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub unsafe fn reshape<$($new: M),+>(self) -> $tensor<D, $($new),+> {
                let () = *planned!(const RESHAPE of RelabelPlan<$tensor<D, $($old),+>, $tensor<D, $($new),+>>);
                $tensor::filled(Place { address: self.address, lease: self.lease }, self.fill)
            }

            /// The same elements at the same places, under other names of their axes: see
            /// [relabel](crate::tensor::relabel).
            ///
            /// Refused while compiling: a dimension of another size; an axis that both mappings name and that would
            /// have to move; padding that would become elements, or elements that would become padding.
            #[track_caller]
            #[inline(never)]
            pub fn relabel<$($new: M),+>(self) -> $tensor<D, $($new),+> {
                let () = *planned!(const RELABEL of RelabelPlan<$tensor<D, $($old),+>, $tensor<D, $($new),+>>);
                $tensor::filled(Place { address: self.address, lease: self.lease }, self.fill)
            }
        }
    };
}

calls!(
    DmTensor,
    [Chip, Cluster, Slice, Element],
    [Chip2, Cluster2, Slice2, Element2],
    [Dimension::Chip, Dimension::Cluster, Dimension::Slice, Dimension::Element]
);

calls!(HbmTensor, [Chip, Element], [Chip2, Element2], [Dimension::Chip, Dimension::Element]);

/// Declares the call of the views.
macro_rules! view_calls {
    ($view:ident of $tensor:ident, [$($old:ident),+], [$($new:ident),+], [$($dimension:expr),+]) => {
        impl<'l, D: Scalar, $($old: M),+> $view<'l, D, $($old),+> {
            /// The same bytes with other axes: position `k` of each dimension becomes position `k` of the new mapping. See
            /// [relabel](crate::tensor::relabel).
            ///
            /// Refused while compiling: a dimension of another size, or with more elements than before.
            ///
            /// # Safety
            /// No memory of the host is at risk. The caller vouches that the new axes fit the elements that lie there.
            ///
            /// # Panics
            /// If the view is a [tile](crate::tensor::tile), and the new mapping has elements behind its last one.
            #[allow(unsafe_code)] // A contract about the memory of the chip; the body is safe.
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub unsafe fn reshape<$($new: M),+>(self) -> $view<'l, D, $($new),+> {
                let () = *planned!(const RESHAPE of RelabelPlan<$tensor<D, $($old),+>, $tensor<D, $($new),+>>);
                let reaches = const {
                    &[$(Reach::of(RelabelDimension { dimension: $dimension, from: $old::EXPR, to: $new::EXPR })),+]
                };
                let part = accept("reshape", part_with(self.place.part, reaches));
                let new = planned!(FOOTPRINT of $tensor<D, $($new),+>);
                let tensor = if part == Part::WHOLE { new } else { self.place.tensor };
                $view::at(ViewPlace { part, tensor, ..self.place })
            }
        }
    };
}

view_calls!(
    DmTensorView of DmTensor,
    [Chip, Cluster, Slice, Element],
    [Chip2, Cluster2, Slice2, Element2],
    [Dimension::Chip, Dimension::Cluster, Dimension::Slice, Dimension::Element]
);

view_calls!(
    DmTensorViewMut of DmTensor,
    [Chip, Cluster, Slice, Element],
    [Chip2, Cluster2, Slice2, Element2],
    [Dimension::Chip, Dimension::Cluster, Dimension::Slice, Dimension::Element]
);

view_calls!(HbmTensorView of HbmTensor, [Chip, Element], [Chip2, Element2], [Dimension::Chip, Dimension::Element]);

view_calls!(HbmTensorViewMut of HbmTensor, [Chip, Element], [Chip2, Element2], [Dimension::Chip, Dimension::Element]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::{axes, m};

    axes![A = 3, B = 8, X = 6, Y = 24];

    #[test]
    fn a_tile_ends_where_it_ended() {
        let element = |from, to| Reach::of(RelabelDimension { dimension: Dimension::Element, from, to });
        let tile = Part { offset: 16, elements: Some(6), ..Part::WHOLE };
        let from = <m![X # 8]>::EXPR;
        let reach = |to| [element(from, to)];
        // The new mapping reaches as far, less far, and one position too far.
        assert_eq!(part_with(tile, &reach(<m![[A, B / 4] # 8]>::EXPR)), Ok(tile));
        assert_eq!(part_with(tile, &reach(<m![X = 6 # 8]>::EXPR)), Ok(tile));
        assert_eq!(part_with(tile, &reach(<m![A # 8]>::EXPR)), Ok(Part { elements: Some(3), ..tile }));
        let error = part_with(tile, &reach(<m![Y = 7 # 8]>::EXPR)).expect_err("it is longer");
        assert_eq!(error.rule(), "reshape of a tile");
        let text = "reshape: the view is a tile, whose Element `m![X # 8]` ends with position 5, but `m![Y = 7 # 8]` has \
                    elements up to position 6, which lie behind it; help: leave as much padding outermost, or reshape the \
                    tensor before `.tile()`";
        assert_eq!(error.message(), text);
        // A whole tensor has no elements behind it.
        assert_eq!(part_with(Part::WHOLE, &reach(<m![B]>::EXPR)), Ok(Part::WHOLE));
    }
}
