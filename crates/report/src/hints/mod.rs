//! Edits that would make a program faster, and the cycles that they save.
//!
//! Every hint is an edit that the clock has timed: the transfer or the pass that changes is timed anew, by the same
//! rules, and then the operations of the launch run once more, in the same queues, with the same waits for bytes. The
//! saving is the difference of the two ends.
//!
//! ```text
//!   records of a launch ──┬─ as they are ──────────────── schedule ── 141 888 cycles ─┐
//!                         └─ #3 in runs of 256 bytes ──── schedule ──   6 290 cycles ─┴─ saving
//! ```
//!
//! | module | edits |
//! |---|---|
//! | `transfer` | longer runs, starts at whole units: even transfers, without a look at mappings |
//! | `padding`, `gathered` | rows padded in HBM; a move in DM before a store |
//! | `slices`, `broadcast` | other slices and clusters for a kernel; a switch behind a load |
//! | `rows` | gathers into other slices, for `slices` |
//! | `pass`, `replay` | passes with other stages; operations in another order |
//!
//! Edits of mappings are derived by the rules, every transfer and load anew (`moved`): what they refuse is no hint.
//!
//! # The banks of DM
//!
//! | edit | at the banks |
//! |---|---|
//! | operations run at other times (late load, one buffer, loaded again) | all operations meet anew, as on the clock |
//! | operations take other cycles (the others) | each is delayed by others in proportion to its cycles, as it was |
//!
//! A pass or a transfer that is timed in another form has other accesses, which are only known from its new layout: the
//! second row leaves out their effect on the banks. It also holds for all edits of operations whose accesses are not
//! kept: a ledger keeps those of 2^18 commands in all. A second buffer is assumed to lie in the banks of the first one.
//!
//! # Transfers that get no hint
//!
//! A hint promises a number, and the clock has none for these:
//!
//! * Gathers and scatters of rows below 256 bytes. A request moves a row; longer rows need another table and another
//!   index, which the program may not want. A hint can only move the start of rows of whole units: the rows of the index
//!   are timed from there (partial writes, split reads).
//! * Loads of less than 256 bytes to a slice. Longer runs would bring them to fewer slices, and a move in DM would have
//!   to spread them: the start of that move alone takes longer than the saving.
//! * Rows whose addresses fall on few channels of HBM: addresses are data. The report has the bytes of each channel,
//!   and a timeline shows them over time.
//! * Shuffles between clusters and chips: their runs follow from both layouts, and a layout with longer runs is another
//!   kernel. PCIe has no edit but fewer bytes.
//!
//! # Operations that repeat others
//!
//! Operations that are kept stand for all. Occasions are counted over all operations as they end. Of transfers that
//! differ in their addresses alone, those at a few addresses are timed and stand for the rest.

mod broadcast;
mod gathered;
mod moved;
mod padding;
mod pass;
mod replay;
mod rows;
mod slices;
#[cfg(test)]
mod tests;
mod transfer;

use super::report::Report;
use furiosa_visa_clock::command_time::CommandClock;
use furiosa_visa_clock::dma::Side;
use furiosa_visa_clock::dma_timing::DmaClock;
use furiosa_visa_clock::hazards::OperationNumber;
pub use furiosa_visa_clock::hint::{Change, Hint, HintKind};
use furiosa_visa_clock::numbers::Model;
use furiosa_visa_clock::occasions::{Counts, LineKey, key, order};
use furiosa_visa_clock::record::{Record, Timing};
use furiosa_visa_clock::repeats::are_alike;
use furiosa_visa_clock::schedule::Work;
use furiosa_visa_rules::command::{ContextKind, FillId, MemoryKind};
use furiosa_visa_rules::sorting;
use furiosa_visa_rules::spec::{HBM_UNIT_BYTES, TRF_BANK_ROWS};
use litemap::LiteMap;
use moved::Moves;
use replay::{Segment, makespan, place_of, segments, works, works_at_banks};
use std::collections::HashMap;
use transfer::{Alike, Spread, WholeUnits};

/// Maximum number of edits that are timed in a schedule: those that could save most.
const TIMED: usize = 32;

/// Divisor of the cycles of all kernels that gives the least saving of a hint.
const LEAST: u64 = 200;

