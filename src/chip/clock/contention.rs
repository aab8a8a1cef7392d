//! How operations that run at the same time slow each other down at the banks of DM (detailed profile).
//!
//! ```text
//!   main fetch > main commit > sub fetch > sub commit > DMA
//! ```
//!
//! A requester never waits for one of lower priority: the main context is slowed down by nobody, the sub context by the
//! main one, DMA by both (spec page 70 §6). Each pair of operations is run through the banks from the cycles in which they
//! began; delays by several operations add up (assumed).

use super::banks::{AccessNest, ContextLoad, DmaRequest, Occupancy, Requester, Starvation, longest_bank_run};
use super::dma::{self, DmaOperation, EngineQueue, Medium, Side};
use super::hazards::Unit;
use crate::chip::spec::{DMA_SLICE_STRIDE, DMA_STARTUP_CYCLES, PE_SLICES};
use crate::command::{Fetch, Region, Sink, TensorUnit};
use crate::error::PlanError;
use crate::sequencer::{Config, Entry};

/// What an operation asks of the banks of DM.
#[derive(Clone, Debug)]
pub enum BankLoad {
    /// A pass through the Tensor Unit: its accesses, counted from the cycle of its first fetch.
    Pass {
        /// The accesses.
        load: Box<ContextLoad>,
        /// Cycles from the start of the operation to its first fetch.
        begin: u64,
        /// Cycles from the first fetch to the last access when nothing else runs.
        alone: u64,
        /// Whether 64 accesses in a row meet in one bank, so that DMA has to wait (spec page 70 §7).
        holds_dma: bool,
    },
    /// A DMA operation.
    Dma {
        /// What its engines are told.
        operation: Box<DmaOperation>,
        /// Cycles in which its data moves.
        data: u64,
    },
    /// Nothing.
    Nothing,
}

/// Loops over accesses of `access_bytes` bytes: what is contiguous is cut into accesses.
fn accesses(config: &Config, bits: usize, access_bytes: usize) -> Vec<Entry> {
    let entries = config.entries.as_slice();
    let mut run = 1;
    let mut outer = entries.len();
    while outer > 0 && (entries[outer - 1].stride == run as isize || entries[outer - 1].size == 1) {
        run *= entries[outer - 1].size;
        outer -= 1;
    }
    let bytes = |stride: isize| stride * bits as isize / 8;
    let mut loops: Vec<Entry> =
        entries[..outer].iter().map(|own| Entry { size: own.size, stride: bytes(own.stride) }).collect();
    let count = (run * bits / 8).div_ceil(access_bytes);
    loops.push(Entry { size: count, stride: access_bytes as isize });
    loops
}

fn nest(region: &Region, config: &Config, access_bytes: usize, sub: bool) -> Result<AccessNest, PlanError> {
    let bits = region.footprint.element.bits();
    let loops = accesses(config, bits, access_bytes);
    let base = region.address as usize;
    if sub {
        AccessNest::sub(&loops, base, access_bytes)
    } else {
        AccessNest::main(&loops, base, access_bytes)
    }
}

impl BankLoad {
    /// The accesses of a pass; of two interleaved tensors the first stands for both (assumed). Nothing where they leave the slice: such a pass runs only with the checks turned off.
    pub fn of_pass(unit: &TensorUnit, begin: u64) -> Self {
        let sub = unit.sub_context;
        let Fetch { source, config, fetch_size, .. } = &unit.fetch;
        let Ok(fetch) = nest(source, config, *fetch_size, sub) else { return BankLoad::Nothing };
        let mut holds_dma = longest_bank_run(&fetch).holds_dma();
        let load = match &unit.sink {
            Sink::Commit { destination, config, commit_size, .. } => {
                let Ok(commit) = nest(destination, config, *commit_size, sub) else {
                    return BankLoad::Nothing;
                };
                holds_dma |= longest_bank_run(&commit).holds_dma();
                ContextLoad::new(fetch, commit)
            }
            Sink::Trf { .. } | Sink::Vrf { .. } => ContextLoad::fetch(fetch),
        };
        let idle = ContextLoad::default();
        let alone = Occupancy::of(&load, &idle).end_cycle();
        BankLoad::Pass { load: Box::new(load), begin, alone, holds_dma }
    }

    /// The requests of a DMA operation of `cycles` cycles.
    pub fn of_dma(operation: DmaOperation, cycles: u64) -> Self {
        let data = cycles.saturating_sub(DMA_STARTUP_CYCLES);
        BankLoad::Dma { operation: Box::new(operation), data }
    }

