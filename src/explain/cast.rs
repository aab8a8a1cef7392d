//! `explain()` on the plan of a cast.

use crate::engine::cast::{CastPlan, CastRequest};
use crate::explain::{StageExplanation, explain_cast};
use crate::mapping::M;
use crate::scalar::Scalar;

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
