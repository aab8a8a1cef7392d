//! A report for tools.

use super::super::hints::Hint;
use super::{Bound, Headline, KernelSum, Report};
use core::panic::Location;
use furiosa_visa_clock::numbers::Number;
use furiosa_visa_clock::record::{Record, Timing};
use furiosa_visa_clock::repeats::Repeats;
use furiosa_visa_clock::schedule::Wait;
use furiosa_visa_rules::command::ContextKind;
use furiosa_visa_rules::spec::HBM_STACK_CHANNELS;
use serde_json::{Map, Value, json};

/// File, line and column.
fn location(location: &Location<'_>) -> String {
    location.to_string()
}

/// A number for each context that has one.
fn by_context(numbers: &[u64]) -> Value {
    let named = ContextKind::ALL.iter().zip(numbers).filter(|(_, number)| **number > 0);
    named.map(|(context, number)| (context.to_string(), json!(number))).collect::<Map<_, _>>().into()
}

fn headline(own: &Headline) -> Value {
    let Headline { system, cycles, host_cycles, kernels, bound, busy, idle, .. } = own;
    let kernel = |own: &KernelSum| {
        let KernelSum { name, launches, cycles } = own;
        json!({"name": name, "launches": launches, "cycles": cycles})
    };
    let bound = bound.as_ref().map(|own| {
        let Bound { operation, bottleneck, operations, cycles, of, .. } = own;
        json!({
            "location": location(own.location), "operation": operation, "context": own.context.to_string(),
            "bottleneck": bottleneck, "operations": operations, "cycles": cycles, "of_cycles": of,
        })
    });
    // A product of cycles and bytes may be beyond 64 bits: JSON has it as a float.
    let share = |bytes: u64, possible: u128| json!({"bytes": bytes, "possible_bytes": possible as f64});
    json!({
        "system": system, "cycles": cycles, "host_cycles": host_cycles,
        "kernels": kernels.iter().map(kernel).collect::<Vec<_>>(), "bound": bound, "busy_cycles": by_context(busy),
        "multiplied": share(own.multiplied_bytes, own.possible_bytes),
        "dma": share(own.dma_bytes, own.possible_dma_bytes),
        "hbm": share(own.hbm_bytes, own.possible_hbm_bytes),
        "idle": idle,
    })
}

/// A hint as an object.
pub(crate) fn hint(hint: &Hint) -> Value {
    let Hint { kind, kernel, operation, number, operations, cycles, cause, edit, saving, .. } = hint;
    json!({
        "kind": kind.name(), "kernel": kernel, "location": location(hint.location), "operation": operation,
        "number": number, "operations": operations, "cycles": cycles, "cause": cause, "edit": edit,
        "saving": saving,
    })
}

fn wait(own: &Wait) -> Value {
    match own {
        Wait::Resource(resource, on) => json!({"on": on, "holds": resource.to_string()}),
        Wait::Hazard(own) => json!({
            "on": own.on, "hazard": own.hazard.to_string(), "memory": own.memory.to_string(), "byte": own.byte,
        }),
    }
}

fn timing(own: &Timing) -> Value {
    let costs = own.costs();
    let cost = |(name, cost): &(&str, furiosa_visa_clock::Cost)| json!({"name": name, "cycles": cost.cycles, "class": cost.class.letter().to_string(), "source": cost.source});
    let mut value = json!({
        "cycles": own.cycles(), "class": own.class().letter().to_string(), "bound_by": own.bottleneck(),
        "parts": costs.iter().map(cost).collect::<Vec<_>>(),
    });
    if let Timing::Dma(dma) = own
        && let Some(time) = &dma.time
    {
        value["engines"] = json!(time.engines.len());
        value["commands"] = json!(time.commands());
        value["requests"] = json!(time.requests());
    }
    value
}

