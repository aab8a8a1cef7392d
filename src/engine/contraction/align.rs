//! Aligner: brings data and weights to the same packets.
//!
//! ```text
//!   stream  Time × Packet ──stream adapter──▶ ┐
//!                                             ├─ Row × OutTime × OutPacket    64 bytes per row and step
//!   TRF     Row × Element ──TRF sequencer───▶ ┘
//! ```
//!
//! The *stream adapter* collects one or two flits into a packet of 64 bytes and repeats it over the innermost axes of
//! `OutTime` that only the weights have (tiling). The *TRF sequencer* reads `reg_read_size` contiguous bytes per step
//! and repeats them to 64 bytes (seed pages *Stream Adapter* and *TRF Sequencer*, spec page 40 §3).

use crate::chip::spec;
use crate::engine::collect::{factors_of, flit_elements, whole_bytes};
use crate::engine::register_file::check_rows;
use crate::error::{PlanError, attempt};
use crate::mapping::{
    DivisionMode, Expr, Factor, Factors, Pool, divide, modulo, product, resize, stride, strip, write_term,
};
use crate::scalar::ElementType;
use crate::sequencer::{Config, Entry, Request, Stream, derive, limited};
use crate::text::Text;

/// What an align is derived from.
#[derive(Clone, Copy, Debug)]
pub struct AlignRequest {
    /// The type of data and weights.
    pub element: ElementType,
    /// Time of the stream.
    pub time: &'static Expr,
    /// Packet of the stream: one flit.
    pub packet: &'static Expr,
    /// Rows of the TRF tensor.
    pub row: &'static Expr,
    /// Elements per row of the TRF tensor.
    pub trf_element: &'static Expr,
    /// Time of the computation.
    pub out_time: &'static Expr,
    /// Packet of the computation: 64 bytes.
    pub out_packet: &'static Expr,
}

/// The derived configuration of an align.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlignConfig {
    /// Flits per packet: 1, the upper half is zero, or 2.
    pub collect_flits: usize,
    /// How often each packet is used in a row.
    pub tile: usize,
    /// Rows that work.
    pub rows: usize,
    /// Steps of the computation.
    pub steps: usize,
    /// Bytes of one TRF read.
    pub reg_read_size: usize,
    /// The TRF sequencer as derived, outermost entry first. Strides in bytes; `packet_size` in elements.
    pub derived: Config,
    /// The TRF sequencer within the hardware's limits.
    pub config: Config,
}

const OPERATION: &str = "align";

struct Sides {
    time: Factors,
    packet: Factors,
    row: Factors,
    trf_element: Factors,
    out_time: Factors,
    out_packet: Factors,
}

/// Derives the stream adapter and the TRF sequencer.
pub const fn derive_align(request: &AlignRequest) -> Result<AlignConfig, PlanError> {
    let mut pool = Pool::new();
    let sides = Sides {
        time: attempt!(factors_of(OPERATION, &mut pool, request.time)),
        packet: attempt!(factors_of(OPERATION, &mut pool, request.packet)),
        row: attempt!(factors_of(OPERATION, &mut pool, request.row)),
        trf_element: attempt!(factors_of(OPERATION, &mut pool, request.trf_element)),
        out_time: attempt!(factors_of(OPERATION, &mut pool, request.out_time)),
        out_packet: attempt!(factors_of(OPERATION, &mut pool, request.out_packet)),
    };
    let rows = sides.row.size();
    attempt!(check_rows(OPERATION, request.row, rows));
    let (collect_flits, tile) = attempt!(stream_adapter(&mut pool, request, &sides));
    attempt!(rows_are_separate(&pool, request, &sides));
    let (reg_read_size, derived) = attempt!(trf_sequencer(&mut pool, request, &sides, collect_flits));
    let config = attempt!(limited("align, TRF sequencer", derived));
    let steps = sides.out_time.size();
    Ok(AlignConfig { collect_flits, tile, rows, steps, reg_read_size, derived, config })
}

