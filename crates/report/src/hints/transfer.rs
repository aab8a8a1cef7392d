//! Transfers between HBM and DM in other runs, or by other engines.
//!
//! ```text
//!   as it is    HBM  │ slice 0 │ slice 1 │ slice 2 │ …     64 bytes each
//!   as timed    HBM  │              slice 0              │              slice 1              │ …     256 bytes each
//! ```
//!
//! The same bytes in the same slices by the same engines: neighbours in HBM are in the same slice for 256 bytes, then
//! in the next one, and all slices have one such piece before the first one has its second.

use furiosa_visa_clock::contention::BankLoad;
use furiosa_visa_clock::dma::{
    DmaOperation, DmaTime, Engine, EngineQueue, Medium, PairedEntry, PairedSequencer, Side,
};
use furiosa_visa_clock::dma_timing::DmaClock;
use furiosa_visa_clock::record::{Record, Timing};
use furiosa_visa_rules::command::MemoryKind;
use furiosa_visa_rules::sorting;
use furiosa_visa_rules::spec::{
    CLUSTERS, CORE_CYCLE_TICKS, DMA_DM_WRITE_BYTES, DMA_DMN_STRIDE, DMA_SLICE_STRIDE, DMN_SLICES, HBM_BYTES,
    HBM_UNIT_BYTES, PE_SLICES, SLICES,
};
use std::collections::HashMap;

const UNIT: u64 = HBM_UNIT_BYTES as u64;

/// Maximum number of transfers that are timed of those that differ in their addresses alone.
pub(super) const TIMED_ADDRESSES: usize = 16;

/// Transfers that stand for others: those at the first addresses.
#[derive(Debug, Default)]
pub(super) struct Alike(HashMap<Spread, Vec<(u64, u64)>>);

impl Alike {
    /// Transfer that stands for `spread`: itself, or behind [`TIMED_ADDRESSES`] the first one that starts in the same
    /// byte of a unit of HBM and of DM.
    pub fn of(&mut self, spread: Spread) -> Spread {
        let bases = (spread.bases.0 % UNIT, spread.bases.1 % DMA_DM_WRITE_BYTES as u64);
        let timed = self.0.entry(Spread { bases, ..spread.clone() }).or_default();
        if timed.contains(&spread.bases) {
            return spread;
        }
        if timed.len() == TIMED_ADDRESSES {
            return Spread { bases: timed[0], ..spread };
        }
        timed.push(spread.bases);
        spread
    }
}

/// Cycles of transfers at whole units. Of transfers that differ in their addresses alone, the first [`TIMED_ADDRESSES`]
/// are timed, and the first one stands for the rest.
#[derive(Debug, Default)]
pub(super) struct WholeUnits(HashMap<DmaOperation, Vec<((u64, u64), u64)>>);

impl WholeUnits {
    /// Cycles of a transfer [at whole units](at_whole_units).
    pub fn cycles(&mut self, record: &Record, side: Side, clock: &mut DmaClock) -> Option<u64> {
        let operation = at_whole_units(record, side)?;
        let first = operation.commands().next()?;
        let bases = (first.source_base / UNIT * UNIT, first.destination_base / UNIT * UNIT);
        let mut kind = operation.clone();
        for command in kind.engines.iter_mut().flat_map(|queue| &mut queue.commands) {
            command.source_base = command.source_base.wrapping_sub(bases.0);
            command.destination_base = command.destination_base.wrapping_sub(bases.1);
        }
        let timed = self.0.entry(kind).or_default();
        let known = timed.iter().find(|known| known.0 == bases);
        if let Some((_, cycles)) = known.or(timed.first().filter(|_| timed.len() == TIMED_ADDRESSES)) {
            return Some(*cycles);
        }
        let cycles = clock.time(&operation).cycles();
        timed.push((bases, cycles));
        Some(cycles)
    }
}

