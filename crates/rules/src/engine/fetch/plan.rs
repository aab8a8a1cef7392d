//! The derived configuration of a fetch: sequencer, fetch size, mask, cycles.

use super::interleave::interleave_period;
use super::mask::{Masking, derive_mask};
use super::stages::check_stages;
use crate::command::{AdapterStage, MaskConfig};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Factors, Pool, UNKNOWN, factorize, gcd};
use crate::scalar::ElementType;
use crate::sequencer::{
    Config, Request, StreamPart, Window, accessed_run, contiguous_run, derive, derive_members, limited,
};
use crate::spec;

/// The call, for messages.
pub const OPERATION: &str = "fetch";

/// The input of [`derive_fetch`].
#[derive(Clone, Copy, Debug)]
pub struct FetchRequest {
    /// True if the sub context fetches.
    pub sub_context: bool,
    /// The stored element type.
    pub input: ElementType,
    /// The element type of a table's entries, if elements are looked up in one.
    pub table: Option<ElementType>,
    /// True if a zero point is subtracted.
    pub zero_point: bool,
    /// The element type in the stream.
    pub output: ElementType,
    /// Time of the begin tensor: `1`, or the axis of two interleaved tensors.
    pub begin: &'static Expr,
    /// The mapping of the tensor in each slice.
    pub element: &'static Expr,
    /// The order of packets.
    pub time: &'static Expr,
    /// The content of a packet.
    pub packet: &'static Expr,
    /// The windows in which the tensor is read.
    pub windows: &'static [Window],
}

impl FetchRequest {
    /// A fetch of one tensor in the main context that reads and casts. Fields of the request add other stages.
    pub const fn new(
        input: ElementType,
        output: ElementType,
        element: &'static Expr,
        time: &'static Expr,
        packet: &'static Expr,
    ) -> Self {
        let (sub_context, table, zero_point, begin) = (false, None, false, &Expr::Identity);
        let windows = &[];
        Self { sub_context, input, table, zero_point, output, begin, element, time, packet, windows }
    }

    /// Tells if the request asks for this stage of the adapter. Masking and batching follow from the mappings.
    pub const fn asks_for(&self, stage: AdapterStage) -> bool {
        match stage {
            AdapterStage::Table => self.table.is_some(),
            AdapterStage::Cast => self.looked_up() as usize != self.output as usize,
            AdapterStage::ZeroPoint => self.zero_point,
            AdapterStage::Masking | AdapterStage::Batching => false,
        }
    }

    /// The element type before the cast.
    pub const fn looked_up(&self) -> ElementType {
        match self.table {
            Some(entries) => entries,
            None => self.input,
        }
    }
}

/// The derived configuration of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchConfig {
    /// The sequencer as derived. It has an entry per digit, or an entry per member of the lists if these members are
    /// more than the entries that the hardware takes. Strides in elements.
    pub derived: Config,
    /// The sequencer within the limits of the hardware, and in the form that the mask needs: with the entry `1 : 0`, or
    /// with an entry per member of the lists if only these have a mask. The entries of the mask are counted here.
    pub config: Config,
    /// Number of time steps.
    pub time: usize,
    /// Elements per packet.
    pub packet: usize,
    /// Bytes of a packet as stored.
    pub packet_bytes: usize,
    /// Number of contiguous bytes of memory that the sequencer walks over.
    pub contiguous_sram_access_size: usize,
    /// Bytes of one fetch.
    pub fetch_size: usize,
    /// Number of fetches that make one packet.
    pub fetches_per_packet: usize,
    /// Cycles of the sequencer: one fetch per cycle. No stage of the adapter adds to them.
    pub cycles: usize,
    /// Number of cycles by which the stages of the adapter delay the first packet.
    pub latency: usize,
    /// The mask that the adapter applies as it reads. `None` if nothing is replaced.
    pub mask: Option<MaskConfig>,
    /// True if the stream has padding that is not masked. The values of such padding are meaningless.
    pub unmasked_padding: bool,
    /// Time steps between two tensors that are interleaved. `None` if there is one tensor.
    pub interleave_period: Option<usize>,
}

