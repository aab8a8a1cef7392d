//! A cast in words.

use super::stage::{MappingChange, StageExplanation};
use crate::engine::cast::{CastRequest, derive_cast};
use crate::engine::collect::flit_elements;
use crate::error::PlanError;
use crate::mapping::{Pool, factors_of, strip};
use crate::spec;

/// Explains a cast.
///
/// # Errors
///
/// Returns the errors of [`derive_cast`].
pub fn explain_cast(request: &CastRequest) -> Result<StageExplanation, PlanError> {
    derive_cast(request)?;
    let CastRequest { input, output, packet, out_packet } = *request;
    let mut pool = Pool::new();
    let live = strip(&factors_of("cast", &mut pool, packet)?).size();
    let (before, after) = (flit_elements(input), flit_elements(output));
    let rule = format!(
        "one flit in, one flit out: the {before} lanes of m![{packet}] keep their places and are padded to {after} lanes"
    );
    let mappings = vec![MappingChange::new("Packet", packet, out_packet)];
    let mut explanation = StageExplanation::new("cast", mappings, rule);
    explanation.fact("elements", format!("{input} to {output}"));
    explanation
        .fact("lanes", format!("{before} of {} bits to {after} of {} bits", input.bits(), output.bits()));
    explanation.fact("lanes in use", format!("{live} of {before}, then {live} of {after}"));
    let used = live * output.bits() / 8;
    explanation.fact("bytes in use", format!("{used} of {} after the cast", spec::FLIT_BYTES));
    Ok(explanation)
}
