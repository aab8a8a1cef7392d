//! The report: what ran when, why, and what stood idle.

use super::cost::{Channels, Profile};
use super::hazards::OperationNumber;
use super::ledger::{KernelTime, Totals, Warning};
use super::record::{Record, Timing, VectorUse};
use super::repeats::Repeats;
use super::tensor_unit::Stage;
use crate::chip::checks::fault::Fault;
use crate::command::{ContextKind, RngdAlu};
use crate::sequencer::write_table;
use crate::spec::{CLUSTERS, ChipKind, DMA_ENGINES, SLICES, TRF_BANK_ROWS};
use core::fmt;
use core::panic::Location;

/// What a program cost. Printed, it is a text with tables.
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
/// println!("{report}");
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    /// Which model gave the numbers.
    pub profile: Profile,
    /// How passes used the switch channels.
    pub channels: Channels,
    /// The kind of the chips.
    pub chip_kind: ChipKind,
    /// The chips of the system.
    pub chips: usize,
    /// Operations by number, without those that repeat others.
    pub records: Vec<Record>,
    /// Those that repeat others: see [`repeats`](super::repeats).
    pub repeats: Vec<Repeats>,
    /// Kernels in the order of their launches.
    pub kernels: Vec<KernelTime>,
    /// Sums over all operations.
    pub totals: Totals,
    /// What might go wrong on the chip.
    pub warnings: Vec<Warning>,
    /// What goes wrong on the chip because of the time that things take: [`FaultKind::NocTimeout`].
    ///
    /// [`FaultKind::NocTimeout`]: crate::chip::FaultKind::NocTimeout
    pub faults: Vec<Fault>,
}

impl Report {
    /// The operation of this number.
    pub fn record(&self, number: OperationNumber) -> Option<&Record> {
        self.records
            .binary_search_by_key(&number, |record| record.number)
            .ok()
            .map(|index| &self.records[index])
    }

    /// The operations of a kernel. Those that stand on their own before it and behind it are two kernels.
    fn records_of(&self, kernel: &KernelTime) -> impl Iterator<Item = &Record> {
        let KernelTime { call, start, end, .. } = *kernel;
        let own = move |record: &&Record| record.kernel == call && record.context != ContextKind::PcieDma;
        self.records.iter().filter(own).filter(move |record| start <= record.start && record.end <= end)
    }

    /// The operations that decide the end of a kernel: each could not start before the one in front of it had ended. The path
    /// begins behind an operation that repeats others, and is empty if it would end with one.
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

    fn write_commands(&self, f: &mut fmt::Formatter<'_>, records: &[&Record], from: u64) -> fmt::Result {
        let rows: Vec<Vec<String>> = records
            .iter()
            .map(|record| {
                let class = record.timing.class();
                let slowed: String = (record.beside.iter().filter(|(_, delay)| *delay > 0))
                    .map(|(on, delay)| format!(", {delay} by #{on}"))
                    .collect();
                vec![
                    format!("#{}", record.number),
                    record.context.to_string(),
                    record.operation.to_string(),
                    place(record.location),
                    (record.start - from).to_string(),
                    (record.end - from).to_string(),
                    format!("{} {}{slowed}", record.cycles(), class.letter()),
                    record.timing.bottleneck().to_string(),
                    utilisation(record),
                    record.amount.read_bytes.to_string(),
                    record.amount.written_bytes.to_string(),
                    record.idle_in_kernel(from).to_string(),
                    record.wait.map_or("-".to_string(), |wait| wait.to_string()),
                ]
            })
            .collect();
        let heads = [
            "op",
            "context",
            "operation",
            "call",
            "start",
            "end",
            "cycles",
            "bound by",
            "use",
            "read B",
            "written B",
            "idle before",
            "waited for",
        ];
        write_table(f, &heads, &rows)
    }

