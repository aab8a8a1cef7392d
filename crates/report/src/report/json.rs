//! A report for tools.

use super::super::hints::Hint;
use super::parts::PartTable;
use super::{Bound, Headline, KernelSum, Report};
use core::panic::Location;
use furiosa_visa_clock::bound::Limit;
use furiosa_visa_clock::json::object;
use furiosa_visa_clock::numbers::Number;
use furiosa_visa_clock::record::{Record, Timing};
use furiosa_visa_clock::repeats::Repeats;
use furiosa_visa_clock::schedule::Wait;
use furiosa_visa_rules::command::ContextKind;
use furiosa_visa_rules::spec::HBM_STACK_CHANNELS;
use serde_json::{Value, json};

/// File, line and column.
fn location(location: &Location<'_>) -> String {
    location.to_string()
}

/// A number for each context that has one.
fn by_context(numbers: &[u64]) -> Value {
    let named = ContextKind::ALL.iter().zip(numbers).filter(|(_, number)| **number > 0);
    object(named.map(|(context, number)| (context.to_string(), json!(number))).collect())
}

/// A lower bound, and what holds it.
pub(crate) fn least((cycles, limit): (u64, Limit)) -> Value {
    json!({"cycles": cycles, "held_by": limit.name()})
}

fn headline(headline: &Headline) -> Value {
    let Headline { system, cycles, host_cycles, kernels, bound, busy, idle, .. } = headline;
    let kernel = |sum: &KernelSum| {
        let KernelSum { name, launches, cycles } = sum;
        json!({"name": name, "launches": launches, "cycles": cycles})
    };
    let bound = bound.as_ref().map(|bound| {
        let Bound { operation, bottleneck, operations, cycles, of, .. } = bound;
        json!({
            "location": location(bound.location), "operation": operation, "context": bound.context.to_string(),
            "bottleneck": bottleneck, "operations": operations, "cycles": cycles, "of_cycles": of,
        })
    });
    // A product of cycles and bytes may be beyond 64 bits: JSON has it as a float.
    let share = |bytes: u64, possible: u128| json!({"bytes": bytes, "possible_bytes": possible as f64});
    json!({
        "system": system, "cycles": cycles, "host_cycles": host_cycles,
        "kernels": kernels.iter().map(kernel).collect::<Vec<_>>(), "bound": bound,
        "at_least": headline.least.map(least), "busy_cycles": by_context(busy),
        "multiplied": share(headline.multiplied_bytes, headline.possible_bytes),
        "dma": share(headline.dma_bytes, headline.possible_dma_bytes),
        "hbm": share(headline.hbm_bytes, headline.possible_hbm_bytes),
        "idle": idle,
    })
}

/// A hint as an object.
pub(crate) fn hint(hint: &Hint) -> Value {
    let Hint { kind, kernel, operation, number, operations, cycles, cause, edit, changes, saving, .. } = hint;
    let changes = changes.iter().map(|change| json!({"before": change.before, "after": change.after}));
    json!({
        "kind": kind.name(), "kernel": kernel, "location": location(hint.location), "operation": operation,
        "number": number, "operations": operations, "cycles": cycles, "cause": cause, "edit": edit,
        "changes": changes.collect::<Vec<_>>(), "saving": saving,
    })
}

fn wait(wait: &Wait) -> Value {
    match wait {
        Wait::Resource(resource, on) => json!({"on": on, "holds": resource.to_string()}),
        Wait::Hazard(dependency) => json!({
            "on": dependency.on, "hazard": dependency.hazard.to_string(), "memory": dependency.memory.to_string(), "byte": dependency.byte,
        }),
    }
}

fn timing(timing: &Timing) -> Value {
    let costs = timing.costs();
    let cost = |(name, cost): &(&str, furiosa_visa_clock::Cost)| json!({"name": name, "cycles": cost.cycles, "class": cost.class.letter().to_string(), "source": cost.source});
    let mut value = json!({
        "cycles": timing.cycles(), "class": timing.class().letter().to_string(), "bound_by": timing.bottleneck(),
        "parts": costs.iter().map(cost).collect::<Vec<_>>(),
    });
    if let Timing::Dma(dma) = timing
        && let Some(time) = &dma.time
    {
        value["engines"] = json!(time.engines.len());
        value["commands"] = json!(time.commands());
        value["requests"] = json!(time.requests());
    }
    value
}

fn record(record: &Record) -> Value {
    let amount = &record.amount;
    let products = amount
        .products
        .map(|products| json!({"count": products.count, "rows": products.rows, "element": products.element.name()}));
    let vector = amount.vector.as_ref().map(|vector| {
        let units: Vec<&str> = vector.units.iter().map(|unit| unit.name()).collect();
        json!({"way": vector.way, "lanes": vector.lanes, "units": units})
    });
    let memory = |kind: Option<furiosa_visa_rules::command::MemoryKind>| {
        kind.map_or("host".to_string(), |kind| kind.to_string())
    };
    json!({
        "number": record.number, "kernel": record.kernel.name, "launch": record.kernel.number, "operation": record.operation,
        "context": record.context.to_string(), "location": location(record.location), "start": record.start, "end": record.end,
        "idle_before": record.idle, "waited_for": record.wait.as_ref().map(wait),
        "beside": record.beside.iter().map(|(on, delay)| json!({"on": on, "delay": delay})).collect::<Vec<_>>(),
        "time": timing(&record.timing), "from": memory(record.memories.0), "to": memory(record.memories.1),
        "read_bytes": amount.read_bytes, "written_bytes": amount.written_bytes, "slices": amount.slices.len(),
        "products": products, "vector": vector, "configuration": &*record.configuration,
    })
}