/// The flits per packet and the repetitions of each packet.
const fn stream_adapter(
    pool: &mut Pool,
    request: &AlignRequest,
    sides: &Sides,
) -> Result<(usize, usize), PlanError> {
    let flit = flit_elements(request.element);
    let bytes =
        attempt!(whole_bytes(OPERATION, request.element, request.out_packet, sides.out_packet.size()));
    if bytes != spec::MAC_BYTES {
        let text = Text::new().str("align: OutPacket ").mapping(request.out_packet).str(" of ");
        let text =
            text.str(request.element.name()).str(" holds ").number(bytes).str(" bytes, but must hold ");
        let text = text
            .number(spec::MAC_BYTES)
            .str("; help: with one flit, pad the packet with `# ")
            .number(2 * flit);
        return Err(PlanError::new(
            "align packet bytes",
            text.str("`; with two, take the innermost factor of Time into it"),
        ));
    }
    let low = modulo(pool, &sides.out_packet, flit);
    if !low.is(&sides.packet) {
        let text = Text::new().str("align: the inner ").number(flit).str(" elements of OutPacket ");
        let text = text
            .mapping(request.out_packet)
            .str(" are ")
            .factors(pool, &low)
            .str(", but a flit of the stream is ");
        let text = text.mapping(request.packet);
        return Err(PlanError::new(
            "align flit",
            text.str("; help: put the collected factor outside the packet"),
        ));
    }
    let high = strip(&stride(pool, &sides.out_packet, flit));
    let collect_flits = if high.has_terms() { 2 } else { 1 };
    let (steps, out_steps) = (sides.time.size(), sides.out_time.size() * collect_flits);
    if out_steps.is_multiple_of(steps) {
        let tile = out_steps / steps;
        if sides.out_time.size().is_multiple_of(tile) {
            let outer = stride(pool, &sides.out_time, tile);
            let tiled = modulo(pool, &sides.out_time, tile);
            let used = product(pool, &outer, &high);
            if used.is(&sides.time) && !shares_a_digit(&tiled, &sides.time) {
                attempt!(tile_is_in_trf(pool, request, sides, &tiled));
                return Ok((collect_flits, tile));
            }
        }
    }
    Err(explain_time(pool, request, sides, &high))
}

/// Why `OutTime` with the collected factor is not `Time` with tiling innermost.
const fn explain_time(pool: &Pool, request: &AlignRequest, sides: &Sides, high: &Factors) -> PlanError {
    let full = product(pool, &sides.out_time, high);
    let found = match divide(pool, &full, &sides.time, DivisionMode::Relaxed) {
        Ok(division) => division,
        Err(_) => {
            return PlanError::new("align time", Text::new().str("align: Time and OutTime do not match"));
        }
    };
    let text = Text::new()
        .str("align: Time is ")
        .mapping(request.time)
        .str(" and OutTime ")
        .mapping(request.out_time);
    if let Some((term, size)) = first_term(&found.divisor_residue) {
        let text = write_term(text.str(", but `m!["), pool, &term, size)
            .str("]` of Time is neither in OutTime nor, ");
        let text = text
            .str("as the innermost factor of Time, the upper half of OutPacket ")
            .mapping(request.out_packet);
        let help = "; help: keep every stream axis here, and sum over it in `.accumulate()`";
        return PlanError::new("align time axis missing", text.str(help));
    }
    if let Some((term, size)) = first_term(&found.dividend_residue) {
        let text = write_term(text.str(", but `m!["), pool, &term, size)
            .str("]`, which the stream does not have, is not ");
        let text = text.str("innermost in OutTime: each packet is repeated before the next one comes");
        let help = "; help: move it innermost, or fetch with it in `Time` to send the packets again";
        return PlanError::new("align tiling position", text.str(help));
    }
    let text = text.str(", which have different order or padding: the stream cannot be reordered here");
    PlanError::new(
        "align order",
        text.str("; help: reorder in `.fetch()`; only the TRF side may be read in another order"),
    )
}

const fn first_term(factors: &Factors) -> Option<(crate::mapping::Term, usize)> {
    let mut k = factors.len();
    while k > 0 {
        k -= 1;
        if let Factor::Term { term, resize } = factors.as_slice()[k] {
            return Some((term, resize));
        }
    }
    None
}

/// Whether two mappings hold parts of one axis that overlap.
const fn shares_a_digit(a: &Factors, b: &Factors) -> bool {
    let mut i = 0;
    while i < a.len() {
        let mut j = 0;
        while j < b.len() {
            if let (Factor::Term { term: x, .. }, Factor::Term { term: y, .. }) = (a.item(i), b.item(j))
                && x.stride < y.stride * y.modulo
                && y.stride < x.stride * x.modulo
                && x.atom.is(&y.atom)
            {
                return true;
            }
            j += 1;
        }
        i += 1;
    }
    false
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
    let division = match divide(pool, &sides.trf_element, tiled, DivisionMode::Relaxed) {
        Ok(division) => division,
        Err(_) => return Ok(()),
    };
    if let Some((term, size)) = first_term(&division.divisor_residue) {
        let text = write_term(Text::new().str("align: OutTime repeats packets over `m!["), pool, &term, size);
        let text = text
            .str("]`, which is neither in the stream nor in the TRF Element ")
            .mapping(request.trf_element);
        let help = "; help: add it to the TRF tensor, or fetch the stream with it in `Time`";
        return Err(PlanError::new("align tiling not in TRF", text.str(help)));
    }
    Ok(())
}