/// A transfer whose runs in HBM, on a side, are whole units apart from their start, moved to start at a multiple of 256:
/// all addresses, also those of an index, less their common distance past a multiple.
fn at_whole_units(record: &Record, side: Side) -> Option<DmaOperation> {
    let BankLoad::Dma { operation, .. } = &*record.load else { return None };
    let past = operation.commands().next()?.base(side) % UNIT;
    let is_even = |command: &PairedSequencer| {
        let steps = command.entries.iter().all(|entry| entry.stride(side).is_multiple_of(UNIT));
        let packets = steps && (command.stride0 as u64).is_multiple_of(UNIT);
        packets && command.base(side) % UNIT == past && matches!(command.medium(side), Medium::Hbm { .. })
    };
    if past == 0 || !operation.commands().all(is_even) {
        return None;
    }
    let mut moved = (**operation).clone();
    for command in moved.engines.iter_mut().flat_map(|queue| &mut queue.commands) {
        match side {
            Side::Source => command.source_base -= past,
            Side::Destination => command.destination_base -= past,
        }
    }
    Some(moved)
}

/// Bytes of the first run without a gap that all engines move on a side, and the bytes from its start to the next such
/// run.
fn contiguous(operation: &DmaOperation, side: Side) -> Option<(u64, u64)> {
    let first = operation.commands().next()?;
    let mut bases: Vec<u64> = operation.commands().map(|command| command.base(side)).collect();
    sorting::ascending(&mut bases);
    bases.dedup();
    // Commands that begin at even distances are one more loop.
    let step = bases.get(1).map_or(0, |second| second - bases[0]);
    let commands = 1 + bases.windows(2).take_while(|pair| pair[1] - pair[0] == step).count();
    let entries = first.entries.iter().map(|entry| (entry.stride(side), entry.limit));
    let mut loops: Vec<(u64, usize)> = entries.chain([(step, commands)]).collect();
    sorting::ascending(&mut loops);
    let go_on = |bytes: u64, &(stride, times)| if stride == bytes { bytes * times as u64 } else { bytes };
    let bytes = loops.iter().fold(first.stride0 as u64, go_on);
    let next = loops.iter().map(|(stride, _)| *stride).find(|stride| *stride > bytes);
    Some((bytes, next.unwrap_or(bytes)))
}

/// A transfer between HBM and DM whose bytes are spread evenly over slices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Spread {
    /// True if HBM is written.
    pub to_hbm: bool,
    /// Engines, each with the same number of slices.
    pub engines: Vec<Engine>,
    /// Number of slices of an engine.
    pub slices: u64,
    /// Number of Data Memory Networks of an engine that serve equally many of them, or 1.
    pub networks: u64,
    /// Bytes of a slice.
    pub bytes: u64,
    /// Number of slices that get the same bytes.
    pub copies: u64,
    /// True if slices of a cluster are among them.
    pub copied_inside: bool,
    /// Bytes of a request, on average.
    pub request: u64,
    /// Bytes of a run, before it is cut into requests.
    pub run: u64,
    /// Bytes that follow each other in HBM: requests cannot be longer.
    pub contiguous: u64,
    /// Bytes from the first of them to the next run of the same length.
    pub pitch: u64,
    /// The first byte in HBM and in DM.
    pub bases: (u64, u64),
}

