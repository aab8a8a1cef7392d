//! `explain()` on the plans of align, contract and accumulate.

use super::explained;
use crate::command::AccumulationKind;
use crate::engine::contraction::{AccumulatePlan, AlignPlan, ContractPlan, ContractRequest};
use crate::error::PlanError;
use crate::explain::{StageExplanation, explain_accumulate, explain_align, explain_contract};
use crate::mapping::M;
use crate::scalar::Scalar;
use crate::sequencer::Explanation;

impl<D: Scalar, Time: M, Packet: M, Row: M, TrfElement: M, OutTime: M, OutPacket: M>
    AlignPlan<D, Time, Packet, Row, TrfElement, OutTime, OutPacket>
{
    /// Explains the derivation of the TRF sequencer from the mappings, and the work of the stream adapter.
    ///
    /// The entries of the table are in elements; the configuration has bytes.
    pub fn explain() -> Explanation {
        explained(explain_align(&Self::REQUEST, &Self::CONFIG))
    }
}

impl<D: Scalar, Packet: M, OutPacket: M> ContractPlan<D, Packet, OutPacket> {
    /// Explains the sums over the packet: before and after, the depth of the tree, the columns.
    pub fn explain() -> StageExplanation {
        let request =
            ContractRequest { element: D::ELEMENT_TYPE, packet: Packet::EXPR, out_packet: OutPacket::EXPR };
        explain_contract(&request).unwrap_or_else(|error| error.refuse())
    }
}

impl<Row: M, Time: M, Packet: M, OutTime: M, OutPacket: M>
    AccumulatePlan<Row, Time, Packet, OutTime, OutPacket>
{
    /// Explains the sums over time and their output: the mappings before and after, the slot of each step, the buffer.
    ///
    /// # Errors
    ///
    /// Returns an error for mappings that this kind does not fit.
    pub fn explain(kind: AccumulationKind) -> Result<StageExplanation, PlanError> {
        explain_accumulate(&Self::request(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use core::fmt;

    axes![P = 6, Q = 4, C = 64, G = 8, V = 16, T = 5];

    fn lines(text: &impl fmt::Display) -> Vec<String> {
        let text = text.to_string();
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[track_caller]
    fn has(text: &impl fmt::Display, line: &str) {
        assert!(lines(text).iter().any(|other| other == line), "`{line}` is not in\n{text}");
    }

    #[test]
    fn an_align_is_explained() {
        // A stream that reads the same weights several times.
        type Plan = AlignPlan<i8, m![P, Q, C / 32], m![C % 32], m![G], m![Q, C], m![P, Q], m![C]>;
        let text = Plan::explain();
        has(&text, "stream Time m![P, Q, C / 32], Packet m![C % 32]");
        has(&text, "collect_flits 2: packets of 64 bytes 64 of data, 0 of zeros");
        has(&text, "tile each of 24 packets sent once");
        has(&text, "rows 8 of 8");
        has(&text, "reg_read_size 64 bytes, once");
        has(&text, "entries in bytes [6 : 0, 4 : 64] : 64");
        assert_eq!(
            Plan::CONFIG.to_string(),
            "stream adapter: collect_flits 2, zeros 0 B, packets 24, tile 1, rows 8; \
             TRF sequencer: reg_read_size 64 B, fill 1, entries (bytes) [6 : 0, 4 : 64] : 64; steps 24"
        );
        type Tiled = AlignPlan<bf16, m![P], m![V], m![G], m![T, V], m![P, T], m![V # 32]>;
        let text = Tiled::explain();
        has(&text, "collect_flits 1: packets of 64 bytes 32 of data, 32 of zeros");
        has(&text, "tile each of 6 packets sent 5 times");
        has(&text, "reg_read_size 32 bytes, 2 times");
    }

    #[test]
    fn a_contract_is_explained() {
        let explanation = ContractPlan::<i8, m![C], m![C / 16]>::explain();
        has(&explanation, "| Packet | m![C] | m![C / 16] |");
        has(
            &explanation,
            "the tree adds the 16 innermost positions: m![C] / 16, without outer padding, is m![C / 16]",
        );
        has(&explanation, "packet 64 i8, 64 bytes");
        has(&explanation, "tree depth 4 of 6 levels");
        has(&explanation, "columns 4 of 32");
        has(&explanation, "resize Interleaved repeats the columns to 32, Sequential fills up with zeros");
        let explanation = ContractPlan::<i8, m![V # 64], m![V]>::explain();
        has(&explanation, "nothing is summed: m![V # 64], without outer padding, is m![V]");
        has(&explanation, "resize the 64 lanes are cut to 32");
        assert_eq!(ContractPlan::<i8, m![C], m![1]>::CONFIG.to_string(), "tree depth 6, 1 column");
    }

    #[test]
    fn an_accumulate_is_explained() {
        type Sum = AccumulatePlan<m![G], m![P, Q], m![V], m![Q, V], m![G]>;
        let explanation = Sum::explain(AccumulationKind::Interleaved).expect("fits");
        has(&explanation, "| Row | m![G] | |");
        has(&explanation, "| Time | m![P, Q] | m![Q, V] |");
        has(&explanation, "| Packet | m![V] | m![G] |");
        assert!(
            explanation.rule.starts_with("Time m![P, Q] is summed down to Time' m![Q];"),
            "{explanation}"
        );
        has(&explanation, "columns 16 of 32");
        has(&explanation, "slots 4, 6 steps each");
        has(&explanation, "slot of a step [6 : 0, 4 : 1] : 1");
        has(&explanation, "open at once 64 columns of 128");
        has(&explanation, "buffer cells 512 of 1024");
        has(&explanation, "beats 64, 8 of 8 lanes in use");
        has(&explanation, "| P | 6 : 0 | not in Buf (broadcast) | m![Q] |");
        assert!(Sum::explain(AccumulationKind::Sequential).is_err());

        type Rows = AccumulatePlan<m![G], m![P, T], m![V], m![P, G, V / 8], m![V % 8]>;
        let explanation = Rows::explain(AccumulationKind::Sequential).expect("fits");
        has(&explanation, "slots 6, 5 steps each");
        has(&explanation, "open at once 16 rows of 32");
        has(&explanation, "buffer cells 512 of 1024");
        has(&explanation, "beats 96, 8 of 8 lanes in use");
        type All = AccumulatePlan<m![G], m![P], m![1], m![P], m![G]>;
        let explanation = All::explain(AccumulationKind::Interleaved).expect("fits");
        assert!(explanation.rule.starts_with("nothing is summed: Time' is m![P];"), "{explanation}");
        assert_eq!(
            All::INTERLEAVED.expect("fits").to_string(),
            "Interleaved, 1 column, 6 slots [6 : 1, 1 : 0] : 1, buffer 1"
        );
    }
}
