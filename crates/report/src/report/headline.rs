//! The first lines of a report: the cycles, the line that decides them, and the share of the chip that worked.

use super::super::hints::Hint;
use super::{Report, WIDTH, percent, place};
use core::fmt;
use core::panic::Location;
use furiosa_visa_clock::bound::Limit;
use furiosa_visa_clock::record::Record;
use furiosa_visa_rules::command::{CONTEXTS, ContextKind};
use furiosa_visa_rules::sorting;
use furiosa_visa_rules::spec::{
    CLUSTERS, CORE_CYCLE_TICKS, DMA_ENGINES, DMA_REQUEST_BYTES, HBM_CHANNELS, HBM_UNIT_BYTES, HBM_UNIT_TICKS,
    MAC_BYTES, SLICES, TRF_BANK_ROWS,
};
use furiosa_visa_rules::text::grouped;
use litemap::LiteMap;

/// Maximum number of hints that are printed.
const HINTS: usize = 6;

/// Maximum number of kernels that the headline names one by one.
const NAMED: usize = 3;

/// Sum over all launches of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSum {
    /// The name. Empty: commands outside of kernels.
    pub name: &'static str,
    /// Number of its launches.
    pub launches: u64,
    /// Cycles of all of them.
    pub cycles: u64,
}

/// The line of a program that decides the time of its longest kernel: of those on the
/// [critical path](Report::critical_path) the one with the most cycles, or of all lines if the path is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The line.
    pub location: &'static Location<'static>,
    /// The call.
    pub operation: &'static str,
    /// Context that runs it.
    pub context: ContextKind,
    /// Part that sets the pace of the operation.
    pub bottleneck: &'static str,
    /// Number of operations of the line.
    pub operations: u64,
    /// Their cycles.
    pub cycles: u64,
    /// The cycles of the launch, or of all launches if the path is not known.
    pub of: u64,
}

/// The first lines of a report, as data. All numbers are of kernels: transfers of the host have a separate number.
#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    /// The first line.
    pub system: String,
    /// Cycles of all launches, and of commands outside of kernels.
    pub cycles: u64,
    /// Cycles of transfers of the host.
    pub host_cycles: u64,
    /// All kernels, the longest first.
    pub kernels: Vec<KernelSum>,
    /// Line that decides the time of the longest launch.
    pub bound: Option<Bound>,
    /// Lower bound on `cycles`, and the limit that holds most of it: see [`bound`](furiosa_visa_clock::bound). Those of
    /// each kernel are in [`KernelTime::bounds`](furiosa_visa_clock::KernelTime::bounds).
    pub least: Option<(u64, Limit)>,
    /// Cycles for which each of [`ContextKind::ALL`] worked.
    pub busy: [u64; CONTEXTS],
    /// Bytes on one side of all multiplications, without the zeros that fill a packet of one flit.
    pub multiplied_bytes: u64,
    /// The same if all rows of all slices of the chips had multiplied in every cycle.
    pub possible_bytes: u128,
    /// Bytes that DMA engines moved.
    pub dma_bytes: u64,
    /// The same if all engines of the chips had moved 256 bytes in every cycle.
    pub possible_dma_bytes: u128,
    /// Bytes that were read from HBM and written to it.
    pub hbm_bytes: u64,
    /// The same if all channels had been busy with whole units.
    pub possible_hbm_bytes: u128,
    /// Hardware that never worked.
    pub idle: Vec<String>,
}

