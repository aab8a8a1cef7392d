//! Cast Engine: narrows the elements of each flit.
//!
//! One flit in, one flit out: the lanes that the narrower type leaves free are padding.

use crate::engine::layout::StreamLayout;
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::{Castable, PositionCast};
use crate::mapping::M;
use crate::runtime::Tu;
use crate::runtime::late::{Late, Refusable, planned};
use crate::scalar::{Cast, Scalar, StreamScalar, VeScalar};
use core::marker::PhantomData;
pub use furiosa_visa_rules::engine::cast::{CastRequest, derive_cast};

/// The plan of a cast, as types.
pub struct CastPlan<D, D2, Packet, OutPacket>(PhantomData<(D, D2, Packet, OutPacket)>);

impl<D: Scalar, D2: Scalar, Packet: M, OutPacket: M> CastPlan<D, D2, Packet, OutPacket> {
    /// Evaluating it refuses packets that are not flits, or that hold different elements.
    pub const CHECK: () = match Late::<Self>::CHECK {
        Ok(()) => (),
        Err(error) => error.refuse(),
    };

    const REQUEST: CastRequest = CastRequest {
        input: D::ELEMENT_TYPE,
        output: D2::ELEMENT_TYPE,
        packet: Packet::EXPR,
        out_packet: OutPacket::EXPR,
    };
}

impl<D: Scalar, D2: Scalar, Packet: M, OutPacket: M> Late<CastPlan<D, D2, Packet, OutPacket>> {
    #[doc(hidden)]
    pub const CHECK: Refusable<()> = derive_cast(&CastPlan::<D, D2, Packet, OutPacket>::REQUEST);
}

/// Streams whose 32-bit elements the Cast Engine can narrow.
pub trait StreamCast<D: StreamScalar> {
    /// The stream after the cast.
    type CastOutput<D2: Scalar, OutPacket: M>
    where
        D: Cast<D2>;

    /// Converts each element. `OutPacket` is the packet, padded to a flit of the narrower type.
    ///
    /// i32 keeps its low bits; f32 is rounded to nearest, ties to even. See
    /// [cast_transpose_commit](crate::guide::cast_transpose_commit).
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, B = 8];
    /// type X<D> = DmTensor<D, m![1], m![1 # 2], m![S], m![B]>;
    /// fn narrowed(ctx: &mut Context, x: &X<f32>) -> X<bf16> {
    ///     (ctx.main.begin(x.view()).fetch::<f32, m![1], m![B]>())
    ///         .collect::<m![1], m![B]>()
    ///         .cast::<bf16, m![B # 16]>()
    ///         .commit(AUTO)
    /// }
    /// # let _ = narrowed as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: packets that are not one flit before and after.
    fn cast<D2: Scalar, OutPacket: M>(self) -> Self::CastOutput<D2, OutPacket>
    where
        D: Cast<D2> + VeScalar;
}

impl<'l, const T: Tu, P: Castable, D: StreamScalar, L: StreamLayout> StreamCast<D>
    for StreamTensor<'l, T, P, D, L>
{
    type CastOutput<D2: Scalar, OutPacket: M>
        = StreamTensor<'l, T, PositionCast, D2, L::With<L::Time, OutPacket>>
    where
        D: Cast<D2>;

    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    fn cast<D2: Scalar, OutPacket: M>(self) -> Self::CastOutput<D2, OutPacket>
    where
        D: Cast<D2> + VeScalar,
    {
        let () = *planned!(const CHECK of CastPlan<D, D2, L::Packet, OutPacket>);
        let mut pass = self.pass;
        pass.unit.cast(D::ELEMENT_TYPE, D2::ELEMENT_TYPE);
        StreamTensor::new(self.context, pass)
    }
}
