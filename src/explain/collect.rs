//! `explain()` on the plan of a collect.

use crate::engine::collect::CollectPlan;
use crate::explain::{StageExplanation, explain_collect};
use crate::mapping::M;
use crate::scalar::Scalar;

impl<D: Scalar, Time: M, Packet: M, Time2: M, Packet2: M> CollectPlan<D, Time, Packet, Time2, Packet2> {
    /// Explains the conversion of packets to flits: the mappings before and after, flits per packet, padding.
    pub fn explain() -> StageExplanation {
        explain_collect(&Self::REQUEST).unwrap_or_else(|error| error.refuse())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::MappingChange;
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
