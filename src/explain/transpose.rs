//! `explain()` on the plan of a transpose.

use crate::engine::transpose::TransposePlan;
use crate::explain::{StageExplanation, explain_transpose};
use crate::mapping::M;
use crate::scalar::Scalar;

impl<D: Scalar, Time: M, Packet: M, OutTime: M, OutPacket: M>
    TransposePlan<D, Time, Packet, OutTime, OutPacket>
{
    /// Explains the time steps that become lanes, the elements that become time steps, and the matrices of the engine.
    pub fn explain() -> StageExplanation {
        explain_transpose(&Self::REQUEST).unwrap_or_else(|error| error.refuse())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    axes![U = 3, R = 4, G = 2, K = 6, B = 2, C = 8, D = 4, E = 8];

    /// Explains the documented example: 8 + 2 * 12 + 12 cycles.
    #[test]
    fn a_transpose_is_explained() {
        let explanation = TransposePlan::<bf16, m![U, R, G], m![K # 16], m![U, G, K], m![R # 16]>::explain();
        assert_eq!(explanation.mappings[0].after, "m![U, G, K]");
        assert_eq!(explanation.value("in_rows"), Some("4 bf16, 8 bytes of 8"));
        assert_eq!(explanation.value("in_cols"), Some("16: 2 packets of 8 elements"));
        assert_eq!(explanation.value("out_rows"), Some("12, 4 trimmed"));
        assert_eq!(explanation.value("iterations"), Some("3"));
        assert_eq!(explanation.value("buffers"), Some("two buffers in turns"));
        assert_eq!(explanation.value("lanes in use"), Some("6 of 16, then 4"));
        assert_eq!(explanation.value("cycles"), Some("44"));
        let rule = "outer m![U], rows m![R], ppc m![G]; it becomes [outer, ppc, elems] with elems m![K]";
        assert!(explanation.rule.contains(rule), "{explanation}");
        let wide = TransposePlan::<i8, m![B, C, D], m![E # 32], m![B, D, E], m![C # 32]>::explain();
        assert_eq!(wide.value("buffers"), Some("both buffers at once"));
        assert_eq!(wide.value("cycles"), Some("128"));
    }
}
