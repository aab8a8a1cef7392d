//! A transpose in words: its matrices and cycles.

use super::stage::{MappingChange, StageExplanation, count, notation};
use crate::command::{Transpose, transpose_cycles};
use crate::engine::transpose::{TransposeRequest, derive_transpose};
use crate::error::PlanError;
use crate::mapping::{Pool, factors_of, modulo, stride, strip};
use crate::spec;

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
