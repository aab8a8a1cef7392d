//! Stream adapter: the data side of the aligner.
//!
//! ```text
//!   flits of the stream          packets of 64 bytes          to every row, `tile` times in a row
//!   f0 f1 f2 f3 …      ──▶       [f0 f1] [f2 f3] …            collect_flits = 2
//!                      ──▶       [f0 00] [f1 00] …            collect_flits = 1: the upper half is zero
//! ```
//!
//! The order of the stream is fixed. Axes of `OutTime` that the stream lacks are innermost there: each packet is
//! repeated over them (tiling). See `guide::contraction`.
//!
//! Left out, because no call has a parameter for it: three flits per packet, shifts and transposes inside
//! a flit.

use super::align::{AlignRequest, OPERATION, Sides, shares_a_digit};
use crate::engine::collect::{flit_elements, whole_bytes};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Factor, Factors, Pool, Term, UNKNOWN, divide, modulo, product, stride, strip};
use crate::spec;

/// The derived configuration of a stream adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamAdapterConfig {
    /// Flits of 32 bytes per packet of 64: 1 or 2.
    pub collect_flits: usize,
    /// Bytes of zeros that complete each packet: 32 with one flit, 0 with two.
    pub zero_bytes: usize,
    /// Number of packets that are made from the stream: its time steps divided by `collect_flits`.
    pub packets: usize,
    /// Number of times in a row that each packet is sent.
    pub tile: usize,
    /// Number of rows that every packet is sent to: 1, 2, 4 or 8.
    pub rows: usize,
}

/// Derives the stream adapter alone: the data side of [`derive_align`](super::derive_align()).
pub const fn derive_stream_adapter(request: &AlignRequest) -> Result<StreamAdapterConfig, PlanError> {
    let mut pool = Pool::new();
    let sides = attempt!(Sides::new(&mut pool, request, [UNKNOWN; 6]));
    attempt!(crate::engine::register_file::check_rows(OPERATION, request.row, sides.row.size()));
    stream_adapter(&mut pool, request, &sides)
}

/// The flits per packet and the repetitions of each packet.
pub const fn stream_adapter(
    pool: &mut Pool,
    request: &AlignRequest,
    sides: &Sides,
) -> Result<StreamAdapterConfig, PlanError> {
    let flit = flit_elements(request.element);
    let bytes =
        attempt!(whole_bytes(OPERATION, request.element, request.out_packet, sides.out_packet.size()));
    if bytes != spec::MAC_BYTES {
        let packet = 2 * flit;
        let help = if bytes < spec::MAC_BYTES {
            text!(
                "with one flit, pad the packet with `# {}`; with two, take the innermost factor of Time into it",
                packet
            )
        } else if sides.out_packet.size().is_multiple_of(packet) {
            let (outer, inner) =
                (stride(pool, &sides.out_packet, packet), modulo(pool, &sides.out_packet, packet));
            text!(
                "take {} as OutPacket, and {} innermost into OutTime",
                (factors(pool, &inner), factors(pool, &outer))
            )
        } else {
            text!("pad it to a multiple of {}, and leave all but `% {}` to OutTime", (packet, packet))
        };
        refuse!(
            "align packet bytes",
            "align: OutPacket {} of {} holds {} bytes, but must hold {}; help: {}",
            (request.out_packet, request.element.name(), bytes, spec::MAC_BYTES, &help),
        );
    }
    let low = modulo(pool, &sides.out_packet, flit);
    if !low.is(&sides.packet) {
        refuse!(
            "align flit",
            "align: the inner {} elements of OutPacket {} are {}, but a flit of the stream is {}; \
             help: put the collected factor outside the packet",
            (flit, request.out_packet, factors(pool, &low), request.packet),
        );
    }
    let high = strip(&stride(pool, &sides.out_packet, flit));
    let collect_flits = collected_flits(pool, &sides.out_packet, flit);
    let (steps, out_steps) = (sides.time.size(), sides.out_time.size() * collect_flits);
    let tile = out_steps / steps;
    let divides = out_steps.is_multiple_of(steps) && sides.out_time.size().is_multiple_of(tile);
    let mut is_innermost = false;
    if divides {
        let outer = stride(pool, &sides.out_time, tile);
        let tiled = modulo(pool, &sides.out_time, tile);
        is_innermost = !shares_a_digit(&tiled, &sides.time);
        if is_innermost && product(pool, &outer, &high).is(&sides.time) {
            attempt!(tile_is_in_trf(pool, request, sides, &tiled));
            let zero_bytes = spec::MAC_BYTES - collect_flits * spec::FLIT_BYTES;
            let (packets, rows) = (steps / collect_flits, sides.row.size());
            return Ok(StreamAdapterConfig { collect_flits, zero_bytes, packets, tile, rows });
        }
    }
    explain_time(pool, request, sides, &high, is_innermost)
}

