//! Delays between operations that run at the same time, at the banks of DM and of the TRF (detailed profile).
//!
//! ```text
//!   main fetch > main commit > sub fetch > sub commit > DMA
//! ```
//!
//! A requester never waits for one of lower priority: nothing slows the main context down, the main context slows the
//! sub context down, and both slow DMA down. Each pair of operations is run through the banks from the cycles in which
//! they began. Delays by several operations add up (assumed).

use super::banks::{
    AccessNest, ContextLoad, DmaRequest, FetchPace, Occupancy, Requester, Starvation, longest_bank_run,
};
use super::cost::Channels;
use super::dma::{self, DmaOperation, EngineQueue, Medium, Side};
use super::tensor_unit::{Stage, TensorUnitTime, channel_bytes, fetch_access_bytes, switch_cycles};
use super::trf_cache::{TrfReads, TrfStore, store_stalls};
use furiosa_visa_rules::command::ContextKind;
use furiosa_visa_rules::command::{Fetch, Region, Sink, TensorUnit};
use furiosa_visa_rules::error::PlanError;
use furiosa_visa_rules::list::List;
use furiosa_visa_rules::sequencer::{Config, DERIVED_ENTRIES, Entry};
use furiosa_visa_rules::spec::{
    DMA_SLICE_STRIDE, DMA_STARTUP_CYCLES, FETCH_SIZES, PE_SLICES, SUB_FETCH_BYTES, TRF_LINE_BYTES,
};

/// Accesses of an operation to the banks of DM.
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
        /// Its use of the TRF.
        trf: Option<TrfUse>,
    },
    /// A DMA operation.
    Dma {
        /// Commands of its engines.
        operation: Box<DmaOperation>,
        /// Cycles in which its data moves.
        data: u64,
    },
    /// No accesses.
    Nothing,
}

/// Use of the TRF by a pass.
#[derive(Clone, Debug)]
pub enum TrfUse {
    /// A contraction reads weights, one read per cycle.
    Reads(Box<TrfReads>),
    /// A load stores lines.
    Stores(TrfStore),
}

impl TrfUse {
    fn of(unit: &TensorUnit) -> Option<Self> {
        match (&unit.contraction, &unit.sink) {
            (Some(contraction), _) => Some(TrfUse::Reads(Box::new(TrfReads::of(contraction)?))),
            (None, Sink::Trf { destination, .. }) => {
                let bytes = if unit.sub_context { SUB_FETCH_BYTES } else { FETCH_SIZES[0] };
                Some(TrfUse::Stores(TrfStore::of(destination, TRF_LINE_BYTES.div_ceil(bytes))))
            }
            _ => None,
        }
    }
}

/// Cycles for which the lines of a load wait for a contraction that misses the cache of the TRF, as if both began
/// together (assumed).
fn store_delay(waiting: Option<&TrfUse>, prior: Option<&TrfUse>) -> u64 {
    let (Some(TrfUse::Stores(store)), Some(TrfUse::Reads(reads))) = (waiting, prior) else { return 0 };
    store_stalls(reads, *store)
}

/// Loops over accesses of `access_bytes` bytes: a contiguous run is cut into accesses.
fn accesses(config: &Config, bits: usize, access_bytes: usize) -> Vec<Entry> {
    let entries = config.entries.as_slice();
    let mut run = 1;
    let mut outer = entries.len();
    while outer > 0 && (entries[outer - 1].stride == run as isize || entries[outer - 1].size == 1) {
        run *= entries[outer - 1].size;
        outer -= 1;
    }
    let bytes = |stride: isize| stride * bits as isize / 8;
    let mut loops: Vec<Entry> = entries[..outer]
        .iter()
        .map(|entry| Entry { size: entry.size, stride: bytes(entry.stride) })
        .collect();
    if let (1, Some(last)) = (run, loops.last_mut().filter(|last| last.stride == 0)) {
        // A repeated element is read once for each access that its copies fill.
        last.size = (last.size * bits / 8).div_ceil(access_bytes);
        return loops;
    }
    let count = (run * bits / 8).div_ceil(access_bytes);
    loops.push(Entry { size: count, stride: access_bytes as isize });
    loops
}