impl Spread {
    /// Spread of a move that has run. `None` if it has other sides, or if engines or slices differ in their work.
    pub fn of(record: &Record) -> Option<(Self, &DmaTime)> {
        let Timing::Dma(timing) = &record.timing else { return None };
        let time = timing.time.as_ref()?;
        let to_hbm = match (record.operation, record.memories) {
            ("to_dm", (Some(MemoryKind::Hbm), Some(MemoryKind::Dm))) => false,
            ("to_hbm", (Some(MemoryKind::Dm), Some(MemoryKind::Hbm))) => true,
            _ => return None,
        };
        let [source, destination] = &record.accesses[..] else { return None };
        let (hbm, dm) = if to_hbm { (destination, source) } else { (source, destination) };
        let engines: Vec<Engine> = time.engines.iter().map(|engine| engine.engine).collect();
        let first_slices = |engine: &Engine, count: usize| {
            let first = (engine.chip * CLUSTERS + engine.cluster) * SLICES + engine.pe * PE_SLICES;
            record.amount.slices.among(first..first + count) as u64
        };
        let slices_of = |engine: &Engine| first_slices(engine, PE_SLICES);
        let (slices, all) = (slices_of(engines.first()?), time.bytes());
        let networks = if 2 * first_slices(&engines[0], DMN_SLICES) == slices { 2 } else { 1 };
        let of_engine = time.engines[0].bytes;
        // Another chip: PCIe has its own rules.
        if time.pcie_ticks > 0 {
            return None;
        }
        let even = time.engines.iter().all(|engine| engine.bytes == of_engine)
            && engines.iter().all(|engine| slices_of(engine) == slices);
        if !even || slices == 0 || !of_engine.is_multiple_of(slices) || of_engine == 0 {
            return None;
        }
        // The range of a tile also has bytes of other tiles, so it may be longer than the bytes that move.
        let distinct = hbm.bytes.end.saturating_sub(hbm.bytes.start).min(all);
        let copies = all.checked_div(distinct)?;
        if !all.is_multiple_of(distinct) || !(slices * engines.len() as u64).is_multiple_of(copies) {
            return None;
        }
        let BankLoad::Dma { operation, .. } = &*record.load else { return None };
        let (contiguous, pitch) =
            contiguous(operation, if to_hbm { Side::Destination } else { Side::Source })?;
        let run = operation.commands().next()?.stride0 as u64;
        let (bases, copied_inside) = ((hbm.bytes.start, dm.bytes.start), operation.copies);
        let (bytes, request) = (of_engine / slices, all / time.requests().max(1));
        Some((
            Self {
                to_hbm,
                engines,
                slices,
                networks,
                bytes,
                copies,
                copied_inside,
                request,
                run,
                contiguous,
                pitch,
                bases,
            },
            time,
        ))
    }

    /// Cycles if every run has `run` bytes, at multiples of 256 in HBM.
    pub fn cycles(&self, run: u64, clock: &mut DmaClock) -> Option<u64> {
        if run == 0 {
            return None;
        }
        let Self { slices, copies, bases, .. } = *self;
        let rows = self.bytes.div_ceil(run);
        let distinct = slices * self.engines.len() as u64 / copies;
        // Whole engines share the same bytes, or slices of one engine do.
        let inside = slices.min(distinct);
        if !slices.is_multiple_of(inside) || !distinct.is_multiple_of(inside) {
            return None;
        }
        let hbm = bases.0 / UNIT * UNIT;
        // Runs follow each other, except those of a tile, which are as far apart as its rows.
        let next = if run == self.contiguous { self.pitch } else { run };
        if rows.checked_mul(distinct * next)?.checked_add(hbm)? > HBM_BYTES {
            return None;
        }
        let queue = |(k, engine): (usize, &Engine)| {
            let first = k as u64 * slices % distinct;
            let mut loops =
                vec![(rows, distinct * next, run), (slices / inside, 0, inside * DMA_SLICE_STRIDE)];
            let networks = if inside == slices { self.networks } else { inside / DMN_SLICES as u64 };
            if networks > 1 && inside.is_multiple_of(networks) {
                loops.push((inside / networks, next, DMA_SLICE_STRIDE));
                loops.push((networks, inside / networks * next, DMA_DMN_STRIDE));
            } else {
                loops.push((inside, next, DMA_SLICE_STRIDE));
            }
            let medium = Medium::Dm { chip: engine.chip, cluster: engine.cluster };
            let slice = (engine.pe * PE_SLICES) as u64;
            let sides = [
                (Medium::Hbm { chip: engine.chip }, hbm + first * next),
                (medium, slice * DMA_SLICE_STRIDE + bases.1),
            ];
            let [from, to] = if self.to_hbm { [sides[1], sides[0]] } else { sides };
            let mut command = PairedSequencer::new(from, to, run as usize);
            let entry = |(limit, hbm, dm): (u64, u64, u64)| {
                let [source_stride, destination_stride] = if self.to_hbm { [dm, hbm] } else { [hbm, dm] };
                PairedEntry { limit: limit as usize, source_stride, destination_stride }
            };
            command.entries = loops.into_iter().map(entry).filter(|entry| entry.limit > 1).collect();
            debug_assert!(command.extent(Side::Source) > 0);
            EngineQueue { engine: *engine, commands: vec![command], lists: Vec::new() }
        };
        let mut operation = DmaOperation::of(self.engines.iter().enumerate().map(queue).collect());
        operation.copies = self.copied_inside;
        Some(clock.time(&operation).ticks.div_ceil(CORE_CYCLE_TICKS))
    }
}
