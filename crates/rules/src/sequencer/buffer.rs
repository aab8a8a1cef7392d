//! Reads and writes of a linear buffer: the sequencer of a stream by its mappings.

use super::config::Config;
use super::derive::{Derived, derive};
use super::limits::{contiguous_run, limited};
use super::request::{Request, StreamPart};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Guard, Pool, Problem, liveness};
use crate::scalar::ElementType;

/// Input of the derivation of a read or write of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct BufferRequest {
    /// The call, for messages.
    pub operation: &'static str,
    /// The type of an element.
    pub element: ElementType,
    /// The mapping of the buffer.
    pub buf: &'static Expr,
    /// The order of packets.
    pub time: &'static Expr,
    /// The content of a packet.
    pub packet: &'static Expr,
    /// True if one axis of the buffer is reached through a list of offsets.
    pub indirect: bool,
}

/// The derived configuration of a read or write of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferConfig {
    /// The sequencer as derived, one entry per digit. Strides in elements.
    pub derived: Config,
    /// The entries of `derived` that belong to time.
    pub time_entries: usize,
    /// The sequencer within the hardware's limits.
    pub config: Config,
    /// Positions of the buffer.
    pub buffer: usize,
    /// Stream positions that hold an element. Variables: time, packet.
    pub guard: Guard,
}

/// Derives the sequencer of a buffer and checks the limits of
/// `guide::sequencers`.
pub const fn derive_buffer(request: &BufferRequest) -> Result<BufferConfig, PlanError> {
    let operation = request.operation;
    let mut pool = Pool::new();
    let buf = attempt!(crate::mapping::factors_of(operation, &mut pool, request.buf));
    let time = attempt!(crate::mapping::factors_of(operation, &mut pool, request.time));
    let packet = attempt!(crate::mapping::factors_of(operation, &mut pool, request.packet));
    let loops = Request {
        buf_expr: Some(request.buf),
        unread: request.indirect,
        ..Request::new(operation, &buf, StreamPart::Expr(request.time), StreamPart::Expr(request.packet))
    };
    let Derived { config: derived, time_entries } = attempt!(derive(&mut pool, &loops));
    attempt!(check_packet_fetch(request, &derived, time_entries));
    let config = attempt!(limited(operation, derived));
    let Some(guard) = liveness(&pool, &[&time, &packet]) else {
        return Err(PlanError::mapping(operation, Problem::TooManyFactors));
    };
    Ok(BufferConfig { derived, time_entries, config, buffer: buf.size(), guard })
}

/// A packet of several elements is one run of memory, or one element repeated; and it is whole bytes.
const fn check_packet_fetch(
    request: &BufferRequest,
    derived: &Config,
    time_entries: usize,
) -> Result<(), PlanError> {
    let size = derived.packet_size;
    let bits = size * request.element.bits();
    if !bits.is_multiple_of(8) {
        refuse!(
            "packet size",
            "{}: a packet {} of {} holds {} bits, but is fetched in whole bytes; \
             help: put an even number of elements into it",
            (request.operation, request.packet, request.element.name(), bits),
        );
    }
    let mut inner = Config::new(size);
    let mut repeated = true;
    each!((k = time_entries) < derived.entries.len(), {
        let entry = derived.entries.at(k);
        repeated = repeated && entry.stride == 0;
        inner.entries.push(entry);
    });
    if repeated || contiguous_run(&inner) == size {
        return Ok(());
    }
    refuse!(
        "packet fetch",
        "{}: a packet {} of {} elements is not contiguous in the buffer {}; \
         help: make it a contiguous part of the buffer, one repeated element, or a single element `m![1]`",
        (request.operation, request.packet, size, request.buf),
    )
}
