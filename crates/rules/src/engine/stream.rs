//! Tensors in motion: the stream between two engines, as a typestate.
//!
//! ```text
//! begin ─▶ BeginTensor ─fetch─▶ FetchTensor ─[switch]─▶ SwitchTensor ─collect─▶ CollectTensor ─┬─to_trf───────▶ TrfTensor
//!                                                                                              ├─to_vrf───────▶ VrfTensor
//!                                                                                              ├─align────────▶ AlignedPair
//!                                                                                              ├─vector_init──▶ VectorInitTensor
//!                                                                                              ├─cast─────────▶ CastTensor
//!                                                                                              ├─transpose────▶ TransposeTensor
//!                                                                                              └─commit───────▶ DmTensor
//! AlignedPair ─contract─▶ ContractionTensor ─accumulate─▶ AccumulationTensor ─▶ vector_init, cast, transpose, commit
//! VectorInitTensor … ─vector_final─▶ VectorFinalTensor ─▶ to_vrf, cast, transpose, commit
//! CastTensor ─▶ transpose, commit
//! TransposeTensor ─▶ commit
//! ```
//!
//! Between `vector_init` and `vector_final` the stream is in [`crate::engine::vector`].
//!
//! A stream does nothing until it ends: `commit`, `to_trf` and `to_vrf` execute the command that the earlier calls have
//! assembled.

use crate::error::PlanError;
use crate::error::refuse;
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
        str(asked.name()),
        str(system.name()),
    )
}
