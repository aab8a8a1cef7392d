//! Report of a run: the times of operations, the reasons for them, and idle hardware.

use core::fmt;
use core::panic::Location;
use furiosa_visa_clock::cost::{Channels, Profile};
use furiosa_visa_clock::hazards::OperationNumber;
use furiosa_visa_clock::ledger::{KernelTime, Totals, Warning};
use furiosa_visa_clock::numbers::{Model, Number, Numbers};
use furiosa_visa_clock::occasions::Counts;
use furiosa_visa_clock::parts::PartSum;
use furiosa_visa_clock::record::Record;
use furiosa_visa_clock::repeats::Repeats;
use furiosa_visa_clock::system_clock::Clock;
use furiosa_visa_rules::command::{ContextKind, Fault, SdkNote};
use furiosa_visa_rules::sorting;
use furiosa_visa_rules::spec::{CLUSTERS, ChipKind, DMA_ENGINES, SLICES, TRF_BANK_ROWS};
use furiosa_visa_rules::text::grouped;

mod headline;
pub(crate) mod json;
pub(crate) mod parts;
mod tables;

pub use headline::{Bound, Headline, KernelSum};
pub(super) use headline::{possible_multiplied_bytes, share};
pub use parts::ByPart;
pub use tables::Full;

/// Width of the report that is printed by default, in columns.
pub const WIDTH: usize = 100;

/// Cost of a program. Printed, it is a [headline](Report::headline) of a few lines; [`Report::full`] has all tables.
///
/// ```
/// use furiosa_visa_std::prelude::*;
/// axes![A = 256, B = 64];
/// let mut ctx = Context::acquire();
/// let host = HostTensor::<i8, m![A, B]>::zero();
/// let hbm: HbmTensor<i8, m![1], m![A, B]> = pollster::block_on(host.to_hbm(&mut ctx.pdma, 0));
/// let _dm = hbm.to_dm::<m![1 # 2], m![A], m![B]>(&mut ctx.tdma, 0);
/// let report = ctx.report();
/// assert_eq!(report.records.last().map(|record| record.operation), Some("to_dm"));
/// assert_eq!(report.headline().cycles, report.kernels[0].makespan());
/// println!("{report}");
/// println!("{}", report.full());
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    /// Model that gave the numbers.
    pub profile: Profile,
    /// Its numbers that are not documented.
    pub numbers: Numbers,
    /// Use of the switch channels by passes.
    pub channels: Channels,
    /// The kind of the chips.
    pub chip_kind: ChipKind,
    /// Number of chips of the system.
    pub chips: usize,
    /// Operations by number, without those that repeat others.
    pub records: Vec<Record>,
    /// Operations that repeat others: see [`repeats`](furiosa_visa_clock::repeats).
    pub repeats: Vec<Repeats>,
    /// Kernels in the order of their launches.
    pub kernels: Vec<KernelTime>,
    /// Sums over the parts that kernels name, in the order of their first operations. Empty if none is named.
    pub parts: Vec<PartSum>,
    /// Sums over all operations.
    pub totals: Totals,
    /// Possible failures on the chip.
    pub warnings: Vec<Warning>,
    /// Calls that compile with the vendor's SDK and go wrong on the chip, as users report: see
    /// `SdkReport`. One note for each line of the program.
    pub notes: Vec<SdkNote>,
    /// Failures on the chip because of the time that operations take: [`FaultKind::NocTimeout`].
    ///
    /// [`FaultKind::NocTimeout`]: furiosa_visa_rules::command::FaultKind::NocTimeout
    pub faults: Vec<Fault>,
    /// True if the program was interrupted: later operations are missing.
    pub interrupted: bool,
    /// Counts of the work that hints would spare operations.
    pub(crate) counts: Counts,
}

impl Report {
    /// The report of a clock. Operations that are given later start after it.
    pub fn of(clock: &mut Clock, chip_kind: ChipKind, chips: usize, notes: &[SdkNote]) -> Self {
        let (Model { profile, numbers }, channels) = (clock.model(), clock.channels());
        let ledger = clock.ledger();
        let (mut records, mut repeats) = (ledger.records.clone(), ledger.repeats.clone());
        sorting::by_key(&mut records, |record| record.number);
        sorting::by_key(&mut repeats, |repeats| repeats.first);
        Self {
            profile,
            numbers,
            channels,
            chip_kind,
            chips,
            records,
            repeats,
            kernels: ledger.kernels.clone(),
            parts: ledger.parts.named(),
            totals: ledger.totals.clone(),
            warnings: ledger.warnings.clone(),
            notes: notes.to_vec(),
            faults: ledger.faults.clone(),
            interrupted: ledger.interrupted,
            counts: ledger.occasions.counts.clone(),
        }
    }
}

impl Report {
    /// The operation of this number.
    pub fn record(&self, number: OperationNumber) -> Option<&Record> {
        self.records
            .binary_search_by_key(&number, |record| record.number)
            .ok()
            .map(|index| &self.records[index])
    }

    /// The operations of a kernel. Calls outside of kernels, before one and behind it, count as two kernels.
    fn records_of(&self, kernel: &KernelTime) -> impl Iterator<Item = &Record> {
        let KernelTime { call, start, end, .. } = *kernel;
        let in_kernel =
            move |record: &&Record| record.kernel == call && record.context != ContextKind::PcieDma;
        self.records.iter().filter(in_kernel).filter(move |record| start <= record.start && record.end <= end)
    }

