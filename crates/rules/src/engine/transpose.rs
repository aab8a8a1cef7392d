//! Transpose Engine: exchanges time steps with the elements of the packets.

use crate::command::Transpose;
use crate::engine::collect::whole_bytes;
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Factors, Pool, divide, factors_of, modulo, pad_to, product, stride, strip};
use crate::scalar::ElementType;
use crate::spec;
use crate::text::Text;

/// The input of [`derive_transpose`].
#[derive(Clone, Copy, Debug)]
pub struct TransposeRequest {
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

/// The call, for messages.
pub const OPERATION: &str = "transpose";

/// Checks the mappings of a transpose and derives its matrices.
pub const fn derive_transpose(request: &TransposeRequest) -> Result<Transpose, PlanError> {
    let mut pool = Pool::new();
    let time = attempt!(factors_of(OPERATION, &mut pool, request.time));
    let packet = attempt!(factors_of(OPERATION, &mut pool, request.packet));
    let out_time = attempt!(factors_of(OPERATION, &mut pool, request.out_time));
    let out_packet = attempt!(factors_of(OPERATION, &mut pool, request.out_packet));
    attempt!(check_flit(request, "input", request.packet, packet.size()));
    attempt!(check_flit(request, "output", request.out_packet, out_packet.size()));
    let rows = strip(&out_packet);
    attempt!(check_rows(&pool, request, &rows));
    let Some(packets) = inside(&mut pool, &time, &rows) else {
        refuse!(
            "transpose rows",
            "transpose: the rows {} of OutPacket {} must be in Time {}, side by side and in this order; \
             help: take time steps that follow each other to the packet, and order others in `.fetch()`",
            (factors(&pool, &rows), request.out_packet, request.time),
        )
    };
    let in_cols = attempt!(check_columns(&pool, request, &rows, packets));
    let ppc = modulo(&mut pool, &time, packets);
    let outer = stride(&mut pool, &time, packets * rows.size());
    let out_rows = attempt!(check_out(&mut pool, request, &packet, &out_time, [&outer, &ppc]));
    Ok(Transpose {
        element: request.element,
        in_rows: rows.size(),
        in_cols,
        out_rows,
        iterations: out_time.size() / out_rows,
    })
}

/// Checks that a packet is one flit.
pub const fn check_flit(
    request: &TransposeRequest,
    side: &'static str,
    packet: &'static Expr,
    size: usize,
) -> Result<(), PlanError> {
    let bytes = attempt!(whole_bytes(OPERATION, request.element, packet, size));
    if bytes == spec::FLIT_BYTES {
        return Ok(());
    }
    refuse!(
        "transpose flit",
        "transpose: the {} packet {} of {} holds {}, but must be one flit of {} bytes; help: pad it to {}",
        side,
        packet,
        request.element.name(),
        count(bytes, "byte"),
        spec::FLIT_BYTES,
        count(8 * spec::FLIT_BYTES / request.element.bits(), "element"),
    )
}

/// Checks that the rows fit into the lanes of the engine.
pub const fn check_rows(pool: &Pool, request: &TransposeRequest, rows: &Factors) -> Result<(), PlanError> {
    let bytes = attempt!(whole_bytes(OPERATION, request.element, request.out_packet, rows.size()));
    if bytes <= spec::TRANSPOSE_ROW_BYTES {
        return Ok(());
    }
    refuse!(
        "transpose row bytes",
        "transpose: the rows {} of OutPacket {} are {} {}, {} bytes, but in_rows must be at most {} bytes; \
         help: take at most {} of time to the packet, and leave the rest in OutTime",
        factors(pool, rows),
        request.out_packet,
        rows.size(),
        request.element.name(),
        bytes,
        spec::TRANSPOSE_ROW_BYTES,
        count(8 * spec::TRANSPOSE_ROW_BYTES / request.element.bits(), "step"),
    )
}

/// Number of columns that the packets of a row make, if the engine has as many.
const fn check_columns(
    pool: &Pool,
    request: &TransposeRequest,
    rows: &Factors,
    packets: usize,
) -> Result<usize, PlanError> {
    let per_packet = Transpose::packet_elements(request.element);
    each!(k < spec::TRANSPOSE_COLUMNS.len(), {
        let columns = spec::TRANSPOSE_COLUMNS[k];
        if columns.is_multiple_of(per_packet) && columns / per_packet == packets {
            return Ok(columns);
        }
    });
    let bits = request.element.bits();
    let (columns, steps) = if bits == 4 { ("16 or 32", "1 or 2") } else { ("8, 16 or 32", "1, 2 or 4") };
    refuse!(
        "transpose columns",
        "transpose: Time {} has {} inside of the rows {}, so that in_cols is {}, {} of each packet, but for {} bits \
         in_cols must be {}; help: leave {} time steps inside of the rows",
        request.time,
        count(packets, "step"),
        factors(pool, rows),
        packets.saturating_mul(per_packet),
        per_packet,
        bits,
        columns,
        steps,
    )
}

/// Checks the outgoing time: `[outer, ppc, elems]`, where `elems` is the packet, with more or less padding. Returns the
/// number of packets that leave per matrix.
const fn check_out(
    pool: &mut Pool,
    request: &TransposeRequest,
    packet: &Factors,
    out_time: &Factors,
    [outer, ppc]: [&Factors; 2],
) -> Result<usize, PlanError> {
    let (packets, per_packet) = (ppc.size(), Transpose::packet_elements(request.element));
    let live = strip(packet);
    // The number of positions inside `ppc` if time outside it does not change.
    let expected = match out_time.size().checked_div(outer.size() * packets) {
        Some(elems) if elems * outer.size() * packets == out_time.size() => Some(elems),
        _ => None,
    };
    let elems = match expected {
        Some(elems) if packets == 1 || is_part(pool, out_time, ppc, elems) => elems,
        Some(elems) if is_whole(pool, out_time, [outer, ppc], &live, elems) => elems,
        _ if packets > 1 => match inside(pool, out_time, ppc) {
            Some(elems) => elems,
            None => refuse!(
                "transpose packets",
                "transpose: Time {} has the packets_per_col {} inside of the rows, but OutTime {} does not have them \
                 side by side; help: use OutTime {} with the elements of the packet, {}, innermost",
                request.time,
                factors(pool, ppc),
                request.out_time,
                factors(pool, &product(pool, outer, ppc)),
                factors(pool, &live),
            ),
        },
        _ => return Err(changed_outer(pool, request, outer, None)),
    };
    let too_many = live.size() > per_packet;
    if elems > per_packet {
        let help = if too_many {
            fewer_elements(per_packet)
        } else {
            text!("keep at most {} elements of the packet {}", (per_packet, request.packet))
        };
        refuse!(
            "transpose out rows",
            "transpose: OutTime {} has out_rows {}, {} of each packet, but out_rows must not exceed in_cols {}, {} of \
             each packet; help: {}",
            (request.out_time, elems.saturating_mul(packets), elems, packets * per_packet, per_packet, &help),
        )
    }
    if is_whole(pool, out_time, [outer, ppc], &live, elems) {
        return Ok(elems * packets);
    }
    let found = modulo(pool, out_time, elems);
    if !strip(&found).is(&live) {
        let help = if too_many {
            fewer_elements(per_packet)
        } else {
            text!("keep these innermost, in their order: out_rows leaves out padding only")
        };
        refuse!(
            "transpose elements",
            "transpose: the innermost {} of OutTime {} are {}, but the elements of the packet {} without padding are {}; \
             help: {}",
            count(elems, "step"),
            request.out_time,
            factors(pool, &found),
            request.packet,
            factors(pool, &live),
            &help,
        )
    }
    let found = stride(pool, out_time, elems * packets);
    if found.is(outer) {
        return Ok(elems * packets);
    }
    Err(changed_outer(pool, request, outer, Some(&found)))
}

/// The edit for packets with more elements than the engine takes.
const fn fewer_elements(per_packet: usize) -> Text {
    text!("fetch packets of at most {} elements: the engine takes no more of each", per_packet)
}

/// The refusal of time that changes outside the rows. `found` is the outer part of OutTime, if it is known.
const fn changed_outer(
    pool: &Pool,
    request: &TransposeRequest,
    outer: &Factors,
    found: Option<&Factors>,
) -> PlanError {
    let found = match found {
        Some(found) => text!("has {}", factors(pool, found)),
        None => text!("has {}, no multiple of its {} steps,", (request.out_time.size(), outer.size())),
    };
    let text = text!(
        "transpose: Time {} has {} outside of the rows, which must stay as it is with its padding, but OutTime {} {} in its \
         place; help: keep it outermost",
        (request.time, factors(pool, outer), request.out_time, &found),
    );
    PlanError::new("transpose time", text)
}

/// Number of positions inside a part of a mapping. `None` if the part is not contiguous. A part of one position is
/// innermost.
pub const fn inside(pool: &mut Pool, whole: &Factors, part: &Factors) -> Option<usize> {
    if part.size() == 1 {
        return Some(1);
    }
    let division = divide(pool, whole, part);
    if !division.is_exact() || division.terms.is_empty() {
        return None;
    }
    let innermost = division.terms.at(division.terms.len() - 1);
    let inside = innermost.dividend_stride / innermost.divisor_stride;
    if is_part(pool, whole, part, inside) { Some(inside) } else { None }
}

/// True if a mapping has this part, with `inside` positions inside it.
const fn is_part(pool: &mut Pool, whole: &Factors, part: &Factors, inside: usize) -> bool {
    let size = part.size();
    match inside.checked_mul(size) {
        Some(block) if block > 0 && whole.size().is_multiple_of(block) => {
            let outside = stride(pool, whole, inside);
            modulo(pool, &outside, size).is(part)
        }
        _ => false,
    }
}

/// True if time is `[outer, ppc, live # elems]`. The parts may be halves of one composite, which time has only as a
/// whole.
pub const fn is_whole(
    pool: &Pool,
    out_time: &Factors,
    [outer, ppc]: [&Factors; 2],
    live: &Factors,
    elems: usize,
) -> bool {
    live.size() <= elems && {
        let inner = product(pool, ppc, &pad_to(live, elems));
        product(pool, outer, &inner).is(out_time)
    }
}