/// The operations of a line in all launches of a kernel.
struct Line<'a> {
    records: Vec<&'a Record>,
    /// Number of alike operations, and of kept ones among them, for each operation that stands for others.
    alike: HashMap<OperationNumber, (u64, u64)>,
    operations: u64,
    cycles: u64,
}

impl Line<'_> {
    /// Cycles that all of its operations save together, if the kept ones take `cycles`.
    fn less(&self, cycles: &HashMap<OperationNumber, u64>) -> u64 {
        let changed = self.records.iter().filter_map(|record| Some((record, cycles.get(&record.number)?)));
        let less = changed.map(|(record, cycles)| {
            let (all, kept) = self.alike.get(&record.number).copied().unwrap_or((1, 1));
            u128::from(record.cycles().saturating_sub(*cycles)) * u128::from(all) / u128::from(kept)
        });
        less.sum::<u128>().try_into().unwrap_or(u64::MAX)
    }
}

/// Edit of the operations of a segment, given the places of those of its line. The number is the part of
/// [`Candidate::all`] that the edit does there.
type Edit<'a> = Box<dyn Fn(&[&Record], &[usize], Vec<Work>) -> Option<(Vec<Work>, u64)> + 'a>;

struct Candidate<'a> {
    kind: HintKind,
    /// The line that the hint names.
    line: LineKey,
    cause: String,
    edit: String,
    changes: Vec<Change>,
    /// Upper bound of the saving in all launches.
    most: u64,
    /// Amount that the edit does in all launches: times, or cycles by which operations take less.
    all: u64,
    /// True if operations meet at the banks anew: they run at other times and do the same.
    at_banks: bool,
    apply: Edit<'a>,
}

/// Input of all hints.
struct Program<'a> {
    lines: LiteMap<LineKey, Line<'a>>,
    segments: Vec<Segment<'a>>,
    /// Makespans of the segments as they are, with and without the banks. Computed on demand.
    spans: HashMap<(usize, bool), u64>,
}

impl<'a> Program<'a> {
    fn of(report: &'a Report) -> Self {
        let mut lines: LiteMap<LineKey, Line<'a>> = LiteMap::new();
        let in_kernels = report.records.iter().filter(|record| record.context != ContextKind::PcieDma);
        for record in in_kernels {
            let line = lines.entry(key(record)).or_insert(Line {
                records: Vec::new(),
                alike: HashMap::new(),
                operations: 0,
                cycles: 0,
            });
            line.records.push(record);
            line.operations += 1;
            line.cycles += record.cycles();
        }
        for repeats in &report.repeats {
            let like = report.record(repeats.like);
            if let Some((like, line)) = like.and_then(|like| Some((like, lines.get_mut(&key(like))?))) {
                line.operations += repeats.count;
                line.cycles += repeats.cycles;
                let kept =
                    line.records.iter().filter(|record| are_alike(like, record)).map(|record| record.number);
                let kept: Vec<OperationNumber> = kept.collect();
                let alike = (kept.len() as u64 + repeats.count, kept.len() as u64);
                line.alike.extend(kept.into_iter().map(|number| (number, alike)));
            }
        }
        Self { lines, segments: segments(report), spans: HashMap::new() }
    }

    /// The segment with the most operations of a line, and their places in it.
    fn segment_of(&self, line: &Line<'_>) -> Option<(usize, Vec<usize>)> {
        let mut best: Option<(usize, Vec<usize>)> = None;
        for (index, segment) in self.segments.iter().enumerate() {
            let first = segment.first()?.number;
            let [from, to] = [first, first + segment.len() as u64]
                .map(|bound| line.records.partition_point(|record| record.number < bound));
            if best.as_ref().is_none_or(|(_, places)| places.len() < to - from) && from < to {
                let places =
                    line.records[from..to].iter().filter_map(|record| place_of(segment, record.number));
                best = Some((index, places.collect()));
            }
        }
        best
    }

    /// Cycles that an edit saves, in all launches.
    fn saving(&mut self, candidate: &Candidate<'_>) -> Option<u64> {
        let line = &self.lines[&candidate.line];
        let (index, places) = self.segment_of(line)?;
        let segment = &self.segments[index];
        let works = || if candidate.at_banks { works_at_banks(segment) } else { works(segment) };
        let (edited, here) = (candidate.apply)(segment, &places, works())?;
        let span = self.spans.entry((index, candidate.at_banks));
        let before = *span.or_insert_with(|| makespan(works()));
        let saved = u128::from(before.saturating_sub(makespan(edited)));
        Some((saved * u128::from(candidate.all) / u128::from(here.max(1))) as u64)
    }
}

