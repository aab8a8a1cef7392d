//! Parallel copy: from DM to DM through the Tensor Unit of each slice, by the sub context.

use crate::command::{Address, CopyCall, Transfer};
use crate::engine::dma::derive_move;
use crate::error::{PlanError, attempt, refuse};
use crate::sequencer::transfer::contiguous_elements;
use crate::spec;
use crate::tensor::Shape;
use crate::text::Text;

/// The call, for messages.
pub const CALL: CopyCall = CopyCall::ParallelCopy;

/// Derives the loops of a parallel copy: those of a DMA transfer. `Chip` and `Cluster` are the same on both sides, so
/// no element leaves its cluster.
pub const fn derive_parallel_copy(source: &Shape, destination: &Shape) -> Result<Transfer, PlanError> {
    let transfer = attempt!(derive_move(CALL.name(), source, destination));
    attempt!(check_cells(CALL.name(), &transfer, source, destination));
    Ok(transfer)
}

/// Checks that units of 8 bytes, which the sub context writes, hold only a run and padding.
pub const fn check_cells(
    operation: &'static str,
    transfer: &Transfer,
    source: &Shape,
    destination: &Shape,
) -> Result<(), PlanError> {
    let (bits, run) = (destination.element_type.bits(), contiguous_elements(transfer));
    let start = transfer.destination_start.elements;
    if !(start.unsigned_abs() * bits).is_multiple_of(8 * spec::COMMIT_ALIGN_BYTES) {
        refuse!(
            "parallel copy cells",
            "{}: {} to {} starts {} of {} bits from the destination, but the sub context writes {} at a time; \
             help: put a multiple of {} dead positions before the innermost axis, or none",
            operation,
            &source.notation(Text::new()),
            &destination.notation(Text::new()),
            count(start.unsigned_abs(), "element"),
            bits,
            count(spec::COMMIT_ALIGN_BYTES, "byte"),
            8 * spec::COMMIT_ALIGN_BYTES / bits,
        );
    }
    let Some(step) = transfer.step_inside_cell(run, bits) else { return Ok(()) };
    refuse!(
        "parallel copy cells",
        "{}: {} to {} moves {} at a time, to places {} apart, but the sub context writes {} at a time, whose neighbours \
         it would overwrite; help: keep {} together, innermost on both sides, or pad the innermost axis of the destination to \
         them, or move the tensor with the DMA engines: `.to_dm_view(…)`",
        operation,
        &source.notation(Text::new()),
        &destination.notation(Text::new()),
        count(run * bits / 8, "byte"),
        count(step * bits / 8, "byte"),
        count(spec::COMMIT_ALIGN_BYTES, "byte"),
        count(spec::COMMIT_ALIGN_BYTES, "byte"),
    )
}

/// Checks that the destination starts at a multiple of 8 bytes.
pub fn check_address(address: Address) -> Result<(), PlanError> {
    let unit = spec::COMMIT_ALIGN_BYTES;
    if (address as usize).is_multiple_of(unit) {
        return Ok(());
    }
    refuse!(
        "parallel copy alignment",
        "{}: the destination is at address {}, which is no multiple of the {} bytes that the sub context writes; \
         help: move it to a multiple of {}",
        (CALL.name(), address as usize, unit, unit),
    )
}
