//! The report: what ran when, why, and what stood idle.

use super::cost::{Channels, CostClass, Profile};
use super::hazards::OperationNumber;
use super::ledger::{KernelTime, Totals, Warning};
use super::record::{Record, Timing, VectorUse};
use super::tensor_unit::Stage;
use crate::chip::checks::fault::Fault;
use crate::command::{ContextKind, RngdAlu};
use crate::sequencer::write_table;
use crate::spec::{CLUSTERS, ChipKind, DMA_ENGINES, SLICES, TRF_BANK_ROWS};
use core::fmt;
use std::collections::BTreeSet;

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
    /// Operations by number; of very many the first ones.
    pub records: Vec<Record>,
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

    /// The operations that decide the end of a kernel: each could not start before the one in front of it had ended.
    pub fn critical_path(&self, kernel: &KernelTime) -> Vec<&Record> {
        let own = |record: &&Record| record.kernel == kernel.call && record.context != ContextKind::PcieDma;
        let last = self.records.iter().filter(own).max_by_key(|record| (record.end, record.number));
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
        let engines = self.records.iter().filter_map(|record| match &record.timing {
            Timing::Dma(time) => Some(time.engines()),
            _ => None,
        });
        if let Some(most) = engines.max()
            && most < DMA_ENGINES * self.chips
        {
            idle.push(format!(
                "DMA engines: at most {most} of {} at the same time",
                DMA_ENGINES * self.chips
            ));
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
                    place(record),
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
        let mut known: BTreeSet<(CostClass, &str, &str)> = BTreeSet::new();
        for record in &self.records {
            known.extend(
                record.timing.costs().into_iter().map(|(name, cost)| (cost.class, name, cost.source)),
            );
        }
        writeln!(f, "\nwhere the numbers come from (D documented, d derived, a assumed)")?;
        for (class, name, source) in known {
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
pub(crate) fn place(record: &Record) -> String {
    let file = record.location.file();
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    format!("{name}:{}", record.location.line())
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
        let Self { profile, channels, chip_kind, chips, records, kernels, totals, warnings, faults } = self;
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
            let own =
                |record: &&Record| record.kernel == kernel.call && record.context != ContextKind::PcieDma;
            let own: Vec<&Record> = records.iter().filter(own).collect();
            match kernel.call.number {
                0 => writeln!(f, "\noutside of kernels: {} cycles", kernel.makespan())?,
                _ => writeln!(f, "\nkernel {}: {} cycles", kernel.call.name, kernel.makespan())?,
            }
            if own.is_empty() {
                writeln!(f, "its {} operations are in the totals only", kernel.operations)?;
                continue;
            }
            self.write_commands(f, &own, kernel.start)?;
            self.write_stages(f, &own)?;
            writeln!(f, "\nwhat the engines are told")?;
            for record in &own {
                writeln!(f, "  #{} {}", record.number, record.configuration)?;
            }
            let path = self.critical_path(kernel);
            writeln!(f, "\ncritical path")?;
            for record in path {
                writeln!(
                    f,
                    "  #{} {} {}, {} cycles",
                    record.number,
                    record.operation,
                    place(record),
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
        self.write_totals(f)?;
        let idle = self.idle_hardware();
        if !idle.is_empty() {
            writeln!(f, "\nidle hardware")?;
            idle.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        let kept = records.len() as u64;
        if kept < totals.operations {
            writeln!(f, "\n{} operations are in the totals only", totals.operations - kept)?;
        }
        self.write_costs(f)
    }
}
