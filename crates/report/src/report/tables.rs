//! All tables of a report.

use super::headline::share;
use super::{Headline, Report, percent, place};
use core::fmt;
use furiosa_visa_clock::cost::CostClass;
use furiosa_visa_clock::hbm::core_cycles;
use furiosa_visa_clock::numbers::Number;
use furiosa_visa_clock::record::{Record, Timing, VectorUse};
use furiosa_visa_clock::repeats::Repeats;
use furiosa_visa_clock::tensor_unit::Stage;
use furiosa_visa_rules::command::{ContextKind, RngdAlu};
use furiosa_visa_rules::sequencer::write_table;
use furiosa_visa_rules::spec::{
    CLUSTERS, CORE_CYCLE_TICKS, DMA_ENGINES, HBM_CHANNELS, HBM_STACK_CHANNELS, HBM_STACKS, SLICES,
    TRF_BANK_ROWS,
};

/// A report with all of its tables: see [`Report::full`].
#[derive(Clone, Copy, Debug)]
pub struct Full<'a>(&'a Report);

impl Report {
    /// The report with the tables of all operations, for `VISA_REPORT=full`.
    pub fn full(&self) -> Full<'_> {
        Full(self)
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
                    idle_in_kernel(record, from).to_string(),
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
                row.push(
                    time.stage(stage).map_or("-".to_string(), |found| found.occupancy.cycles.to_string()),
                );
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
            let heads: Vec<&str> = ["op"].into_iter().chain(furiosa_visa_clock::dma_timing::HEADS).collect();
            write_table(f, &heads, &rows)?;
        }
        Ok(())
    }

    fn write_repeats(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.repeats.is_empty() {
            return Ok(());
        }
        writeln!(f, "\noperations that repeat others")?;
        let row = |repeats: &Repeats| {
            let Repeats { like, count, first, last, cycles, least, most, period, .. } = *repeats;
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

    /// Writes a line per channel of a stack for each chip whose HBM was used. The stacks are side by side.
    fn write_channels(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (channels, cycles) = (&self.totals.hbm_channels, self.headline().cycles);
        let possible = cycles.saturating_mul(CORE_CYCLE_TICKS);
        for (chip, channels) in channels.iter().enumerate() {
            let (bytes, busy) =
                channels.iter().fold((0, 0), |(bytes, busy), sum| (bytes + sum.bytes, busy + sum.busy_ticks));
            if bytes == 0 {
                continue;
            }
            let share = percent(busy, possible.saturating_mul(HBM_CHANNELS as u64));
            writeln!(
                f,
                "\nchannels of HBM of chip {chip}: {bytes} bytes, busy {share} of the cycles of kernels"
            )?;
            let row = |number: usize| {
                let of_stack = |stack: usize| {
                    let sum = channels[stack * HBM_STACK_CHANNELS + number];
                    let busy = core_cycles(sum.busy_ticks).to_string();
                    [busy, percent(sum.busy_ticks, possible), sum.bytes.to_string()]
                };
                [number.to_string()].into_iter().chain((0..HBM_STACKS).flat_map(of_stack)).collect()
            };
            let rows: Vec<Vec<String>> = (0..HBM_STACK_CHANNELS).map(row).collect();
            let of_stack =
                |stack: usize| ["cycles", "share", "B"].map(|head| format!("stack {stack}, {head}"));
            let heads: Vec<String> =
                ["channel".to_string()].into_iter().chain((0..HBM_STACKS).flat_map(of_stack)).collect();
            write_table(f, &heads.iter().map(String::as_str).collect::<Vec<_>>(), &rows)?;
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
            let beside = percent(totals.products, totals.possible_products);
            let Headline { multiplied_bytes, possible_bytes, .. } = self.headline();
            let share = share(multiplied_bytes.into(), possible_bytes);
            writeln!(
                f,
                "  {} multiplications, {share} of what all rows of all slices could do in the kernels, {beside} while \
                 contractions ran",
                totals.products
            )?;
        }
        Ok(())
    }

    fn write_costs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nwhere the numbers come from (D documented, d derived, r reported, a assumed; guide: clock)"
        )?;
        for (class, name, source) in self.totals.sources.keys() {
            let number =
                Number::ALL.iter().find(|number| number.rule() == *source && *class == CostClass::Reported);
            let reported = number.map_or(String::new(), |number| format!(" ({})", number.source()));
            writeln!(f, "  {} {name}: {source}{reported}", class.letter())?;
        }
        Ok(())
    }
}

/// Cycles for which the context of an operation was idle before it, counted from a cycle.
fn idle_in_kernel(record: &Record, from: u64) -> u64 {
    record.idle.min(record.start - from)
}

/// Share of the capacity of the hardware that an operation uses: multiplications of a contraction, bytes of other
/// passes and of DMA.
fn utilisation(record: &Record) -> String {
    let cycles = record.cycles();
    let chips = record.amount.slices.chips().max(1) as u64;
    match (&record.timing, record.amount.products) {
        (Timing::TensorUnit(_), Some(products)) => {
            let lanes = (furiosa_visa_rules::spec::MAC_BYTES * 8 / products.element.bits()) as u64;
            let possible = cycles.saturating_mul(chips * (CLUSTERS * SLICES * TRF_BANK_ROWS) as u64 * lanes);
            format!("{} of MACs", percent(products.count, possible))
        }
        (Timing::TensorUnit(_), None) => {
            let width = furiosa_visa_rules::spec::FLIT_BYTES as u64;
            let possible = cycles.saturating_mul(chips * (CLUSTERS * SLICES) as u64 * width);
            format!("{} of fetch", percent(record.amount.read_bytes, possible))
        }
        (Timing::Dma(_), _) => {
            let width = (DMA_ENGINES * furiosa_visa_rules::spec::DMA_REQUEST_BYTES) as u64;
            format!("{} of DMA", percent(record.amount.written_bytes, cycles.saturating_mul(chips * width)))
        }
        (Timing::Host(_), _) => {
            let bytes = record.amount.read_bytes + record.amount.written_bytes;
            format!(
                "{} of PCIe",
                percent(bytes, cycles.saturating_mul(furiosa_visa_rules::spec::PCIE_BYTES_PER_CYCLE))
            )
        }
        (Timing::Bitmap(_) | Timing::Meeting(_), _) => "-".to_string(),
    }
}

impl fmt::Display for Full<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_short(f, usize::MAX)?;
        writeln!(f)?;
        self.0.write_full(f)
    }
}

impl Report {
    fn write_full(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, kernels, totals, .. } = self;
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
            let of_kernel: Vec<&Record> = self.records_of(kernel).collect();
            match kernel.call.number {
                0 => writeln!(f, "\noutside of kernels: {} cycles", kernel.makespan())?,
                _ => writeln!(f, "\nkernel {}: {} cycles", kernel.call.name, kernel.makespan())?,
            }
            if of_kernel.is_empty() {
                writeln!(f, "its {} operations repeat others, or are in the totals only", kernel.operations)?;
                continue;
            }
            self.write_commands(f, &of_kernel, kernel.start)?;
            let more = kernel.operations.saturating_sub(of_kernel.len() as u64);
            if more > 0 {
                writeln!(f, "and {more} operations that repeat others, or are in the totals only")?;
            }
            self.write_stages(f, &of_kernel)?;
            writeln!(f, "\nwhat the engines are told")?;
            for record in &of_kernel {
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
        write!(f, "{}", self.by_part())?;
        self.write_channels(f)?;
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
