//! Fetch Engine: reads a tensor from DM as a stream of packets.
//!
//! ```text
//!   DM  Element ──sequencer──▶ fetches of `fetch_size` bytes ──cast──▶ packets   Time2 × Packet2
//! ```
//!
//! The plan follows from the mappings and the two element types (seed page *Fetch Engine*, spec page 20 §5).

use crate::chip::spec;
use crate::engine::stream::{BeginTensor, FetchTensor, StreamTensor};
use crate::error::{PlanError, attempt};
use crate::mapping::{Expr, Identity, M, Pool, factorize, gcd};
use crate::runtime::Tu;
use crate::scalar::{ChipType, ElementType, FetchCast, Scalar, StreamScalar};
use crate::sequencer::{Config, Request, Stream, contiguous_run, derive, limited};
use crate::text::Text;
use core::marker::PhantomData;

/// What a fetch is derived from.
#[derive(Clone, Copy, Debug)]
pub struct FetchRequest {
    /// Whether the sub context fetches.
    pub sub_context: bool,
    /// The stored type.
    pub input: ElementType,
    /// The type in the stream.
    pub output: ElementType,
    /// The mapping of the tensor in each slice.
    pub element: &'static Expr,
    /// The order of packets.
    pub time: &'static Expr,
    /// The content of a packet.
    pub packet: &'static Expr,
}

/// The derived configuration of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchConfig {
    /// The sequencer as derived, one entry per digit. Strides in elements.
    pub derived: Config,
    /// The sequencer within the hardware's limits.
    pub config: Config,
    /// Time steps.
    pub time: usize,
    /// Elements per packet.
    pub packet: usize,
    /// Bytes of a packet as stored.
    pub packet_bytes: usize,
    /// Contiguous bytes of memory: `contiguous_sram_access_size`.
    pub contiguous_bytes: usize,
    /// Bytes of one fetch.
    pub fetch_size: usize,
    /// Fetches that make one packet.
    pub fetches_per_packet: usize,
    /// Cycles of the sequencer: one fetch per cycle.
    pub cycles: usize,
}

const OPERATION: &str = "fetch";

/// Derives the sequencer and the fetch size. Does not ask for 2 clusters and 256 slices: see [`check_units`].
pub const fn derive_fetch(request: &FetchRequest) -> Result<FetchConfig, PlanError> {
    let mut pool = Pool::new();
    let element = factorize(&mut pool, request.element);
    let loops = Request {
        operation: OPERATION,
        buf: &element,
        time: Stream::Expr(request.time),
        packet: Stream::Expr(request.packet),
        partial: false,
        unread: false,
        names: Request::TIME_AND_PACKET,
    };
    let derived = attempt!(derive(&mut pool, &loops)).config;
    let config = attempt!(limited(OPERATION, derived));
    let (input_bits, output_bits) = (request.input.bits(), request.output.bits());
    let packet = derived.packet_size;
    let packet_bits = packet * input_bits;
    let run_bits = contiguous_run(&derived) * input_bits;
    if !packet_bits.is_multiple_of(8) || !run_bits.is_multiple_of(8) {
        let text =
            Text::new().str("fetch: packets ").mapping(request.packet).str(" from ").mapping(request.element);
        let text = text
            .str(" have ")
            .count(packet, "element")
            .str(" of ")
            .number(input_bits)
            .str(" bits in runs of ");
        let text = text.number(run_bits / input_bits).str(", but a fetch takes whole bytes");
        let help = "; help: keep an even number of 4-bit elements together, innermost on both sides";
        return Err(PlanError::new("whole bytes", text.str(help)));
    }
    let (packet_bytes, contiguous_bytes) = (packet_bits / 8, run_bits / 8);
    let fetch_size =
        attempt!(fetch_size(request, gcd(packet_bytes, contiguous_bytes), input_bits, output_bits));
    let time = derived.positions() / packet;
    let fetches_per_packet = packet_bytes / fetch_size;
    Ok(FetchConfig {
        derived,
        config,
        time,
        packet,
        packet_bytes,
        contiguous_bytes,
        fetch_size,
        fetches_per_packet,
        cycles: time * fetches_per_packet,
    })
}