const fn rows_are_separate(pool: &Pool, request: &AlignRequest, sides: &Sides) -> Result<(), PlanError> {
    let others = [&sides.time, &sides.packet, &sides.out_time, &sides.out_packet];
    let mut k = 0;
    while k < others.len() {
        if shares_a_digit(&sides.row, others[k]) {
            let text = Text::new().str("align: the Row axes ").mapping(request.row).str(" also occur in ");
            let text = text.factors(pool, others[k]).str(": each row gets the same data");
            let help =
                "; help: keep Row axes in the TRF tensor only, never in the stream, OutTime or OutPacket";
            return Err(PlanError::new("align row axis", text.str(help)));
        }
        k += 1;
    }
    Ok(())
}

/// The bytes of one TRF read, and the loops over the rest.
const fn trf_sequencer(
    pool: &mut Pool,
    request: &AlignRequest,
    sides: &Sides,
    collect_flits: usize,
) -> Result<(usize, Config), PlanError> {
    let bits = request.element.bits();
    let live = collect_flits * flit_elements(request.element);
    let mut read = 0;
    let mut k = 0;
    while k < spec::REGISTER_READ_SIZES.len() && read == 0 {
        let elements = spec::REGISTER_READ_SIZES[k] * 8 / bits;
        if elements <= live && sides.trf_element.size().is_multiple_of(elements) {
            let data = strip(&modulo(pool, &sides.out_packet, elements));
            let weights = modulo(pool, &sides.trf_element, elements);
            if resize(pool, &weights, data.size()).is(&data) {
                read = elements;
            }
        }
        k += 1;
    }
    if read == 0 {
        let text =
            Text::new().str("align: the TRF reads whole bytes, but Element ").mapping(request.trf_element);
        let text = text.str(" shares no ").number(8 / bits).str(" innermost elements with OutPacket ");
        let text = text.mapping(request.out_packet);
        return Err(PlanError::new(
            "TRF single element",
            text.str("; help: make the packet axis innermost in the TRF"),
        ));
    }
    // What is left of the packet must be repetition: nothing of it may select other weights.
    let (mut repeated, mut weights) = (Factors::one(), Factors::one());
    if read < live {
        let packet = modulo(pool, &sides.out_packet, live);
        repeated = stride(pool, &packet, read);
        weights = stride(pool, &sides.trf_element, read);
    }
    if shares_a_digit(&repeated, &weights) {
        let text = Text::new()
            .str("align: OutPacket ")
            .mapping(request.out_packet)
            .str(" needs several places of the TRF ");
        let text = text
            .str("Element ")
            .mapping(request.trf_element)
            .str(" in one step, but a read is contiguous and gets ");
        let text = text
            .number(read * bits / 8)
            .str(" bytes; help: make the packet axes innermost in the TRF, in the order ");
        return Err(PlanError::new(
            "TRF gather",
            text.str("of the packet, and pad them to whole packets of 64 bytes"),
        ));
    }
    let inner = modulo(pool, &sides.trf_element, read);
    let loops = Request {
        operation: "align, TRF sequencer",
        buf: &sides.trf_element,
        time: Stream::Expr(request.out_time),
        packet: Stream::Factors(&inner),
        partial: false,
        unread: false,
        names: ["OutTime", "OutPacket"],
    };
    let derived = attempt!(derive(pool, &loops));
    let mut config = Config::new(read);
    let mut k = 0;
    while k < derived.time_entries {
        let entry = derived.config.entries.at(k);
        let stride_bits = entry.stride * bits as isize;
        if stride_bits % 8 != 0 {
            let text =
                Text::new().str("align: the TRF sequencer would step by half a byte (").number(entry.size);
            let text = text
                .str(" : ")
                .signed(entry.stride)
                .str(" elements); help: pad the Element of the TRF tensor ");
            return Err(PlanError::new("whole bytes", text.str("so that its axes start at whole bytes")));
        }
        let bytes = stride_bits / 8;
        if read * bits / 8 == spec::MAC_BYTES && bytes % spec::MAC_BYTES as isize != 0 {
            let text =
                Text::new().str("align: a TRF read of ").number(spec::MAC_BYTES).str(" bytes steps by ");
            let text =
                text.signed(bytes).str(" bytes, but must step by multiples of ").number(spec::MAC_BYTES);
            return Err(PlanError::new(
                "TRF alignment",
                text.str("; help: pad Element so that each packet starts at 64 bytes"),
            ));
        }
        config.entries.push(Entry { size: entry.size, stride: bytes });
        k += 1;
    }
    Ok((read * bits / 8, config))
}
