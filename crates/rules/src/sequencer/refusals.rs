//! Reasons why a stream is no nest of loops over a buffer, in terms of the user's mappings.

use super::request::Job;
use super::window::Window;
use crate::error::PlanError;
use crate::mapping::{Factors, Pool, Problem, Term};
use crate::text::Text;

pub(super) const fn healthy(operation: &'static str, factors: &Factors) -> Result<(), PlanError> {
    match factors.problem() {
        Some(problem) => Err(PlanError::mapping(operation, problem)),
        None => Ok(()),
    }
}

pub(super) const fn too_many(job: &Job<'_>) -> PlanError {
    PlanError::mapping(job.request.operation, Problem::TooManyFactors)
}

/// The refusal of a stream that leaves out a digit of the buffer.
pub(super) const fn dropped(pool: &Pool, job: &Job<'_>, digit: &Term, size: usize) -> PlanError {
    let stream = stream_text(pool, job);
    let text = text!(
        "{}: the buffer {} holds {}, which the stream {} does not read: an axis cannot be dropped; \
         help: add it to `{}` or `{}`",
        job.request.operation,
        &buffer_text(pool, job),
        term(pool, digit, size),
        &stream,
        job.request.names[0],
        job.request.names[1],
    );
    PlanError::new("axis dropped", text)
}

/// The refusal of a digit of the stream that the buffer holds in part only. `why`: the end of the sentence about the
/// buffer.
pub(super) const fn insufficient(
    pool: &Pool,
    job: &Job<'_>,
    digit: &Term,
    size: usize,
    why: &str,
) -> PlanError {
    let text = text!(
        "{}: insufficient input: the stream iterates over {}, but the buffer {} {}; \
         help: iterate only over what the buffer holds",
        (job.request.operation, term(pool, digit, size), &buffer_text(pool, job), why),
    );
    PlanError::new("insufficient input", text)
}

pub(super) const fn incompatible(pool: &Pool, job: &Job<'_>, digit: &Term, size: usize) -> PlanError {
    let text = text!(
        "{}: incompatible shapes: {} of the stream does not line up with the digits of the buffer {}; \
         help: split the axis at the same places on both sides",
        (job.request.operation, term(pool, digit, size), &buffer_text(pool, job)),
    );
    PlanError::new("incompatible shapes", text)
}

pub(super) const fn not_factorizable(pool: &Pool, job: &Job<'_>, product: &Factors) -> PlanError {
    let text = text!(
        "{}: not factorizable: {} is no nest of loops over the buffer {}; \
         help: pad each axis by itself, or keep the composite contiguous in the buffer",
        (job.request.operation, factors(pool, product), &buffer_text(pool, job)),
    );
    PlanError::new("not factorizable", text)
}

/// Time and packet, by the user's names.
pub(super) const fn stream_text(pool: &Pool, job: &Job<'_>) -> Text {
    text!(
        "`{}` {}, `{}` {}",
        (job.request.names[0], factors(pool, &job.time), job.request.names[1], factors(pool, &job.packet)),
    )
}

/// The buffer with its windows: `` `m![C, H]` with windows `m![H]` = `m![OH]` * 2 + `m![KH]` ``.
pub(super) const fn buffer_text(pool: &Pool, job: &Job<'_>) -> Text {
    let mut all = text!("{}", factors(pool, job.request.buf));
    let windows = job.request.windows;
    each!(k < windows.len(), {
        let Window { input, output, window, stride, dilation } = windows[k];
        all = text!(
            "{}{} {} = {} * {} + {} * {}",
            (&all, if k == 0 { " with windows" } else { "," }, input, output, stride, window, dilation),
        );
    });
    all
}