/// Derives the sequencer and the fetch size. It does not require 2 clusters and 256 slices: see
/// [`check_units`](super::check_units).
pub const fn derive_fetch(request: &FetchRequest) -> Result<FetchConfig, PlanError> {
    fetch(request, [UNKNOWN; 3])
}

/// As [`derive_fetch`], with the normal forms of tensor, time and packet.
pub const fn fetch(request: &FetchRequest, forms: [&Factors; 3]) -> Result<FetchConfig, PlanError> {
    attempt!(check_stages(request));
    attempt!(check_sizes(request));
    let mut pool = Pool::new();
    let [element, time, packet] = forms;
    let made;
    let element = if element.problem().is_none() {
        element
    } else {
        made = factorize(&mut pool, request.element);
        &made
    };
    let time = stream(request.time, time);
    let packet = stream(request.packet, packet);
    let interleave_period = attempt!(interleave_period(&mut pool, request));
    let loops = Request {
        buf_expr: Some(request.element),
        windows: request.windows,
        ..Request::new(OPERATION, element, time, packet)
    };
    let derived = attempt!(derive(&mut pool, &loops)).config;
    let limited = attempt!(limited(OPERATION, derived));
    let input_bits = request.input.bits();
    let packet = derived.packet_size;
    let packet_bits = packet * input_bits;
    let run_bits = contiguous_run(&derived) * input_bits;
    if !packet_bits.is_multiple_of(8) || !run_bits.is_multiple_of(8) {
        refuse!(
            "whole bytes",
            "fetch: packets {} from {} have {} of {} bits in runs of {}, but a fetch takes whole bytes; \
             help: keep an even number of 4-bit elements together, innermost on both sides",
            (request.packet, request.element, count(packet, "element"), input_bits, run_bits / input_bits),
        );
    }
    attempt!(check_byte_addresses(request, &derived));
    let (packet_bytes, contiguous_bytes) = (packet_bits / 8, run_bits / 8);
    let fetch_size =
        attempt!(fetch_size(request, gcd(packet_bytes, accessed_run(&derived) * input_bits / 8)));
    let time = derived.positions() / packet;
    let fetches_per_packet = packet_bytes / fetch_size;
    let mut masking = derive_mask(request, &mut pool, limited);
    // If the padding has no mask, it may have one with an entry per part that the user wrote.
    if masking.mask.is_none()
        && masking.unmasked_padding
        && let Ok(members) = derive_members(&mut pool, &loops)
        && let Ok(members) = crate::sequencer::limited(OPERATION, members.config)
    {
        let other = derive_mask(request, &mut pool, members);
        if other.mask.is_some() {
            masking = other;
        }
    }
    let Masking { mask, config, unmasked_padding } = masking;
    Ok(FetchConfig {
        derived,
        config,
        time,
        packet,
        packet_bytes,
        contiguous_sram_access_size: contiguous_bytes,
        fetch_size,
        fetches_per_packet,
        cycles: time * fetches_per_packet,
        latency: latency(request),
        mask,
        unmasked_padding,
        interleave_period,
    })
}

/// A part of a stream with its normal form, if that is known.
const fn stream<'a>(expr: &'a Expr, form: &'a Factors) -> StreamPart<'a> {
    if form.problem().is_none() { StreamPart::Known(expr, form) } else { StreamPart::Expr(expr) }
}

/// The most positions of a mapping, or of a stream: far more than the chip's memory has bits, and few enough to
/// calculate with.
const POSITIONS: u64 = 1 << 48;