impl Report {
    /// The first lines, as data.
    pub fn headline(&self) -> Headline {
        let Self { chip_kind, chips, profile, numbers, channels, totals, .. } = self;
        let mut by_name: LiteMap<&'static str, KernelSum> = LiteMap::new();
        for kernel in &self.kernels {
            let name = kernel.call.name;
            let sum = by_name.entry(name).or_insert(KernelSum { name, launches: 0, cycles: 0 });
            sum.launches += 1;
            sum.cycles += kernel.makespan();
        }
        let mut kernels: Vec<KernelSum> = by_name.into_iter().map(|(_, sum)| sum).collect();
        sorting::by_key(&mut kernels, |sum| core::cmp::Reverse(sum.cycles));
        let cycles = kernels.iter().map(|sum| sum.cycles).sum();
        let possible = |per_chip: usize| u128::from(cycles) * (chips * per_chip) as u128;
        let units = u128::from(cycles) * u128::from(CORE_CYCLE_TICKS) / u128::from(HBM_UNIT_TICKS);
        let plural = if *chips == 1 { "" } else { "s" };
        let calibrated = match numbers.changed().count() {
            count if count == 0 || *profile == furiosa_visa_clock::Profile::Book => String::new(),
            count => format!(" with {count} of its numbers set"),
        };
        let joined = if *channels == super::Channels::Dual { ", dual channel" } else { "" };
        Headline {
            system: format!(
                "time on {chips} {chip_kind} chip{plural}, profile {profile}{calibrated}{joined}, cycles of 1 GHz"
            ),
            cycles,
            host_cycles: totals.busy[ContextKind::PcieDma as usize],
            kernels,
            bound: self.bound(),
            least: furiosa_visa_clock::bound::of_all(&self.kernels),
            busy: totals.busy,
            multiplied_bytes: totals.multiplied_bytes,
            possible_bytes: possible_multiplied_bytes(cycles, *chips),
            dma_bytes: totals.dma_bytes,
            possible_dma_bytes: possible(DMA_ENGINES * DMA_REQUEST_BYTES),
            hbm_bytes: totals.hbm_bytes,
            possible_hbm_bytes: units * (chips * HBM_CHANNELS * HBM_UNIT_BYTES) as u128,
            idle: self.idle_hardware(),
        }
    }

    /// Line that decides the time of the longest launch.
    fn bound(&self) -> Option<Bound> {
        let longest = self.kernels.iter().max_by_key(|kernel| kernel.makespan())?;
        let path = self.critical_path(longest);
        // A path that begins behind an operation that is not kept is only a part of the whole.
        let is_whole = path.first().is_some_and(|first| first.start == longest.start);
        let mut lines: Vec<Bound> = Vec::new();
        let mut add = |record: &Record, operations: u64, cycles: u64| {
            let of_line = |line: &&mut Bound| {
                (line.location, line.operation, line.context)
                    == (record.location, record.operation, record.context)
            };
            if let Some(line) = lines.iter_mut().find(of_line) {
                line.operations += operations;
                line.cycles += cycles;
                return;
            }
            lines.push(Bound {
                location: record.location,
                operation: record.operation,
                context: record.context,
                bottleneck: record.timing.bottleneck(),
                operations,
                cycles,
                of: 0,
            });
        };
        if is_whole {
            path.iter().for_each(|record| add(record, 1, record.cycles()));
        } else {
            let name = longest.call.name;
            let of_kernel =
                |record: &&Record| record.kernel.name == name && record.context != ContextKind::PcieDma;
            self.records.iter().filter(of_kernel).for_each(|record| add(record, 1, record.cycles()));
            for repeats in &self.repeats {
                let like = self.record(repeats.like).filter(of_kernel);
                like.into_iter().for_each(|record| add(record, repeats.count, repeats.cycles));
            }
        }
        let all = self.kernels.iter().filter(|kernel| kernel.call.name == longest.call.name);
        let of = if is_whole { longest.makespan() } else { all.map(|kernel| kernel.makespan()).sum() };
        // The first one of equally long lines.
        let slowest = lines.into_iter().rev().max_by_key(|line| line.cycles)?;
        Some(Bound { of, ..slowest })
    }
}

/// Bytes on one side of all multiplications, if all rows of all slices of the chips multiplied in `cycles` cycles.
pub(crate) fn possible_multiplied_bytes(cycles: u64, chips: usize) -> u128 {
    u128::from(cycles) * (chips * CLUSTERS * SLICES * TRF_BANK_ROWS * MAC_BYTES) as u128
}

