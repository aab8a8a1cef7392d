//! `explain()` on the plans of loads of the register files.

use crate::engine::register_file::TrfLoadPlan;
use crate::engine::vector_register_file::VrfLoadPlan;
use crate::explain::{StageExplanation, explain_trf_load, explain_vrf_load};
use crate::mapping::M;
use crate::scalar::{StreamScalar, VeScalar};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::register_file::TrfLoadRequest;
    use crate::engine::vector_register_file::VrfLoadRequest;
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
