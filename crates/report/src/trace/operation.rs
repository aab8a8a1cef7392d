//! Content of a trace about an operation, and about the run when it ends.

use super::channels;
use super::layout::Layouts;
use crate::hints::Hint;
use crate::map::{End, MemoryMap, MemoryUse, Touch};
use crate::report::json::least;
use crate::report::parts::PartTable;
use crate::report::{possible_multiplied_bytes, share};
use core::ops::Range;
use furiosa_visa_clock::bound;
use furiosa_visa_clock::hazards::Access;
use furiosa_visa_clock::hbm::core_cycles;
use furiosa_visa_clock::json::object;
use furiosa_visa_clock::ledger::{KernelCall, KernelTime, Ledger};
use furiosa_visa_clock::record::{Record, Timing};
use furiosa_visa_clock::tensor_unit::Stage;
use furiosa_visa_rules::command::ContextKind;
use furiosa_visa_rules::spec;
use serde_json::{Value, json};

/// The stages of a pass, in the order of their tracks.
pub(super) const STAGES: [Stage; Stage::ALL.len()] = Stage::ALL;

/// File and line of an operation, as programs give them to the compiler.
pub(super) fn line(record: &Record) -> String {
    format!("{}:{}", record.location.file(), record.location.line())
}

/// Name of a kernel, or of the operations that no kernel gave.
pub(super) fn kernel_name(call: KernelCall) -> &'static str {
    if call.number == 0 { "no kernel" } else { call.name }
}

/// Layout of a tensor in each unit: `bf16 m![M % 2, K]`.
fn lies(access: &Access) -> String {
    let mappings = access.tensor.mappings.text(3).unwrap_or_default();
    format!("{} {mappings}", access.tensor.element).trim_end().to_string()
}

/// The name of an operation: `to_dm kernel.rs:12 bf16 m![K]`, with the tensor that it writes.
pub(super) fn name(record: &Record) -> String {
    let written = record.accesses.iter().find(|access| access.write).map(lies).unwrap_or_default();
    let place = crate::report::place(record.location);
    format!("{} {place} {written}", record.operation).trim_end().to_string()
}

/// Access to a tensor, with its bytes and layout:
/// `reads DM bytes 0..128: i8 m![1], m![1 # 2], m![M / 2 # 256], m![M % 2, K]`.
fn tensor(access: &Access) -> String {
    let Access { memory, bytes, of: _, write, tensor } = access;
    let verb = if *write { "writes" } else { "reads" };
    let Range { start, end } = bytes;
    let mappings = tensor.mappings.text(0).unwrap_or_default();
    format!("{verb} {memory} bytes {start}..{end}: {} {mappings}", tensor.element)
}

