//! Collect Engine: cuts packets into 32-byte flits.
//!
//! ```text
//!   Packet   48 bytes            ──▶   flit 0   flit 1 (half of it padding)
//!   Time2 = [Time, flit index]         Packet2 = one flit
//! ```
//!
//! No element moves and no type changes.

use crate::engine::layout::StreamLayout;
use crate::engine::stream::stage::{Collectable, PositionCollect};
use crate::engine::stream::{Pass, StreamTensor};
use crate::mapping::{Expr, M};
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
    pub const CONFIG: CollectConfig = match Late::<Self>::config() {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

impl<D: StreamScalar, Time: M, Packet: M, Time2: M, Packet2: M>
    Late<CollectPlan<D, Time, Packet, Time2, Packet2>>
{
    #[doc(hidden)]
    pub const CONFIG: Refusable<CollectConfig> = Self::config();

    const fn config() -> Refusable<CollectConfig> {
        // A reference to a constant would be a constant of its own.
        let request = CollectPlan::<D, Time, Packet, Time2, Packet2>::REQUEST;
        collect(&request, [Time::FORM, Packet::FORM, Time2::FORM, Packet2::FORM])
    }
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
    /// [`collect_flits`](Self::collect_flits) has these mappings without being told.
    ///
    /// Refused while compiling: anything else.
    #[track_caller]
    #[inline(never)] // The compiler names the line of a call that it did not inline.
    pub fn collect<Time2: M, Packet2: M>(
        self,
    ) -> StreamTensor<'l, T, PositionCollect, D, L::With<Time2, Packet2>> {
        let plan = planned!(CONFIG of CollectPlan<D, L::Time, L::Packet, Time2, Packet2>);
        StreamTensor::new(self.context, self.pass.collected(&plan))
    }

    /// [`collect`](Self::collect) with the mappings that follow from the packet: [`FlitTime`] and [`Flit`].
    ///
    /// ```
    /// # use furiosa_visa_std::prelude::*;
    /// axes![S = 256, T = 4, B = 48];
    /// type X = DmTensor<i8, m![1], m![1 # 2], m![S], m![T, B]>;
    /// type Y = DmTensor<i8, m![1], m![1 # 2], m![S], m![T, B # 64]>;
    /// /// `m![T, B # 64 / 32]` and `m![B # 64 % 32]`.
    /// fn flits(ctx: &mut Context, x: &X) -> Y {
    ///     ctx.main.begin(x.view()).fetch::<i8, m![T], m![B]>().collect_flits().commit(AUTO)
    /// }
    /// # let _ = flits as fn(_, _) -> _;
    /// ```
    ///
    /// Refused while compiling: packets that are no whole bytes.
    #[track_caller]
    #[inline(never)]
    pub fn collect_flits(
        self,
    ) -> StreamTensor<'l, T, PositionCollect, D, L::With<FlitTime<D, L::Time, L::Packet>, Flit<D, L::Packet>>>
    {
        let plan = planned!(CONFIG of CollectPlan<D, L::Time, L::Packet, FlitTime<D, L::Time, L::Packet>, Flit<D, L::Packet>>);
        StreamTensor::new(self.context, self.pass.collected(&plan))
    }
}

impl Pass {
    /// The pass with flits. It has no type parameters, so that all kernels share it.
    #[inline(never)]
    fn collected(mut self: Box<Self>, plan: &CollectConfig) -> Box<Self> {
        self.unit.collect(plan);
        self
    }
}

/// A packet in flits, as expressions: whole flits, their index, and one of them.
struct Flits<D, Packet>(PhantomData<(D, Packet)>);

impl<D: StreamScalar, Packet: M> Flits<D, Packet> {
    const ELEMENTS: usize = flit_elements(D::ELEMENT_TYPE);
    const WHOLE: &'static Expr = match Packet::SIZE.is_multiple_of(Self::ELEMENTS) {
        true => Packet::EXPR,
        false => &Expr::Padding(Packet::EXPR, Packet::SIZE.next_multiple_of(Self::ELEMENTS)),
    };
    const INDEX: &'static Expr = match Self::WHOLE.size() == Self::ELEMENTS {
        true => &Expr::Identity,
        false => &Expr::Stride(Self::WHOLE, Self::ELEMENTS),
    };
    const ONE: &'static Expr = match Self::WHOLE.size() == Self::ELEMENTS {
        true => Self::WHOLE,
        false => &Expr::Modulo(Self::WHOLE, Self::ELEMENTS),
    };
}

/// Time of a stream in flits: `Time`, with the index of the flit in the packet innermost. A mapping.
#[derive(Clone, Debug)]
pub struct FlitTime<D, Time, Packet>(PhantomData<(D, Time, Packet)>);

#[diagnostic::do_not_recommend] // Nobody writes it.
impl<D: StreamScalar, Time: M, Packet: M> M for FlitTime<D, Time, Packet> {
    const SIZE: usize = Self::EXPR.size();
    const EXPR: &'static Expr = match (Time::EXPR, Flits::<D, Packet>::INDEX) {
        (time, Expr::Identity) => time,
        (Expr::Identity, index) => index,
        (time, index) => &Expr::Pair(time, index),
    };
}

/// A flit of packets: 32 bytes, padded if the packet ends before. A mapping.
#[derive(Clone, Debug)]
pub struct Flit<D, Packet>(PhantomData<(D, Packet)>);

#[diagnostic::do_not_recommend] // Nobody writes it.
impl<D: StreamScalar, Packet: M> M for Flit<D, Packet> {
    const SIZE: usize = Self::EXPR.size();
    const EXPR: &'static Expr = Flits::<D, Packet>::ONE;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::{axes, bf16, m};
    use crate::scalar::i4;

    axes![T = 4, A = 13, B = 48, C = 16, E = 128];

    /// The mappings of a packet in flits, and the number of flits that the rules find.
    fn flits<D: StreamScalar, Time: M, Packet: M>() -> (String, String, usize) {
        let config = CollectPlan::<D, Time, Packet, FlitTime<D, Time, Packet>, Flit<D, Packet>>::CONFIG;
        (FlitTime::<D, Time, Packet>::EXPR.to_string(), Flit::<D, Packet>::EXPR.to_string(), config.flits)
    }

    #[test]
    fn flits_follow_from_the_packet() {
        let found = |time: &str, flit: &str, count| (time.to_string(), flit.to_string(), count);
        assert_eq!(flits::<bf16, m![T], m![C]>(), found("T", "C", 1));
        assert_eq!(flits::<bf16, m![1], m![C]>(), found("1", "C", 1));
        assert_eq!(flits::<i8, m![T], m![A]>(), found("T", "A # 32", 1));
        assert_eq!(flits::<i8, m![T], m![B]>(), found("T, B # 64 / 32", "B # 64 % 32", 2));
        assert_eq!(flits::<f32, m![1], m![B]>(), found("B / 8", "B % 8", 6));
        assert_eq!(flits::<f32, m![T], m![A, C]>(), found("T, [A, C] / 8", "[A, C] % 8", 26));
        assert_eq!(flits::<i4, m![T], m![E]>(), found("T, E / 64", "E % 64", 2));
    }
}