fn repeats(repeats: &Repeats) -> Value {
    let Repeats { like, count, first, last, start, end, period, cycles, least, most } = repeats;
    let period = period.map(|(operations, cycles)| json!({"operations": operations, "cycles": cycles}));
    json!({
        "like": like, "count": count, "first": first, "last": last, "start": start, "end": end, "period": period,
        "cycles": cycles, "least_cycles": least, "most_cycles": most,
    })
}

impl Report {
    /// All of the report as JSON: an object with `numbers`, `headline`, `hints`, `kernels`, `operations`, `parts`, `repeats`,
    /// `totals`, `warnings`, `notes` and `faults`. Operations are named by their numbers.
    ///
    /// ```
    /// use furiosa_visa_std::prelude::*;
    /// axes![A = 256, B = 64];
    /// let mut ctx = Context::acquire();
    /// let host = HostTensor::<i8, m![A, B]>::zero();
    /// let _hbm: HbmTensor<i8, m![1], m![A, B]> = pollster::block_on(host.to_hbm(&mut ctx.pdma, 0));
    /// let json = ctx.report().to_json();
    /// assert!(json.contains(r#""operation":"upload""#));
    /// ```
    pub fn to_json(&self) -> String {
        let totals = &self.totals;
        let by_memory = |bytes: &litemap::LiteMap<furiosa_visa_rules::command::MemoryKind, u64>| {
            object(bytes.iter().map(|(memory, bytes)| (memory.to_string(), json!(bytes))).collect())
        };
        let kernel = |kernel: &super::KernelTime| {
            let path = self.critical_path(kernel);
            let bounds = kernel.bounds;
            let limits = bounds.iter().map(|(limit, cycles)| (limit.name().to_string(), json!(cycles)));
            json!({
                "name": kernel.call.name, "launch": kernel.call.number, "start": kernel.start, "end": kernel.end,
                "operations": kernel.operations, "at_least": least((bounds.cycles(), bounds.held_by())),
                "bounds": object(limits.collect()), "critical_path": path.iter().map(|record| record.number).collect::<Vec<_>>(),
            })
        };
        let channels = totals.hbm_channels.iter().enumerate().flat_map(|(chip, channels)| {
            let used = channels.iter().enumerate().filter(|(_, sum)| sum.bytes > 0);
            used.map(move |(channel, sum)| {
                json!({
                    "chip": chip, "stack": channel / HBM_STACK_CHANNELS, "channel": channel % HBM_STACK_CHANNELS,
                    "bytes": sum.bytes, "busy_ticks": sum.busy_ticks,
                })
            })
        });
        let number = |number: Number| {
            json!({
                "name": number.name(), "value": self.numbers.get(number), "most": number.most(), "rule": number.rule(),
                "class": number.class().to_string(), "meaning": number.meaning(), "source": number.source(),
            })
        };
        let texts = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>();
        json!({
            "chips": self.chips,
            "interrupted": self.interrupted,
            "profile": self.profile.to_string(),
            "numbers": Number::ALL.map(number).to_vec(),
            "headline": headline(&self.headline()),
            "hints": self.hints().iter().map(hint).collect::<Vec<_>>(),
            "kernels": self.kernels.iter().map(kernel).collect::<Vec<_>>(),
            "operations": self.records.iter().map(record).collect::<Vec<_>>(),
            "parts": PartTable::of(&self.parts).iter().map(PartTable::json).collect::<Vec<_>>(),
            "repeats": self.repeats.iter().map(repeats).collect::<Vec<_>>(),
            "totals": {
                "operations": totals.operations, "end": totals.end, "busy_cycles": by_context(&totals.busy),
                "given": by_context(&totals.given), "read_bytes": by_memory(&totals.read_bytes),
                "written_bytes": by_memory(&totals.written_bytes), "products": totals.products,
                "hbm_channels": channels.collect::<Vec<_>>(),
                "possible_products": totals.possible_products, "slices": totals.slices.len(), "rows": totals.rows,
                "dma_engines": totals.dma_engines, "meetings": totals.meetings, "joint_loads": totals.joint_loads, "left_out": totals.left_out,
            },
            "warnings": texts(&mut self.warnings.iter().map(|warning| warning.to_string())),
            "notes": texts(&mut self.notes.iter().map(|note| note.to_string())),
            "faults": texts(&mut self.faults.iter().map(|fault| fault.to_string())),
        })
        .to_string()
    }
}
