//! Align, contract and accumulate in words.

use super::stage::{MappingChange, StageExplanation, count, notation};
use crate::command::AccumulationKind;
use crate::engine::contraction::accumulate::OPERATION as ACCUMULATE;
use crate::engine::contraction::{
    AccumulateConfig, AccumulateRequest, AlignConfig, AlignRequest, ContractConfig, ContractRequest,
    TrfSequencerConfig, derive_accumulate, derive_contract, innermost_padding, read_block, slot_loops,
};
use crate::error::PlanError;
use crate::mapping::{Factors, Pool, factors_of, stride, strip};
use crate::sequencer::{Explanation, Request, StreamPart, explain_loops};
use crate::spec;

/// Explains an align: the loops of the TRF's sequencer, and what the stream adapter does.
///
/// # Errors
///
/// Returns errors for mappings whose size is not defined, and those of [`derive`](crate::sequencer::derive()).
pub fn explain_align(request: &AlignRequest, config: &AlignConfig) -> Result<Explanation, PlanError> {
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
            StreamPart::Expr(request.out_time),
            StreamPart::Factors(&read),
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
        let one = Factors::ONE;
        explanation.loops =
            explain_loops(&mut pool, &slot_loops(StreamPart::Expr(request.time), &kept, &one)).ok();
    }
    Ok(explanation)
}