/// The largest fetch that divides packets and contiguous runs, and gives at most a flit after the cast.
const fn fetch_size(
    request: &FetchRequest,
    common: usize,
    input_bits: usize,
    output_bits: usize,
) -> Result<usize, PlanError> {
    if request.sub_context {
        let four_bits =
            matches!(request.input, ElementType::I4) && matches!(request.output, ElementType::I32);
        let size = if four_bits { spec::SUB_FETCH_BYTES_I4_I32 } else { spec::SUB_FETCH_BYTES };
        if common.is_multiple_of(size) {
            return Ok(size);
        }
        let text = Text::new().str("fetch: the sub context fetches ").number(size);
        let text =
            text.str(" bytes at a time, but packets and contiguous runs have only ").count(common, "byte");
        let text = text.str(" in common; help: make the innermost axes contiguous in multiples of ");
        return Err(PlanError::new(
            "sub-context fetch size",
            text.number(size).str(" bytes, or fetch in the main context"),
        ));
    }
    let mut k = 0;
    while k < spec::FETCH_SIZES.len() {
        let size = spec::FETCH_SIZES[k];
        let fits = size * output_bits <= spec::FLIT_BYTES * input_bits;
        if common.is_multiple_of(size) && fits {
            return Ok(size);
        }
        k += 1;
    }
    Ok(1)
}

/// The rules of the output packet: whole multiples of 8 bytes.
pub const fn check_packet(request: &FetchRequest) -> Result<(), PlanError> {
    let elements = match request.packet.checked_size() {
        Ok(size) => size,
        Err(text) => return Err(PlanError::new("mapping", text)),
    };
    let bits = elements * request.output.bits();
    if bits.is_multiple_of(8 * spec::FETCH_ALIGN_BYTES) {
        return Ok(());
    }
    let text =
        Text::new().str("fetch: a packet ").mapping(request.packet).str(" of ").str(request.output.name());
    let text = text.str(" holds ");
    let text = if bits.is_multiple_of(8) {
        text.number(bits / 8).str(" bytes")
    } else {
        text.number(bits).str(" bits")
    };
    let text = text.str(", but packets come in multiples of ").number(spec::FETCH_ALIGN_BYTES).str(" bytes");
    let lanes = 8 * spec::FETCH_ALIGN_BYTES / request.output.bits();
    let padded = elements.div_ceil(lanes) * lanes;
    Err(PlanError::new(
        "packet bytes",
        text.str("; help: pad the innermost axis, to `# ").number(padded).str("` elements in all"),
    ))
}

/// A stream exists in every slice of every cluster of its chips.
pub const fn check_units(cluster: &'static Expr, slice: &'static Expr) -> Result<(), PlanError> {
    attempt!(check_count(cluster, "Cluster", spec::CLUSTERS));
    check_count(slice, "Slice", spec::SLICES)
}

const fn check_count(expr: &'static Expr, name: &'static str, count: usize) -> Result<(), PlanError> {
    match expr.checked_size() {
        Ok(size) if size == count => Ok(()),
        Ok(size) => {
            let text = Text::new().str("fetch: ").str(name).str(" size must be ").number(count).str(", got ");
            let text = text.number(size).str(" from ").mapping(expr).str("; help: ");
            let text = if size < count {
                text.str("fill the unused ones with padding, `# ").number(count).str("`")
            } else {
                text.str("move part of it to `Time` or `Chip`")
            };
            Err(PlanError::new("unit count", text))
        }
        Err(text) => Err(PlanError::new("mapping", text)),
    }
}

impl core::fmt::Display for FetchConfig {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "{}, contiguous_sram_access_size {} B, fetch_size {} B, fetches_per_packet {}, {} cycles",
            self.derived, self.contiguous_bytes, self.fetch_size, self.fetches_per_packet, self.cycles
        )
    }
}

