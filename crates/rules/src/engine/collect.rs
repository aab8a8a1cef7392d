//! Collect Engine: cuts packets into 32-byte flits.

use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Factors, Pool, UNKNOWN, modulo, normal, pad_to, product, stride};
use crate::scalar::ElementType;
use crate::spec;

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
pub const fn whole_bytes(
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
        (operation, count(elements, "element"), mapping, element.name(), element.bits()),
    )
}

/// Checks the mappings of a collect.
pub const fn derive_collect(request: &CollectRequest) -> Result<CollectConfig, PlanError> {
    collect(request, [UNKNOWN; 4])
}

/// As [`derive_collect`], with the normal forms of the mappings, in the order of the request.
pub const fn collect(request: &CollectRequest, forms: [&Factors; 4]) -> Result<CollectConfig, PlanError> {
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
            (request.out_packet, request.element.name(), out_bytes, spec::FLIT_BYTES, flit, flit, flit),
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
            (request.out_packet, request.packet, factors(&pool, &inner)),
        );
    }
    let outer = stride(&mut pool, &padded, flit);
    let expected = product(&pool, &time, &outer);
    if !expected.is(&out_time) {
        refuse!(
            "flit order",
            "collect: the output time is {}, but {} followed by the flit index is {}; \
             help: append the flit index innermost, and nothing else",
            (request.out_time, request.time, factors(&pool, &expected)),
        );
    }
    Ok(CollectConfig { flits })
}
