//! Passes whose values take more memory than the simulator keeps.

use super::bounds::Call;
use super::fault::{Fault, FaultKind};
use crate::command::{Sink, TensorUnit};

/// Bytes that a pass may take of the simulating machine.
const MOST_BYTES: u128 = 4 << 30;

/// Bytes that are kept per step of a contraction: its read, its slot, its packet, and its place in two orders.
const STEP_BYTES: u128 = 64;

/// Bytes that are kept per flit of a stream: its address, and which of its lanes are live.
const FLIT_BYTES: u128 = 16;

/// Bytes that are kept per lane of what leaves a pass: the element, and whether it was written.
const LANE_BYTES: u128 = 8;

/// Refuses a pass whose values cannot be kept. Its time can be computed all the same.
pub(in crate::chip) fn check(unit: &TensorUnit, call: Call) -> Result<(), Fault> {
    let (collected, end) = (unit.shapes().collected.time, unit.shapes().cast);
    let steps = unit.contraction.as_ref().map_or(0, |own| own.steps);
    let moved = match &unit.sink {
        Sink::Vrf { transfer, .. } => transfer.loops.iter().map(|own| own.size as u128).product(),
        Sink::Commit { .. } | Sink::Trf { .. } => 0u128,
    };
    let needed = steps as u128 * STEP_BYTES
        + collected as u128 * FLIT_BYTES
        + (end.time as u128 * end.lanes as u128 + moved) * LANE_BYTES;
    if needed <= MOST_BYTES {
        return Ok(());
    }
    let what = if steps > 0 { format!("{steps} steps") } else { format!("{collected} flits") };
    let message = format!(
        "the simulator would need {} GiB for the values of {what}, but keeps {} GiB at most",
        needed.div_ceil(1 << 30),
        MOST_BYTES >> 30
    );
    let help = "split the pass, or compute its time alone: `SimOptions { compute: Compute::ShapesOnly, .. }`";
    Err(call.fault(FaultKind::TooLarge, message, help))
}
