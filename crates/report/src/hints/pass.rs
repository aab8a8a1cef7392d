//! Passes with other stages.

use furiosa_visa_clock::record::{ContractionUse, Record, Timing};
use furiosa_visa_clock::tensor_unit::{Stage, TensorUnitTime, contract_cycles};
use furiosa_visa_rules::command::{ContextKind, MemoryKind};
use furiosa_visa_rules::spec::{FETCH_SIZES, FLIT_BYTES, TRF_BANK_ROWS};

/// The time of a pass whose stages take other cycles.
fn with(time: &TensorUnitTime, cycles: impl Fn(Stage, u64) -> u64) -> u64 {
    let stages = time.stages.iter().map(|own| cycles(own.stage, own.occupancy.cycles));
    time.latency() + stages.max().unwrap_or(0)
}

fn pass(record: &Record) -> Option<&TensorUnitTime> {
    match &record.timing {
        Timing::TensorUnit(time) => Some(time),
        _ => None,
    }
}

/// With half of the elements in each slice. What goes to register files stays: every slice needs all of it.
pub(super) fn in_both_clusters(record: &Record) -> Option<u64> {
    let time = pass(record).filter(|_| record.memories.1 == Some(MemoryKind::Dm))?;
    Some(with(time, |_, cycles| cycles.div_ceil(2)))
}

/// With fetches of 32 bytes. A table that sets the pace does so whatever is fetched at a time.
pub(super) fn with_wide_fetches(record: &Record) -> Option<(u64, usize)> {
    let time = pass(record).filter(|_| record.context == ContextKind::Main)?;
    let (own, most) = (record.amount.pass?.access_bytes, FETCH_SIZES[0]);
    let table = record.amount.pass?.table_cycles;
    if own >= most {
        return None;
    }
    let wide = |cycles: u64| cycles.saturating_mul(own as u64).div_ceil(most as u64).max(table);
    Some((with(time, |stage, cycles| if stage == Stage::Fetch { wide(cycles) } else { cycles }), own))
}

fn contraction(record: &Record) -> Option<(&TensorUnitTime, ContractionUse, usize)> {
    Some((pass(record)?, record.amount.pass?.contraction?, record.amount.products?.rows))
}

/// With two flits in each packet, where a sum is over more than one packet.
pub(super) fn with_two_flits(record: &Record) -> Option<u64> {
    let (time, own, _) = contraction(record)?;
    if own.flits != 1 || own.slots == 0 || own.steps / own.slots < 2 || !own.steps.is_multiple_of(2) {
        return None;
    }
    let contract = contract_cycles(own.steps / 2, 2, own.uses);
    Some(with(time, |stage, cycles| if stage == Stage::Contract { contract } else { cycles }))
}

/// With 8 rows of the register file, where the weights of a row belong to several outputs.
pub(super) fn with_all_rows(record: &Record) -> Option<(u64, usize)> {
    let (time, own, rows) = contraction(record)?;
    let bits = record.amount.products?.element.bits() as u64;
    let of_sum = own.steps.checked_div(own.slots)? * (own.flits * FLIT_BYTES * 8) as u64 / bits;
    let groups = own.row_elements.checked_div(of_sum)?;
    let times = (TRF_BANK_ROWS / rows.max(1)) as u64;
    let fits = rows < TRF_BANK_ROWS && TRF_BANK_ROWS.is_multiple_of(rows) && groups.is_multiple_of(times);
    if !fits || groups == 0 || !own.steps.is_multiple_of(times) {
        return None;
    }
    // Either a packet meets all groups in turn, or the stream is repeated for each group.
    let repeated = own.uses == 1;
    if !repeated && !own.uses.is_multiple_of(times) {
        return None;
    }
    let uses = if repeated { 1 } else { own.uses / times };
    let contract = contract_cycles(own.steps / times, own.flits as u64, uses);
    let cycles = with(time, |stage, cycles| match stage {
        Stage::Contract => contract,
        Stage::Fetch | Stage::Switch | Stage::Collect if repeated => cycles.div_ceil(times),
        Stage::Fetch | Stage::Switch | Stage::Collect => cycles,
        _ if own.interleaved => cycles.div_ceil(times),
        _ => cycles,
    });
    Some((cycles, rows))
}
