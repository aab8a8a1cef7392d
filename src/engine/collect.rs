//! Collect Engine: cuts packets into 32-byte flits.
//!
//! ```text
//!   Packet   48 bytes            ──▶   flit 0   flit 1 (half of it padding)
//!   Time2 = [Time, flit index]         Packet2 = one flit
//! ```
//!
//! No element moves and no type changes.

use crate::engine::layout::StreamLayout;
use crate::engine::stream::StreamTensor;
use crate::engine::stream::stage::{Collectable, PositionCollect};
use crate::mapping::M;
use crate::runtime::Tu;
use crate::runtime::late::{Late, Refusable, planned};
use crate::scalar::StreamScalar;
use core::marker::PhantomData;
pub(crate) use furiosa_visa_rules::engine::collect::collect;
pub use furiosa_visa_rules::engine::collect::{CollectConfig, CollectRequest, derive_collect, flit_elements};

/// The plan of a collect, as types.
pub struct CollectPlan<D, Time, Packet, Time2, Packet2>(PhantomData<(D, Time, Packet, Time2, Packet2)>);

impl<D: StreamScalar, Time: M, Packet: M, Time2: M, Packet2: M> CollectPlan<D, Time, Packet, Time2, Packet2> {
    pub(crate) const REQUEST: CollectRequest = CollectRequest {
        element: D::ELEMENT_TYPE,
        time: Time::EXPR,
        packet: Packet::EXPR,
        out_time: Time2::EXPR,
        out_packet: Packet2::EXPR,
    };

    /// The derived configuration. Evaluating it refuses streams that are no sequence of flits.
    pub const CONFIG: CollectConfig = match Late::<Self>::CONFIG {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

impl<D: StreamScalar, Time: M, Packet: M, Time2: M, Packet2: M>
    Late<CollectPlan<D, Time, Packet, Time2, Packet2>>
{
    #[doc(hidden)]
    pub const CONFIG: Refusable<CollectConfig> = collect(
        &CollectPlan::<D, Time, Packet, Time2, Packet2>::REQUEST,
        [Time::FORM, Packet::FORM, Time2::FORM, Packet2::FORM],
    );
}

impl<'l, const T: Tu, P: Collectable, D: StreamScalar, L: StreamLayout> StreamTensor<'l, T, P, D, L> {
    /// Cuts packets into flits of 32 bytes, the last one of each packet padded.
    ///
    /// `Packet2` is one flit, `Time2` is `Time` with the index of the flit appended innermost. See
    /// [contraction](crate::guide::contraction).
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, T = 4, B = 48];
    /// type X = DmTensor<i8, m![1], m![1 # 2], m![S], m![T, B]>;
    /// type Y = DmTensor<i8, m![1], m![1 # 2], m![S], m![T, B # 64]>;
    /// /// Packets of 48 bytes become two flits each, the second one half empty.
    /// fn flits(ctx: &mut Context, x: &X) -> Y {
    ///     (ctx.main.begin(x.view()).fetch::<i8, m![T], m![B]>())
    ///         .collect::<m![T, B # 64 / 32], m![B # 64 % 32]>()
    ///         .commit(AUTO)
    /// }
    /// # let _ = flits as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: anything else.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn collect<Time2: M, Packet2: M>(
        self,
    ) -> StreamTensor<'l, T, PositionCollect, D, L::With<Time2, Packet2>> {
        let plan = planned!(CONFIG of CollectPlan<D, L::Time, L::Packet, Time2, Packet2>);
        let mut pass = self.pass;
        pass.unit.collect(&plan);
        StreamTensor::new(self.context, pass)
    }
}