/// Cycles of an operation that takes `alone` cycles by itself: others delay it in proportion.
fn beside(record: &Record, alone: u64) -> u64 {
    let slowed = u128::from(record.slowed()) * u128::from(alone) / u128::from(record.timing.cycles().max(1));
    alone + slowed as u64
}

/// The same, where no edit makes the operation longer.
fn beside_others(record: &Record, alone: u64) -> u64 {
    record.cycles().min(beside(record, alone))
}

/// A candidate whose operations take other cycles; nothing else changes.
fn retimed<'a>(
    kind: HintKind,
    line: LineKey,
    all: u64,
    cycles: HashMap<OperationNumber, u64>,
    texts: (String, String),
) -> Candidate<'a> {
    let apply = move |segment: &[&Record], _: &[usize], mut works: Vec<Work>| {
        let mut less = 0;
        for (work, record) in works.iter_mut().zip(segment) {
            let after = cycles.get(&record.number).copied().unwrap_or(work.cycles);
            less += work.cycles.saturating_sub(after);
            work.cycles = after;
        }
        Some((works, less))
    };
    let (cause, edit) = texts;
    Candidate {
        kind,
        line,
        cause,
        edit,
        changes: Vec::new(),
        most: all,
        all,
        at_banks: false,
        apply: Box::new(apply),
    }
}

/// The candidate of a line whose operations take other cycles by a rule. The first of them gives cause and edit.
fn by_rule<'a>(
    kind: HintKind,
    line: (LineKey, &Line<'_>),
    mut rule: impl FnMut(&Record) -> Option<(u64, (String, String))>,
) -> Option<Candidate<'a>> {
    let mut texts = None;
    let mut cycles = HashMap::new();
    for record in &line.1.records {
        if let Some((alone, told)) = rule(record) {
            let after = beside_others(record, alone);
            if after < record.cycles() {
                texts.get_or_insert(told);
                cycles.insert(record.number, after);
            }
        }
    }
    Some(retimed(kind, line.0, line.1.less(&cycles), cycles, texts?))
}

const UNIT: u64 = HBM_UNIT_BYTES as u64;

/// Edit of a transfer: longer runs, or runs at multiples of 256 bytes.
fn of_transfer(record: &Record, clock: &mut DmaClock) -> Option<(HintKind, u64, (String, String))> {
    let (spread, time) = Spread::of(record)?;
    let Spread { request, contiguous, bytes, to_hbm, .. } = spread;
    let partial: u64 = time.engines.iter().map(|engine| engine.write.partial_writes).sum();
    let read_back =
        if partial > 0 && to_hbm { ", and HBM reads, changes and writes each unit of 256 bytes" } else { "" };
    if request < UNIT {
        // A tile of short rows: no slice can hold more neighbours.
        if contiguous < UNIT {
            return None;
        }
        // Pieces of less than a unit in a slice: a load is over before a move could spread them, and stores can be
        // gathered.
        if bytes < UNIT {
            return None;
        }
        let requests = time.requests();
        let texts = match spread.run {
            // A run of more than a unit ends inside of one.
            run if run > UNIT && !run.is_multiple_of(UNIT) => {
                let longer = (1..=UNIT).map(|times| run * times).find(|bytes| bytes.is_multiple_of(UNIT))?;
                // Rows with padding behind them: it is not moved, so no run is longer than a row.
                if longer > contiguous {
                    return None;
                }
                let cause = format!(
                    "runs of {run} bytes: the last of each {} requests has {} of 256 bytes{read_back}",
                    run.div_ceil(UNIT),
                    run % UNIT
                );
                (cause, format!("let a slice hold neighbours of HBM: runs of {longer} bytes are whole units"))
            }
            _ => (
                format!("runs of {request} bytes: {requests} requests{read_back}"),
                "let a slice hold neighbours of HBM: runs of 256 bytes at multiples of 256".to_string(),
            ),
        };
        return Some((HintKind::ShortRuns, spread.cycles(UNIT, clock)?, texts));
    }
    // Loads write whole units of DM: calls refuse runs that do not begin at multiples of 8 bytes.
    if partial == 0 || !to_hbm {
        return None;
    }
    let cause = format!("{partial} parts of units, which HBM reads, changes and writes");
    let edit = "start runs at multiples of 256 bytes, and pad them to whole units";
    Some((HintKind::PartialWrites, spread.cycles(UNIT, clock)?, (cause, edit.to_string())))
}