pub(super) fn nest(
    region: &Region,
    config: &Config,
    access_bytes: usize,
    sub: bool,
) -> Result<AccessNest, PlanError> {
    let bits = region.footprint.element.bits();
    let loops = accesses(config, bits, access_bytes);
    // A stream with padding positions before its tensor has been checked to start inside the slice.
    let base = region.address.saturating_add_signed((config.base * bits as isize / 8) as i64) as usize;
    if sub {
        AccessNest::sub(&loops, base, access_bytes)
    } else {
        AccessNest::main(&loops, base, access_bytes)
    }
}

/// Loops of an interleaved fetch, which changes to the other tensor, `distance` elements further, after every `positions`
/// positions. Neither tensor has an axis for this alternation: a loop without a stride stands for it.
fn in_turn(config: &Config, positions: usize, distance: isize) -> Config {
    let mut inner = 1;
    // Two entries are added. Configurations that the sequencers accept have far fewer entries than the limit.
    let fits = config.entries.len() + 2 <= DERIVED_ENTRIES;
    for (k, entry) in config.entries.iter().enumerate().rev().filter(|_| fits) {
        let turns = positions / inner;
        inner *= entry.size;
        if inner > positions && entry.stride == 0 && entry.size.is_multiple_of(2 * turns) {
            let mut alternating = Config { entries: List::new(*entry), ..*config };
            let entries = config.entries.as_slice();
            let repeated = |size| Entry { size, stride: 0 };
            let split =
                [repeated(entry.size / (2 * turns)), Entry { size: 2, stride: distance }, repeated(turns)];
            let all = entries[..k].iter().chain(&split).chain(&entries[k + 1..]);
            all.filter(|entry| entry.size > 1).for_each(|entry| alternating.entries.push(*entry));
            return alternating;
        }
    }
    *config
}

/// Accesses of the fetch and of the commit of a pass. `None` if they leave the slice: such a pass runs only with the
/// checks turned off.
fn nests(unit: &TensorUnit, channels: Channels) -> Option<(AccessNest, Option<AccessNest>)> {
    let sub = unit.sub_context;
    let Fetch { source, config, packet, interleave, .. } = &unit.fetch;
    let config = interleave.map_or(*config, |other| {
        let bytes = other.source.address as isize - source.address as isize;
        let elements = bytes * 8 / source.footprint.element.bits() as isize;
        in_turn(config, other.period.saturating_mul(*packet), elements)
    });
    let fetch = nest(source, &config, fetch_access_bytes(unit, channels), sub).ok()?;
    let commit = match &unit.sink {
        Sink::Commit { destination, config, commit_size, .. } => {
            Some(nest(destination, config, *commit_size, sub).ok()?)
        }
        Sink::Trf { .. } | Sink::Vrf { .. } => None,
    };
    Some((fetch, commit))
}

/// Tells if 64 accesses in a row of a pass meet in one bank, so that DMA has to wait.
pub fn holds_dma(unit: &TensorUnit, channels: Channels) -> bool {
    let held = |nest: &AccessNest| longest_bank_run(nest).holds_dma();
    nests(unit, channels).is_some_and(|(fetch, commit)| held(&fetch) || commit.as_ref().is_some_and(held))
}

