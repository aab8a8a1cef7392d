//! The stages of the Commit Engine before it writes: it keeps the beginning of each flit, and may narrow it.
//!
//! ```text
//!   flit          f32  │ a0 a1 a2 a3 │ ·· ·· ·· ·· │      32 bytes
//!   commit_trim   f32  │ a0 a1 a2 a3 │                    8, 16, 24 or 32 bytes are kept
//!   commit_cast   bf16 │ a0 a1│a2 a3 │                    16 or 32 become 8 or 16
//!   commit                     ──▶ DM
//! ```

use crate::command::CommitNarrowing;
use crate::engine::collect::whole_bytes;
use crate::error::{PlanError, attempt, refuse};
use crate::mapping::{Expr, Pool, factors_of, resize};
use crate::scalar::ElementType;
use crate::spec;

/// The stages that a stream has passed when it is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitStages {
    /// True if the packet is what `commit_trim` has left of a flit: all of it is written.
    pub trimmed: bool,
    /// True if the engine narrows f32 to bf16.
    pub narrowed: bool,
}

impl CommitStages {
    /// None: the packet is a flit, and `Element` decides how much of it is written.
    pub const NONE: Self = Self { trimmed: false, narrowed: false };
}

/// The input of [`derive_commit_trim`].
#[derive(Clone, Copy, Debug)]
pub struct CommitTrimRequest {
    /// The element type in the stream.
    pub element: ElementType,
    /// Packet of the stream: a flit.
    pub packet: &'static Expr,
    /// Packet that is left.
    pub out_packet: &'static Expr,
}

const TRIM: &str = "commit_trim";

/// Checks that a trim keeps the beginning of a flit. Gives the bytes that are kept: `commit_in_size`.
pub const fn derive_commit_trim(request: &CommitTrimRequest) -> Result<usize, PlanError> {
    let CommitTrimRequest { element, packet: packet_expr, out_packet: kept_expr } = *request;
    let mut pool = Pool::new();
    let packet = attempt!(factors_of(TRIM, &mut pool, packet_expr));
    let kept = attempt!(factors_of(TRIM, &mut pool, kept_expr));
    let flit = attempt!(whole_bytes(TRIM, element, packet_expr, packet.size()));
    if flit != spec::FLIT_BYTES {
        refuse!(
            "commit trim flit",
            "commit_trim: the packet {} of {} holds {} bytes, but must be one flit of {} bytes; \
             help: `.collect()` the stream first",
            (packet_expr, element.name(), flit, spec::FLIT_BYTES),
        )
    }
    let bytes = attempt!(whole_bytes(TRIM, element, kept_expr, kept.size()));
    if !is_commit_size(bytes) {
        refuse!(
            "commit trim width",
            "commit_trim: OutPacket {} of {} keeps {} bytes of the packet {}, but must keep 8, 16, 24 or 32; \
             help: keep {} elements, with padding if need be",
            kept_expr,
            element.name(),
            bytes,
            packet_expr,
            next_size(bytes) * 8 / element.bits(),
        )
    }
    let expected = resize(&mut pool, &packet, kept.size());
    if !expected.is(&kept) {
        refuse!(
            "commit trim packet",
            "commit_trim: OutPacket is {}, but the leading {} lanes of the packet {} are {}; \
             help: keep the beginning of the packet, or all of it",
            kept_expr,
            kept.size(),
            packet_expr,
            factors(&pool, &expected),
        )
    }
    Ok(bytes)
}

/// True for numbers of bytes that the engine keeps of a flit.
pub(super) const fn is_commit_size(bytes: usize) -> bool {
    each!(k < spec::COMMIT_SIZES.len(), {
        if bytes == spec::COMMIT_SIZES[k] {
            return true;
        }
    });
    false
}

/// The next number of bytes that the engine keeps, or the largest one.
const fn next_size(bytes: usize) -> usize {
    if bytes > spec::FLIT_BYTES { spec::FLIT_BYTES } else { bytes.div_ceil(8) * 8 }
}

/// The input of [`derive_commit_cast`].
#[derive(Clone, Copy, Debug)]
pub struct CommitCastRequest {
    /// The conversion.
    pub narrowing: CommitNarrowing,
    /// True if the sub context commits.
    pub sub_context: bool,
    /// The element type in the stream.
    pub input: ElementType,
    /// The element type that is written.
    pub output: ElementType,
    /// Packet of the stream.
    pub packet: &'static Expr,
    /// True if the packet was trimmed. If not, its commit cuts it, and checks its width.
    pub trimmed: bool,
}

/// Checks that the engine narrows a stream.
pub const fn derive_commit_cast(request: &CommitCastRequest) -> Result<(), PlanError> {
    let CommitCastRequest { narrowing, sub_context, input, output, packet, trimmed } = *request;
    let operation = narrowing.name();
    if sub_context {
        refuse!(
            "sub commit cast",
            "{}: the Commit Engine of the sub context converts nothing; \
             help: use the main context, or `.cast::<bf16, OutPacket>()` before the commit",
            operation,
        )
    }
    if input as u8 != CommitNarrowing::INPUT as u8 || output as u8 != CommitNarrowing::OUTPUT as u8 {
        refuse!(
            "commit cast type",
            "{}: {} are to become {}, but the Commit Engine converts f32 to bf16 alone; \
             help: `.cast()` before the commit",
            (operation, input.name(), output.name()),
        )
    }
    if !trimmed {
        return Ok(());
    }
    let mut pool = Pool::new();
    let kept = attempt!(factors_of(operation, &mut pool, packet)).size();
    let bytes = attempt!(whole_bytes(operation, input, packet, kept));
    if !bytes.is_multiple_of(spec::COMMIT_CAST_BYTES) {
        refuse!(
            "commit cast width",
            "{}: the packet {} of f32 was trimmed to {} bytes, of which half are written, but it must hold 16 or 32; \
             help: `.commit_trim()` to {} elements",
            operation,
            packet,
            bytes,
            bytes.div_ceil(spec::COMMIT_CAST_BYTES) * spec::COMMIT_CAST_BYTES * 8 / input.bits(),
        )
    }
    Ok(())
}