impl Report {
    /// Edits that would make the program faster, the largest saving first: see [`hints`](super::hints). Empty if no
    /// known edit saves half a percent of all kernels. Empty while a panic unwinds: a context that is dropped then must
    /// not panic again, which would end the process.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![R = 16384, N = 16];
    /// let mut ctx = Context::acquire();
    /// let x = HostTensor::<f32, m![R, N]>::zero();
    /// let x: HbmTensor<f32, m![1], m![R, N]> = pollster::block_on(x.to_hbm(&mut ctx.pdma, 0));
    /// // Neighbours in HBM go to different slices: runs of 64 bytes.
    /// let _dm = x.to_dm::<m![1 # 2], m![R % 256], m![R / 256, N]>(&mut ctx.tdma, 0);
    /// let hint = &ctx.report().hints()[0];
    /// assert_eq!(hint.operation, "to_dm");
    /// assert!(hint.cause.starts_with("runs of 64 bytes"));
    /// assert!(hint.saving > 2000);
    /// ```
    pub fn hints(&self) -> Vec<Hint> {
        if std::thread::panicking() {
            return Vec::new();
        }
        let mut program = Program::of(self);
        let all: u64 = self.kernels.iter().map(|kernel| kernel.makespan()).sum();
        let least = (all / LEAST).max(1);
        let mut candidates: Vec<Candidate<'_>> = Vec::new();
        let (mut clock, mut alike) =
            (DmaClock::new(Model { profile: self.profile, numbers: self.numbers }), Alike::default());
        let mut whole = WholeUnits::default();
        let exchanged = exchanged(&program);
        for (&line_key, line) in &program.lines {
            let mut of_line = of_line((line_key, line), &self.counts, &mut clock, &mut alike, &mut whole);
            of_line.retain(|own| own.kind != HintKind::ShortRuns || !is_exchanged(line, &exchanged));
            candidates.extend(of_line);
        }
        let model = Model { profile: self.profile, numbers: self.numbers };
        let mut moves = Moves::new(CommandClock::new(model).with_channels(self.channels));
        for (&line_key, line) in &program.lines {
            candidates.extend(padding::of_line((line_key, line), &mut moves));
            candidates.extend(gathered::of_line((line_key, line), &mut moves));
        }
        candidates.extend(slices::of_kernels(&program, &mut moves));
        candidates.extend(broadcast::of_kernels(&program, &mut moves));
        candidates.extend(of_order(&program, &self.counts));
        candidates.retain(|candidate| candidate.most >= least);
        sorting::by_key(&mut candidates, |candidate| core::cmp::Reverse(candidate.most));
        candidates.truncate(TIMED);
        let mut hints = Vec::new();
        for candidate in candidates {
            let Some(saving) = program.saving(&candidate).filter(|saving| *saving >= least) else { continue };
            let line = &program.lines[&candidate.line];
            let (kernel, location, operation) = candidate.line;
            hints.push(Hint {
                kind: candidate.kind,
                kernel,
                location,
                operation,
                number: line.records[0].number,
                operations: line.operations,
                cycles: line.cycles,
                cause: candidate.cause,
                edit: candidate.edit,
                changes: candidate.changes,
                saving,
            });
        }
        sorting::by_key(&mut hints, |hint| core::cmp::Reverse(hint.saving));
        one_of_a_kernel(&mut hints);
        mappings_first(&mut hints);
        hints
    }
}

/// Tensors that slices give to others: their layout is that of a switch.
fn exchanged(program: &Program<'_>) -> Vec<FillId> {
    let records = program.lines.values().flat_map(|line| &line.records);
    let across = records.filter(|record| record.amount.pass.is_some_and(|pass| pass.crosses_slices));
    let read = across.flat_map(|record| record.accesses.iter().filter(|access| !access.write));
    let mut fills: Vec<FillId> = read.map(|access| access.tensor.fill).collect();
    sorting::ascending(&mut fills);
    fills.dedup();
    fills
}