impl BankLoad {
    /// The accesses of a pass of this time.
    pub fn of_pass(unit: &TensorUnit, time: &TensorUnitTime, channels: Channels) -> Self {
        let Some((fetch, commit)) = nests(unit, channels) else { return BankLoad::Nothing };
        let exchanged = unit
            .switch
            .as_ref()
            .map_or(0, |switch| switch_cycles(switch.ring_size as u64, 1, channel_bytes(unit, channels)));
        let packets = unit.fetch.time as u64;
        // A table lookup takes longer than its accesses.
        let looked_up = time.stage(Stage::Fetch).filter(|_| unit.fetch.table.is_some());
        let looked_up = looked_up.map_or(0, |stage| stage.occupancy.cycles);
        let pace = if looked_up > packets.saturating_mul(exchanged) {
            FetchPace::of_all(fetch.count(), looked_up)
        } else {
            FetchPace::of_packets(fetch.count(), packets, exchanged)
        };
        let load = match commit {
            Some(commit) => ContextLoad::new(fetch, commit),
            None => ContextLoad::fetch(fetch),
        };
        let load = ContextLoad { pace, ..load };
        Self::of_load(load, time.begin(), TrfUse::of(unit))
    }

    /// The accesses of a copy by the sub context, the first one `begin` cycles after its start.
    pub fn of_copy([fetch, commit]: [AccessNest; 2], begin: u64) -> Self {
        Self::of_load(ContextLoad::new(fetch, commit), begin, None)
    }

    /// The accesses of the sub context that writes without a stream, the first one `begin` cycles after its start.
    pub fn of_writes(commit: AccessNest, begin: u64) -> Self {
        Self::of_load(ContextLoad::commit(commit), begin, None)
    }

    fn of_load(load: ContextLoad, begin: u64, trf: Option<TrfUse>) -> Self {
        let alone = Occupancy::of(&load, &ContextLoad::default()).end_cycle();
        BankLoad::Pass { load: Box::new(load), begin, alone, trf }
    }

    /// The requests of a DMA operation of `cycles` cycles.
    pub fn of_dma(operation: DmaOperation, cycles: u64) -> Self {
        let data = cycles.saturating_sub(DMA_STARTUP_CYCLES);
        BankLoad::Dma { operation: Box::new(operation), data }
    }

    /// Approximate size of the kept data, in commands of a DMA operation. A pass counts as four.
    pub(super) fn size(&self) -> usize {
        match self {
            BankLoad::Pass { .. } => 4,
            BankLoad::Dma { operation, .. } => operation.commands().count(),
            BankLoad::Nothing => 0,
        }
    }

    /// Cycles until the last access when nothing else runs.
    pub fn cycles(&self) -> u64 {
        match self {
            BankLoad::Pass { begin, alone, .. } => begin + alone,
            BankLoad::Dma { data, .. } => DMA_STARTUP_CYCLES + data,
            BankLoad::Nothing => 0,
        }
    }
}

/// Result of two operations that meet at the banks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meeting {
    /// Cycles by which the operation of lower priority ends later.
    pub delay: u64,
    /// Banks that served so many accesses in a row that DMA might starve.
    pub starvations: Vec<Starvation>,
    /// A DMA request that was not answered in time: slice of its PE, bank, cycle.
    pub timeout: Option<(usize, usize, u64)>,
}

/// Tells if context `one` is slowed down by context `to`.
pub const fn yields(one: ContextKind, to: ContextKind) -> bool {
    matches!(
        (one, to),
        (ContextKind::Sub, ContextKind::Main)
            | (ContextKind::TensorDma, ContextKind::Main | ContextKind::Sub)
    )
}

