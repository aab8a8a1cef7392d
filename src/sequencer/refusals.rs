//! Why a stream is no nest of loops over a buffer, in the words of the user's mappings.

use super::held_digits::touches;
use super::request::{Digit, Job};
use crate::error::PlanError;
use crate::mapping::{Atom, Factor, Factors, Pool, Problem, Term, write_term};
use crate::text::Text;

pub(super) const fn healthy(operation: &'static str, factors: &Factors) -> Result<(), PlanError> {
    match factors.problem() {
        Some(problem) => Err(PlanError::mapping(operation, problem)),
        None => Ok(()),
    }
}

pub(super) const fn too_many(operation: &'static str) -> PlanError {
    PlanError::mapping(operation, Problem::TooManyFactors)
}

/// The refusal of a stream that leaves out a digit, of the buffer if it is `held` there.
pub(super) const fn dropped(pool: &Pool, request: &Job<'_>, term: &Term, held: bool) -> PlanError {
    if let (Atom::Composite(_), true) = (term.atom, held)
        && pool.lead(&term.atom) == 0
        && (touches(pool, &request.time, &term.atom) || touches(pool, &request.packet, &term.atom))
    {
        let mut whole = Factors::one();
        whole.append(Factor::Term { term: *term, resize: term.modulo });
        return not_factorizable(pool, request, &whole);
    }
    let text = request.text().str("the buffer ").factors(pool, request.buf);
    let text = write_term(text.str(" holds `m!["), pool, term, term.modulo);
    let text = stream(text.str("]`, which the stream "), pool, request);
    let text = text.str(" does not read: an axis cannot be dropped; help: add it to `");
    let text = text.str(request.names[0]).str("` or `").str(request.names[1]).str("`");
    PlanError::new("axis dropped", text)
}

pub(super) const fn insufficient(pool: &Pool, request: &Job<'_>, digit: &Digit, why: &str) -> PlanError {
    let text = write_term(
        request.text().str("insufficient input: the stream iterates over `m!["),
        pool,
        &digit.term,
        digit.resize,
    );
    let text = text.str("]`, but the buffer ").factors(pool, request.buf).str(" ").str(why);
    PlanError::new("insufficient input", text.str("; help: iterate only over what the buffer holds"))
}

pub(super) const fn incompatible(pool: &Pool, request: &Job<'_>, digit: &Digit) -> PlanError {
    let text = write_term(request.text().str("incompatible shapes: `m!["), pool, &digit.term, digit.resize);
    let text = text
        .str("]` of the stream does not line up with the digits of the buffer ")
        .factors(pool, request.buf);
    PlanError::new("incompatible shapes", text.str("; help: split the axis at the same places on both sides"))
}

pub(super) const fn not_factorizable(pool: &Pool, request: &Job<'_>, factors: &Factors) -> PlanError {
    let text = request.text().str("not factorizable: ").factors(pool, factors);
    let text = text.str(" is no nest of loops over the buffer ").factors(pool, request.buf);
    let text = text.str("; help: pad each axis by itself, or keep the group contiguous in the buffer");
    PlanError::new("not factorizable", text)
}

pub(super) const fn stream(text: Text, pool: &Pool, request: &Job<'_>) -> Text {
    let [time, packet] = request.names;
    let text = text.str("`").str(time).str("` ").factors(pool, &request.time);
    text.str(", `").str(packet).str("` ").factors(pool, &request.packet)
}