/// A share in percent; below a hundredth in more digits.
pub(crate) fn share(part: u128, whole: u128) -> String {
    if whole == 0 {
        return "0 %".to_string();
    }
    let hundredths = (part * 10_000 + whole / 2) / whole;
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

/// Cycles of 1 GHz as a time.
fn time(cycles: u64) -> String {
    let (unit, size) = match cycles {
        0..1000 => return format!("{cycles} ns"),
        1000..1_000_000 => ("µs", 1000),
        _ => ("ms", 1_000_000),
    };
    let thousandths = u128::from(cycles) * 1000 / size;
    format!("{}.{:03} {unit}", thousandths / 1000, thousandths % 1000)
}

/// A text up to the last `; ` within a width, and the rest behind it.
fn split(text: &str, width: usize) -> (&str, &str) {
    let Some((end, _)) = text.char_indices().nth(width) else { return (text, "") };
    text[..end].rfind("; ").map_or((text, ""), |at| (&text[..=at], &text[at + 2..]))
}

/// Cuts a line that is too long for the width of a report.
pub(super) fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_string();
    }
    line.chars().take(width - 1).chain(['…']).collect()
}

/// Writes a line, cut between words if it is too long. Its other lines are indented.
pub(super) fn write_wrapped(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let mut words = text.split(' ');
    let mut line = words.next().unwrap_or_default().to_string();
    for word in words {
        if line.chars().count() + 1 + word.chars().count() > WIDTH && !line.trim().is_empty() {
            writeln!(f, "{line}")?;
            line = format!("   {word}");
        } else {
            line = format!("{line} {word}");
        }
    }
    writeln!(f, "{line}")
}

impl fmt::Display for Headline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |head: &str, text: String| writeln!(f, "{}", cut(&format!("{head:<9} {text}"), WIDTH));
        line("system", self.system.clone())?;
        let launches: u64 =
            self.kernels.iter().filter(|kernel| !kernel.name.is_empty()).map(|kernel| kernel.launches).sum();
        let host = match self.host_cycles {
            0 => String::new(),
            cycles => format!("; transfers of the host, beside that: {}", time(cycles)),
        };
        let launched = match launches {
            0 => "no launch".to_string(),
            1 => "1 launch".to_string(),
            _ => format!("{launches} launches"),
        };
        let cycles = self.cycles;
        line("total", format!("{} cycles, {}, {launched}{host}", grouped(cycles), time(cycles)))?;
        for kernel in self.kernels.iter().take(NAMED) {
            let KernelSum { name, launches, cycles } = *kernel;
            let name = if name.is_empty() { "outside of kernels" } else { name };
            let times = if launches == 1 { String::new() } else { format!(", {launches} times") };
            line("kernel", format!("{name}: {} cycles, {}{times}", grouped(cycles), time(cycles)))?;
        }
        if self.kernels.len() > NAMED {
            line("", format!("and {} more kernels", self.kernels.len() - NAMED))?;
        }
        if let Some(bound) = &self.bound {
            let Bound { location, operation, context, bottleneck, operations, cycles, of } = *bound;
            let times = if operations == 1 { String::new() } else { format!(" ({operations} times)") };
            line(
                "bound by",
                format!(
                    "{context} {operation} {}{times}: {bottleneck}; {} cycles, {}",
                    place(location),
                    grouped(cycles),
                    percent(cycles, of)
                ),
            )?;
        }
        if let Some((least, limit)) = self.least {
            let share = percent(least, cycles);
            line("at least", format!("{} cycles by {limit}, {share} of all cycles", grouped(least)))?;
        }
        let busy: Vec<String> = [ContextKind::Main, ContextKind::Sub, ContextKind::TensorDma]
            .into_iter()
            .map(|context| format!("{context} {}", percent(self.busy[context as usize], cycles)))
            .collect();
        line("busy", busy.join(", "))?;
        line(
            "of peak",
            format!(
                "MACs {}, DMA engines {}, HBM {}, of all cycles",
                share(self.multiplied_bytes.into(), self.possible_bytes),
                share(self.dma_bytes.into(), self.possible_dma_bytes),
                share(self.hbm_bytes.into(), self.possible_hbm_bytes)
            ),
        )?;
        if !self.idle.is_empty() {
            let idle = self.idle.join("; ");
            let (first, rest) = split(&idle, WIDTH - 10);
            line("idle", first.to_string())?;
            if !rest.is_empty() {
                line("", rest.to_string())?;
            }
        }
        Ok(())
    }
}