/// Runs an operation beside another one of higher priority, each from its given cycle on. Cycles in the result have the
/// same origin.
pub fn meet(waiting: (&BankLoad, u64), other: (&BankLoad, u64)) -> Meeting {
    let BankLoad::Pass { load: prior, begin, trf: prior_trf, .. } = other.0 else {
        return Meeting::default();
    };
    let first = waiting.1.min(other.1);
    let prior = ContextLoad { start_cycle: other.1 + begin - first, ..(**prior).clone() };
    match waiting.0 {
        BankLoad::Nothing => Meeting::default(),
        BankLoad::Pass { load, begin, alone, trf, .. } => {
            let start = waiting.1 + begin - first;
            let beside = ContextLoad { start_cycle: start, ..(**load).clone() };
            let occupancy = Occupancy::of(&prior, &beside);
            let last = [Requester::SubFetch, Requester::SubCommit];
            let end = last
                .map(|requester| occupancy.requester(requester).end_cycle())
                .into_iter()
                .max()
                .unwrap_or(0);
            let delay = end.saturating_sub(start + alone) + store_delay(trf.as_ref(), prior_trf.as_ref());
            Meeting { delay, ..Meeting::default() }
        }
        BankLoad::Dma { operation, data } => {
            let begin = waiting.1 + DMA_STARTUP_CYCLES - first;
            let Some(requests) = requests_of_busiest(operation, begin, *data) else {
                return Meeting::default();
            };
            let idle = ContextLoad::default();
            let alone = Occupancy::of(&idle, &idle).serve_dma(core::slice::from_ref(&requests)).end_cycle();
            let beside = Occupancy::of(&prior, &idle).serve_dma(core::slice::from_ref(&requests));
            Meeting {
                delay: beside.end_cycle().saturating_sub(alone),
                starvations: shifted(&beside.starvations, first),
                timeout: beside.timeout.map(|timeout| (timeout.slice, timeout.bank, timeout.cycle + first)),
            }
        }
    }
}

fn shifted(starvations: &[Starvation], first: u64) -> Vec<Starvation> {
    let shift = |starvation: &Starvation| Starvation {
        cycles: starvation.cycles.start + first..starvation.cycles.end + first,
        ..starvation.clone()
    };
    starvations.iter().map(shift).collect()
}

