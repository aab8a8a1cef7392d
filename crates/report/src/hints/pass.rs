//! Passes with other stages.

use furiosa_visa_clock::record::{ContractionUse, Record, Timing};
use furiosa_visa_clock::tensor_unit::{Stage, TensorUnitTime, contract_cycles};
use furiosa_visa_rules::command::ContextKind;
use furiosa_visa_rules::spec::{FETCH_SIZES, FLIT_BYTES, TRF_BANK_ROWS};

/// The time of a pass whose stages take other cycles.
fn with(time: &TensorUnitTime, cycles: impl Fn(Stage, u64) -> u64) -> u64 {
    let stages = time.stages.iter().map(|stage| cycles(stage.stage, stage.occupancy.cycles));
    time.latency() + stages.max().unwrap_or(0)
}

fn pass(record: &Record) -> Option<&TensorUnitTime> {
    match &record.timing {
        Timing::TensorUnit(time) => Some(time),
        _ => None,
    }
}

/// Cycles with half of the elements in each slice.
pub(super) fn in_half(record: &Record) -> Option<u64> {
    Some(with(pass(record)?, |_, cycles| cycles.div_ceil(2)))
}

/// Cycles with a switch that takes `switch` cycles, and a part of the elements in each slice.
pub(super) fn with_switch(record: &Record, parts: u64, switch: u64) -> Option<u64> {
    let time = pass(record)?;
    let of_parts = |stage, cycles: u64| if stage == Stage::Fetch { cycles.div_ceil(parts) } else { cycles };
    Some(with(time, of_parts).max(time.latency() + switch))
}

/// Cycles with fetches of 32 bytes, and the bytes of a fetch as it is. A table that sets the pace does so whatever is
/// fetched at a time.
pub(super) fn with_wide_fetches(record: &Record) -> Option<(u64, usize)> {
    let time = pass(record).filter(|_| record.context == ContextKind::Main)?;
    let (bytes, most) = (record.amount.pass?.access_bytes, FETCH_SIZES[0]);
    let table = record.amount.pass?.table_cycles;
    if bytes >= most {
        return None;
    }
    let wide = |cycles: u64| cycles.saturating_mul(bytes as u64).div_ceil(most as u64).max(table);
    Some((with(time, |stage, cycles| if stage == Stage::Fetch { wide(cycles) } else { cycles }), bytes))
}

fn contraction(record: &Record) -> Option<(&TensorUnitTime, ContractionUse, usize)> {
    Some((pass(record)?, record.amount.pass?.contraction?, record.amount.products?.rows))
}

/// Cycles with two flits in each packet, if a sum is over more than one packet.
pub(super) fn with_two_flits(record: &Record) -> Option<u64> {
    let (time, used, _) = contraction(record)?;
    if used.flits != 1 || used.slots == 0 || used.steps / used.slots < 2 || !used.steps.is_multiple_of(2) {
        return None;
    }
    let contract = contract_cycles(used.steps / 2, 2, used.uses);
    Some(with(time, |stage, cycles| if stage == Stage::Contract { contract } else { cycles }))
}

/// Cycles with 8 rows of the register file, if the weights of a row belong to several outputs; and the rows as they
/// are.
pub(super) fn with_all_rows(record: &Record) -> Option<(u64, usize)> {
    let (time, used, rows) = contraction(record)?;
    let bits = record.amount.products?.element.bits() as u64;
    let of_sum = used.steps.checked_div(used.slots)? * (used.flits * FLIT_BYTES * 8) as u64 / bits;
    let groups = used.row_elements.checked_div(of_sum)?;
    let times = (TRF_BANK_ROWS / rows.max(1)) as u64;
    let fits = rows < TRF_BANK_ROWS && TRF_BANK_ROWS.is_multiple_of(rows) && groups.is_multiple_of(times);
    if !fits || groups == 0 || !used.steps.is_multiple_of(times) {
        return None;
    }
    // Either a packet meets all groups in turn, or the stream is repeated for each group.
    let repeated = used.uses == 1;
    if !repeated && !used.uses.is_multiple_of(times) {
        return None;
    }
    let uses = if repeated { 1 } else { used.uses / times };
    let contract = contract_cycles(used.steps / times, used.flits as u64, uses);
    let cycles = with(time, |stage, cycles| match stage {
        Stage::Contract => contract,
        Stage::Fetch | Stage::Switch | Stage::Collect if repeated => cycles.div_ceil(times),
        Stage::Fetch | Stage::Switch | Stage::Collect => cycles,
        _ if used.interleaved => cycles.div_ceil(times),
        _ => cycles,
    });
    Some((cycles, rows))
}