fn is_exchanged(line: &Line<'_>, exchanged: &[FillId]) -> bool {
    let accesses = line.records.iter().flat_map(|record| record.accesses.iter());
    accesses
        .filter(|access| access.memory == MemoryKind::Dm)
        .any(|access| exchanged.binary_search(&access.tensor.fill).is_ok())
}

/// Keeps the best one of edits that exclude each other: those of the slices of a kernel, and those of a load.
fn one_of_a_kernel(hints: &mut Vec<Hint>) {
    let mut known = LiteMap::new_vec();
    hints.retain(|hint| match hint.kind {
        HintKind::IdleCluster | HintKind::UnusedSlices => {
            known.insert((hint.kernel, hint.kind.name(), None), ()).is_none()
        }
        HintKind::BroadcastLoad => {
            let line = (hint.location, hint.operation);
            known.insert((hint.kernel, hint.kind.name(), Some(line)), ()).is_none()
        }
        _ => true,
    });
}

/// Leaves out edits of a line without mappings where one with mappings does most of it: padding, or a move in DM.
fn mappings_first(hints: &mut Vec<Hint>) {
    use HintKind::{PartialWrites, ShortRuns, SplitReads};
    let is_mapped = |hint: &&Hint| {
        matches!(hint.kind, PartialWrites | SplitReads | ShortRuns) && !hint.changes.is_empty()
    };
    let line = |hint: &Hint| (hint.kernel, hint.location, hint.operation);
    let mapped: Vec<_> = hints.iter().filter(is_mapped).map(|hint| (line(hint), hint.saving)).collect();
    hints.retain(|hint| {
        let does_most = |(other, saving): &(LineKey, u64)| *other == line(hint) && 2 * saving >= hint.saving;
        let is_other = matches!(hint.kind, ShortRuns | PartialWrites);
        !is_other || !hint.changes.is_empty() || !mapped.iter().any(does_most)
    });
}

/// Edits of the operations of one line.
fn of_line<'a>(
    line: (LineKey, &Line<'_>),
    counts: &Counts,
    clock: &mut DmaClock,
    alike: &mut Alike,
    whole: &mut WholeUnits,
) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    match line.1.records[0].timing {
        Timing::Dma(_) => {
            // Operations of a line are mostly alike, and HBM is timed once for those that are.
            type Told = Option<(HintKind, u64, (String, String))>;
            let mut known: HashMap<Spread, Told> = HashMap::new();
            for kind in [HintKind::ShortRuns, HintKind::PartialWrites] {
                found.extend(by_rule(kind, line, |record| {
                    let (spread, _) = Spread::of(record)?;
                    let told = known.entry(alike.of(spread)).or_insert_with(|| of_transfer(record, clock));
                    told.clone().filter(|told| told.0 == kind).map(|(_, cycles, texts)| (cycles, texts))
                }));
            }
            for side in [Side::Source, Side::Destination] {
                let (kind, cause) = match side {
                    Side::Source => (HintKind::SplitReads, "HBM reads two units for 256 bytes"),
                    Side::Destination => {
                        (HintKind::PartialWrites, "HBM reads, changes and writes two for 256 bytes")
                    }
                };
                found.extend(by_rule(kind, line, |record| {
                    // An even move to HBM has a hint already.
                    if side == Side::Destination && Spread::of(record).is_some() {
                        return None;
                    }
                    let cycles = whole.cycles(record, side, clock)?;
                    let cause = format!("runs begin inside of a unit of 256 bytes: {cause}");
                    Some((cycles, (cause, "start the tensor in HBM at a multiple of 256 bytes".to_string())))
                }));
            }
        }
        Timing::TensorUnit(_) => {
            found.extend(by_rule(HintKind::FewRows, line, |record| {
                let (cycles, rows) = pass::with_all_rows(record)?;
                let cause = format!("the contraction uses {rows} of {TRF_BANK_ROWS} rows of the register file");
                let edit = format!("load the weights of {TRF_BANK_ROWS} outputs into the rows: `to_trf::<m![N % {TRF_BANK_ROWS}], …>`");
                Some((cycles, (cause, edit)))
            }));
            found.extend(by_rule(HintKind::OneFlit, line, |record| {
                let cycles = pass::with_two_flits(record)?;
                let cause = "packets of one flit: half of each packet of 64 bytes is zeros".to_string();
                Some((cycles, (cause, "align packets of 64 bytes: two flits of what is summed".to_string())))
            }));
            found.extend(by_rule(HintKind::NarrowFetch, line, |record| {
                let (cycles, bytes) = pass::with_wide_fetches(record)?;
                let cause = format!("the fetch takes {bytes} bytes at a time, of 32");
                let edit = "let multiples of 32 bytes be contiguous in DM and in the packet";
                Some((cycles, (cause, edit.to_string())))
            }));
        }
        _ => {}
    }
    // The counts are of all operations, kept or not.
    if let Some(&waiting) = counts.waits_for_buffer.get(&line.0) {
        let first = order::written(line.1.records[0]);
        let (what, edit) = match first.map(|access| access.memory) {
            Some(MemoryKind::Trf) => ("half of the register file", "use the other half in turns"),
            _ => ("buffer in DM", "use two buffers in turns"),
        };
        found.push(Candidate {
            kind: HintKind::OneBuffer,
            line: line.0,
            cause: format!("{waiting} times it waits until its {what} is free"),
            edit: edit.to_string(),
            changes: Vec::new(),
            most: u64::MAX,
            all: waiting,
            at_banks: true,
            apply: Box::new(|segment, places, works| {
                let waiting = places.iter().filter(|place| order::waits_for_buffer(segment[**place])).count();
                Some((order::in_two_buffers(segment, places, works)?, waiting as u64))
            }),
        });
    }
    found
}

