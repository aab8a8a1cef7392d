//! Cycles of a command when nothing else runs, with the composition that reports have.

use furiosa_visa_clock::Cost;
use furiosa_visa_clock::command_time::CommandTime;
use serde_json::{Value, json};

/// The cycles of a transfer.
pub fn dma_cycles(time: &CommandTime) -> Value {
    told(time, &format!("bound by {}", time.timing.bottleneck()))
}

/// The cycles of a pass. Its stages run at the same time: the slowest one sets the pace.
pub fn pass_cycles(time: &CommandTime) -> Value {
    told(time, &format!("the slowest stage is {}", time.timing.bottleneck()))
}

fn told(time: &CommandTime, bound: &str) -> Value {
    let row = |name: &str, cost: &Cost| json!([name, cost.cycles, cost.class.name(), cost.source]);
    let bitmap = time.bitmap.iter().map(|cost| row("switch bitmap, before it", cost));
    let rows: Vec<Value> =
        bitmap.chain(time.timing.costs().iter().map(|(name, cost)| row(name, cost))).collect();
    json!({ "all": time.cycles(), "bound": bound, "banks": time.bank_cycles, "rows": rows })
}
