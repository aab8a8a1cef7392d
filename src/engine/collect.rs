//! Collect Engine: cuts packets into 32-byte flits.
//!
//! ```text
//!   Packet   48 bytes            ──▶   flit 0   flit 1 (half of it padding)
//!   Time2 = [Time, flit index]         Packet2 = one flit
//! ```
//!
//! No element moves and no type changes (spec page 40 §1).

use crate::engine::stream::{CollectTensor, FetchTensor, StreamTensor};
use crate::error::{PlanError, attempt};
use crate::mapping::M;
use crate::mapping::{Expr, Pool, factors_of, modulo, pad_to, product, stride};
use crate::runtime::Tu;
use crate::scalar::{ElementType, StreamScalar};
use crate::spec;
use crate::text::Text;
use core::marker::PhantomData;

/// What a collect is derived from.
#[derive(Clone, Copy, Debug)]
pub struct CollectRequest {
    /// The type in the stream.
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

/// Elements of a type in a flit.
pub const fn flit_elements(element: ElementType) -> usize {
    8 * spec::FLIT_BYTES / element.bits()
}

/// The bytes of `elements` positions of a mapping, or a refusal where they are not whole.
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
    let text = Text::new().str(operation).str(": ").count(elements, "element").str(" of ").mapping(mapping);
    let text = text.str(" at a time, each ").str(element.name()).str(" of ").number(element.bits());
    let text = text.str(" bits, are not whole bytes");
    Err(PlanError::new("whole bytes", text.str("; help: make their number even")))
}

/// Checks the mappings of a collect.
pub const fn derive_collect(request: &CollectRequest) -> Result<CollectConfig, PlanError> {
    const OPERATION: &str = "collect";
    let mut pool = Pool::new();
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_time = attempt!(factors_of(OPERATION, &mut pool, request.out_time));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    let flit = flit_elements(request.element);
    let out_bytes = attempt!(whole_bytes(OPERATION, request.element, request.out_packet, out_packet.size()));
    if out_bytes != spec::FLIT_BYTES {
        let text = Text::new().str("collect: the output packet ").mapping(request.out_packet).str(" of ");
        let text = text
            .str(request.element.name())
            .str(" holds ")
            .number(out_bytes)
            .str(" bytes, but a flit holds ");
        let text = text.number(spec::FLIT_BYTES).str("; help: pad a short packet with `# ").number(flit);
        let text = text.str("`, split a long one into `/ ").number(flit).str("` innermost in `Time` and `% ");
        return Err(PlanError::new("flit bytes", text.number(flit).str("` as the packet")));
    }
    let bytes = attempt!(whole_bytes(OPERATION, request.element, request.packet, packet.size()));
    let flits = bytes.div_ceil(spec::FLIT_BYTES);
    let padded = pad_to(&packet, flits * flit);
    let inner = modulo(&mut pool, &padded, flit);
    if !inner.is(&pool, &out_packet) {
        let text = Text::new().str("collect: the output packet is ").mapping(request.out_packet);
        let text = text
            .str(", but a flit of the packet ")
            .mapping(request.packet)
            .str(" is ")
            .factors(&pool, &inner);
        return Err(PlanError::new("flit mapping", text.str("; help: use that mapping")));
    }
    let outer = stride(&mut pool, &padded, flit);
    let expected = product(&pool, &time, &outer);
    if !expected.is(&pool, &out_time) {
        let text = Text::new().str("collect: the output time is ").mapping(request.out_time).str(", but ");
        let text =
            text.mapping(request.time).str(" followed by the flit index is ").factors(&pool, &expected);
        return Err(PlanError::new(
            "flit order",
            text.str("; help: append the flit index innermost, and nothing else"),
        ));
    }
    Ok(CollectConfig { flits })
}

/// The plan of a collect, as types.
pub struct CollectPlan<D, Time, Packet, Time2, Packet2>(PhantomData<(D, Time, Packet, Time2, Packet2)>);

impl<D: StreamScalar, Time: M, Packet: M, Time2: M, Packet2: M> CollectPlan<D, Time, Packet, Time2, Packet2> {
    /// The derived configuration. Using it refuses what is no sequence of flits.
    pub const CONFIG: CollectConfig = match derive_collect(&CollectRequest {
        element: D::ELEMENT_TYPE,
        time: Time::EXPR,
        packet: Packet::EXPR,
        out_time: Time2::EXPR,
        out_packet: Packet2::EXPR,
    }) {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

impl<'l, const T: Tu, D: StreamScalar, Chip: M, Cluster: M, Slice: M, Time: M, Packet: M>
    FetchTensor<'l, T, D, Chip, Cluster, Slice, Time, Packet>
{
    /// Cuts packets into flits of 32 bytes, the last one of each packet padded.
    ///
    /// `Packet2` is one flit, `Time2` is `Time` with the index of the flit appended innermost.
    ///
    /// Refused while compiling: anything else.
    pub fn collect<Time2: M, Packet2: M>(
        self,
    ) -> CollectTensor<'l, T, D, Chip, Cluster, Slice, Time2, Packet2> {
        let plan = const { &CollectPlan::<D, Time, Packet, Time2, Packet2>::CONFIG };
        let mut pass = self.pass;
        pass.collect = Some(crate::command::Collect { flits: plan.flits });
        StreamTensor::new(self.context, pass)
    }
}