fn record(own: &Record) -> Value {
    let amount = &own.amount;
    let products = amount
        .products
        .map(|own| json!({"count": own.count, "rows": own.rows, "element": own.element.name()}));
    let vector = amount.vector.as_ref().map(|own| {
        let units: Vec<&str> = own.units.iter().map(|unit| unit.name()).collect();
        json!({"way": own.way, "lanes": own.lanes, "units": units})
    });
    let memory = |own: Option<furiosa_visa_rules::command::MemoryKind>| {
        own.map_or("host".to_string(), |own| own.to_string())
    };
    json!({
        "number": own.number, "kernel": own.kernel.name, "launch": own.kernel.number, "operation": own.operation,
        "context": own.context.to_string(), "location": location(own.location), "start": own.start, "end": own.end,
        "idle_before": own.idle, "waited_for": own.wait.as_ref().map(wait),
        "beside": own.beside.iter().map(|(on, delay)| json!({"on": on, "delay": delay})).collect::<Vec<_>>(),
        "time": timing(&own.timing), "from": memory(own.memories.0), "to": memory(own.memories.1),
        "read_bytes": amount.read_bytes, "written_bytes": amount.written_bytes, "slices": amount.slices.len(),
        "products": products, "vector": vector, "configuration": &*own.configuration,
    })
}

fn repeats(own: &Repeats) -> Value {
    let Repeats { like, count, first, last, start, end, period, cycles, least, most } = own;
    let period = period.map(|(operations, cycles)| json!({"operations": operations, "cycles": cycles}));
    json!({
        "like": like, "count": count, "first": first, "last": last, "start": start, "end": end, "period": period,
        "cycles": cycles, "least_cycles": least, "most_cycles": most,
    })
}

impl Report {
    /// All of the report as JSON: an object with `numbers`, `headline`, `hints`, `kernels`, `operations`, `repeats`,
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
        let by_memory = |bytes: &std::collections::BTreeMap<furiosa_visa_rules::command::MemoryKind, u64>| {
            bytes.iter().map(|(memory, bytes)| (memory.to_string(), json!(bytes))).collect::<Map<_, _>>()
        };
        let kernel = |own: &super::KernelTime| {
            let path = self.critical_path(own);
            json!({
                "name": own.call.name, "launch": own.call.number, "start": own.start, "end": own.end,
                "operations": own.operations, "critical_path": path.iter().map(|own| own.number).collect::<Vec<_>>(),
            })
        };
        let channels = totals.hbm_channels.iter().enumerate().flat_map(|(chip, channels)| {
            let used = channels.iter().enumerate().filter(|(_, own)| own.bytes > 0);
            used.map(move |(channel, own)| {
                json!({
                    "chip": chip, "stack": channel / HBM_STACK_CHANNELS, "channel": channel % HBM_STACK_CHANNELS,
                    "bytes": own.bytes, "busy_ticks": own.busy_ticks,
                })
            })
        });
        let number = |own: Number| {
            json!({
                "name": own.name(), "value": self.numbers.get(own), "most": own.most(), "rule": own.rule(),
                "class": own.class().to_string(), "meaning": own.meaning(), "source": own.source(),
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
            "repeats": self.repeats.iter().map(repeats).collect::<Vec<_>>(),
            "totals": {
                "operations": totals.operations, "end": totals.end, "busy_cycles": by_context(&totals.busy),
                "given": by_context(&totals.given), "read_bytes": by_memory(&totals.read_bytes),
                "written_bytes": by_memory(&totals.written_bytes), "products": totals.products,
                "hbm_channels": channels.collect::<Vec<_>>(),
                "possible_products": totals.possible_products, "slices": totals.slices.len(), "rows": totals.rows,
                "dma_engines": totals.dma_engines, "meetings": totals.meetings, "joint_loads": totals.joint_loads, "left_out": totals.left_out,
            },
            "warnings": texts(&mut self.warnings.iter().map(|own| own.to_string())),
            "notes": texts(&mut self.notes.iter().map(|own| own.to_string())),
            "faults": texts(&mut self.faults.iter().map(|own| own.to_string())),
        })
        .to_string()
    }
}
