//! `explain()` on the plan of a collect.

use super::stage::{MappingChange, StageExplanation, count, notation};
use crate::engine::collect::{CollectConfig, CollectPlan, CollectRequest, derive_collect, flit_elements};
use crate::error::PlanError;
use crate::mapping::{M, Pool, factors_of, pad_to};
use crate::scalar::Scalar;
use crate::spec;

impl<D: Scalar, Time: M, Packet: M, Time2: M, Packet2: M> CollectPlan<D, Time, Packet, Time2, Packet2> {
    /// Explains the conversion of packets to flits: the mappings before and after, flits per packet, padding.
    pub fn explain() -> StageExplanation {
        explain_collect(&Self::REQUEST).unwrap_or_else(|error| error.refuse())
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    axes![P = 3, Q = 48, R = 32];

    #[test]
    fn a_packet_of_two_flits() {
        // The packet of 48 bytes is rounded up to 64.
        type Plan = CollectPlan<i8, m![P], m![Q], m![P, Q # 64 / 32], m![Q # 64 % 32]>;
        let explanation = Plan::explain();
        assert_eq!(
            explanation.mappings[0],
            MappingChange {
                name: "Time",
                before: "m![P]".to_string(),
                after: "m![P, Q # 64 / 32]".to_string(),
            }
        );
        assert_eq!(explanation.value("packet"), Some("48 bytes, 48 i8"));
        assert_eq!(explanation.value("flits per packet"), Some("2"));
        assert_eq!(explanation.value("padding"), Some("16 bytes per packet"));
        assert_eq!(explanation.value("flits"), Some("6"));
        assert!(explanation.rule.contains("as whole flits is m![Q # 64]"), "{}", explanation.rule);
        assert_eq!(Plan::CONFIG.to_string(), "2 flits per packet");
    }

    #[test]
    fn a_packet_of_one_flit() {
        type Plan = CollectPlan<i8, m![P], m![R], m![P], m![R]>;
        let text = Plan::explain().to_string();
        assert!(text.starts_with("collect\n\n| mapping | before | after |\n"), "{text}");
        assert!(text.contains("time stays as it is"), "{text}");
        assert!(text.contains("padding           0 bytes per packet\n"), "{text}");
        assert_eq!(Plan::CONFIG.to_string(), "1 flit per packet");
    }
}
