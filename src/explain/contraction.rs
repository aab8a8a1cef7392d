//! `explain()` on the plans of align, contract and accumulate.

use super::explained;
use super::stage::{MappingChange, StageExplanation, count, notation};
use crate::command::AccumulationKind;
use crate::engine::contraction::{
    ACCUMULATE, AccumulateConfig, AccumulatePlan, AccumulateRequest, AlignConfig, AlignPlan, AlignRequest,
    ContractConfig, ContractPlan, ContractRequest, TrfSequencerConfig, derive_accumulate, derive_contract,
    innermost_padding, read_block, slot_loops,
};
use crate::error::PlanError;
use crate::mapping::{Factors, M, Pool, factors_of, stride, strip};
use crate::scalar::Scalar;
use crate::sequencer::{Explanation, Request, Stream, explain_loops};
use crate::spec;

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

fn explain_align(request: &AlignRequest, config: &AlignConfig) -> Result<Explanation, PlanError> {
    let (data, weights) = (&config.stream_adapter, &config.trf_sequencer);
    let mut pool = Pool::new();
    let element = factors_of("align", &mut pool, request.trf_element)?;
    let packet = factors_of("align", &mut pool, request.out_packet)?;
    let read = read_block(&mut pool, &element, &packet, weights.derived.packet_size);
    let read = read.expect("a read that was derived");
    let loops = Request {
        buf_expr: Some(request.trf_element),
        names: ["OutTime", "OutPacket"],
        ..Request::new(
            TrfSequencerConfig::NAME,
            &element,
            Stream::Expr(request.out_time),
            Stream::Factors(&read),
        )
    };
    let mut explanation = explain_loops(&mut pool, &loops)?;
    explanation.fact("stream", format!("Time m![{}], Packet m![{}]", request.time, request.packet));
    let zeros = format!("{} of data, {} of zeros", spec::MAC_BYTES - data.zero_bytes, data.zero_bytes);
    explanation.fact(
        "collect_flits",
        format!("{}: packets of {} bytes {zeros}", data.collect_flits, spec::MAC_BYTES),
    );
    explanation.fact("tile", format!("each of {} sent {}", count(data.packets, "packet"), times(data.tile)));
    explanation.fact("rows", format!("{} of 8", data.rows));
    explanation
        .fact("reg_read_size", format!("{}, {}", count(weights.reg_read_size, "byte"), times(weights.fill)));
    explanation.fact("entries in bytes", weights.config);
    explanation.fact("steps", config.steps);
    Ok(explanation)
}

fn times(number: usize) -> String {
    if number == 1 { "once".to_string() } else { format!("{number} times") }
}

impl<D: Scalar, Packet: M, OutPacket: M> ContractPlan<D, Packet, OutPacket> {
    /// Explains the sums over the packet: before and after, the depth of the tree, the columns.
    pub fn explain() -> StageExplanation {
        let request =
            ContractRequest { element: D::ELEMENT_TYPE, packet: Packet::EXPR, out_packet: OutPacket::EXPR };
        explain_contract(&request).unwrap_or_else(|error| error.refuse())
    }
}

