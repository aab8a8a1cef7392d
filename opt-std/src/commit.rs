//! Cast, transpose, trim and commit.

// `#[inline(never)]`: the compiler names the line of a call that it did not inline.

use crate::stream::TuTensor;
use crate::visa::engine::cast::{CastPlan, StreamCast as _};
use crate::visa::engine::stream::stage::{Castable, PositionCast, PositionTranspose, Transposable};
use crate::visa::engine::transpose::TransposePlan;
use crate::visa::mapping::M;
use crate::visa::runtime::Tu;
use crate::visa::scalar::{Cast, Scalar, StreamScalar, VeScalar};
use crate::visa::surface::StreamLayout;
use crate::words::check;

impl<'l, const T: Tu, P: Castable, D: StreamScalar, L: StreamLayout> TuTensor<'l, T, P, D, L> {
    /// Narrows the elements of each flit: see [`crate::visa::engine::cast::StreamCast::cast`].
    #[track_caller]
    #[inline(never)]
    pub fn cast<OutD: Scalar, OutPacket: M>(
        self,
    ) -> TuTensor<'l, T, PositionCast, OutD, L::With<L::Time, OutPacket>>
    where
        D: Cast<OutD> + VeScalar,
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
