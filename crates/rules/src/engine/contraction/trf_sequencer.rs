//! TRF sequencer: the weight side of the aligner.
//!
//! ```text
//!   ┌────────────────── 64 bytes per row and step ──────────────────┐
//!   │ read │ the same read again, `fill` times in all               │
//!   └──────┴────────────────────────────────────────────────────────┘
//!     └─ reg_read_size bytes, contiguous in the TRF; the sequencer moves its start over the steps
//! ```
//!
//! `reg_read_size` is the longest power of two for which the innermost positions of `Element` and `OutPacket` agree.
//! Loops over `OutTime`, in any order, read the rest of `Element`. Axes of `OutTime` that the TRF lacks read the same
//! place again (stride 0): see `guide::contraction`.

use super::align::{AlignRequest, Sides, shares_a_digit};
use super::stream_adapter::collected_flits;
use crate::engine::collect::flit_elements;
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Factor, Factors, Pool, UNKNOWN, modulo, product, resize, stride, strip};
use crate::sequencer::{Config, Entry, Request, StreamPart, derive, limited};
use crate::spec;

/// The derived configuration of a TRF sequencer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrfSequencerConfig {
    /// Contiguous bytes of one read: 1, 2, 4, 8, 16, 32 or 64.
    pub reg_read_size: usize,
    /// Number of repetitions of the read in the 64 bytes of a packet: `64 / reg_read_size`.
    pub fill: usize,
    /// The loops over `OutTime` as derived, outermost first. Strides in bytes; `packet_size` in elements.
    pub derived: Config,
    /// The loops within the limits of the sequencer: merged only if there are more than 8.
    pub config: Config,
}

impl TrfSequencerConfig {
    /// Name of the loops in a printed configuration.
    pub const NAME: &'static str = "align, TRF sequencer";
}

/// Derives the TRF sequencer alone: the weight side of [`derive_align`](super::derive_align()). Mappings of the stream
/// are ignored.
pub const fn derive_trf_sequencer(request: &AlignRequest) -> Result<TrfSequencerConfig, PlanError> {
    let mut pool = Pool::new();
    let sides = attempt!(Sides::new(&mut pool, request, [UNKNOWN; 6]));
    let flit = flit_elements(request.element);
    if sides.out_packet.size() != 2 * flit {
        refuse!(
            "align packet bytes",
            "align: OutPacket {} has {} elements, but 64 bytes of {} are {}; help: pad or split it",
            (request.out_packet, sides.out_packet.size(), request.element.name(), 2 * flit),
        );
    }
    let collect_flits = collected_flits(&mut pool, &sides.out_packet, flit);
    trf_sequencer(&mut pool, request, &sides, collect_flits)
}

/// The innermost `elements` positions of `trf_element`, if reading them gives the data of the packet.
///
/// If they are followed by padding that it does not divide (`m![G, K # 48]` with `K = 32`), the first positions
/// count, and they are no digit.
pub const fn read_block(
    pool: &mut Pool,
    trf_element: &Factors,
    out_packet: &Factors,
    elements: usize,
) -> Option<Factors> {
    if !trf_element.size().is_multiple_of(elements) {
        return None;
    }
    let data = modulo(pool, out_packet, elements);
    let digit = modulo(pool, trf_element, elements);
    if agrees(pool, &data, &digit) {
        return Some(digit);
    }
    let first = resize(pool, trf_element, elements);
    if agrees(pool, &data, &first) { Some(first) } else { None }
}

/// True if a read of these weights fits the data of the packet: at every position that holds data, both sides have the
/// same index, and no axis of the weights is read that the data lacks.
///
/// Weights at padding of the data are arbitrary: nothing is multiplied there.
const fn agrees(pool: &mut Pool, data: &Factors, weights: &Factors) -> bool {
    each!(k < weights.len(), {
        if let Factor::Term { term, .. } = weights.item(k) {
            let mut found = false;
            each!(j < data.len(), {
                if let Factor::Term { term: other, .. } = data.item(j)
                    && term.stride == other.stride
                    && term.atom.is(&other.atom)
                {
                    found = true;
                }
            });
            if !found {
                return false;
            }
        }
    });
    let (mut data, mut weights) = (strip(data), *weights);
    loop {
        if resize(pool, &weights, data.size()).is(&data) {
            return true;
        }
        // Padding between the digits of the packet: compare the part inside it, then the part outside.
        let mut inside = 1;
        let mut k = 0;
        while k < data.len() {
            match data.item(k) {
                Factor::Padding { .. } => break,
                Factor::Term { resize, .. } => inside *= *resize,
            }
            k += 1;
        }
        if k == data.len() {
            return false;
        }
        let Factor::Padding { size, .. } = *data.item(k) else { return false };
        if !data.size().is_multiple_of(size) || !weights.size().is_multiple_of(size) {
            return false;
        }
        let (data_inner, weight_inner) = (modulo(pool, &data, size), modulo(pool, &weights, size));
        let (data_outer, weight_outer) = (stride(pool, &data, size), stride(pool, &weights, size));
        if !product(pool, &weight_outer, &weight_inner).is(&weights)
            || !resize(pool, &weight_inner, inside).is(&strip(&data_inner))
        {
            return false;
        }
        (data, weights) = (data_outer, weight_outer);
    }
}

