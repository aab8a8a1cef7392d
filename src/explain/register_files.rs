//! `explain()` on the plans of loads of the register files.

use super::stage::{MappingChange, StageExplanation};
use crate::chip::RegisterType;
use crate::command::TrfAddress;
use crate::engine::collect::flit_elements;
use crate::engine::register_file::{TrfLoadConfig, TrfLoadPlan, TrfLoadRequest, derive_trf_load};
use crate::engine::vector_register_file::{VrfLoadConfig, VrfLoadPlan, VrfLoadRequest, derive_vrf_load};
use crate::error::PlanError;
use crate::mapping::{Expr, M, Pool, factors_of};
use crate::scalar::{StreamScalar, VeScalar};
use crate::spec;

impl<D: StreamScalar, Time: M, Packet: M, Row: M, Element: M> TrfLoadPlan<D, Time, Packet, Row, Element> {
    /// Explains the derivation of rows and elements from the stream, and their room in the TRF.
    ///
    /// ```
    /// use furiosa_visa_std::engine::register_file::TrfLoadPlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![G = 8, Q = 4, C = 64];
    /// println!("{}", TrfLoadPlan::<i8, m![G, Q, C / 32], m![C % 32], m![G], m![Q, C]>::explain());
    /// ```
    ///
    /// ```text
    /// to_trf
    ///
    /// | mapping | before           | after    |
    /// |---------|------------------|----------|
    /// | Time    | m![G, Q, C / 32] |          |
    /// | Packet  | m![C % 32]       |          |
    /// | Row     |                  | m![G]    |
    /// | Element |                  | m![Q, C] |
    ///
    /// the outermost 8 of 64 time steps are Row m![G]; the other 8, then the packet, are Element m![Q, C]
    ///
    /// bytes          2048: 8 rows of 256
    /// fits           TrfAddress::FirstHalf, TrfAddress::SecondHalf, TrfAddress::Full
    /// register type  2: 8 bits in 10 bits, 32 elements per line
    /// each row       1 of 8 bank rows, 8 lines: 4 rows of 2 columns
    /// flits          64
    /// ```
    pub fn explain() -> StageExplanation {
        explain_trf_load(&Self::REQUEST).unwrap_or_else(|error| error.refuse())
    }
}

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

impl<D: VeScalar, Time: M, Packet: M, Element: M> VrfLoadPlan<D, Time, Packet, Element> {
    /// Explains the places of the elements.
    ///
    /// ```
    /// use furiosa_visa_std::engine::vector_register_file::VrfLoadPlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 4, B = 8];
    /// println!("{}", VrfLoadPlan::<f32, m![A], m![B], m![B, A]>::explain());
    /// ```
    ///
    /// ```text
    /// to_vrf
    ///
    /// | mapping | before | after    |
    /// |---------|--------|----------|
    /// | Time    | m![A]  |          |
    /// | Packet  | m![B]  |          |
    /// | Element |        | m![B, A] |
    ///
    /// each element of the stream goes to its place in Element:
    /// iterations       source step  destination step
    ///          8         1 element        4 elements
    ///          4        8 elements         1 element
    /// every iteration moves
    ///
    /// bytes    128 of 8192: 32 elements
    /// address  a multiple of 4, at most 8064
    /// flits    4
    /// ```
    pub fn explain() -> StageExplanation {
        explain_vrf_load(&Self::REQUEST).unwrap_or_else(|error| error.refuse())
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    axes![A = 4, B = 8, G = 4, N = 8, K = 64, L = 8192];

    #[test]
    fn a_load_of_the_trf_is_explained() {
        type Plan = TrfLoadPlan<i8, m![N, G, K / 32], m![K % 32], m![N], m![G, K]>;
        let explanation = Plan::explain();
        assert_eq!(
            explanation.rule,
            "the outermost 8 of 64 time steps are Row m![N]; the other 8, then the packet, are Element m![G, K]"
        );
        let facts = [
            ("bytes", "2048: 8 rows of 256"),
            ("fits", "TrfAddress::FirstHalf, TrfAddress::SecondHalf, TrfAddress::Full"),
            ("register type", "2: 8 bits in 10 bits, 32 elements per line"),
            ("each row", "1 of 8 bank rows, 8 lines: 4 rows of 2 columns"),
            ("flits", "64"),
        ];
        for (name, value) in facts {
            assert_eq!(explanation.value(name), Some(value));
        }
        assert_eq!(explanation.mappings.len(), 4);
        assert_eq!((explanation.mappings[2].name, &*explanation.mappings[2].after), ("Row", "m![N]"));
        let text = explanation.to_string();
        assert!(text.starts_with("to_trf\n\n| mapping | before"), "{text}");
    }

    #[test]
    fn a_load_of_a_whole_trf_without_documented_storage_is_explained() {
        type Plan = TrfLoadPlan<f32, m![G / 2, L / 8], m![L % 8], m![G / 2], m![L]>;
        let explanation = Plan::explain();
        assert_eq!(explanation.value("fits"), Some("TrfAddress::Full"));
        assert_eq!(explanation.value("register type"), Some("no storage of f32 is documented"));
        let rows = "4 of 8 bank rows, 1024 lines: 512 rows of 2 columns";
        assert_eq!(explanation.value("each row"), Some(rows));
    }

    #[test]
    fn a_load_of_the_vrf_is_explained() {
        let explanation = VrfLoadPlan::<f32, m![A], m![B], m![B, A]>::explain();
        assert!(explanation.rule.contains("         8         1 element        4 elements\n"));
        assert_eq!(explanation.value("bytes"), Some("128 of 8192: 32 elements"));
        assert_eq!(explanation.value("address"), Some("a multiple of 4, at most 8064"));
        assert_eq!(explanation.value("flits"), Some("4"));
        let element = &explanation.mappings[2];
        assert_eq!((&*element.before, &*element.after), ("", "m![B, A]"));
    }

    #[test]
    fn what_is_refused_has_no_explanation() {
        let request = TrfLoadPlan::<i8, m![N, G, K / 32], m![K % 32], m![N], m![G, K]>::REQUEST;
        let error =
            explain_trf_load(&TrfLoadRequest { row: <m![G]>::EXPR, ..request }).expect_err("other axes");
        assert_eq!(error.rule(), "row mapping");
        let request = VrfLoadPlan::<f32, m![A], m![B], m![B, A]>::REQUEST;
        assert!(explain_vrf_load(&VrfLoadRequest { vrf_element: <m![B]>::EXPR, ..request }).is_err());
    }
}
