//! Loads of the register files in words.

use super::stage::{MappingChange, StageExplanation};
use crate::command::{RegisterType, TrfAddress};
use crate::engine::collect::flit_elements;
use crate::engine::register_file::{TrfLoadConfig, TrfLoadRequest, derive_trf_load};
use crate::engine::vector_register_file::{VrfLoadConfig, VrfLoadRequest, derive_vrf_load};
use crate::error::PlanError;
use crate::mapping::{Expr, Pool, factors_of};
use crate::spec;

/// A mapping that the load makes.
fn made(name: &'static str, after: &Expr) -> MappingChange {
    MappingChange { name, before: String::new(), after: format!("m![{after}]") }
}

/// Explains a load of the TRF.
///
/// # Errors
///
/// Returns the errors of [`derive_trf_load`].
pub fn explain_trf_load(request: &TrfLoadRequest) -> Result<StageExplanation, PlanError> {
    let TrfLoadConfig { rows, row_elements: _, bytes } = derive_trf_load(request)?;
    let TrfLoadRequest { element, time, packet, row, row_element } = *request;
    let steps = factors_of("to_trf", &mut Pool::new(), time)?.size();
    let mappings = vec![
        MappingChange::consumed("Time", time),
        MappingChange::consumed("Packet", packet),
        made("Row", row),
        made("Element", row_element),
    ];
    let others = steps / rows;
    let rule = format!(
        "the outermost {rows} of {steps} time steps are Row m![{row}]; the other {others}, then the packet, are Element \
         m![{row_element}]"
    );
    let mut explanation = StageExplanation::new("to_trf", mappings, rule);
    let row_bytes = bytes / rows;
    let lines = row_bytes.div_ceil(spec::TRF_LINE_BYTES);
    let parts: Vec<String> = [TrfAddress::FirstHalf, TrfAddress::SecondHalf, TrfAddress::Full]
        .into_iter()
        .filter(|address| bytes <= address.capacity())
        .map(|address| address.to_string())
        .collect();
    explanation.fact("bytes", format!("{bytes}: {rows} rows of {row_bytes}"));
    explanation.fact("fits", parts.join(", "));
    explanation.fact(
        "register type",
        match RegisterType::of(element) {
            Some(register) => {
                let elements = register.elements_per_line();
                format!("{}: {register}, {elements} elements per line", register.number())
            }
            None => format!("no storage of {element} is documented"),
        },
    );
    let (banks, columns) = (spec::TRF_BANK_ROWS, spec::TRF_COLUMNS);
    let bank_rows = banks / rows;
    let deep = lines.div_ceil(columns);
    explanation.fact(
        "each row",
        format!("{bank_rows} of {banks} bank rows, {lines} lines: {deep} rows of {columns} columns"),
    );
    explanation.fact("flits", bytes / spec::FLIT_BYTES);
    Ok(explanation)
}

/// Explains a load of the VRF.
///
/// # Errors
///
/// Returns the errors of [`derive_vrf_load`].
pub fn explain_vrf_load(request: &VrfLoadRequest) -> Result<StageExplanation, PlanError> {
    let VrfLoadConfig { elements, bytes, transfer } = derive_vrf_load(request)?;
    let VrfLoadRequest { element, time, packet, vrf_element } = *request;
    let mut pool = Pool::new();
    let steps = factors_of("to_vrf", &mut pool, time)?.size();
    let lanes = factors_of("to_vrf", &mut pool, packet)?.size();
    let mappings = vec![
        MappingChange::consumed("Time", time),
        MappingChange::consumed("Packet", packet),
        made("Element", vrf_element),
    ];
    let rule = format!("each element of the stream goes to its place in Element:\n{transfer}");
    let mut explanation = StageExplanation::new("to_vrf", mappings, rule);
    explanation.fact("bytes", format!("{bytes} of {}: {elements} elements", spec::VRF_BYTES));
    let (unit, last) = (element.bits() / 8, spec::VRF_BYTES - bytes);
    explanation.fact("address", format!("a multiple of {unit}, at most {last}"));
    explanation.fact("flits", steps * lanes / flit_elements(element));
    Ok(explanation)
}
