//! A commit in words: the tables of its loops, its runs, its size and its cycles.

use super::stage::{MappingChange, StageExplanation, count};
use crate::command::CommitNarrowing;
use crate::engine::commit::{CommitConfig, CommitRequest};
use crate::engine::commit_stages::{CommitTrimRequest, derive_commit_trim};
use crate::error::PlanError;
use crate::mapping::{Pool, factors_of, modulo, resize, strip};
use crate::sequencer::{Explanation, Request, StreamPart, explain_loops};
use crate::spec;

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
    sizes(&mut explanation, request, config);
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
    sizes(&mut explanation, request, config);
    Ok(explanation)
}

/// Adds the sizes and the time.
fn sizes(explanation: &mut Explanation, request: &CommitRequest, config: &CommitConfig) {
    explanation.fact("commit_in_size", count(config.commit_in_size, "byte"));
    if request.stages.narrowed {
        let (from, to) = (CommitNarrowing::INPUT, CommitNarrowing::OUTPUT);
        explanation.fact("narrowed", format!("{from} to {to}, {}", count(config.written, "byte")));
    }
    explanation.fact("contiguous run", count(config.contiguous_bytes, "byte"));
    explanation.fact("commit_size", count(config.commit_size, "byte"));
    explanation.fact("cycles", config.cycles);
}

/// Explains a trim: what a commit keeps of each flit.
///
/// # Errors
///
/// Returns the errors of [`derive_commit_trim`].
pub fn explain_commit_trim(request: &CommitTrimRequest) -> Result<StageExplanation, PlanError> {
    let bytes = derive_commit_trim(request)?;
    let CommitTrimRequest { element, packet, out_packet } = *request;
    let mut pool = Pool::new();
    let [before, after] = [
        strip(&factors_of("commit_trim", &mut pool, packet)?).size(),
        strip(&factors_of("commit_trim", &mut pool, out_packet)?).size(),
    ];
    let rule = format!("the leading {bytes} of {} bytes of each flit are committed", spec::FLIT_BYTES);
    let mappings = vec![MappingChange::new("Packet", packet, out_packet)];
    let mut explanation = StageExplanation::new("commit_trim", mappings, rule);
    explanation.fact("kept", format!("{}, {} {element}", count(bytes, "byte"), bytes * 8 / element.bits()));
    // The axis of a trim may be longer than what is kept of it.
    explanation.fact("cut elements", before.saturating_sub(after));
    Ok(explanation)
}
