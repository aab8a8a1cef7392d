//! Aligner: brings data and weights to the same packets.
//!
//! ```text
//!   stream  Time × Packet ──stream adapter──▶ ┐
//!                                             ├─ Row × OutTime × OutPacket    64 bytes per row and step
//!   TRF     Row × Element ──TRF sequencer───▶ ┘
//! ```
//!
//! The two sides are the stream adapter (`stream_adapter.rs`) and the TRF sequencer (`trf_sequencer.rs`); this file has
//! the rule for both: rows are on one side only. See `guide::contraction`.

use super::stream_adapter::{StreamAdapterConfig, stream_adapter};
use super::trf_sequencer::{TrfSequencerConfig, trf_sequencer};
use crate::engine::register_file::check_rows;
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Factor, Factors, Pool, UNKNOWN, normal};
use crate::scalar::ElementType;

/// The input of [`derive_align`].
#[derive(Clone, Copy, Debug)]
pub struct AlignRequest {
    /// The element type of data and weights.
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
    /// The data side.
    pub stream_adapter: StreamAdapterConfig,
    /// The weight side.
    pub trf_sequencer: TrfSequencerConfig,
    /// Number of steps of the computation: positions of `OutTime`.
    pub steps: usize,
}

/// The call, for messages.
pub const OPERATION: &str = "align";

/// The mappings of an align in normal form.
pub struct Sides {
    /// Time of the stream.
    pub time: Factors,
    /// Packet of the stream.
    pub packet: Factors,
    /// Rows of the weights.
    pub row: Factors,
    /// Elements of a row of the weights.
    pub trf_element: Factors,
    /// Time of the computation.
    pub out_time: Factors,
    /// Packet of the computation.
    pub out_packet: Factors,
}

impl Sides {
    /// Normalises the mappings. `forms` are their known normal forms, in the order of the request.
    pub const fn new(
        pool: &mut Pool,
        request: &AlignRequest,
        forms: [&Factors; 6],
    ) -> Result<Self, PlanError> {
        Ok(Self {
            time: normal!(forms[0], OPERATION, pool, request.time),
            packet: normal!(forms[1], OPERATION, pool, request.packet),
            row: normal!(forms[2], OPERATION, pool, request.row),
            trf_element: normal!(forms[3], OPERATION, pool, request.trf_element),
            out_time: normal!(forms[4], OPERATION, pool, request.out_time),
            out_packet: normal!(forms[5], OPERATION, pool, request.out_packet),
        })
    }
}

/// Derives the stream adapter and the TRF sequencer.
pub const fn derive_align(request: &AlignRequest) -> Result<AlignConfig, PlanError> {
    align(request, [UNKNOWN; 6])
}

/// As [`derive_align`], with the normal forms of the mappings, in the order of the request.
pub const fn align(request: &AlignRequest, forms: [&Factors; 6]) -> Result<AlignConfig, PlanError> {
    let mut pool = Pool::new();
    let sides = attempt!(Sides::new(&mut pool, request, forms));
    attempt!(check_rows(OPERATION, request.row, sides.row.size()));
    // Before the time of both sides is compared, which would ask for rows in OutTime.
    attempt!(rows_are_separate(&pool, request, &sides));
    let stream_adapter = attempt!(stream_adapter(&mut pool, request, &sides));
    let trf_sequencer = attempt!(trf_sequencer(&mut pool, request, &sides, stream_adapter.collect_flits));
    Ok(AlignConfig { stream_adapter, trf_sequencer, steps: sides.out_time.size() })
}

/// True if two mappings hold overlapping parts of one axis.
pub const fn shares_a_digit(a: &Factors, b: &Factors) -> bool {
    each!(i < a.len, {
        each!(j < b.len, {
            if let Factor::Term { term: x, .. } = &a.items[i]
                && let Factor::Term { term: y, .. } = &b.items[j]
                && x.stride < y.stride * y.modulo
                && y.stride < x.stride * x.modulo
                && x.atom.is(&y.atom)
            {
                return true;
            }
        });
    });
    false
}

const fn rows_are_separate(pool: &Pool, request: &AlignRequest, sides: &Sides) -> Result<(), PlanError> {
    let others = [&sides.time, &sides.packet, &sides.out_time, &sides.out_packet];
    each!(k < others.len(), {
        if shares_a_digit(&sides.row, others[k]) {
            refuse!(
                "align row axis",
                "align: the Row axes {} of the weights also occur in {} {}: each row gets the same data; \
                 help: leave them out {}: `.accumulate()` brings the rows into the stream",
                request.row,
                ["Time", "the packet", "OutTime", "OutPacket"][k],
                factors(pool, others[k]),
                if k < 2 { "of `.fetch()` and `.collect()`" } else { "here" },
            );
        }
    });
    Ok(())
}
