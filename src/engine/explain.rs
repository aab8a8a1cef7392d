//! `explain()` on plans: the derivation as the tables of the seed page *Sequencer*, and the numbers that follow from it.

use super::collect::{CollectConfig, factors_of};
use super::commit::{CommitConfig, CommitPlan, CommitRequest};
use super::contraction::{AccumulateConfig, AlignConfig, AlignPlan, AlignRequest, ContractConfig};
use super::dma::{AtRest, DmaPlan};
use super::fetch::FetchPlan;
use super::fetch::stages::Stages;
use super::register_file::TrfLoadConfig;
use crate::command::Transfer;
use crate::error::PlanError;
use crate::mapping::{M, Pool, modulo};
use crate::runtime::Tu;
use crate::scalar::{Scalar, StreamScalar};
use crate::sequencer::{
    BufferPlan, Explanation, Request, Stream, explain_fetch, explain_loops, explain_read,
};
use core::fmt;

/// A plan that exists has an explanation.
fn explained(explanation: Result<Explanation, PlanError>) -> Explanation {
    explanation.expect("what derives can be explained")
}

impl<D: Scalar, D2: StreamScalar, Element: M, Time2: M, Packet2: M, const T: Tu, Begin: M, Adapter: Stages>
    FetchPlan<D, D2, Element, Time2, Packet2, T, Begin, Adapter>
{
    /// How the sequencer follows from the mappings.
    ///
    /// ```
    /// use furiosa_visa_std::engine::fetch::FetchPlan;
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 8, B = 8, C = 8];
    /// let explanation = FetchPlan::<i8, i8, m![A, B, C # 32], m![B, A], m![C # 16]>::explain();
    /// assert_eq!(explanation.rows[1].after, "m![1 # 64, C # 32]");
    /// println!("{explanation}");
    /// ```
    pub fn explain() -> Explanation {
        explained(explain_fetch("fetch", &Self::REQUEST))
    }
}

impl<D: Scalar, Buf: M, Time: M, Packet: M> BufferPlan<D, Buf, Time, Packet> {
    /// How the sequencer follows from the mappings.
    pub fn explain() -> Explanation {
        explained(explain_read(Buf::EXPR, Time::EXPR, Packet::EXPR, D::ELEMENT_TYPE))
    }
}

impl<D: Scalar, Time: M, Packet: M, Element: M, const T: Tu> CommitPlan<D, Time, Packet, Element, T> {
    /// How the sequencer follows from the mappings.
    pub fn explain() -> Explanation {
        explained(explain_commit(&Self::REQUEST, &Self::CONFIG))
    }
}

fn explain_commit(request: &CommitRequest, config: &CommitConfig) -> Result<Explanation, PlanError> {
    let mut pool = Pool::new();
    let destination = factors_of("commit", &mut pool, request.destination)?;
    let inner = modulo(&mut pool, &destination, config.window);
    let loops = Request {
        operation: "commit",
        buf: &destination,
        time: Stream::Expr(request.time),
        packet: Stream::Factors(&inner),
        partial: false,
        unread: false,
        names: Request::TIME_AND_PACKET,
    };
    let mut explanation = explain_loops(&mut pool, &loops)?;
    explanation.fact("commit_in_size", format!("{} bytes", config.commit_in_size));
    explanation.fact("contiguous run", format!("{} bytes", config.contiguous_bytes));
    explanation.fact("commit_size", format!("{} bytes", config.commit_size));
    explanation.fact("cycles", config.cycles);
    Ok(explanation)
}

impl<D: StreamScalar, Time: M, Packet: M, Row: M, TrfElement: M, OutTime: M, OutPacket: M>
    AlignPlan<D, Time, Packet, Row, TrfElement, OutTime, OutPacket>
{
    /// How the TRF sequencer follows from the mappings. Its entries are shown in elements; the configuration has bytes.
    pub fn explain() -> Explanation {
        explained(explain_align(&Self::REQUEST, &Self::CONFIG))
    }
}

fn explain_align(request: &AlignRequest, config: &AlignConfig) -> Result<Explanation, PlanError> {
    let mut pool = Pool::new();
    let element = factors_of("align", &mut pool, request.trf_element)?;
    let read = modulo(&mut pool, &element, config.derived.packet_size);
    let loops = Request {
        operation: "align, TRF sequencer",
        buf: &element,
        time: Stream::Expr(request.out_time),
        packet: Stream::Factors(&read),
        partial: false,
        unread: false,
        names: ["OutTime", "OutPacket"],
    };
    let mut explanation = explain_loops(&mut pool, &loops)?;
    explanation.fact("collect_flits", config.collect_flits);
    explanation.fact("tile", config.tile);
    explanation.fact("reg_read_size", format!("{} bytes", config.reg_read_size));
    explanation.fact("entries in bytes", config.config);
    explanation.fact("steps", config.steps);
    Ok(explanation)
}