    fn write_stages(&self, f: &mut fmt::Formatter<'_>, records: &[&Record]) -> fmt::Result {
        let mut rows = Vec::new();
        for record in records {
            let Timing::TensorUnit(time) = &record.timing else { continue };
            let mut row = vec![format!("#{}", record.number)];
            for stage in Stage::ALL {
                row.push(time.stage(stage).map_or("-".to_string(), |own| own.occupancy.cycles.to_string()));
            }
            row.push(time.latency().to_string());
            rows.push(row);
        }
        if !rows.is_empty() {
            writeln!(f, "\ncycles per stage of the Tensor Unit")?;
            let heads: Vec<&str> =
                ["op"].into_iter().chain(Stage::ALL.map(Stage::name)).chain(["latency"]).collect();
            write_table(f, &heads, &rows)?;
        }
        let mut rows = Vec::new();
        for record in records {
            let Some(VectorUse { way, lanes, units }) = &record.amount.vector else { continue };
            let names: Vec<&str> = units.iter().map(|unit| unit.name()).collect();
            let names = if names.is_empty() { "-".to_string() } else { names.join(", ") };
            rows.push(vec![
                format!("#{}", record.number),
                way.to_string(),
                format!("{lanes} of {way}"),
                format!("{} of {}", units.len(), RngdAlu::ALL.len()),
                names,
            ]);
        }
        if !rows.is_empty() {
            writeln!(f, "\nlanes and units (ALUs) of the Vector Engine")?;
            write_table(f, &["op", "way", "lanes used", "ALUs used", "which"], &rows)?;
        }
        let mut rows = Vec::new();
        for record in records {
            let Timing::Dma(time) = &record.timing else { continue };
            rows.push([vec![format!("#{}", record.number)], time.row()].concat());
        }
        if !rows.is_empty() {
            writeln!(f, "\ncycles of DMA operations")?;
            let heads: Vec<&str> = ["op"].into_iter().chain(super::dma_timing::HEADS).collect();
            write_table(f, &heads, &rows)?;
        }
        Ok(())
    }

    fn write_repeats(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.repeats.is_empty() {
            return Ok(());
        }
        writeln!(f, "\noperations that repeat others")?;
        let row = |own: &Repeats| {
            let Repeats { like, count, first, last, cycles, least, most, period, .. } = *own;
            let name = |of: &dyn Fn(&Record) -> String| self.record(like).map_or(String::new(), of);
            let each = if least == most { least.to_string() } else { format!("{least} to {most}") };
            vec![
                format!("#{like}"),
                name(&|record| record.kernel.name.to_string()),
                name(&|record| record.context.to_string()),
                name(&|record| record.operation.to_string()),
                name(&|record| place(record.location)),
                count.to_string(),
                format!("#{first}"),
                format!("#{last}"),
                period.map_or("-".to_string(), |(numbers, cycles)| format!("{numbers} ops, {cycles} cycles")),
                each,
                cycles.to_string(),
            ]
        };
        let rows: Vec<Vec<String>> = self.repeats.iter().map(row).collect();
        let heads = [
            "like",
            "kernel",
            "context",
            "operation",
            "call",
            "count",
            "first",
            "last",
            "one every",
            "cycles of each",
            "cycles",
        ];
        write_table(f, &heads, &rows)
    }

    fn write_totals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let totals = &self.totals;
        writeln!(f, "\ntotals")?;
        writeln!(f, "  {} operations, last end at cycle {}", totals.operations, totals.end)?;
        for context in ContextKind::ALL {
            let (busy, given) = (totals.busy[context as usize], totals.given[context as usize]);
            if given > 0 {
                let share = percent(busy, totals.end);
                writeln!(f, "  {context:5} {given} operations, busy {busy} cycles, {share}")?;
            }
        }
        for (memory, bytes) in &totals.read_bytes {
            writeln!(f, "  {bytes} bytes read from {memory}")?;
        }
        for (memory, bytes) in &totals.written_bytes {
            writeln!(f, "  {bytes} bytes written to {memory}")?;
        }
        if totals.products > 0 {
            let share = percent(totals.products, totals.possible_products);
            writeln!(
                f,
                "  {} multiplications, {share} of what all rows of all slices could do meanwhile",
                totals.products
            )?;
        }
        Ok(())
    }

    fn write_costs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nwhere the numbers come from (D documented, d derived, a assumed; guide: clock)")?;
        for (class, name, source) in &self.totals.sources {
            writeln!(f, "  {} {name}: {source}", class.letter())?;
        }
        Ok(())
    }
}

