//! `explain()` on the plan of a transpose.

use super::stage::{MappingChange, StageExplanation, count, notation};
use crate::clock::tensor_unit::transpose_cycles;
use crate::command::Transpose;
use crate::engine::transpose::{TransposePlan, TransposeRequest, derive_transpose};
use crate::error::PlanError;
use crate::mapping::{M, Pool, factors_of, modulo, stride, strip};
use crate::scalar::Scalar;
use crate::spec;

impl<D: Scalar, Time: M, Packet: M, OutTime: M, OutPacket: M>
    TransposePlan<D, Time, Packet, OutTime, OutPacket>
{
    /// Explains the time steps that become lanes, the elements that become time steps, and the matrices of the engine.
    pub fn explain() -> StageExplanation {
        explain_transpose(&Self::REQUEST).unwrap_or_else(|error| error.refuse())
    }
}

/// Explains a transpose.
///
/// # Errors
///
/// Returns the errors of [`derive_transpose`].
pub fn explain_transpose(request: &TransposeRequest) -> Result<StageExplanation, PlanError> {
    let transpose = derive_transpose(request)?;
    let TransposeRequest { element, time, packet, out_time, out_packet } = *request;
    let Transpose { in_rows, in_cols, out_rows, iterations, .. } = transpose;
    let (packets, kept) = (transpose.packets_per_col(), transpose.kept_elements());
    let mut pool = Pool::new();
    let [before, after] =
        [factors_of("transpose", &mut pool, time)?, factors_of("transpose", &mut pool, out_time)?];
    let rows = strip(&factors_of("transpose", &mut pool, out_packet)?);
    let live = strip(&factors_of("transpose", &mut pool, packet)?).size();
    let outer = stride(&mut pool, &before, in_rows * packets);
    let ppc = modulo(&mut pool, &before, packets);
    let elems = modulo(&mut pool, &after, kept);
    let [outer, rows, ppc, elems] = [outer, rows, ppc, elems].map(|factors| notation(&pool, &factors));
    let rule = format!(
        "time is [outer, rows, ppc] with outer {outer}, rows {rows}, ppc {ppc}; it becomes [outer, ppc, elems] with elems \
         {elems}, and the rows are the packet, padded to a flit"
    );
    let mappings =
        vec![MappingChange::new("Time", time, out_time), MappingChange::new("Packet", packet, out_packet)];
    let mut explanation = StageExplanation::new("transpose", mappings, rule);
    let bytes = count(in_rows * element.bits() / 8, "byte");
    explanation.fact("in_rows", format!("{in_rows} {element}, {bytes} of {}", spec::TRANSPOSE_ROW_BYTES));
    let taken = Transpose::packet_elements(element);
    explanation.fact("in_cols", format!("{in_cols}: {} of {taken} elements", count(packets, "packet")));
    explanation.fact("out_rows", format!("{out_rows}, {} trimmed", in_cols - out_rows));
    explanation.fact("iterations", iterations);
    let buffers = if in_cols > spec::TRANSPOSE_BUFFER_COLUMNS {
        "both buffers at once"
    } else {
        "two buffers in turns"
    };
    explanation.fact("buffers", buffers);
    explanation
        .fact("lanes in use", format!("{live} of {}, then {in_rows}", 8 * spec::FLIT_BYTES / element.bits()));
    explanation.fact("cycles", transpose_cycles(&transpose));
    Ok(explanation)
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