impl<Source: AtRest, Destination: AtRest> DmaPlan<Source, Destination> {
    /// The loops of the transfer, as text.
    pub fn explain() -> String {
        let (source, destination) = (Source::SHAPE, Destination::SHAPE);
        let (from, to) = (source.to_text(), destination.to_text());
        format!("{from} to {to}\n{}", Self::TRANSFER)
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = |step: &crate::command::Step| match (step.units, step.elements) {
            (0, 0) => "repeated".to_string(),
            (0, elements) => format!("{elements} elements"),
            (units, _) => format!("{units} units"),
        };
        writeln!(f, "{:>10}  {:>16}  {:>16}", "iterations", "source step", "destination step")?;
        for own in &self.loops {
            writeln!(f, "{:>10}  {:>16}  {:>16}", own.size, step(&own.source), step(&own.destination))?;
        }
        write!(
            f,
            "{}",
            if self.guard.is_always() {
                "every iteration moves"
            } else {
                "iterations over padding are skipped"
            }
        )
    }
}

impl fmt::Display for CollectConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} flits per packet", self.flits)
    }
}

impl fmt::Display for TrfLoadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows of {} elements, {} bytes", self.rows, self.row_elements, self.bytes)
    }
}

impl fmt::Display for AlignConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "collect_flits {}, tile {}, rows {}, steps {}, reg_read_size {} B, TRF sequencer (bytes) {}",
            self.collect_flits, self.tile, self.rows, self.steps, self.reg_read_size, self.config
        )
    }
}

impl fmt::Display for ContractConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tree depth {}, {} columns", self.depth, self.columns)
    }
}

impl fmt::Display for AccumulateConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, slots, count) = (self.kind, self.slots, self.slot_count);
        write!(f, "{kind}, {} columns, {count} slots {slots}, buffer {}", self.columns, self.buffer)
    }
}

impl fmt::Display for CommitConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, commit_in_size {} B, commit_size {} B, {} cycles",
            self.derived, self.commit_in_size, self.commit_size, self.cycles
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::contraction::{AccumulatePlan, ContractPlan};
    use crate::prelude::*;

    axes![P = 6, Q = 4, C = 64, G = 8, A = 8, B = 16];

    #[test]
    fn a_commit_is_explained() {
        // Spec page 50 §6.2: M 4:16, K 2:8, W 8:1, with 8 bytes per write.
        axes![M = 4, K = 2, W = 8];
        type Plan = CommitPlan<i8, m![M, K], m![W # 32], m![M, K, W]>;
        let text = Plan::explain().to_string();
        assert!(text.contains("[4 : 16, 2 : 8, 8 : 1] : 8"), "{text}");
        assert!(
            text.lines().any(|line| line.starts_with("commit_size ") && line.ends_with(" 8 bytes")),
            "{text}"
        );
        assert_eq!(
            Plan::CONFIG.to_string(),
            "[4 : 16, 2 : 8, 8 : 1] : 8, commit_in_size 8 B, commit_size 8 B, 8 cycles"
        );
    }

    #[test]
    fn an_align_is_explained() {
        // Spec page 40 §3.3, example 11.
        type Plan = AlignPlan<i8, m![P, Q, C / 32], m![C % 32], m![G], m![Q, C], m![P, Q], m![C]>;
        let text = Plan::explain().to_string();
        assert!(
            text.lines()
                .any(|line| line.starts_with("entries in bytes ") && line.ends_with(" [6 : 0, 4 : 64] : 64")),
            "{text}"
        );
        let shown = Plan::CONFIG.to_string();
        assert!(
            shown.starts_with("collect_flits 2, tile 1, rows 8, steps 24, reg_read_size 64 B"),
            "{shown}"
        );
    }

    #[test]
    fn other_configurations_print_their_numbers() {
        assert_eq!(ContractPlan::<i8, m![C], m![1]>::CONFIG.to_string(), "tree depth 6, 1 columns");
        type Sum = AccumulatePlan<m![G], m![P, Q], m![1], m![P], m![G]>;
        let text = Sum::INTERLEAVED.expect("fits").to_string();
        assert_eq!(text, "Interleaved, 1 columns, 6 slots [6 : 1, 4 : 0] : 1, buffer 1");
        type Move =
            DmaPlan<HbmTensor<i8, m![1], m![A, B]>, DmTensor<i8, m![1], m![1 # 2], m![A # 256], m![B]>>;
        let text = Move::explain();
        assert!(text.starts_with("`HbmTensor<m![1], m![A, B]>` to `DmTensor<m![1], m![1 # 2], "), "{text}");
        assert!(text.contains("         8       16 elements           1 units"), "{text}");
        assert!(text.contains("        16        1 elements        1 elements"), "{text}");
    }
}