/// The plan of a fetch, as types. Does not ask for 2 clusters and 256 slices, so that the configuration of any mapping
/// can be looked at.
///
/// ```
/// use furiosa_visa_std::engine::fetch::FetchPlan;
/// use furiosa_visa_std::prelude::*;
/// axes![N = 4, C = 3, H = 4, W = 8];
/// type Plan = FetchPlan<i8, i8, m![N, C, H, W], m![N, C], m![H, W]>;
/// assert_eq!(Plan::CONFIG.derived.to_string(), "[4 : 96, 3 : 32, 4 : 8, 8 : 1] : 32");
/// assert_eq!((Plan::CONFIG.fetch_size, Plan::CONFIG.cycles), (32, 12));
/// ```
pub struct FetchPlan<D, D2, Element, Time2, Packet2, const T: Tu = false>(
    PhantomData<(D, D2, Element, Time2, Packet2)>,
);

impl<D: Scalar, D2: StreamScalar, Element: M, Time2: M, Packet2: M, const T: Tu>
    FetchPlan<D, D2, Element, Time2, Packet2, T>
{
    pub(crate) const REQUEST: FetchRequest = FetchRequest {
        sub_context: T,
        input: D::ELEMENT_TYPE,
        output: D2::ELEMENT_TYPE,
        element: Element::EXPR,
        time: Time2::EXPR,
        packet: Packet2::EXPR,
    };

    /// The derived configuration. Using it refuses mappings that no sequencer reads.
    pub const CONFIG: FetchConfig = match derive_fetch(&Self::REQUEST) {
        Ok(config) => config,
        Err(error) => error.refuse(),
    };
}

/// All rules of a fetch, in the order in which they are reported.
struct CheckedFetch<D, D2, Cluster, Slice, Element, Time2, Packet2, const T: Tu>(
    PhantomData<(D, D2, Cluster, Slice, Element, Time2, Packet2)>,
);

impl<D: Scalar, D2: StreamScalar, Cluster: M, Slice: M, Element: M, Time2: M, Packet2: M, const T: Tu>
    CheckedFetch<D, D2, Cluster, Slice, Element, Time2, Packet2, T>
{
    const CONFIG: FetchConfig = {
        if let Err(error) = check_units(Cluster::EXPR, Slice::EXPR) {
            error.refuse()
        }
        if let Err(error) = check_packet(&FetchPlan::<D, D2, Element, Time2, Packet2, T>::REQUEST) {
            error.refuse()
        }
        FetchPlan::<D, D2, Element, Time2, Packet2, T>::CONFIG
    };
}

impl<'l, const T: Tu, D: Scalar, Chip: M, Cluster: M, Slice: M, Element: M, Kind: ChipType>
    BeginTensor<'l, T, D, Chip, Cluster, Slice, Identity, Element, Kind>
{
    /// Reads the tensor as a stream: one packet `Packet2` per position of `Time2`, converted to `D2`.
    ///
    /// The sequencer is derived from the mappings. Axes that the tensor does not have are broadcast. Each slice reads
    /// its own memory, so `Slice` stays.
    ///
    /// Refused while compiling: clusters other than 2 or slices other than 256, packets that are no multiple of 8 bytes,
    /// mappings that no sequencer of 8 entries reads (seed page *Fetch Engine*).
    pub fn fetch<D2: StreamScalar, Time2: M, Packet2: M>(
        self,
    ) -> FetchTensor<'l, T, D2, Chip, Cluster, Slice, Time2, Packet2>
    where
        D: FetchCast<D2, Kind>,
    {
        let plan = const { &CheckedFetch::<D, D2, Cluster, Slice, Element, Time2, Packet2, T>::CONFIG };
        let mut pass = self.pass;
        pass.fetch = Some(crate::command::Fetch {
            source: pass.source,
            config: plan.config,
            time: plan.time,
            packet: plan.packet,
            output: D2::ELEMENT_TYPE,
        });
        StreamTensor::new(self.context, pass)
    }
}