/// Checks that mappings have a size, of at most [`POSITIONS`].
const fn check_sizes(request: &FetchRequest) -> Result<(), PlanError> {
    let exprs = [request.begin, request.element, request.time, request.packet];
    let mut sizes = [1; 4];
    each!(k < exprs.len(), {
        match exprs[k].checked_size() {
            Ok(size) => sizes[k] = size,
            Err(problem) => {
                refuse!("mapping", "fetch: {}", &problem)
            }
        }
        if !is_countable(exprs[k]) {
            refuse!(
                "size",
                "fetch: {} is made of more than {} positions; help: cut the axes before they are fetched",
                (exprs[k], POSITIONS as usize),
            );
        }
    });
    let [_, _, time, packet] = sizes;
    match time.checked_mul(packet) {
        Some(positions) if positions as u64 <= POSITIONS => Ok(()),
        _ => refuse!(
            "size",
            "fetch: packets {} at {} are more than {} positions; help: cut the axes before they are fetched",
            (request.packet, request.time, POSITIONS as usize),
        ),
    }
}

/// True if no operand has more than [`POSITIONS`].
const fn is_countable(expr: &Expr) -> bool {
    match expr {
        Expr::Identity => true,
        Expr::Symbol(axis) => axis.size as u64 <= POSITIONS,
        Expr::Stride(inner, _) | Expr::Modulo(inner, _) => is_countable(inner),
        Expr::Resize(inner, n) | Expr::Padding(inner, n) => *n as u64 <= POSITIONS && is_countable(inner),
        Expr::Margin(inner, ..) => {
            is_countable(inner)
                && match expr.checked_size() {
                    Ok(size) => size as u64 <= POSITIONS,
                    Err(_) => false,
                }
        }
        Expr::Pair(left, right) => {
            is_countable(left)
                && is_countable(right)
                && match expr.checked_size() {
                    Ok(size) => size as u64 <= POSITIONS,
                    Err(_) => false,
                }
        }
    }
}

/// Checks that each fetch starts at a whole byte: no loop outside the contiguous run steps by half bytes. See
/// `guide::fetch`.
const fn check_byte_addresses(request: &FetchRequest, config: &Config) -> Result<(), PlanError> {
    let bits = request.input.bits();
    if !(config.base.unsigned_abs() * bits).is_multiple_of(8) {
        refuse!(
            "whole bytes",
            "fetch: packets {} at {} from {} would start at half bytes: {} elements of {} bits from the tensor; \
             help: put an even number of 4-bit dead positions before an axis: `# 2 + …`",
            (request.packet, request.time, request.element, config.base, bits),
        );
    }
    let run = contiguous_run(config);
    let mut inside = 1;
    each_back!(k < config.entries.len, {
        let entry = config.entries.items[k];
        if inside >= run && entry.size > 1 && !(entry.stride.unsigned_abs() * bits).is_multiple_of(8) {
            refuse!(
                "whole bytes",
                "fetch: packets {} at {} from {} would start at half bytes: a loop of {} by {}{} of {} bits; \
                 help: keep an even number of 4-bit elements together, innermost on both sides",
                request.packet,
                request.time,
                request.element,
                count(entry.size, "step"),
                if entry.stride < 0 { "-" } else { "" },
                count(entry.stride.unsigned_abs(), "element"),
                bits,
            );
        }
        inside *= entry.size;
    });
    Ok(())
}

/// Cycles that the stages between sequencer and packets take until the first element is out.
const fn latency(request: &FetchRequest) -> usize {
    let mut cycles = 0;
    each!(k < AdapterStage::ALL.len(), {
        if request.asks_for(AdapterStage::ALL[k]) {
            cycles += AdapterStage::ALL[k].latency();
        }
    });
    cycles
}

/// The largest fetch that divides packets and contiguous runs, and gives at most a flit after table and cast.
const fn fetch_size(request: &FetchRequest, common: usize) -> Result<usize, PlanError> {
    if request.sub_context {
        let four_bits =
            matches!(request.input, ElementType::I4) && matches!(request.output, ElementType::I32);
        let size = if four_bits { spec::SUB_FETCH_BYTES_I4_I32 } else { spec::SUB_FETCH_BYTES };
        if common.is_multiple_of(size) {
            return Ok(size);
        }
        refuse!(
            "sub-context fetch size",
            "fetch: the sub context fetches {} bytes at a time, but packets and contiguous runs have only {} in common; \
             help: make the innermost axes contiguous in multiples of {} bytes, or fetch in the main context",
            (size, count(common, "byte"), size),
        );
    }
    let (looked_up, output) = (request.looked_up().bits(), request.output.bits());
    let widest = if looked_up > output { looked_up } else { output };
    each!(k < spec::FETCH_SIZES.len(), {
        let size = spec::FETCH_SIZES[k];
        let fits = size * widest <= spec::FLIT_BYTES * request.input.bits();
        if common.is_multiple_of(size) && fits {
            return Ok(size);
        }
    });
    Ok(1)
}

