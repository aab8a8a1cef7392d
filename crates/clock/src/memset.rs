//! The time of a memset: a write of 32 bits per cycle in each slice, all slices at once.
//!
//! ```text
//!   issue of the command, the first immediate, then a cycle per word that holds elements
//! ```
//!
//! A commit writes once per cycle, which is documented. That an immediate without a stream does so as well is assumed,
//! and so is the delay of the first one. A word that is written in part takes a cycle as any other.

use super::banks::{AccessNest, longest_bank_run};
use super::contention::{BankLoad, nest};
use super::cost::{Cost, CostClass};
use super::numbers::{Model, Number};
use super::tensor_unit::{Stage, StageTime, TensorUnitTime};
use furiosa_visa_rules::command::Memset;
use furiosa_visa_rules::list::List;
use furiosa_visa_rules::spec::IMMEDIATE_BYTES;

/// The time of a memset that nothing else disturbs.
pub fn memset_time(memset: &Memset, model: Model) -> TensorUnitTime {
    let cycles = memset.words().positions() as u64;
    let occupancy = Cost { cycles, class: CostClass::Assumed, source: "words of 4 bytes per slice" };
    let commit = StageTime { stage: Stage::Commit, occupancy, latency: model.cost(Number::Immediate, 1) };
    let mut stages = List::new(commit);
    stages.push(commit);
    TensorUnitTime { stages, issue: model.cost(Number::PassIssue, 1) }
}

/// Writes of a slice to its DM. `None` if they leave the slice, or have too many loops.
pub(super) fn writes(memset: &Memset) -> Option<AccessNest> {
    nest(&memset.destination, &memset.words(), IMMEDIATE_BYTES, true).ok()
}

/// Tells if 64 writes in a row meet in one bank, so that DMA has to wait.
pub(super) fn holds_dma(writes: &AccessNest) -> bool {
    longest_bank_run(writes).holds_dma()
}

/// The writes as a load of the banks.
pub(super) fn load(writes: AccessNest, time: &TensorUnitTime) -> BankLoad {
    BankLoad::of_writes(writes, time.latency())
}
