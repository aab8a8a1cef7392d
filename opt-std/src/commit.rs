//! Cast, transpose, trim and commit.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use crate::memory::{DmTensor, DmTensorViewMut};
use crate::stream::TuTensor;
use crate::visa::engine::cast::{CastPlan, StreamCast as _};
use crate::visa::engine::commit::StoredAs;
use crate::visa::engine::commit_stages::Trimmed;
use crate::visa::engine::stream::stage::{
    Castable, InMotion, Position, PositionCast, PositionCommitCast, PositionCommitTrim, PositionTranspose,
    Transposable, Trimmable,
};
use crate::visa::engine::transpose::TransposePlan;
use crate::visa::mapping::M;
use crate::visa::runtime::{AUTO, Tu};
use crate::visa::scalar::{Cast, CommitCast, Scalar, StreamScalar, VeScalar, bf16, f8e4m3, f8e5m2, i4};
use crate::visa::surface::{CheckedCast, CheckedCommit, CheckedTrim, StreamLayout};
use crate::words::check;

/// A type that the Cast Engine narrows to `OutD`.
#[diagnostic::on_unimplemented(
    message = "cast: the Cast Engine does not make `{OutD}` of `{Self}`",
    note = "supported: i32 to i4, i8, i16; f32 to f8e4m3, f8e5m2, bf16",
    note = "help: leave the call out where the type is the same"
)]
pub trait CastEngineCast<OutD: Scalar>: Cast<OutD> + VeScalar {}

macro_rules! cast_engine_casts {
    ($($input:ident => $($output:ident),*;)*) => { $($( impl CastEngineCast<$output> for $input {} )*)* };
}

cast_engine_casts! {
    i32 => i4, i8, i16;
    f32 => f8e4m3, f8e5m2, bf16;
}

impl<'l, const T: Tu, P: Castable, D: StreamScalar, L: StreamLayout> TuTensor<'l, T, P, D, L> {
    /// Narrows the elements of each flit: see [`crate::visa::engine::cast::StreamCast::cast`].
    #[track_caller]
    #[inline(never)]
    pub fn cast<OutD: Scalar, OutPacket: M>(
        self,
    ) -> TuTensor<'l, T, PositionCast, OutD, L::With<L::Time, OutPacket>>
    where
        D: CastEngineCast<OutD>,
    {
        check!(CHECK of CastPlan<D, OutD, L::Packet, OutPacket>);
        TuTensor(self.0.cast::<OutD, OutPacket>())
    }
}

impl<'l, const T: Tu, P: Transposable, D: StreamScalar, L: StreamLayout> TuTensor<'l, T, P, D, L> {
    /// Exchanges a block of time steps with the elements of the packets: see
    /// [`crate::visa::engine::stream::StreamTensor::transpose`].
    #[track_caller]
    #[inline(never)]
    pub fn transpose<OutTime: M, OutPacket: M>(
        self,
    ) -> TuTensor<'l, T, PositionTranspose, D, L::With<OutTime, OutPacket>>
    where
        D: Scalar,
    {
        check!(CONFIG of TransposePlan<D, L::Time, L::Packet, OutTime, OutPacket>);
        TuTensor(self.0.transpose::<OutTime, OutPacket>())
    }
}

impl<'l, const T: Tu, P: Trimmable + InMotion, D: StreamScalar, L: StreamLayout> TuTensor<'l, T, P, D, L> {
    /// Keeps the beginning of each packet: what the commit writes. See
    /// [`crate::visa::engine::stream::StreamTensor::commit_trim`].
    #[track_caller]
    #[inline(never)]
    pub fn commit_trim<OutPacket: M>(
        self,
    ) -> TuTensor<'l, T, PositionCommitTrim, D, L::With<L::Time, OutPacket>> {
        check!(BYTES of CheckedTrim<D, P, L::Packet, OutPacket, T>);
        TuTensor(self.0.commit_trim::<OutPacket>())
    }
}

/// Declares the conversions of the Commit Engine.
macro_rules! casts {
    ($($(#[$doc:meta])* $call:ident, $relu:literal;)*) => {
        impl<'l, const T: Tu, D: StreamScalar, L: StreamLayout> TuTensor<'l, T, PositionCommitTrim, D, L> { $(
            $(#[$doc])*
            #[track_caller]
            #[inline(never)]
            pub fn $call<OutD: Scalar>(self) -> TuTensor<'l, T, PositionCommitCast<Trimmed>, OutD, L>
            where
                D: CommitCast<OutD>,
            {
                check!(CHECK of CheckedCast<D, OutD, PositionCommitTrim, L::Packet, $relu, T>);
                TuTensor(self.0.$call::<OutD>())
            }
        )* }
    };
}

casts! {
    /// Narrows the elements on their way to DM: see [`crate::visa::engine::stream::StreamTensor::commit_cast`].
    commit_cast, false;
    /// Replaces negative elements by 0 and narrows them on their way to DM: see
    /// [`crate::visa::engine::stream::StreamTensor::commit_cast_relu`].
    commit_cast_relu, true;
}

/// A place behind `commit_trim`.
#[diagnostic::on_unimplemented(
    message = "commit: nothing says what is kept of each packet",
    label = "`.commit_trim::<OutPacket>()` is missing before this call",
    note = "help: `.commit_trim::<m![…]>()` keeps the packet, or its leading 8, 16, 24 or 32 bytes"
)]
pub trait Trim: InMotion {}

impl Trim for PositionCommitTrim {}
impl Trim for PositionCommitCast<Trimmed> {}

impl<'l, const T: Tu, P: Position, D: StreamScalar, L: StreamLayout> TuTensor<'l, T, P, D, L> {
    /// Ends the stream in DM: see [`crate::visa::engine::stream::StreamTensor::commit`].
    #[track_caller]
    #[inline(never)]
    pub fn commit<Element: M>(self) -> DmTensor<D, L::Chip, L::Cluster, L::Slice, Element>
    where
        P: Trim,
        D: StoredAs<Element>,
    {
        check!(CONFIG of CheckedCommit<D, P, L, Element, T>);
        DmTensor(self.0.commit(AUTO))
    }

    /// Ends the stream in a view in DM, which may be a tile: see
    /// [`crate::visa::engine::stream::StreamTensor::commit_view`].
    #[track_caller]
    #[inline(never)]
    pub fn commit_view<Element: M>(
        self,
        destination: DmTensorViewMut<'l, D, L::Chip, L::Cluster, L::Slice, Element>,
    ) where
        P: Trim,
        D: StoredAs<Element>,
    {
        check!(VIEW of CheckedCommit<D, P, L, Element, T>);
        self.0.commit_view(destination.0);
    }
}