/// A stage of a pass while elements go through it.
pub(super) struct StageSpan {
    /// Index in [`STAGES`].
    pub stage: usize,
    /// Cycle in which the first element comes in.
    pub start: u64,
    /// Cycle in which the last element has gone out.
    pub end: u64,
    /// Cycles that it works, their class and rule.
    busy: (u64, String, &'static str),
    latency: u64,
}

impl StageSpan {
    pub(super) fn args(&self, op: u64) -> Value {
        let (busy, class, rule) = &self.busy;
        json!({"op": op, "stage": STAGES[self.stage].name(), "busy cycles": busy, "latency": self.latency,
            "class": class, "rule": rule, "guide": "clock"})
    }
}

/// Stages of a pass. Each begins when the ones before it have let the first element through, and ends when those behind
/// it have only the last one left to do.
pub(super) fn stage_spans(record: &Record) -> Vec<StageSpan> {
    let stage = |wanted: Stage| STAGES.iter().position(|stage| *stage == wanted).expect("all are there");
    match &record.timing {
        Timing::TensorUnit(time) => {
            let mut start = record.start + time.issue.cycles;
            let mut behind: u64 = time.stages.iter().map(|stage_time| stage_time.latency.cycles).sum();
            let spans = time.stages.iter().map(|stage_time| {
                let latency = stage_time.latency.cycles;
                behind -= latency;
                let span = StageSpan {
                    stage: stage(stage_time.stage),
                    start: start.min(record.end),
                    end: record.end.saturating_sub(behind).max(start.min(record.end)),
                    busy: (
                        stage_time.occupancy.cycles,
                        stage_time.occupancy.class.to_string(),
                        stage_time.occupancy.source,
                    ),
                    latency,
                };
                start += latency;
                span
            });
            spans.collect()
        }
        Timing::Bitmap(cost) => vec![StageSpan {
            stage: stage(Stage::Switch),
            start: record.start,
            end: record.end,
            busy: (cost.cycles, cost.class.to_string(), cost.source),
            latency: 0,
        }],
        Timing::Dma(_) | Timing::Host(_) | Timing::Meeting(_) => Vec::new(),
    }
}

/// All facts about an operation that no other event has.
pub(super) fn args(record: &Record) -> Value {
    let waits = |on: &dyn Fn() -> Value| if record.wait.is_some() { on() } else { Value::Null };
    let slowed = record.beside.iter().filter(|(_, delay)| *delay > 0);
    let mut args = json!({
        "op": record.number,
        "operation": record.operation,
        "line": line(record),
        "context": record.context.to_string(),
        "kernel": kernel_name(record.kernel),
        "launch": record.kernel.number,
        "bound by": record.timing.bottleneck(),
        "class": record.timing.class().to_string(),
        "cycles": record.cycles(),
        "idle before": record.idle,
        "waited for": record.wait.map(|wait| wait.to_string()).unwrap_or_default(),
        "waited for op": waits(&|| record.wait.map(|wait| wait.on()).into()),
        "slowed by": slowed.map(|(on, delay)| json!([on, delay])).collect::<Value>(),
        "read bytes": record.amount.read_bytes,
        "written bytes": record.amount.written_bytes,
        "slices": record.amount.slices.len(),
        "tensors": record.accesses.iter().map(tensor).collect::<Vec<_>>(),
        "configuration": &*record.configuration,
    });
    let (from, to) = record.memories;
    if let Some(from) = from {
        args["read from"] = from.to_string().into();
    }
    if let Some(to) = to {
        args["written to"] = to.to_string().into();
    }
    let stages = stage_spans(record);
    if !stages.is_empty() {
        let row = |span: &StageSpan| {
            json!([
                STAGES[span.stage].name(),
                span.start - record.start,
                span.end - record.start,
                span.busy.0
            ])
        };
        args["stages"] = stages.iter().map(row).collect();
        let units = (0..record.amount.slices.chips()).flat_map(|chip| {
            let used = (0..spec::CLUSTERS)
                .filter(move |&cluster| record.amount.slices.in_cluster(chip, cluster) > 0);
            used.map(move |cluster| json!([chip, cluster]))
        });
        args["clusters"] = units.collect();
    }
    if let Timing::Dma(time) = &record.timing {
        let engines = time.by_engine().into_iter();
        args["engines"] =
            engines.map(|(chip, engine, cycles)| json!([chip, engine % spec::DMA_ENGINES, cycles])).collect();
        if let Some(time) = &time.time {
            args["commands"] = time.commands().into();
            args["requests"] = time.requests().into();
            args["HBM"] = time.hbm.iter().map(|(chip, served)| channels::summary(*chip, served)).collect();
            args["PCIe"] = core_cycles(time.pcie_ticks).into();
            let partial =
                time.engines.iter().map(|engine| engine.read.partial_writes + engine.write.partial_writes);
            args["partial writes"] = partial.sum::<u64>().into();
        }
    }
    if let Some(products) = record.amount.products {
        let chips = record.amount.slices.chips().max(1);
        args["multiplications"] = products.count.into();
        args["rows"] = products.rows.into();
        args["type"] = products.element.to_string().into();
        let lanes = spec::MAC_BYTES * 8 / products.element.bits();
        args["possible per cycle"] =
            (chips * spec::CLUSTERS * spec::SLICES * spec::TRF_BANK_ROWS * lanes).into();
    }
    args
}

fn touch(touch: &Touch) -> Value {
    let Touch { number, operation, place, start, end, .. } = touch;
    json!({"op": number, "operation": operation, "line": place, "start": start, "end": end})
}

fn memory(memory: &MemoryUse) -> Value {
    let tensors = memory.tensors.iter().map(|life| {
        let over = match &life.end {
            End::Remains => Value::Null,
            End::Overwritten(by) => touch(by),
        };
        json!({"bytes": [life.bytes.start, life.bytes.end], "type": life.element.to_string(), "layout": life.mapping,
            "made": touch(&life.made), "last": touch(&life.last), "reads": life.reads, "overwritten": over})
    });
    json!({"memory": memory.memory.to_string(), "capacity": memory.capacity, "peak bytes": memory.peak_bytes, "count": memory.count,
        "tensors": tensors.collect::<Value>()})
}

/// Summary of a run, when the last operation has ended.
pub(super) fn summary(
    ledger: &Ledger,
    hints: &[Hint],
    map: &MemoryMap,
    layouts: Layouts,
    left_out: &[String],
) -> Value {
    let totals = &ledger.totals;
    let contexts = ContextKind::ALL.into_iter().map(|context| {
        let (busy, given) = (totals.busy[context as usize], totals.given[context as usize]);
        (context.to_string(), json!({"operations": given, "busy": busy}))
    });
    let kernels = ledger.kernels.iter().map(|kernel| {
        let (name, launch) = (kernel_name(kernel.call), kernel.call.number);
        json!({"name": name, "launch": launch, "start": kernel.start, "end": kernel.end,
            "operations": kernel.operations,
            "at least": least((kernel.bounds.cycles(), kernel.bounds.held_by()))})
    });
    let cycles = ledger.kernels.iter().map(KernelTime::makespan).sum();
    let of_macs = share(totals.multiplied_bytes.into(), possible_multiplied_bytes(cycles, ledger.chips));
    let channel = spec::HBM_UNIT_BYTES as u64 * spec::CORE_CYCLE_TICKS * spec::HBM_CHANNELS as u64;
    json!({
        "format": 1,
        "version": env!("CARGO_PKG_VERSION"),
        "profile": ledger.profile.name(),
        "cycles": totals.end,
        "operations": totals.operations,
        "interrupted": ledger.interrupted,
        "contexts": object(contexts.collect()),
        "multiplications": totals.products,
        "of MACs": of_macs,
        "kernels": kernels.collect::<Value>(),
        "at least": bound::of_all(&ledger.kernels).map(least),
        "HBM bytes per cycle": channel / spec::HBM_UNIT_TICKS,
        "HBM channels": [spec::HBM_STACKS, spec::HBM_STACK_CHANNELS],
        "fetch bytes per cycle": spec::FLIT_BYTES * spec::CLUSTERS * spec::SLICES,
        "left out": left_out,
        "hints": hints.iter().map(crate::report::json::hint).collect::<Value>(),
        "warnings": ledger.warnings.iter().map(ToString::to_string)
            .chain(ledger.faults.iter().map(ToString::to_string))
            .chain(ledger.notes.iter().map(ToString::to_string)).collect::<Vec<_>>(),
        "parts": PartTable::of(&ledger.parts.named()).iter().map(PartTable::json).collect::<Value>(),
        "memories": map.memories.iter().map(memory).collect::<Value>(),
        "layouts": layouts.into_value(),
    })
}
