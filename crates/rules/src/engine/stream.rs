//! Tensors in motion: the stream between two engines, as a typestate.

use crate::error::{PlanError, refuse};
use crate::spec::ChipKind;

/// Checks that the chips of the system are of the kind that a stream asks for.
pub const fn check_kind(system: ChipKind, asked: ChipKind) -> Result<(), PlanError> {
    if system.runs(asked) {
        return Ok(());
    }
    refuse!(
        "chip kind",
        "on: the stream is for {}, but the chips of the system are {}; help: make the context with \
         `Context::with(SimOptions { chip_kind: ChipKind::RngdS, .. })`, or fetch what RNGD can",
        (asked.name(), system.name()),
    )
}