    /// Cycles until the last access when nothing else runs.
    pub fn cycles(&self) -> u64 {
        match self {
            BankLoad::Pass { begin, alone, .. } => begin + alone,
            BankLoad::Dma { data, .. } => DMA_STARTUP_CYCLES + data,
            BankLoad::Nothing => 0,
        }
    }

    /// Whether DMA may not run at the same time.
    pub fn holds_dma(&self) -> bool {
        matches!(self, BankLoad::Pass { holds_dma: true, .. })
    }
}

/// What became of two operations that met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meeting {
    /// Cycles by which the one of lower priority ends later.
    pub delay: u64,
    /// Banks that served so many accesses in a row that DMA might starve.
    pub starvations: Vec<Starvation>,
    /// A DMA request that was not answered in time: slice of its PE, bank, cycle.
    pub timeout: Option<(usize, usize, u64)>,
}

/// Which of two is slowed down.
pub const fn yields(one: Unit, to: Unit) -> bool {
    matches!((one, to), (Unit::Sub, Unit::Main) | (Unit::TensorDma, Unit::Main | Unit::Sub))
}

/// Runs an operation beside one of higher priority. Both begin at the given cycles. Cycles in the answer count from 0 as
/// they do.
pub fn meet(own: (&BankLoad, u64), other: (&BankLoad, u64)) -> Meeting {
    let BankLoad::Pass { load: prior, begin, .. } = other.0 else { return Meeting::default() };
    let first = own.1.min(other.1);
    let prior = ContextLoad { start_cycle: other.1 + begin - first, ..(**prior).clone() };
    match own.0 {
        BankLoad::Nothing => Meeting::default(),
        BankLoad::Pass { load, begin, alone, .. } => {
            let start = own.1 + begin - first;
            let beside = ContextLoad { start_cycle: start, ..(**load).clone() };
            let occupancy = Occupancy::of(&prior, &beside);
            let last = [Requester::SubFetch, Requester::SubCommit];
            let end = last.map(|own| occupancy.requester(own).end_cycle()).into_iter().max().unwrap_or(0);
            Meeting { delay: end.saturating_sub(start + alone), ..Meeting::default() }
        }
        BankLoad::Dma { operation, data } => {
            let begin = own.1 + DMA_STARTUP_CYCLES - first;
            let Some(requests) = requests_of_busiest(operation, begin, *data) else {
                return Meeting::default();
            };
            let idle = ContextLoad::default();
            let alone = Occupancy::of(&idle, &idle).serve_dma(core::slice::from_ref(&requests)).end_cycle();
            let beside = Occupancy::of(&prior, &idle).serve_dma(core::slice::from_ref(&requests));
            Meeting {
                delay: beside.end_cycle().saturating_sub(alone),
                starvations: shifted(&beside.starvations, first),
                timeout: beside.timeout.map(|own| (own.slice, own.bank, own.cycle + first)),
            }
        }
    }
}

fn shifted(starvations: &[Starvation], first: u64) -> Vec<Starvation> {
    let shift = |own: &Starvation| Starvation {
        cycles: own.cycles.start + first..own.cycles.end + first,
        ..own.clone()
    };
    starvations.iter().map(shift).collect()
}

/// The accesses to DM of the engine with the most of them, evenly spread over the time in which data moves. PEs are alike:
/// one engine stands for all.
fn requests_of_busiest(operation: &DmaOperation, begin: u64, data: u64) -> Option<Vec<DmaRequest>> {
    let sides = |queue: &EngineQueue| -> u64 {
        let of = |command: &dma::PairedSequencer| -> u64 {
            let in_dm = [Side::Source, Side::Destination].into_iter();
            in_dm.filter(|side| matches!(command.medium(*side), Medium::Dm { .. })).count() as u64
                * command.requests()
        };
        queue.commands.iter().map(of).sum()
    };
    let busiest = operation.engines.iter().max_by_key(|queue| sides(queue))?;
    let total = sides(busiest);
    let mut requests = Vec::with_capacity(total as usize);
    for command in &busiest.commands {
        for side in [Side::Source, Side::Destination] {
            if !matches!(command.medium(side), Medium::Dm { .. }) {
                continue;
            }
            for (address, bytes) in command.iter_requests(side) {
                let arrival = begin + (requests.len() as u128 * u128::from(data) / u128::from(total)) as u64;
                let slice = (address / DMA_SLICE_STRIDE) as usize % PE_SLICES;
                requests.extend(DmaRequest::new(arrival, slice, bytes).ok());
            }
        }
    }
    Some(requests)
}
