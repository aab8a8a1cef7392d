//! Traces of random sequences: the slices add up to the report, and every part lies inside its operation.

use crate::commands::Machine;
use crate::orders::Order;
use crate::reference::random::Random;
use crate::sequences::Operations;
use furiosa_visa_std::clock::dma::Coverage;
use furiosa_visa_std::clock::record::Timing;
use furiosa_visa_std::clock::{Record, Report};
use furiosa_visa_std::command::{ContextKind, MemoryKind};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// An output that can be read afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics").write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Sums by name.
type Sums = BTreeMap<String, u64>;

fn add(sums: &mut Sums, name: impl Into<String>, more: u64) {
    *sums.entry(name.into()).or_default() += more;
}

/// What the report says.
fn reported(report: &Report) -> Sums {
    let mut sums = Sums::new();
    let totals = &report.totals;
    for context in ContextKind::ALL.into_iter().filter(|own| totals.given[*own as usize] > 0) {
        add(&mut sums, format!("{context} cycles"), totals.busy[context as usize]);
        add(&mut sums, format!("{context} operations"), totals.given[context as usize]);
    }
    for (memory, bytes) in &totals.read_bytes {
        add(&mut sums, format!("read from {memory}"), *bytes);
    }
    for (memory, bytes) in &totals.written_bytes {
        add(&mut sums, format!("written to {memory}"), *bytes);
    }
    let channels = totals.hbm_channels.iter().flat_map(|chip| chip.iter().enumerate());
    for (channel, own) in channels.filter(|(_, own)| own.bytes > 0) {
        let name = format!("HBM channel {}.{}", channel / 16, channel % 16);
        add(&mut sums, format!("{name} bytes"), own.bytes);
        add(&mut sums, format!("{name} busy ticks"), own.busy_ticks);
        add(&mut sums, "HBM bytes", own.bytes);
        add(&mut sums, "HBM busy ticks", own.busy_ticks);
    }
    for kernel in &report.kernels {
        add(&mut sums, "kernels", kernel.makespan());
    }
    for record in &report.records {
        let clusters = (0..2).filter(|&own| record.amount.slices.in_cluster(0, own) > 0).count() as u64;
        match &record.timing {
            Timing::TensorUnit(time) if clusters > 0 => {
                for stage in &time.stages {
                    add(&mut sums, format!("stage {}", stage.stage), clusters * stage.occupancy.cycles);
                }
            }
            Timing::Bitmap(cost) if clusters > 0 => add(&mut sums, "stage switch", clusters * cost.cycles),
            Timing::TensorUnit(_) | Timing::Bitmap(_) | Timing::Meeting(_) => {}
            Timing::Host(cost) => add(&mut sums, "PCIe", cost.cycles),
            Timing::Dma(time) => {
                for (_, engine, cycles) in time.by_engine() {
                    add(&mut sums, format!("tdma engine {}", engine % 8), cycles);
                }
                for (_, ticks) in time.time.iter().flat_map(|time| time.hbm_ticks()).filter(|own| own.1 > 0) {
                    add(&mut sums, "HBM", ticks.div_ceil(3));
                }
                let pcie = time.time.as_ref().map_or(0, |time| time.pcie_ticks);
                add(&mut sums, "PCIe", pcie.div_ceil(3));
            }
        }
    }
    sums
}

/// What the trace says. An error: a slice that lies outside of its operation.
fn traced(trace: &Value) -> Result<Sums, String> {
    let mut sums = Sums::new();
    let events = trace["traceEvents"].as_array().ok_or("no events")?;
    let number = |value: &Value| value.as_u64().ok_or(format!("{value} is no number"));
    let mut threads = BTreeMap::new();
    let mut operations = BTreeMap::new();
    for event in events {
        let track = (event["pid"].as_u64(), event["tid"].as_u64());
        if event["name"] == "thread_name" {
            threads.insert(track, event["args"]["name"].as_str().unwrap_or_default().to_string());
        }
        if event["ph"] != "X" {
            continue;
        }
        let thread = threads.get(&track).ok_or(format!("a track without a name: {event}"))?;
        let (start, cycles, args) = (number(&event["ts"])?, number(&event["dur"])?, &event["args"]);
        let text = |key: &str| args[key].as_str().map(str::to_string);
        match event["cat"].as_str() {
            Some("kernel") => add(&mut sums, "kernels", cycles),
            Some("operation") => {
                operations.insert(number(&args["op"])?, (start, start + cycles));
                add(&mut sums, format!("{thread} cycles"), cycles);
                add(&mut sums, format!("{thread} operations"), 1);
                if let Some(from) = text("read from") {
                    add(&mut sums, format!("read from {from}"), number(&args["read bytes"])?);
                }
                if let Some(to) = text("written to") {
                    add(&mut sums, format!("written to {to}"), number(&args["written bytes"])?);
                }
            }
            _ => {
                // An operation comes before its parts.
                let (first, end) = operations[&number(&args["op"])?];
                if start < first || start + cycles > end {
                    return Err(format!("outside of {first}..{end}: {event}"));
                }
                match event["cat"].as_str() {
                    Some("stage") => {
                        let stage = text("stage").unwrap_or_default();
                        if !thread.ends_with(&stage) {
                            return Err(format!("on the track {thread}: {event}"));
                        }
                        add(&mut sums, format!("stage {stage}"), number(&args["busy cycles"])?);
                    }
                    Some("engine") => add(&mut sums, thread, cycles),
                    Some(category @ ("HBM" | "HBM channel")) => {
                        let busy = number(&args["busy ticks"])?;
                        if category == "HBM" {
                            add(&mut sums, thread, number(&args["cycles"])?);
                        } else if busy > 3 * cycles {
                            return Err(format!("busy for longer than it lasts: {event}"));
                        }
                        add(&mut sums, format!("{thread} bytes"), number(&args["bytes"])?);
                        add(&mut sums, format!("{thread} busy ticks"), busy);
                    }
                    _ => add(&mut sums, thread, number(&args["cycles"])?),
                }
            }
        }
    }
    Ok(sums)
}

