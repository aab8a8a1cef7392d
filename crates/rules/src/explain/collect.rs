//! A collect in words.

use super::stage::{MappingChange, StageExplanation, count, notation};
use crate::engine::collect::{CollectConfig, CollectRequest, derive_collect, flit_elements};
use crate::error::PlanError;
use crate::mapping::{Pool, factors_of, pad_to};
use crate::spec;

/// Explains a collect.
///
/// # Errors
///
/// Returns the errors of [`derive_collect`].
pub fn explain_collect(request: &CollectRequest) -> Result<StageExplanation, PlanError> {
    let CollectConfig { flits } = derive_collect(request)?;
    let CollectRequest { element, time, packet, out_time, out_packet } = *request;
    let mut pool = Pool::new();
    let factors = factors_of("collect", &mut pool, packet)?;
    let flit = flit_elements(element);
    let padded = notation(&pool, &pad_to(&factors, flits * flit));
    let bytes = factors.size() * element.bits() / 8;
    let whole = flits * spec::FLIT_BYTES;
    let rule = match flits {
        1 => format!("the packet m![{packet}] is one flit, {padded}: time stays as it is"),
        _ => format!(
            "the packet m![{packet}] as whole flits is {padded}: its / {flit} is appended to time innermost, its % {flit} \
             is the flit"
        ),
    };
    let mappings =
        vec![MappingChange::new("Time", time, out_time), MappingChange::new("Packet", packet, out_packet)];
    let mut explanation = StageExplanation::new("collect", mappings, rule);
    explanation.fact("packet", format!("{}, {} {element}", count(bytes, "byte"), factors.size()));
    explanation.fact("flit", format!("{} bytes, {flit} {element}", spec::FLIT_BYTES));
    explanation.fact("flits per packet", flits);
    explanation.fact("padding", format!("{} per packet", count(whole - bytes.min(whole), "byte")));
    explanation.fact("flits", factors_of("collect", &mut pool, out_time)?.size());
    Ok(explanation)
}
