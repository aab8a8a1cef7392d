//! Zero points: the offset of asymmetric quantisation is subtracted as elements are read.
//!
//! ```text
//!   stored i8  7, zero point 10  ──▶  i32  -3
//! ```
//!
//! The stream must hold every difference, so the output types have more bits.

use super::CheckedFetch;
use super::stages::ZeroPoint;
use crate::engine::layout::{Layout, StreamLayout};
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::{PositionBegin, PositionFetch};
use crate::mapping::{AxisName, M, Symbol};
use crate::runtime::Tu;
use crate::runtime::late::planned;
use crate::scalar::{ChipType, FetchCast, Rngd, RngdS, Scalar, StreamScalar, i4, i5, i9};
use crate::tensor::WindowList;

mod sealed {
    pub trait Sealed {}
}

/// Stored types from which the fetch adapter subtracts a zero point, with the types of the difference.
///
/// See [fetch](crate::guide::fetch), "Zero points". Types that could not hold the difference are left out:
/// a stream of the stored type, and `i9` for `i16`.
#[diagnostic::on_unimplemented(
    message = "fetch: cannot subtract a zero point from `{Self}` into `{D2}`",
    label = "the difference of two `{Self}` is no `{D2}` of the fetch adapter",
    note = "supported: i4 to i5, i32; i8 to i9, i32; i16 to i32; on RNGD-S also i4 to i9",
    note = "help: fetch one of these outputs"
)]
pub trait ZeroPointCast<D2: StreamScalar, Kind: ChipType = Rngd>:
    FetchCast<D2, Kind> + sealed::Sealed
{
    /// The zero point as a number.
    fn number(self) -> i32;
}

macro_rules! zero_points {
    ($($stored:ident => $($output:ident),*: $number:expr;)*) => { $(
        impl sealed::Sealed for $stored {}
        $(
            impl<Kind: ChipType> ZeroPointCast<$output, Kind> for $stored {
                fn number(self) -> i32 {
                    let number: fn($stored) -> i32 = $number;
                    number(self)
                }
            }
        )*
    )* };
}

zero_points! {
    i4 => i5, i32: i4::to_i32;
    i8 => i9, i32: i32::from;
    i16 => i32: i32::from;
}

impl ZeroPointCast<i9, RngdS> for i4 {
    fn number(self) -> i32 {
        self.to_i32()
    }
}

impl<'l, const T: Tu, D: Scalar, L: StreamLayout, Kind: ChipType, Windows: WindowList>
    StreamTensor<'l, T, PositionBegin<Kind, Windows>, D, L>
{
    /// Reads the tensor as a stream of differences: each element, converted to `D2`, minus the zero point.
    ///
    /// Two interleaved tensors have the same zero point. Masked padding is 0 in the stream, unless
    /// [`pad_value`](Self::pad_value) says otherwise.
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, B = 8];
    /// type X<D> = DmTensor<D, m![1], m![1 # 2], m![S], m![B]>;
    /// /// `q - zero`, in 32 bits.
    /// fn centred(ctx: &mut Context, q: &X<i8>, zero: i8) -> X<i32> {
    ///     (ctx.main.begin(q.view()).fetch_with_zero_point::<i32, m![1], m![B]>(zero))
    ///         .collect::<m![1], m![B]>()
    ///         .commit(AUTO)
    /// }
    /// # let _ = centred as fn(_, _, _) -> _;
    /// ```
    ///
    /// Refused while compiling: everything that [`fetch`](Self::fetch) refuses, and pairs of types that are not in
    /// [`ZeroPointCast`]. See [fetch](crate::guide::fetch), "Zero points".
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn fetch_with_zero_point<D2: StreamScalar, Time2: M, Packet2: M>(
        self,
        zero_point: D,
    ) -> StreamTensor<'l, T, PositionFetch, D2, L::With<Time2, Packet2>>
    where
        D: ZeroPointCast<D2, Kind>,
    {
        let plan = *planned!(const CONFIG of CheckedFetch<D, D2, L, Time2, Packet2, T, ZeroPoint, Windows>);
        self.fetch_as(plan, None, Some([ZeroPointCast::<D2, Kind>::number(zero_point); 2]))
    }
}

/// The layout of two interleaved tensors.
type Interleaved<Chip, Cluster, Slice, I, Element> = Layout<Chip, Cluster, Slice, Symbol<I>, Element>;

impl<'l, const T: Tu, D: Scalar, Chip: M, Cluster: M, Slice: M, I: AxisName, Element: M, Kind: ChipType>
    StreamTensor<'l, T, PositionBegin<Kind>, D, Interleaved<Chip, Cluster, Slice, I, Element>>
{
    /// Reads two interleaved tensors as a stream of differences: each element, converted to `D2`, minus the zero point of
    /// its tensor.
    ///
    /// The rules are those of [`fetch_with_zero_point`](Self::fetch_with_zero_point).
    /// [`begin_interleaved`](crate::runtime::TuContext::begin_interleaved) has an example.
    #[track_caller]
    #[inline(never)]
    pub fn fetch_with_zero_points<D2: StreamScalar, Time2: M, Packet2: M>(
        self,
        zero_points: [D; 2],
    ) -> StreamTensor<'l, T, PositionFetch, D2, Layout<Chip, Cluster, Slice, Time2, Packet2>>
    where
        D: ZeroPointCast<D2, Kind>,
    {
        let plan = *planned!(const CONFIG of CheckedFetch<D, D2, Interleaved<Chip, Cluster, Slice, I, Element>, Time2, Packet2, T, ZeroPoint>);
        self.fetch_as(plan, None, Some(zero_points.map(ZeroPointCast::<D2, Kind>::number)))
    }
}
