//! A commit in words: the tables of its loops, its runs, its size and its cycles.

use super::stage::count;
use crate::engine::commit::{CommitConfig, CommitRequest};
use crate::error::PlanError;
use crate::mapping::{Pool, factors_of, modulo, resize, strip};
use crate::sequencer::{Explanation, Request, StreamPart, explain_loops};

/// Explains a commit into a view, which may be a tile.
///
/// # Errors
///
/// Returns errors for mappings whose size is not defined, and those of [`derive`](crate::sequencer::derive()).
pub fn explain_commit_view(request: &CommitRequest, config: &CommitConfig) -> Result<Explanation, PlanError> {
    let mut pool = Pool::new();
    let destination = factors_of("commit", &mut pool, request.destination)?;
    let packet = factors_of("commit", &mut pool, request.packet)?;
    let kept = resize(&mut pool, &packet, config.window);
    let lanes = strip(&kept);
    let loops = Request {
        buf_expr: Some(request.destination),
        ..Request::new("commit", &destination, StreamPart::Expr(request.time), StreamPart::Factors(&lanes))
    };
    let mut explanation = explain_loops(&mut pool, &loops)?;
    explanation.fact("lanes of the view", lanes.size());
    explanation.fact("commit_in_size", count(config.commit_in_size, "byte"));
    explanation.fact("contiguous run", count(config.contiguous_bytes, "byte"));
    explanation.fact("commit_size", count(config.commit_size, "byte"));
    explanation.fact("cycles", config.cycles);
    Ok(explanation)
}

/// Explains a commit.
///
/// # Errors
///
/// Returns errors for mappings whose size is not defined, and those of [`derive`](crate::sequencer::derive()).
pub fn explain_commit(request: &CommitRequest, config: &CommitConfig) -> Result<Explanation, PlanError> {
    let mut pool = Pool::new();
    let destination = factors_of("commit", &mut pool, request.destination)?;
    let inner = modulo(&mut pool, &destination, config.window);
    let loops = Request {
        buf_expr: Some(request.destination),
        ..Request::new("commit", &destination, StreamPart::Expr(request.time), StreamPart::Factors(&inner))
    };
    let mut explanation = explain_loops(&mut pool, &loops)?;
    explanation.fact("commit_in_size", count(config.commit_in_size, "byte"));
    explanation.fact("contiguous run", count(config.contiguous_bytes, "byte"));
    explanation.fact("commit_size", count(config.commit_size, "byte"));
    explanation.fact("cycles", config.cycles);
    Ok(explanation)
}