/// The bytes of one TRF read, and the loops over the rest.
pub const fn trf_sequencer(
    pool: &mut Pool,
    request: &AlignRequest,
    sides: &Sides,
    collect_flits: usize,
) -> Result<TrfSequencerConfig, PlanError> {
    let bits = request.element.bits();
    let live = collect_flits * flit_elements(request.element);
    let mut read = 0;
    let mut block = Factors::ONE;
    let mut k = 0;
    while k < spec::REGISTER_READ_SIZES.len() && read == 0 {
        let elements = spec::REGISTER_READ_SIZES[k] * 8 / bits;
        if elements <= live
            && let Some(found) = read_block(pool, &sides.trf_element, &sides.out_packet, elements)
        {
            (read, block) = (elements, found);
        }
        k += 1;
    }
    if read == 0 {
        refuse!(
            "TRF single element",
            "align: the TRF reads whole bytes, but Element {} shares no {} innermost elements with OutPacket {}; \
             help: make the packet axis innermost in the TRF",
            (request.trf_element, 8 / bits, request.out_packet),
        );
    }
    // The rest of the packet must be repetition: none of it may select other weights.
    let mut repeated = Factors::ONE;
    if read < live {
        let packet = modulo(pool, &sides.out_packet, live);
        repeated = stride(pool, &packet, read);
    }
    if shares_a_digit(&repeated, &sides.trf_element) {
        refuse!(
            "TRF gather",
            "align: OutPacket {} needs several places of the TRF Element {} in one step, but a read is contiguous: both end \
             in {}, so reg_read_size is {}, repeated to 64; help: make the packet axes innermost in the TRF, in the order \
             of the packet, and pad them to whole packets of 64 bytes",
            (request.out_packet, request.trf_element, factors(pool, &block), count(read * bits / 8, "byte")),
        );
    }
    let loops = Request {
        buf_expr: Some(request.trf_element),
        names: ["OutTime", "OutPacket"],
        ..Request::new(
            TrfSequencerConfig::NAME,
            &sides.trf_element,
            StreamPart::Known(request.out_time, &sides.out_time),
            StreamPart::Factors(&block),
        )
    };
    let derived = attempt!(derive(pool, &loops));
    if derived.config.base != 0 {
        refuse!(
            "TRF start",
            "align: OutTime {} starts {} elements from the first one of the TRF tensor {}, but a TRF sequencer starts at the \
             first one; help: give the stream and the TRF tensor the same dead positions, `# n + …`, or none",
            (request.out_time, derived.config.base, factors(pool, &sides.trf_element)),
        );
    }
    let mut config = Config::new(read);
    each!(k < derived.time_entries, {
        let entry = derived.config.entries.items[k];
        let stride_bits = entry.stride * bits as isize;
        if stride_bits % 8 != 0 {
            refuse!(
                "whole bytes",
                "align: the TRF sequencer would step by half a byte ({} : {} elements); \
                 help: pad the Element of the TRF tensor so that its axes start at whole bytes",
                (entry.size, entry.stride),
            );
        }
        let bytes = stride_bits / 8;
        if read * bits / 8 == spec::MAC_BYTES && bytes % spec::MAC_BYTES as isize != 0 {
            refuse!(
                "TRF alignment",
                "align: a TRF read of {} bytes steps by {} bytes, but must step by multiples of {}; \
                 help: pad Element so that each packet starts at 64 bytes",
                (spec::MAC_BYTES, bytes, spec::MAC_BYTES),
            );
        }
        config.entries.push(Entry { size: entry.size, stride: bytes });
    });
    let reg_read_size = read * bits / 8;
    let fill = spec::MAC_BYTES / reg_read_size;
    let mut within = attempt!(limited(TrfSequencerConfig::NAME, config));
    // Merging takes the innermost loop for a packet if it has as many turns as the read has elements.
    within.packet_size = read;
    if within.entries.len == 0 {
        // The sequencer has at least one loop.
        within.entries.push(Entry { size: 1, stride: 0 });
    }
    Ok(TrfSequencerConfig { reg_read_size, fill, derived: config, config: within })
}