/// What viewers ask of a file: slices of a thread lie in each other or apart, each arrow has one beginning and one end, and
/// both are in a slice.
fn opens_in_viewers(trace: &Value) -> Result<(), String> {
    let events = trace["traceEvents"].as_array().ok_or("no events")?;
    let number = |event: &Value, key: &str| event[key].as_u64().ok_or(format!("no {key}: {event}"));
    let mut threads: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    let mut arrows: BTreeMap<u64, Vec<(&str, (u64, u64), u64)>> = BTreeMap::new();
    for event in events {
        let pid = number(event, "pid")?;
        match event["ph"].as_str() {
            Some("X") => {
                let (start, cycles) = (number(event, "ts")?, number(event, "dur")?);
                threads.entry((pid, number(event, "tid")?)).or_default().push((start, start + cycles));
            }
            Some(side @ ("s" | "f")) => {
                let own = (side, (pid, number(event, "tid")?), number(event, "ts")?);
                arrows.entry(number(event, "id")?).or_default().push(own);
            }
            Some("C" | "M") => {}
            _ => return Err(format!("what is this: {event}")),
        }
    }
    for (thread, slices) in &mut threads {
        slices.sort_by_key(|(start, end)| (*start, core::cmp::Reverse(*end)));
        let mut open: Vec<u64> = Vec::new();
        for &(start, end) in slices.iter() {
            open.retain(|outer| *outer > start);
            if open.last().is_some_and(|outer| *outer < end) {
                return Err(format!("{start}..{end} ends behind what it is in: thread {thread:?}"));
            }
            open.push(end);
        }
    }
    for (id, ends) in &arrows {
        let [("s", from, first), ("f", to, last)] = ends[..] else {
            return Err(format!("arrow {id}: {ends:?}"));
        };
        let is_inside = |thread, at| {
            let slices: &Vec<(u64, u64)> = &threads[&thread];
            slices.iter().any(|&(start, end)| start <= at && (at < end || start == end))
        };
        if first > last || !is_inside(from, first) || !is_inside(to, last) {
            return Err(format!("arrow {id} leads nowhere: {ends:?}"));
        }
    }
    Ok(())
}

/// The channels of HBM are asked for the bytes that a transfer reads there and writes there.
fn channels_serve_all_bytes(record: &Record) -> Result<(), String> {
    let Timing::Dma(timing) = &record.timing else { return Ok(()) };
    let Some(time) = timing.time.as_ref().filter(|time| time.coverage == Coverage::Exact) else {
        return Ok(());
    };
    let served: u64 = time.hbm.iter().map(|(_, served)| served.total().0).sum();
    let of = |memory, bytes| if memory == Some(MemoryKind::Hbm) { bytes } else { 0 };
    let (from, to) = record.memories;
    let moved = of(from, record.amount.read_bytes) + of(to, record.amount.written_bytes);
    if served == moved {
        Ok(())
    } else {
        Err(format!("{served} bytes of channels, {moved} moved: {record:?}"))
    }
}

/// One sequence, and what ran.
pub fn run(random: &mut Random) -> Result<Vec<Record>, String> {
    let mut machine = Machine::new(Order::Program);
    let out = Shared::default();
    machine.trace(out.clone());
    let mut operations = Operations::new(random);
    for _ in 0..random.between(4, 14) {
        // A command that is refused has not run: it is in neither.
        let _ = machine.give(&operations.next(random));
    }
    let report = machine.finish();
    report.records.iter().try_for_each(channels_serve_all_bytes)?;
    let bytes = out.0.lock().expect("nobody panics").clone();
    let trace: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    let (share, headline) =
        (trace["visa"]["of MACs"].as_str().unwrap_or_default(), report.headline().to_string());
    if !headline.contains(&format!("MACs {share},")) {
        return Err(format!("{share} of MACs in the trace: {headline}"));
    }
    opens_in_viewers(&trace)?;
    let (mut expected, found) = (reported(&report), traced(&trace)?);
    expected.retain(|name, sum| *sum > 0 || found.contains_key(name));
    let names = expected.keys().chain(found.keys());
    match names.map(|name| (name, found.get(name), expected.get(name))).find(|(_, a, b)| a != b) {
        None => Ok(report.records),
        Some((name, trace, report)) => {
            Err(format!("{name}: {trace:?} in the trace, {report:?} in the report"))
        }
    }
}