/// Accesses to DM of the engine with the most of them, evenly spread over the time in which data moves. PEs are alike:
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::dma::{Engine, PairedSequencer};
    use crate::numbers::{Model, Number};
    use crate::tensor_unit::tensor_unit_time;

    fn config(entries: &[(usize, isize)]) -> Config {
        let mut config = Config::new(1);
        entries.iter().for_each(|(size, stride)| config.entries.push(Entry { size: *size, stride: *stride }));
        config
    }

    fn loops(entries: &[(usize, isize)], bits: usize, access_bytes: usize) -> Vec<(usize, isize)> {
        accesses(&config(entries), bits, access_bytes)
            .iter()
            .map(|entry| (entry.size, entry.stride))
            .collect()
    }

    #[test]
    fn contiguous_loops_are_cut_into_accesses() {
        // bf16: 64 rows of 256 elements are one run of 32 KiB.
        assert_eq!(loops(&[(64, 256), (256, 1)], 16, 32), [(1024, 32)]);
        // Rows with a gap: each row is a run.
        assert_eq!(loops(&[(8, 300), (64, 1)], 16, 32), [(8, 600), (4, 32)]);
        // A broadcast repeats the loops inside it.
        assert_eq!(loops(&[(4, 0), (64, 1)], 8, 32), [(4, 0), (2, 32)]);
        // Elements that are not next to each other, and a repeated element.
        assert_eq!(loops(&[(3, 1), (5, 3)], 32, 4), [(3, 4), (5, 12), (1, 4)]);
        assert_eq!(loops(&[(16, 1), (4, 0)], 8, 4), [(16, 1), (1, 0)]);
        // 4-bit elements, two per byte; loops of one turn have no effect.
        assert_eq!(loops(&[(2, 128), (1, 0), (64, 1)], 4, 16), [(2, 64), (2, 16)]);
    }

    #[test]
    fn interleaved_tensors_are_fetched_in_turn() {
        let turns = |entries: &[(usize, isize)], positions| -> Vec<(usize, isize)> {
            let config = in_turn(&config(entries), positions, 100);
            config.entries.iter().map(|entry| (entry.size, entry.stride)).collect()
        };
        // After each packet of 8, and after 4 packets.
        assert_eq!(turns(&[(4, 8), (2, 0), (8, 1)], 8), [(4, 8), (2, 100), (8, 1)]);
        assert_eq!(turns(&[(2, 0), (4, 8), (8, 1)], 32), [(2, 100), (4, 8), (8, 1)]);
        // The alternation merges with a loop that repeats both tensors: outside it, then also inside it.
        assert_eq!(turns(&[(6, 0), (4, 8), (8, 1)], 32), [(3, 0), (2, 100), (4, 8), (8, 1)]);
        assert_eq!(turns(&[(24, 0), (8, 1)], 32), [(3, 0), (2, 100), (4, 0), (8, 1)]);
    }

    /// Accesses of 8 bytes, all to one bank.
    fn pass(bank: usize, accesses: usize) -> BankLoad {
        let entries = [Entry { size: accesses, stride: 0 }];
        let nest = AccessNest::main(&entries, bank * 8, 8).expect("inside of the slice");
        let alone = accesses as u64;
        BankLoad::Pass { load: Box::new(ContextLoad::fetch(nest)), begin: 0, alone, trf: None }
    }

    fn sub_pass(bank: usize, accesses: usize) -> BankLoad {
        let entries = [Entry { size: accesses, stride: 0 }];
        let nest = AccessNest::sub(&entries, bank * 8, 8).expect("inside of the slice");
        let alone = accesses as u64;
        BankLoad::Pass { load: Box::new(ContextLoad::fetch(nest)), begin: 0, alone, trf: None }
    }

    /// 8 packets of 64 bytes, two accesses each, in rings of 32 slices: 64 cycles per packet.
    #[test]
    fn a_switch_sets_the_pace_of_its_fetch() {
        use furiosa_visa_rules::command::{FillId, Footprint, Memory, Switch, SwitchVariant};
        use furiosa_visa_rules::mapping::Guard;
        use furiosa_visa_rules::scalar::ElementType::I8;
        let region = |address, elements| {
            let guard = Guard::always(4);
            let footprint = Footprint { element: I8, chips: 1, clusters: 2, slices: 256, elements, guard };
            Region::whole(Memory::Dm, address, FillId(1), footprint)
        };
        let config = |loops: &[(usize, isize)], packet_size| Config { packet_size, ..config(loops) };
        let mut unit = TensorUnit::new(
            Fetch::new(region(0, 512), config(&[(8, 64), (64, 1)], 64), 8, 64, I8),
            Sink::Commit {
                destination: region(4096, 512),
                config: config(&[(16, 32), (32, 1)], 32),
                commit_size: 32,
                guard: Guard::always(5),
            },
        );
        let model = Model::new(Profile::Detailed).with(Number::PassIssue, 20);
        let cycles = |unit: &TensorUnit| {
            let time = tensor_unit_time(unit, model, Channels::Single);
            BankLoad::of_pass(unit, &time, Channels::Single).cycles()
        };
        // The commit of an access follows in the next cycle.
        assert_eq!(cycles(&unit), 20 + 16 + 1);
        for (ring, expected) in [(1, 16 + 1), (32, 7 * 64 + 2 + 1)] {
            let variant = SwitchVariant::Transpose;
            unit.switch = Some(Switch { ring_size: ring, variant, ..Switch::forwarding(256, 8) });
            assert_eq!(cycles(&unit), 20 + expected, "rings of {ring}");
        }
    }

    /// Between `max(main, sub)` on disjoint banks and `main + sub` on the same one.
    #[test]
    fn the_sub_context_waits_for_the_main_one_at_the_same_bank() {
        let delay = |waiting: (&BankLoad, u64), other: (&BankLoad, u64)| meet(waiting, other).delay;
        assert_eq!(delay((&sub_pass(0, 300), 0), (&pass(1, 1000), 0)), 0);
        assert_eq!(delay((&sub_pass(0, 300), 0), (&pass(0, 1000), 0)), 1000);
        // If the main context begins earlier, only its remaining accesses delay the sub context. If it begins later, it
        // delays the accesses of the sub context that are left.
        assert_eq!(delay((&sub_pass(0, 300), 5600), (&pass(0, 1000), 5000)), 400);
        assert_eq!(delay((&sub_pass(0, 300), 5000), (&pass(0, 1000), 5100)), 1000);
        assert_eq!(delay((&sub_pass(0, 300), 5000), (&pass(0, 1000), 5299)), 1000);
        assert_eq!(delay((&sub_pass(0, 300), 5000), (&pass(0, 1000), 5300)), 0);
        assert_eq!(delay((&BankLoad::Nothing, 0), (&pass(0, 1000), 0)), 0);
        assert!(
            yields(ContextKind::Sub, ContextKind::Main) && yields(ContextKind::TensorDma, ContextKind::Sub)
        );
        assert!(
            !yields(ContextKind::Main, ContextKind::Sub) && !yields(ContextKind::Sub, ContextKind::TensorDma)
        );
        assert!(!yields(ContextKind::PcieDma, ContextKind::Main));
    }

    fn transfer(cycles: u64) -> BankLoad {
        // 64 packets of 256 bytes from HBM to slices 0 to 63 of a PE.
        let command =
            PairedSequencer::new((Medium::Hbm { chip: 0 }, 0), (Medium::Dm { chip: 0, cluster: 0 }, 0), 256);
        let commands = vec![command.with_entries(&[(64, 256, DMA_SLICE_STRIDE)])];
        let engines =
            vec![EngineQueue { engine: Engine { chip: 0, cluster: 0, pe: 0 }, commands, lists: Vec::new() }];
        BankLoad::of_dma(DmaOperation::of(engines), cycles)
    }

    #[test]
    fn dma_waits_for_both_contexts() {
        let dma = transfer(DMA_STARTUP_CYCLES + 128);
        assert_eq!(dma.cycles(), 628);
        // Its data moves after the startup: a pass that has ended by then causes no delay.
        assert_eq!(meet((&dma, 0), (&pass(0, 500), 0)).delay, 0);
        let late = meet((&dma, 0), (&pass(0, 900), 0));
        assert!(late.delay > 250, "{late:?}");
        // 900 accesses in a row to one bank while DMA is active: more than the 63 that are safe.
        assert_eq!(late.starvations.len(), 1);
        let starvation = &late.starvations[0];
        assert_eq!((starvation.bank, starvation.cycles.end), (0, 901));
        assert_eq!(late.timeout, None);
        assert_eq!(meet((&dma, 0), (&sub_pass(0, 900), 0)), late);
        // A request of two beats arrives in cycle 500. Its second beat gets cycle 4596, which is in time; one cycle
        // later is a timeout.
        assert_eq!(meet((&dma, 0), (&pass(0, 500 + 4095), 0)).timeout, None);
        let timeout = meet((&dma, 100), (&pass(3, 500 + 4096), 100)).timeout;
        assert_eq!(timeout, Some((0, 3, 100 + 500 + 4097)));
        // The static rule keeps such passes from running beside DMA.
        let entries = |accesses| [Entry { size: accesses, stride: 0 }];
        let holds = |accesses| {
            longest_bank_run(&AccessNest::main(&entries(accesses), 0, 8).expect("inside of the slice"))
                .holds_dma()
        };
        assert!(!holds(63) && holds(64));
    }

    #[test]
    fn loads_of_the_trf_wait_for_reads_that_miss() {
        let reads = |lines: usize| {
            let mut config = Config::new(32);
            config.entries.push(Entry { size: 100, stride: 0 });
            config.entries.push(Entry { size: lines, stride: 32 });
            Some(TrfUse::Reads(Box::new(TrfReads::new(config, 0, 32).expect("inside of the TRF"))))
        };
        let store = Some(TrfUse::Stores(TrfStore { rows: 8, lines_per_row: 16, period: 4 }));
        // 8 lines stay in the cache; with 16 lines every read misses.
        assert!(
            store_delay(store.as_ref(), reads(16).as_ref()) > store_delay(store.as_ref(), reads(8).as_ref())
        );
        assert_eq!(store_delay(reads(16).as_ref(), reads(16).as_ref()), 0);
        assert_eq!(store_delay(store.as_ref(), None), 0);
    }
}
