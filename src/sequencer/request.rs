//! What a derivation is asked for: the terms of a stream, each of which stands there once.

use super::refusals;
use crate::error::{PlanError, attempt};
use crate::mapping::{Atom, Expr, Factor, Factors, Pool, Term, factorize, write_term};
use crate::text::Text;

/// One part of a stream, as the user wrote it or as it was computed.
///
/// Of an expression each member of a list becomes entries of its own, as printed on the seed page *Sequencer*; factors
/// in normal form have forgotten where the members ended.
#[derive(Clone, Copy)]
pub enum Stream<'a> {
    /// As the user wrote it.
    Expr(&'a Expr),
    /// As it was computed.
    Factors(&'a Factors),
}

impl Stream<'_> {
    pub(super) const fn factors(&self, pool: &mut Pool) -> Factors {
        match self {
            Stream::Expr(expr) => factorize(pool, expr),
            Stream::Factors(factors) => **factors,
        }
    }
}

/// What a derivation works for: the name of the call and the mappings as the user knows them.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The call, for messages.
    pub operation: &'static str,
    /// The mapping of the buffer.
    pub buf: &'a Factors,
    /// The order of packets.
    pub time: Stream<'a>,
    /// The content of a packet.
    pub packet: Stream<'a>,
    /// Whether a part of an axis that the buffer does not hold is repeated, as an absent axis is, instead of refused.
    pub partial: bool,
    /// Whether the buffer may hold axes that the stream does not read.
    pub unread: bool,
    /// What the user calls time and packet, for messages.
    pub names: [&'static str; 2],
}

impl Request<'_> {
    /// The names of time and packet on most calls.
    pub const TIME_AND_PACKET: [&'static str; 2] = ["Time", "Packet"];
}

/// A request with the stream in normal form.
pub(super) struct Job<'a> {
    pub(super) operation: &'static str,
    pub(super) buf: &'a Factors,
    pub(super) time: Factors,
    pub(super) packet: Factors,
    /// Whether the stream holds a block of one element twice.
    pub(super) copies: bool,
    pub(super) partial: bool,
    pub(super) names: [&'static str; 2],
}

impl Job<'_> {
    pub(super) const fn text(&self) -> Text {
        Text::new().str(self.operation).str(": ")
    }
}

/// One digit of the stream, with the padding that follows it.
#[derive(Clone, Copy)]
pub(super) struct Digit {
    pub(super) term: Term,
    pub(super) resize: usize,
    /// Values with padding.
    pub(super) extent: usize,
}

pub(super) const fn no_repeats(pool: &Pool, request: &Job<'_>) -> Result<(), PlanError> {
    let (time, packet) = (request.time.as_slice(), request.packet.as_slice());
    attempt!(no_overlap(pool, request, time, time, true));
    attempt!(no_overlap(pool, request, packet, packet, true));
    no_overlap(pool, request, time, packet, false)
}

/// Refuses parts of an axis that stand in both lists, or twice in the `same` list.
const fn no_overlap(
    pool: &Pool,
    request: &Job<'_>,
    one: &[Factor],
    other: &[Factor],
    same: bool,
) -> Result<(), PlanError> {
    let mut i = 0;
    while i < one.len() {
        let mut j = if same { i + 1 } else { 0 };
        while j < other.len() {
            if let (Factor::Term { term: a, resize }, Factor::Term { term: b, .. }) = (&one[i], &other[j])
                && overlap(pool, a, b)
            {
                let text = write_term(request.text().str("the stream produces `m!["), pool, a, *resize);
                let text = refusals::stream(text.str("]` twice, in "), pool, request);
                return Err(PlanError::new(
                    "axis repeated",
                    text.str("; help: name each part of an axis once"),
                ));
            }
            j += 1;
        }
        i += 1;
    }
    Ok(())
}

/// Whether two digits have coordinates of an axis in common, by themselves or in a composite.
const fn overlap(pool: &Pool, a: &Term, b: &Term) -> bool {
    if a.atom.is(&b.atom) {
        return a.stride < b.stride * b.modulo && b.stride < a.stride * a.modulo;
    }
    // The composite that was made last cannot be inside another one.
    let (content, other) = match (a.atom, b.atom) {
        (Atom::Composite(one), Atom::Composite(two)) if two.start > one.start => (pool.content(two), a),
        (Atom::Composite(composite), _) => (pool.content(composite), b),
        (_, Atom::Composite(composite)) => (pool.content(composite), a),
        _ => return false,
    };
    let mut k = 0;
    while k < content.len() {
        if let Factor::Term { term, .. } = &content[k]
            && overlap(pool, term, other)
        {
            return true;
        }
        k += 1;
    }
    false
}
