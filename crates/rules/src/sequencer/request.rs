//! The request for a derivation, and the stream in normal form, which has each part of an axis once.

use super::refusals::{healthy, stream_text};
use super::window::{NO_WINDOWS, Window, Windows, is_replaced, windows_of};
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Factors, Pool, factorize, factorize_uncut, repeated};

/// One part of a stream, as the user wrote it or as it was computed.
#[derive(Clone, Copy)]
pub enum StreamPart<'a> {
    /// As the user wrote it: a list may have more members than digits.
    Expr(&'a Expr),
    /// As the user wrote it, with its normal form.
    Known(&'a Expr, &'a Factors),
    /// As it was computed.
    Factors(&'a Factors),
}

impl StreamPart<'_> {
    pub(super) const fn factors(&self, pool: &mut Pool) -> Factors {
        match self {
            StreamPart::Expr(expr) => factorize(pool, expr),
            StreamPart::Known(_, factors) | StreamPart::Factors(factors) => **factors,
        }
    }

    /// The list whose members have an entry each. A computed stream has none.
    pub(super) const fn members(&self) -> &Expr {
        match self {
            StreamPart::Expr(expr) | StreamPart::Known(expr, _) => expr,
            StreamPart::Factors(_) => &Expr::Identity,
        }
    }

    /// The factors without the cuts of `=`.
    pub(super) const fn uncut(&self, pool: &mut Pool) -> Factors {
        match self {
            StreamPart::Expr(expr) | StreamPart::Known(expr, _) => factorize_uncut(pool, expr),
            StreamPart::Factors(factors) => **factors,
        }
    }
}

/// The input of a derivation: the name of the call, and the mappings as the user knows them.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The call, for messages.
    pub operation: &'static str,
    /// The mapping of the buffer.
    pub buf: &'a Factors,
    /// The same as the user wrote it, if known: it names axes of which the buffer keeps one value.
    pub buf_expr: Option<&'a Expr>,
    /// The order of packets.
    pub time: StreamPart<'a>,
    /// The content of a packet.
    pub packet: StreamPart<'a>,
    /// True if a part of an axis that the buffer does not hold is repeated, as an absent axis is, instead of refused.
    pub partial: bool,
    /// True if the buffer may hold axes that the stream does not read.
    pub unread: bool,
    /// Digits of the buffer that are read at overlapping positions.
    pub windows: &'a [Window],
    /// The user's names of time and packet, for messages.
    pub names: [&'static str; 2],
}

impl<'a> Request<'a> {
    /// The names of time and packet on most calls.
    pub const TIME_AND_PACKET: [&'static str; 2] = ["Time", "Packet"];

    /// A request of the usual form: `Time` and `Packet` read all of a buffer.
    pub const fn new(
        operation: &'static str,
        buf: &'a Factors,
        time: StreamPart<'a>,
        packet: StreamPart<'a>,
    ) -> Self {
        let names = Self::TIME_AND_PACKET;
        Self {
            operation,
            buf,
            buf_expr: None,
            time,
            packet,
            partial: false,
            unread: false,
            windows: &[],
            names,
        }
    }
}

/// A request with the stream in normal form.
pub(super) struct Job<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) time: Factors,
    pub(super) packet: Factors,
    pub(super) windows: Windows,
}

impl<'a> Job<'a> {
    /// Refuses mappings without a normal form, windows that the buffer does not have, and streams that produce a part
    /// of an axis twice.
    pub(super) const fn new(pool: &mut Pool, request: &'a Request<'a>) -> Result<Self, PlanError> {
        let packet = request.packet.factors(pool);
        let time = request.time.factors(pool);
        if !matches!((&request.buf.problem, &time.problem, &packet.problem), (None, None, None)) {
            attempt!(healthy(request.operation, request.buf));
            attempt!(healthy(request.operation, &time));
            attempt!(healthy(request.operation, &packet));
        }
        let mut windows = NO_WINDOWS;
        if !request.windows.is_empty() {
            windows = attempt!(windows_of(pool, request.buf, request.windows));
        }
        let job = Self { request, time, packet, windows };
        if let Some((k, digit, size)) = is_replaced(pool, &job.windows, &[&job.packet, &job.time]) {
            let (stream, window) = (stream_text(pool, &job), &request.windows[k]);
            refuse!(
                "windowed axis",
                "{}: the stream names {}, in {}, which is read in windows; help: name {} and {}",
                (request.operation, term(pool, &digit, size), &stream, window.output, window.window),
            );
        }
        if let Some((digit, size)) = repeated(pool, &[&job.packet, &job.time]) {
            let stream = stream_text(pool, &job);
            refuse!(
                "axis repeated",
                "{}: the stream produces {} twice, in {}; help: name each part of an axis once",
                (request.operation, term(pool, &digit, size), &stream),
            );
        }
        Ok(job)
    }
}