impl Record {
    /// Cycles for which its context was idle before it, counted from a cycle.
    fn idle_in_kernel(&self, from: u64) -> u64 {
        self.idle.min(self.start - from)
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

/// How much of what the hardware could do an operation does: multiplications of a contraction, bytes of other passes
/// and of DMA.
fn utilisation(record: &Record) -> String {
    let cycles = record.cycles();
    let chips = record.amount.slices.chips().max(1) as u64;
    match (&record.timing, record.amount.products) {
        (Timing::TensorUnit(_), Some(products)) => {
            let lanes = (crate::spec::MAC_BYTES * 8 / products.element.bits()) as u64;
            let possible = cycles.saturating_mul(chips * (CLUSTERS * SLICES * TRF_BANK_ROWS) as u64 * lanes);
            format!("{} of MACs", percent(products.count, possible))
        }
        (Timing::TensorUnit(_), None) => {
            let width = crate::spec::FLIT_BYTES as u64;
            let possible = cycles.saturating_mul(chips * (CLUSTERS * SLICES) as u64 * width);
            format!("{} of fetch", percent(record.amount.read_bytes, possible))
        }
        (Timing::Dma(_), _) => {
            let width = (DMA_ENGINES * crate::spec::DMA_REQUEST_BYTES) as u64;
            format!("{} of DMA", percent(record.amount.written_bytes, cycles.saturating_mul(chips * width)))
        }
        (Timing::Host(_), _) => {
            let bytes = record.amount.read_bytes + record.amount.written_bytes;
            format!("{} of PCIe", percent(bytes, cycles.saturating_mul(crate::spec::PCIE_BYTES_PER_CYCLE)))
        }
        (Timing::Bitmap(_), _) => "-".to_string(),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            profile,
            channels,
            chip_kind,
            chips,
            records,
            repeats: _,
            kernels,
            totals,
            warnings,
            faults,
        } = self;
        let plural = if *chips == 1 { "" } else { "s" };
        let joined = if *channels == Channels::Dual { ", dual channel" } else { "" };
        writeln!(f, "time on {chips} {chip_kind} chip{plural}, profile {profile}{joined}, cycles of 1 GHz")?;
        for fault in faults {
            writeln!(f, "{fault}")?;
        }
        for warning in warnings {
            writeln!(f, "{warning}")?;
        }
        let sums: Vec<_> = records.iter().filter(|record| record.sums_in_sub_context()).collect();
        let what = match sums[..] {
            [] => None,
            [only] => Some(format!("#{} sums", only.number)),
            [first, .., last] => {
                Some(format!("{} operations, from #{} to #{}, sum", sums.len(), first.number, last.number))
            }
        };
        if let Some(what) = what {
            writeln!(
                f,
                "note: {what} in the sub context, which has the compute engines only while the main context is idle"
            )?;
        }
        for kernel in kernels {
            let own: Vec<&Record> = self.records_of(kernel).collect();
            match kernel.call.number {
                0 => writeln!(f, "\noutside of kernels: {} cycles", kernel.makespan())?,
                _ => writeln!(f, "\nkernel {}: {} cycles", kernel.call.name, kernel.makespan())?,
            }
            if own.is_empty() {
                writeln!(f, "its {} operations repeat others, or are in the totals only", kernel.operations)?;
                continue;
            }
            self.write_commands(f, &own, kernel.start)?;
            let more = kernel.operations.saturating_sub(own.len() as u64);
            if more > 0 {
                writeln!(f, "and {more} operations that repeat others, or are in the totals only")?;
            }
            self.write_stages(f, &own)?;
            writeln!(f, "\nwhat the engines are told")?;
            for record in &own {
                writeln!(f, "  #{} {}", record.number, record.configuration)?;
            }
            let path = self.critical_path(kernel);
            writeln!(f, "\ncritical path")?;
            match path.first().map(|first| first.wait.filter(|wait| self.record(wait.on()).is_none())) {
                None => writeln!(f, "  it ends with an operation that repeats others")?,
                Some(Some(wait)) => writeln!(f, "  … behind #{}, which repeats others", wait.on())?,
                Some(None) => {}
            }
            for record in path {
                writeln!(
                    f,
                    "  #{} {} {}, {} cycles",
                    record.number,
                    record.operation,
                    place(record.location),
                    record.cycles()
                )?;
            }
        }
        let host: Vec<&Record> =
            records.iter().filter(|record| record.context == ContextKind::PcieDma).collect();
        if !host.is_empty() {
            writeln!(f, "\ntransfers of the host, no part of a kernel")?;
            self.write_commands(f, &host, 0)?;
        }
        self.write_repeats(f)?;
        self.write_totals(f)?;
        let idle = self.idle_hardware();
        if !idle.is_empty() {
            writeln!(f, "\nidle hardware")?;
            idle.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        if totals.left_out > 0 {
            writeln!(f, "\n{} operations are in the totals only", totals.left_out)?;
        }
        self.write_costs(f)
    }
}