/// Flits in a packet of 64 bytes: one if its upper half is padding.
pub const fn collected_flits(pool: &mut Pool, out_packet: &Factors, flit: usize) -> usize {
    if stride(pool, out_packet, flit).has_terms() { 2 } else { 1 }
}

/// The reason why `OutTime` with the collected factor is not `Time` with tiling innermost. `is_innermost` is true if
/// the axes that only `OutTime` has are its innermost part.
const fn explain_time(
    pool: &mut Pool,
    request: &AlignRequest,
    sides: &Sides,
    high: &Factors,
    is_innermost: bool,
) -> Result<StreamAdapterConfig, PlanError> {
    let full = product(pool, &sides.out_time, high);
    let found = divide(pool, &full, &sides.time);
    let sides = text!("align: Time is {} and OutTime {}", (request.time, request.out_time));
    if let Some((term, size)) = first_term(&found.divisor_residue) {
        refuse!(
            "align time axis missing",
            "{}, but {} of Time is neither in OutTime nor, as the innermost factor of Time, the upper half of OutPacket {}; \
             help: keep every stream axis here, and sum over it in `.accumulate()`",
            (&sides, term(pool, &term, size), request.out_packet),
        );
    }
    if let Some((term, size)) = first_term(&found.dividend_residue)
        && !is_innermost
    {
        refuse!(
            "align tiling position",
            "{}, but {}, which the stream does not have, is not innermost in OutTime: each packet is repeated before the \
             next one comes; help: move it innermost, or fetch with it in `Time` to send the packets again",
            (&sides, term(pool, &term, size)),
        );
    }
    let differ = if high.has_terms() {
        text!(
            "which with the upper half of OutPacket {} innermost is {}: these differ in order or padding",
            (request.out_packet, factors(pool, &full)),
        )
    } else {
        text!("which differ in order or padding")
    };
    refuse!(
        "align order",
        "{}, {}, and the stream cannot be reordered here; help: reorder in `.fetch()`, or swap the roles of stream and TRF: \
         only the TRF side may be read in another order",
        (&sides, &differ),
    )
}

const fn first_term(factors: &Factors) -> Option<(Term, usize)> {
    each_back!(k < factors.len(), {
        if let Factor::Term { term, resize } = factors.items[k] {
            return Some((term, resize));
        }
    });
    None
}

const fn tile_is_in_trf(
    pool: &Pool,
    request: &AlignRequest,
    sides: &Sides,
    tiled: &Factors,
) -> Result<(), PlanError> {
    if !tiled.has_terms() {
        return Ok(());
    }
    let division = divide(pool, &sides.trf_element, tiled);
    if let Some((term, size)) = first_term(&division.divisor_residue) {
        refuse!(
            "align tiling not in TRF",
            "align: OutTime repeats packets over {}, which is neither in the stream nor in the TRF Element {}; \
             help: add it to the TRF tensor, or fetch the stream with it in `Time`",
            (term(pool, &term, size), request.trf_element),
        );
    }
    Ok(())
}