/// Explains a contract.
///
/// # Errors
///
/// Returns the errors of [`derive_contract`].
pub fn explain_contract(request: &ContractRequest) -> Result<StageExplanation, PlanError> {
    let ContractConfig { depth, columns } = derive_contract(request)?;
    let ContractRequest { element, packet, out_packet } = *request;
    let mut pool = Pool::new();
    let factors = factors_of("contract", &mut pool, packet)?;
    let (size, group) = (factors.size(), 1usize << depth);
    let quotient = strip(&stride(&mut pool, &factors, group));
    let quotient = notation(&pool, &quotient);
    let rule = match depth {
        0 => format!("nothing is summed: m![{packet}], without outer padding, is {quotient}"),
        _ => format!(
            "the tree adds the {group} innermost positions: m![{packet}] / {group}, without outer padding, is {quotient}"
        ),
    };
    let mappings = vec![MappingChange::new("Packet", packet, out_packet)];
    let mut explanation = StageExplanation::new("contract", mappings, rule);
    let limit = spec::ACCUMULATOR_COLUMNS;
    explanation.fact("packet", format!("{size} {element}, {} bytes", spec::MAC_BYTES));
    explanation.fact("tree depth", format!("{depth} of {} levels", size.ilog2()));
    explanation.fact("columns", format!("{columns} of {limit}"));
    explanation.fact(
        "resize",
        match depth {
            0 => format!("the {size} lanes are cut to {limit}"),
            _ => format!("Interleaved repeats the columns to {limit}, Sequential fills up with zeros"),
        },
    );
    Ok(explanation)
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

/// Explains an accumulate.
///
/// # Errors
///
/// Returns the errors of [`derive_accumulate`].
pub fn explain_accumulate(request: &AccumulateRequest) -> Result<StageExplanation, PlanError> {
    let config = derive_accumulate(request)?;
    let AccumulateConfig { kind, columns, slot_count, buffer, .. } = config;
    let mut pool = Pool::new();
    let time = factors_of(ACCUMULATE, &mut pool, request.time)?;
    let out_time = factors_of(ACCUMULATE, &mut pool, request.out_time)?;
    let rows = factors_of(ACCUMULATE, &mut pool, request.row)?.size();
    let kept = stride(&mut pool, &out_time, out_time.size() / slot_count);
    let kept_text = notation(&pool, &kept);
    let groups = columns.div_ceil(spec::BEAT_LANES);
    let (leaves, counted) = match kind {
        AccumulationKind::Interleaved => (
            "per slot, each column leaves as a beat of the rows: OutTime is Time' with the columns innermost",
            "column",
        ),
        AccumulationKind::Sequential => (
            "per slot, each row leaves as beats of 8 columns: OutTime is Time' with the rows and the groups of columns \
             innermost",
            "row",
        ),
    };
    let time_text = request.time;
    let rule = match time.size() == slot_count {
        true => format!("nothing is summed: Time' is m![{time_text}]; {leaves}"),
        false => format!("Time m![{time_text}] is summed down to Time' {kept_text}; {leaves}"),
    };
    let mappings = vec![
        MappingChange::consumed("Row", request.row),
        MappingChange::new("Time", request.time, request.out_time),
        MappingChange::new("Packet", request.packet, request.out_packet),
    ];
    let operation = match kind {
        AccumulationKind::Interleaved => "accumulate, Interleaved",
        AccumulationKind::Sequential => "accumulate, Sequential",
    };
    let mut explanation = StageExplanation::new(operation, mappings, rule);
    let (beats, lanes) = match kind {
        AccumulationKind::Interleaved => (slot_count * columns, rows),
        AccumulationKind::Sequential => (slot_count * rows * groups, columns.min(spec::BEAT_LANES)),
    };
    explanation.fact("rows", format!("{rows} of {}", spec::TRF_BANK_ROWS));
    explanation.fact("columns", format!("{columns} of {}", spec::ACCUMULATOR_COLUMNS));
    explanation.fact("slots", format!("{slot_count}, {} each", count(time.size() / slot_count, "step")));
    explanation.fact("slot of a step", config.slots);
    explanation.fact("open at once", format!("{} of {}", count(buffer, counted), config.buffer_limit()));
    explanation.fact("buffer cells", format!("{} of {}", config.buffer_cells(), spec::ACCUMULATOR_CELLS));
    explanation.fact("beats", format!("{beats}, {lanes} of {} lanes in use", spec::BEAT_LANES));
    if innermost_padding(&time) == 1 {
        let one = Factors::one();
        explanation.loops =
            explain_loops(&mut pool, &slot_loops(Stream::Expr(request.time), &kept, &one)).ok();
    }
    Ok(explanation)
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
