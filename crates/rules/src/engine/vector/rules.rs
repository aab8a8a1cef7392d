//! The packets that the engine takes, and their cuts and joins.

use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Pool, factors_of, modulo, pad_to, product, stride, strip};
use crate::spec::{BEAT_LANES, VECTOR_NARROW_LANES};

/// The input of the checks of a change of packets.
#[derive(Clone, Copy, Debug)]
pub struct VectorPacketRequest {
    /// Time before the change.
    pub time: &'static Expr,
    /// Packet before the change.
    pub packet: &'static Expr,
    /// Time after the change.
    pub out_time: &'static Expr,
    /// Packet after the change.
    pub out_packet: &'static Expr,
}

/// Refuses packets that are no flit.
pub const fn derive_way8(operation: &'static str, packet: &'static Expr) -> Result<(), PlanError> {
    let mut pool = Pool::new();
    let size = attempt!(factors_of(operation, &mut pool, packet)).size();
    if size == BEAT_LANES {
        return Ok(());
    }
    refuse!(
        "vector packet",
        "{}: the packet {} has {}, but the Vector Engine takes flits of {}; help: collect into flits, padded with `# {}`",
        (operation, packet, count(size, "element"), BEAT_LANES, BEAT_LANES),
    )
}

/// Refuses packets whose sizes are not those before and after a change.
pub const fn check_sizes(
    operation: &'static str,
    request: &VectorPacketRequest,
    (packet, out_packet): (usize, usize),
    (lanes, out_lanes): (usize, usize),
) -> Result<(), PlanError> {
    if packet != lanes {
        refuse!(
            "vector packet",
            "{}: the packet {} has {}, but must have {}; help: collect into flits, padded with `#`",
            (operation, request.packet, count(packet, "element"), lanes),
        );
    }
    if out_packet != out_lanes {
        refuse!(
            "vector output packet",
            "{}: the output packet {} has {}, but must have {}; help: count padding: `# {}`",
            (operation, request.out_packet, count(out_packet, "element"), out_lanes, out_lanes),
        );
    }
    Ok(())
}

/// Checks a split: the upper half of each packet becomes a time step of its own, innermost in time.
pub const fn derive_split(request: &VectorPacketRequest) -> Result<(), PlanError> {
    const OPERATION: &str = "vector_split";
    let mut pool = Pool::new();
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_time = attempt!(factors_of(OPERATION, &mut pool, request.out_time));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    let sizes = (packet.size(), out_packet.size());
    attempt!(check_sizes(OPERATION, request, sizes, (BEAT_LANES, VECTOR_NARROW_LANES)));
    let outer = stride(&mut pool, &packet, VECTOR_NARROW_LANES);
    let inner = modulo(&mut pool, &packet, VECTOR_NARROW_LANES);
    let expected = product(&pool, &time, &outer);
    if !expected.is(&out_time) {
        refuse!(
            "split time",
            "vector_split: the output time is {}, but {} followed by the half of the packet is {}; \
             help: append the half innermost, and nothing else",
            (request.out_time, request.time, factors(&pool, &expected)),
        );
    }
    if !inner.is(&out_packet) {
        refuse!(
            "split packet",
            "vector_split: the output packet is {}, but half of the packet {} is {}; help: use that mapping",
            (request.out_packet, request.packet, factors(&pool, &inner)),
        );
    }
    Ok(())
}

/// Checks a concatenation: the two halves of a flit, innermost in time, become one packet.
pub const fn derive_concat(request: &VectorPacketRequest) -> Result<(), PlanError> {
    const OPERATION: &str = "vector_concat";
    let mut pool = Pool::new();
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_time = attempt!(factors_of(OPERATION, &mut pool, request.out_time));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    let sizes = (packet.size(), out_packet.size());
    attempt!(check_sizes(OPERATION, request, sizes, (VECTOR_NARROW_LANES, BEAT_LANES)));
    if !time.size().is_multiple_of(2) {
        refuse!(
            "concat pairs",
            "vector_concat: {} of time {} are not pairs; help: where the upper four lanes hold nothing, use \
             `vector_pad_way8`",
            (count(time.size(), "step"), request.time),
        );
    }
    let rest = stride(&mut pool, &time, 2);
    let half = modulo(&mut pool, &time, 2);
    if !rest.is(&out_time) {
        refuse!(
            "concat time",
            "vector_concat: the output time is {}, but {} without its innermost two steps is {}; help: use that mapping",
            (request.out_time, request.time, factors(&pool, &rest)),
        );
    }
    let expected = product(&pool, &half, &packet);
    if !expected.is(&out_packet) {
        refuse!(
            "concat packet",
            "vector_concat: the output packet is {}, but the innermost two steps of time {} and the packet {} are {}; \
             help: use that mapping",
            (request.out_packet, request.time, request.packet, factors(&pool, &expected)),
        );
    }
    Ok(())
}

/// Checks a trim: the upper half of each packet is padding and goes.
pub const fn derive_trim(request: &VectorPacketRequest) -> Result<(), PlanError> {
    const OPERATION: &str = "vector_trim_way4";
    let mut pool = Pool::new();
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    let sizes = (packet.size(), out_packet.size());
    attempt!(check_sizes(OPERATION, request, sizes, (BEAT_LANES, VECTOR_NARROW_LANES)));
    let outer = stride(&mut pool, &packet, VECTOR_NARROW_LANES);
    let inner = modulo(&mut pool, &packet, VECTOR_NARROW_LANES);
    if outer.has_terms() {
        refuse!(
            "trim lanes",
            "vector_trim_way4: the back four lanes of the packet {} hold {}, but must be padding; \
             help: use `vector_split`, which keeps them",
            (request.packet, factors(&pool, &outer)),
        );
    }
    if !inner.is(&out_packet) {
        refuse!(
            "trim packet",
            "vector_trim_way4: the output packet is {}, but the front four lanes of {} are {}; help: use that mapping",
            (request.out_packet, request.packet, factors(&pool, &inner)),
        );
    }
    Ok(())
}

/// Checks a padding: each packet gets four lanes without an element.
pub const fn derive_pad(request: &VectorPacketRequest) -> Result<(), PlanError> {
    const OPERATION: &str = "vector_pad_way8";
    let mut pool = Pool::new();
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    let sizes = (packet.size(), out_packet.size());
    attempt!(check_sizes(OPERATION, request, sizes, (VECTOR_NARROW_LANES, BEAT_LANES)));
    let expected = pad_to(&strip(&packet), BEAT_LANES);
    if !expected.is(&out_packet) {
        refuse!(
            "pad packet",
            "vector_pad_way8: the output packet is {}, but {} padded to {} is {}; help: use that mapping",
            (request.out_packet, request.packet, BEAT_LANES, factors(&pool, &expected)),
        );
    }
    Ok(())
}
