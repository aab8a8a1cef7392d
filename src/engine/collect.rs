//! Collect Engine: cuts packets into 32-byte flits.
//!
//! ```text
//!   Packet   48 bytes            ──▶   flit 0   flit 1 (half of it padding)
//!   Time2 = [Time, flit index]         Packet2 = one flit
//! ```
//!
//! No element moves and no type changes.

use crate::engine::stream::{CollectTensor, FetchTensor, StreamTensor, SwitchTensor};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::M;
use crate::mapping::{Expr, Factors, Pool, UNKNOWN, modulo, normal, pad_to, product, stride};
use crate::runtime::Tu;
use crate::runtime::late::{planned, when_late};
use crate::scalar::{ElementType, StreamScalar};
use crate::spec;
use core::marker::PhantomData;

when_late! {
    use crate::runtime::late::{Late, Refusable};
}

/// The input of [`derive_collect`].
#[derive(Clone, Copy, Debug)]
pub struct CollectRequest {
    /// The element type in the stream.
    pub element: ElementType,
    /// Time of the incoming stream.
    pub time: &'static Expr,
    /// Packet of the incoming stream.
    pub packet: &'static Expr,
    /// Time of the outgoing stream.
    pub out_time: &'static Expr,
    /// Packet of the outgoing stream.
    pub out_packet: &'static Expr,
}

/// The derived configuration of a collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectConfig {
    /// Flits per packet.
    pub flits: usize,
}

/// Elements of a type per flit.
pub const fn flit_elements(element: ElementType) -> usize {
    8 * spec::FLIT_BYTES / element.bits()
}

/// The bytes of `elements` positions of a mapping, or a refusal if they are no whole bytes.
pub(crate) const fn whole_bytes(
    operation: &'static str,
    element: ElementType,
    mapping: &'static Expr,
    elements: usize,
) -> Result<usize, PlanError> {
    let bits = elements * element.bits();
    if bits.is_multiple_of(8) {
        return Ok(bits / 8);
    }
    refuse!(
        "whole bytes",
        "{}: {} of {} at a time, each {} of {} bits, are not whole bytes; help: make their number even",
        str(operation),
        count(elements, "element"),
        mapping(mapping),
        str(element.name()),
        number(element.bits()),
    )
}

/// Checks the mappings of a collect.
pub const fn derive_collect(request: &CollectRequest) -> Result<CollectConfig, PlanError> {
    collect(request, [UNKNOWN; 4])
}

/// As [`derive_collect`], with the normal forms of the mappings, in the order of the request.
const fn collect(request: &CollectRequest, forms: [&Factors; 4]) -> Result<CollectConfig, PlanError> {
    const OPERATION: &str = "collect";
    let mut pool = Pool::new();
    let time = normal!(forms[0], OPERATION, &mut pool, request.time);
    let packet = normal!(forms[1], OPERATION, &mut pool, request.packet);
    let out_time = normal!(forms[2], OPERATION, &mut pool, request.out_time);
    let out_packet = normal!(forms[3], OPERATION, &mut pool, request.out_packet);
    let flit = flit_elements(request.element);
    let out_bytes = attempt!(whole_bytes(OPERATION, request.element, request.out_packet, out_packet.size()));
    if out_bytes != spec::FLIT_BYTES {
        refuse!(
            "flit bytes",
            "collect: the output packet {} of {} holds {} bytes, but a flit holds {}; help: pad a short packet with \
             `# {}`, split a long one into `/ {}` innermost in `Time` and `% {}` as the packet",
            mapping(request.out_packet),
            str(request.element.name()),
            number(out_bytes),
            number(spec::FLIT_BYTES),
            number(flit),
            number(flit),
            number(flit),
        );
    }
    let bytes = attempt!(whole_bytes(OPERATION, request.element, request.packet, packet.size()));
    let flits = bytes.div_ceil(spec::FLIT_BYTES);
    let padded = pad_to(&packet, flits * flit);
    let inner = modulo(&mut pool, &padded, flit);
    if !inner.is(&out_packet) {
        refuse!(
            "flit mapping",
            "collect: the output packet is {}, but a flit of the packet {} is {}; help: use that mapping",
            mapping(request.out_packet),
            mapping(request.packet),
            factors(&pool, &inner),
        );
    }
    let outer = stride(&mut pool, &padded, flit);
    let expected = product(&pool, &time, &outer);
    if !expected.is(&out_time) {
        refuse!(
            "flit order",
            "collect: the output time is {}, but {} followed by the flit index is {}; \
             help: append the flit index innermost, and nothing else",
            mapping(request.out_time),
            mapping(request.time),
            factors(&pool, &expected),
        );
    }
    Ok(CollectConfig { flits })
}

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
    pub const CONFIG: CollectConfig =
        match collect(&Self::REQUEST, [Time::FORM, Packet::FORM, Time2::FORM, Packet2::FORM]) {
            Ok(config) => config,
            Err(error) => error.refuse(),
        };
}

when_late! {
    impl<D: StreamScalar, Time: M, Packet: M, Time2: M, Packet2: M>
        Late<CollectPlan<D, Time, Packet, Time2, Packet2>>
    {
        const CONFIG: Refusable<CollectConfig> =
            derive_collect(&CollectPlan::<D, Time, Packet, Time2, Packet2>::REQUEST);
    }
}

macro_rules! stream_collect {
    ($stream:ident, $example:literal) => {
        impl<'l, const T: Tu, D: StreamScalar, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M>
            $stream<'l, T, D, Chip, Cluster, Slice, Time, Packet>
        {
            /// Cuts packets into flits of 32 bytes, the last one of each packet padded.
            ///
            /// `Packet2` is one flit, `Time2` is `Time` with the index of the flit appended innermost. See
            /// [contraction](crate::guide::contraction).
            ///
            #[doc = $example]
            ///
            /// Refused while compiling: anything else.
            #[track_caller]
            #[inline(never)] // The compiler names the line of a call that it did not inline.
            pub fn collect<Time2: M, Packet2: M>(
                self,
            ) -> CollectTensor<'l, T, D, Chip, Cluster, Slice, Time2, Packet2> {
                let plan = planned!(CONFIG of CollectPlan<D, Time, Packet, Time2, Packet2>);
                let mut pass = self.pass;
                pass.collect = Some(crate::command::Collect { flits: plan.flits });
                StreamTensor::new(self.context, pass)
            }
        }
    };
}

stream_collect!(
    FetchTensor,
    "
```
# use furiosa_visa_std::prelude::*;
axes![S = 256, T = 4, B = 48];
type X = DmTensor<i8, m![1], m![1 # 2], m![S], m![T, B]>;
type Y = DmTensor<i8, m![1], m![1 # 2], m![S], m![T, B # 64]>;
/// Packets of 48 bytes become two flits each, the second one half empty.
fn flits(ctx: &mut Context, x: &X) -> Y {
    (ctx.main.begin(x.view()).fetch::<i8, m![T], m![B]>())
        .collect::<m![T, B # 64 / 32], m![B # 64 % 32]>()
        .commit(AUTO)
}
# let _ = flits as fn(_, _) -> _;
```"
);
stream_collect!(SwitchTensor, "[`FetchTensor::collect`] has an example.");