/// Checks the output packet: whole multiples of 8 bytes.
pub const fn check_packet(request: &FetchRequest) -> Result<(), PlanError> {
    let elements = match request.packet.checked_size() {
        Ok(size) => size,
        Err(text) => return Err(PlanError::new("mapping", text)),
    };
    let bits = elements * request.output.bits();
    if bits.is_multiple_of(8 * spec::FETCH_ALIGN_BYTES) {
        return Ok(());
    }
    let held = if bits.is_multiple_of(8) { text!("{} bytes", bits / 8) } else { text!("{} bits", bits) };
    let lanes = 8 * spec::FETCH_ALIGN_BYTES / request.output.bits();
    refuse!(
        "packet bytes",
        "fetch: a packet {} of {} holds {}, but packets come in multiples of {} bytes; \
         help: pad the innermost axis, to `# {}` elements in all",
        request.packet,
        request.output.name(),
        &held,
        spec::FETCH_ALIGN_BYTES,
        elements.div_ceil(lanes) * lanes,
    )
}

impl core::fmt::Display for FetchConfig {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "{}, contiguous_sram_access_size {} B, fetch_size {} B, fetches_per_packet {}, {} cycles",
            self.derived,
            self.contiguous_sram_access_size,
            self.fetch_size,
            self.fetches_per_packet,
            self.cycles
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Axis, Ident};

    const fn axis(name: &'static str, size: usize) -> Expr {
        Expr::Symbol(Axis { name: Ident::new(name), size })
    }
    const LARGEST: &Expr = &axis("A", POSITIONS as usize);
    const LARGER: &Expr = &axis("A", POSITIONS as usize + 1);
    const HUGE: &Expr = &axis("B", usize::MAX);
    const ONE: &Expr = &Expr::Identity;
    const T: &Expr = &axis("T", 2);

    fn rule(buf: &'static Expr, time: &'static Expr, packet: &'static Expr) -> &'static str {
        let request = FetchRequest::new(ElementType::I8, ElementType::I8, buf, time, packet);
        derive_fetch(&request).expect_err("refused").rule()
    }

    /// 2^48 positions are refused by the sequencer's own limits; one position more is refused before any calculation.
    #[test]
    fn huge_mappings_are_refused() {
        assert_eq!(rule(LARGEST, LARGEST, ONE), "iteration limit");
        assert_eq!(rule(LARGER, ONE, ONE), "size");
        assert_eq!(rule(ONE, LARGER, ONE), "size");
        assert_eq!(rule(ONE, LARGEST, T), "size");
        const WHOLE: &Expr = &Expr::Pair(HUGE, LARGEST);
        assert_eq!(rule(WHOLE, ONE, ONE), "mapping");
        const HIDDEN: [&Expr; 4] = [
            &Expr::Stride(HUGE, usize::MAX / 3),
            &Expr::Modulo(HUGE, 5),
            &Expr::Resize(&Expr::Padding(T, usize::MAX), 4),
            &Expr::Modulo(&Expr::Pair(LARGEST, T), 4),
        ];
        for hidden in HIDDEN {
            assert_eq!(rule(ONE, ONE, hidden), "size", "{hidden}");
        }
    }

    #[test]
    fn a_refusal_of_a_size_names_the_mapping_and_the_limit() {
        let request = FetchRequest::new(ElementType::I8, ElementType::I8, LARGER, ONE, ONE);
        let error = derive_fetch(&request).expect_err("too large");
        let text = "fetch: `m![A]` is made of more than 281474976710656 positions; help: cut the axes before they \
                    are fetched";
        assert_eq!(error.message(), text);
    }
}