/// Cuts a text into lines of a width, behind one of its `ends`.
fn wrapped(text: &str, ends: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in text.split_inclusive(ends) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + piece.trim_end().chars().count() <= width => {
                line.push_str(piece)
            }
            _ => lines.push(piece.to_string()),
        }
    }
    lines.iter().map(|line| line.trim_end().to_string()).collect()
}

/// Writes hints: four lines each, and two for each mapping that changes.
pub(super) fn write_hints(f: &mut fmt::Formatter<'_>, hints: &[Hint], cycles: u64) -> fmt::Result {
    let mut line = |text: String| writeln!(f, "{}", cut(&text, WIDTH));
    // While a panic unwinds nobody has looked for hints.
    if hints.is_empty() && cycles > 0 && !std::thread::panicking() {
        return line("hints     none: no edit that is known saves half a percent".to_string());
    }
    for (place, hint) in hints.iter().take(HINTS).enumerate() {
        let share = percent(hint.saving, cycles);
        let more =
            if hint.operations == 1 { String::new() } else { format!(" and {} more", hint.operations - 1) };
        let kernel = if hint.kernel.is_empty() { String::new() } else { format!(" in {}", hint.kernel) };
        let (at, saving) = (super::place(hint.location), grouped(hint.saving));
        line(format!("hint {}    saves {saving} cycles, {share}: {}", place + 1, hint.kind))?;
        let of_line = grouped(hint.cycles);
        line(format!("  line    {} {at}{kernel}, #{}{more}, {of_line} cycles", hint.operation, hint.number))?;
        for (head, text) in [("cause", &hint.cause), ("edit", &hint.edit)] {
            for (number, part) in wrapped(text, " ", WIDTH - 10).iter().enumerate() {
                line(format!("  {:<7} {part}", if number == 0 { head } else { "" }))?;
            }
        }
        for change in &hint.changes {
            for (sign, code) in [('-', &change.before), ('+', &change.after)] {
                for (number, part) in wrapped(code, ", ", WIDTH - 12).iter().enumerate() {
                    let (sign, indent) = if number == 0 { (sign, "") } else { (' ', "  ") };
                    line(format!("        {sign} {indent}{part}"))?;
                }
            }
        }
    }
    if hints.len() > HINTS {
        line(format!("and {} more hints: `report.hints()`", hints.len() - HINTS))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_shares_rounded() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1 000", "1 234 567"]);
        assert_eq!(
            [999, 1000, 999_999, 22_350_828].map(time),
            ["999 ns", "1.000 µs", "999.999 µs", "22.350 ms"]
        );
        assert_eq!(
            [(1, 3), (0, 0), (5, 5), (1, 20_000)].map(|(part, whole)| share(part, whole)),
            ["33.33 %", "0 %", "100.00 %", "0.01 %"]
        );
        assert_eq!(share(u64::MAX.into(), u128::from(u64::MAX) * 8), "12.50 %");
    }

    #[test]
    fn long_lines_are_cut() {
        assert_eq!((cut("abcd", 4), cut("abcde", 4)), ("abcd".to_string(), "abc…".to_string()));
        assert_eq!(split("one; two; three", 9), ("one;", "two; three"));
        assert_eq!(
            (split("one; two", 9), split("one-two-three", 4)),
            (("one; two", ""), ("one-two-three", ""))
        );
        struct Wrapped<'a>(&'a str);
        impl fmt::Display for Wrapped<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_wrapped(f, self.0)
            }
        }
        let text = "  word".repeat(60);
        let wrapped = Wrapped(&text).to_string();
        assert!(wrapped.lines().count() > 2 && wrapped.lines().all(|line| line.len() <= WIDTH), "{wrapped}");
        assert_eq!(wrapped.split_whitespace().count(), 60);
        assert_eq!(Wrapped("  --> here").to_string(), "  --> here\n");
    }
}
