//! `explain()` on the plan of a cast.

use super::stage::{MappingChange, StageExplanation};
use crate::engine::cast::{CastPlan, CastRequest, derive_cast};
use crate::engine::collect::flit_elements;
use crate::error::PlanError;
use crate::mapping::{M, Pool, factors_of, strip};
use crate::scalar::Scalar;
use crate::spec;

impl<D: Scalar, D2: Scalar, Packet: M, OutPacket: M> CastPlan<D, D2, Packet, OutPacket> {
    /// Explains the conversion of flits to a narrower type: the packet before and after, and the padding.
    pub fn explain() -> StageExplanation {
        let request = CastRequest {
            input: D::ELEMENT_TYPE,
            output: D2::ELEMENT_TYPE,
            packet: Packet::EXPR,
            out_packet: OutPacket::EXPR,
        };
        explain_cast(&request).unwrap_or_else(|error| error.refuse())
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    axes![N = 8];

    #[test]
    fn a_cast_is_explained() {
        let explanation = CastPlan::<f32, bf16, m![N], m![N # 16]>::explain();
        assert_eq!(explanation.mappings[0].after, "m![N # 16]");
        assert_eq!(explanation.value("elements"), Some("f32 to bf16"));
        assert_eq!(explanation.value("lanes"), Some("8 of 32 bits to 16 of 16 bits"));
        assert_eq!(explanation.value("bytes in use"), Some("16 of 32 after the cast"));
        let text = explanation.to_string();
        assert!(text.contains("| Packet  | m![N]  | m![N # 16] |"), "{text}");
    }
}