/// Loads that could be given earlier, and loads of bytes that are there already.
fn of_order<'a>(program: &Program<'_>, counts: &Counts) -> Vec<Candidate<'a>> {
    let mut late: LiteMap<(LineKey, LineKey), ()> = LiteMap::new();
    // Of the loads that are kept: the number that load again, and of these the number with room to stay.
    let mut again: LiteMap<LineKey, (u64, u64)> = LiteMap::new();
    for segment in &program.segments {
        for (first, second) in order::loads_behind_waits(segment) {
            late.insert((key(segment[second]), key(segment[first])), ());
        }
        for (place, stays) in order::loads_again(segment) {
            let (all, staying) = again.entry(key(segment[place])).or_default();
            *all += 1;
            *staying += u64::from(stays);
        }
    }
    let mut found = Vec::new();
    for ((second, first), ()) in late {
        let Some(&times) = counts.behind_waits.get(&(second, first)) else { continue };
        let (at, call) = (super::report::place(first.1), first.2);
        found.push(Candidate {
            kind: HintKind::LateLoad,
            line: second,
            cause: format!("{times} times it is behind {call} of {at}, which waits"),
            edit: format!("give it before {call} of {at}"),
            changes: Vec::new(),
            most: u64::MAX,
            all: times,
            at_banks: true,
            apply: Box::new(move |segment, _, works| {
                let mut swaps = order::loads_behind_waits(segment);
                swaps.retain(|(a, b)| (key(segment[*b]), key(segment[*a])) == (second, first));
                Some((order::earlier(works, &swaps), swaps.len() as u64))
            }),
        });
    }
    for (line, (all, staying)) in again {
        // If there is no room for all of them, the share that stays is the same among those that are not kept.
        let times = counts.loaded_again.get(&line).copied().unwrap_or_default();
        let times = (u128::from(times) * u128::from(staying) / u128::from(all)) as u64;
        if times == 0 {
            continue;
        }
        found.push(Candidate {
            kind: HintKind::LoadedAgain,
            line,
            cause: format!("{times} times it loads what a load before it has brought to the same slices"),
            edit: "load it once, and keep the tensor".to_string(),
            changes: Vec::new(),
            most: u64::MAX,
            all: times,
            at_banks: true,
            apply: Box::new(move |segment, _, works| {
                let again = order::loads_again(segment).into_iter();
                let repeated = again.filter(|(place, stays)| *stays && key(segment[*place]) == line);
                let repeated: Vec<usize> = repeated.map(|(place, _)| place).collect();
                let times = repeated.len() as u64;
                Some((order::without(works, &repeated), times))
            }),
        });
    }
    found
}
