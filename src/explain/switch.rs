//! `explain()` on the plan of a switch.

use crate::engine::switch::SwitchPlan;
use crate::explain::{StageExplanation, explain_switch};
use crate::mapping::M;

impl<InSlice: M, InTime: M, OutSlice: M, OutTime: M, Chip: M, Cluster: M, Packet: M>
    SwitchPlan<InSlice, InTime, OutSlice, OutTime, Chip, Cluster, Packet>
{
    /// Explains the redistribution of packets by the cheapest configuration. `packet_bytes`: the bytes of a packet.
    ///
    /// ```
    /// use furiosa_visa_std::engine::switch::SwitchPlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 256, X = 4, T = 6, P = 64];
    /// type Plan = SwitchPlan<m![A], m![T], m![A / 32, X, A % 8], m![T, A / 8 % 4], m![1], m![1 # 2], m![P]>;
    /// let explanation = Plan::explain(64);
    /// assert_eq!(explanation.value("configuration"), Some("SwitchConfig::Broadcast1 { slice1: 4, slice0: 8 }"));
    /// assert_eq!(explanation.value("cycles"), Some("384: ring 32 * time 6 * 2 flits"));
    /// ```
    pub fn explain(packet_bytes: usize) -> StageExplanation {
        explain_switch(&Self::REQUEST, None, packet_bytes).unwrap_or_else(|error| error.refuse())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::switch::SwitchRequest;
    use crate::prelude::*;

    axes![A = 256, T = 8, X = 4, U = 8];

    fn explained<S: M, T2: M>(config: &SwitchConfig) -> StageExplanation {
        let request = SwitchRequest::new(<m![A]>::EXPR, <m![T]>::EXPR, S::EXPR, T2::EXPR);
        explain_switch(&request, Some(config), 64).expect("it is legal")
    }

    #[test]
    fn a_broadcast_is_explained() {
        let config = SwitchConfig::Broadcast1 { slice1: 4, slice0: 8 };
        let explanation = explained::<m![A / 32, X, A % 8], m![T, A / 8 % 4]>(&config);
        assert_eq!(explanation.value("digits"), Some("slice2 8, slice1 4, slice0 8; time0 8"));
        assert_eq!(explanation.value("ring"), Some("32 slices, 8 sub-rings"));
        let sets = "0: {0, 8, 16, 24}; 1: {1, 9, 17, 25}; 2: {2, 10, 18, 26}; 3: {3, 11, 19, 27}; ..; \
                    255: {231, 239, 247, 255}";
        assert_eq!(explanation.value("snoop sets"), Some(sets));
        assert_eq!(explanation.value("emission order"), Some("time, source slice"));
        assert_eq!(explanation.value("cycles"), Some("512: ring 32 * time 8 * 2 flits"));
        assert_eq!(explanation.value("delivered"), Some("1/8 of what goes around, to each slice"));
        assert_eq!(explanation.value("before it"), None);
        let text = explanation.to_string();
        assert!(text.contains("| Slice   | m![A]  | m![A / 32, X, A % 8] |"), "{text}");
        assert!(text.contains("take") && text.contains("s' / 32 * 32 + s' % 8 + {0, 8, 16, 24}"), "{text}");
    }

    #[test]
    fn sets_gates_and_bitmaps_are_explained() {
        let config = SwitchConfig::Broadcast01 { slice1: 4, slice0: 2, time0: 2 };
        let all = explained::<m![A / 8, U], m![T / 2, A / 2 % 4, T % 2, A % 2]>(&config);
        assert_eq!(all.value("digits"), Some("slice2 32, slice1 4, slice0 2; time1 4, time0 2"));
        let sets = all.value("snoop sets").expect("they are there");
        assert!(sets.starts_with("0 to 7: {0, 1, 2, 3, 4, 5, 6, 7}; 8 to 15: {8, "), "{sets}");
        assert_eq!(all.value("emission order"), Some("time1, slice1, time0, slice0"));
        assert_eq!(all.value("delivered"), Some("1/1 of what goes around, to each slice"));
        let config = SwitchConfig::InterTranspose { slice1: 2, slice0: 8, time0: 2 };
        let traded = explained::<m![A / 16, T / 2 % 2, A % 8], m![T / 4, T % 2, A / 8 % 2]>(&config);
        assert_eq!(traded.value("time gate"), Some("t / 2 % 2 = s' / 8 % 2"));
        assert_eq!(traded.value("delivered"), Some("1/16 of what goes around, to each slice"));
        let same = explained::<m![A], m![T]>(&SwitchConfig::Forwarding);
        assert_eq!(same.value("configuration"), Some("SwitchConfig::Forwarding"));
        assert_eq!(same.value("ring"), Some("1 slices, 256 sub-rings"));
        assert_eq!(same.value("cycles"), Some("16: ring 1 * time 8 * 2 flits"));
        assert_eq!(
            (same.value("delivered"), same.value("before it")),
            (Some("1/1 of what goes around, to each slice"), None)
        );
        let config = SwitchConfig::CustomBroadcast { ring_size: 256 };
        let swapped = explained::<m![A % 16, A / 16], m![T]>(&config);
        let sets = "0: {0}; 1: {16}; 2: {32}; 3: {48}; ..; 255: {255}";
        assert_eq!(swapped.value("snoop sets"), Some(sets));
        assert!(swapped.value("before it").is_some_and(|text| text.contains("bitmap")));
    }
}