    /// The operations that decide the end of a kernel: each could not start before the one in front of it had ended.
    /// The path begins behind an operation that repeats others, and is empty if it would end with one.
    pub fn critical_path(&self, kernel: &KernelTime) -> Vec<&Record> {
        let last = self.records_of(kernel).max_by_key(|record| (record.end, record.number));
        let last = last.filter(|record| record.end == kernel.end);
        let mut path: Vec<&Record> = last.into_iter().collect();
        while let Some(before) =
            path.last().and_then(|record| record.wait).and_then(|wait| self.record(wait.on()))
        {
            if before.kernel != kernel.call || before.context == ContextKind::PcieDma {
                break;
            }
            path.push(before);
        }
        path.reverse();
        path
    }

    /// Hardware that never worked.
    pub fn idle_hardware(&self) -> Vec<String> {
        let mut idle = Vec::new();
        let totals = &self.totals;
        let passes = totals.given[ContextKind::Main as usize] + totals.given[ContextKind::Sub as usize];
        for chip in 0..self.chips {
            let used: Vec<usize> =
                (0..CLUSTERS).map(|cluster| totals.slices.in_cluster(chip, cluster)).collect();
            if passes == 0 || used.iter().all(|slices| *slices == 0) {
                idle.push(format!("chip {chip}: no Tensor Unit ever worked"));
                continue;
            }
            for (cluster, slices) in used.into_iter().enumerate() {
                match slices {
                    0 => idle.push(format!("chip {chip}: cluster {cluster} of {CLUSTERS} never used")),
                    SLICES => {}
                    _ => {
                        idle.push(format!("chip {chip}, cluster {cluster}: {slices} of {SLICES} slices used"))
                    }
                }
            }
        }
        if totals.products > 0 && totals.rows < TRF_BANK_ROWS {
            idle.push(format!("TRF rows: {} of {TRF_BANK_ROWS} used", totals.rows));
        }
        for context in [ContextKind::Main, ContextKind::Sub, ContextKind::TensorDma] {
            if totals.given[context as usize] == 0 {
                idle.push(format!("{context}: no operation"));
            }
        }
        let (most, engines) = (totals.dma_engines, DMA_ENGINES * self.chips);
        if most > 0 && most < engines {
            idle.push(format!("DMA engines: at most {most} of {engines} at the same time"));
        }
        idle
    }
}

/// Least and most cycles that users of chips saw for meetings, which are counted with
/// [`SYNCHRONISATION_CYCLES`](furiosa_visa_rules::spec::SYNCHRONISATION_CYCLES).
const MEETING_CYCLES: (u64, u64) = (200, 7500);

/// `once`, `2 times`.
fn times(count: u64) -> String {
    if count == 1 { "once".to_string() } else { format!("{count} times") }
}

impl Report {
    /// Reports of users of chips that the cycles leave out, or that they give as one number where chips differ.
    fn reported(&self) -> impl Iterator<Item = String> {
        let (meetings, loads) = (self.totals.meetings, self.totals.joint_loads);
        let (each, (least, most)) = (self.numbers.get(Number::Synchronisation), MEETING_CYCLES);
        let met = (meetings > 0).then(|| {
            format!(
                "reported: both clusters met {} before they loaded what was stored to HBM. That is counted as {each} cycles, \
                 and was {least} to {most} on chips",
                times(meetings)
            )
        });
        let loaded = (loads > 0 && self.profile == Profile::Detailed).then(|| {
            format!(
                "reported: both clusters loaded together {}. On chips, cluster 1 loads at half of the rate of cluster 0 \
                 meanwhile, which is not counted",
                times(loads)
            )
        });
        met.into_iter().chain(loaded)
    }
}

/// File and line, without the folders above it.
pub(crate) fn place(location: &Location<'_>) -> String {
    let file = location.file();
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    format!("{name}:{}", location.line())
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0.0 %".to_string();
    }
    // In integers: the text must not depend on the host's floating point.
    let tenths = (u128::from(part) * 1000 + u128::from(whole) / 2) / u128::from(whole);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Headline, faults, warnings, notes and hints, within [`WIDTH`] columns.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_short(f, TOLD)?;
        write!(f, "all tables: VISA_REPORT=full, or `report.full()`")
    }
}

/// Maximum number of faults, of warnings and of notes in the short report.
const TOLD: usize = 3;

impl Report {
    /// Writes the short report, with at most `most` faults, warnings and notes each.
    fn write_short(&self, f: &mut fmt::Formatter<'_>, most: usize) -> fmt::Result {
        let headline = self.headline();
        if self.interrupted {
            writeln!(f, "interrupted after {} cycles: all of this is until then", grouped(headline.cycles))?;
        }
        write!(f, "{headline}")?;
        let faults = self.faults.iter().take(most).map(Fault::to_string);
        let warnings = self.warnings.iter().take(most).map(Warning::to_string);
        let notes = self.notes.iter().take(most).map(SdkNote::to_string);
        for text in faults.chain(warnings).chain(notes) {
            text.lines().try_for_each(|line| headline::write_wrapped(f, line))?;
        }
        let rest =
            [(self.faults.len(), "faults"), (self.warnings.len(), "warnings"), (self.notes.len(), "notes")];
        for (all, what) in rest {
            if all > most {
                writeln!(f, "and {} more {what}", all - most)?;
            }
        }
        self.reported().try_for_each(|text| headline::write_wrapped(f, &text))?;
        headline::write_hints(f, &self.hints(), headline.cycles)
    }
}
